// Package tools holds the built-in tools: list_files, read_file, search,
// create_file, apply_patch, run_command, new_context and recall.
//
// They read arguments, reach files through internal/workspace and programs
// through internal/command, and answer in text. They decide nothing: whether a
// plan may run is for package policy. What a model reads of them stands in
// definitions/.
package tools

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

//go:embed definitions/*.json
var definitions embed.FS

// Options are what the tools work with.
type Options struct {
	// Workspace is the folder that they work in. It is required and stays the
	// caller's.
	Workspace *workspace.Workspace
	// Command configures run_command; nil leaves the tool out.
	Command *CommandOptions
	// NewContext is asked for a new context window; nil leaves new_context
	// out, as in modes that do not compact (resolution C10).
	NewContext ContextRequester
	// Recall finds original messages; nil leaves recall out.
	Recall Searcher
}

// CommandOptions configure run_command.
type CommandOptions struct {
	// Environ is the user's environment, as os.Environ returns it, and Pass the
	// names in it that programs get beside those that are harmless.
	Environ, Pass []string
	// TempDir is an existing folder, absolute, for temporary files and caches.
	TempDir string
	// Writable are further folders that a program may write below, absolute.
	Writable []string
	// Unconfined lets programs write wherever the user can.
	Unconfined bool
	// Timeout is the time of a program that asks for none, MaxTimeout the most
	// that it can ask for. Zero means one and ten minutes.
	Timeout, MaxTimeout time.Duration
	// Grace is how long a program may take to end before it is killed. Zero
	// means two seconds.
	Grace time.Duration
}

// A ContextRequester notes that the model wants a new context window. It
// returns what the model is told, and compacts nothing itself (P-TOOL-02).
// contextwindow.Manager is one.
type ContextRequester interface {
	RequestNewContext() string
}

// A Searcher finds original messages of the session.
type Searcher interface {
	// Recall returns what a query finds, the best first. A reference that is
	// unknown finds nothing. Texts are originals, redacted as they are stored.
	Recall(ctx context.Context, q Query) ([]Found, error)
}

// A Query asks for one message by its reference, or for some by words.
type Query struct {
	// Reference is set, or Words.
	Reference, Words string
	// MaxResults is how many messages are wanted.
	MaxResults int
}

// Found is a message that was found.
type Found struct {
	// Reference finds it again.
	Reference string
	// Role is who said it.
	Role message.Role
	// Text is all of it, results of tools included.
	Text string
}

// New returns the tools that the options allow, in the order in which a model
// sees them.
func New(o Options) ([]tool.Tool, error) {
	if o.Workspace == nil {
		return nil, errors.New("make tools: there is no workspace")
	}
	w := o.Workspace
	list := []tool.Tool{
		&builtin[listArguments]{name: "list_files", risk: tool.RiskRead, plan: listFiles(w)},
		&builtin[readArguments]{name: "read_file", risk: tool.RiskRead, plan: readFile(w)},
		&builtin[searchArguments]{name: "search", risk: tool.RiskRead, plan: search(w)},
		&builtin[createArguments]{name: "create_file", risk: tool.RiskWrite, plan: createFile(w)},
		&builtin[patchArguments]{name: "apply_patch", risk: tool.RiskWrite, plan: applyPatch(w)},
	}
	if o.Command != nil {
		run, err := newCommandRunner(w, *o.Command)
		if err != nil {
			return nil, err
		}
		list = append(list, &builtin[commandArguments]{name: "run_command", risk: tool.RiskProcess, plan: run.plan})
	}
	if o.NewContext != nil {
		list = append(list, &builtin[noArguments]{name: "new_context", risk: tool.RiskRead, plan: newContext(o.NewContext)})
	}
	if o.Recall != nil {
		list = append(list, &builtin[recallArguments]{name: "recall", risk: tool.RiskRead, plan: recall(o.Recall)})
	}
	return list, nil
}

// A builtin is a tool whose arguments are a struct.
type builtin[A any] struct {
	name string
	risk tool.Risk
	plan func(ctx context.Context, arguments A) (tool.Plan, error)
}

// Definition reads the tool's text.
func (b *builtin[A]) Definition() message.ToolDefinition {
	d := message.ToolDefinition{Name: b.name}
	data, err := definitions.ReadFile("definitions/" + b.name + ".json")
	if err != nil {
		return d // a tool without a description is refused by tool.NewSet
	}
	var text struct {
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(data, &text) != nil {
		return d
	}
	d.Description, d.Parameters = text.Description, compact(text.Parameters)
	return d
}

// Risk returns the risk.
func (b *builtin[A]) Risk() tool.Risk { return b.risk }

// Plan decodes the arguments.
func (b *builtin[A]) Plan(ctx context.Context, arguments string) (tool.Plan, error) {
	var a A
	if err := tool.Decode(arguments, &a); err != nil {
		return tool.Plan{}, err
	}
	return b.plan(ctx, a)
}

// failure is the result of a step that did not work, in words for the model.
func failure(ctx context.Context, err error) tool.Result {
	if ctx.Err() != nil {
		return tool.Failure("The call was interrupted before it was complete.")
	}
	return tool.Failure(err.Error())
}

type noArguments struct{}

func newContext(r ContextRequester) func(context.Context, noArguments) (tool.Plan, error) {
	return func(context.Context, noArguments) (tool.Plan, error) {
		return tool.Plan{
			Summary: "begin a new context window",
			Run:     func(context.Context) tool.Result { return tool.Success(r.RequestNewContext()) },
		}, nil
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
