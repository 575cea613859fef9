package tui

import (
	"context"
	"time"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/trace"
)

// A Backend is everything that the interface shows and asks for. All that it
// returns may be foreign text: the interface makes it safe to draw.
//
// Calls come one at a time, but for Info, Complete and Skills, which may come
// while another call is running and must be safe then.
type Backend interface {
	Runner
	Windower
	Conversations
	Models
	Pins
	Surroundings
}

// A Runner works on prompts.
type Runner interface {
	// Attach says who follows runs and who is asked. It is called once, before
	// everything else. observe may block until the screen has taken the event;
	// confirm blocks until there is an answer or its context is done.
	Attach(observe func(agent.Event), confirm policy.Confirmer)
	// Info describes the session as it is now, without waiting.
	Info() Info
	// Run works on a prompt until it has a terminal status. An error means
	// that nothing was run. Cancelling ctx ends the run.
	Run(ctx context.Context, p Prompt) (*agent.Result, error)
}

// A Windower shows and changes what is in the context window.
type Windower interface {
	// Window measures the request that would come next.
	Window(ctx context.Context) (*agent.Window, error)
	// PlanCompaction works a compaction out and changes nothing (F-MAN-02).
	PlanCompaction(ctx context.Context, o contextwindow.ManualOptions) (*Proposal, error)
	// Compact makes a compaction and keeps it with the session (F-MAN-03).
	Compact(ctx context.Context, o contextwindow.ManualOptions) (*contextwindow.Plan, error)
}

// Conversations opens sessions. Each change leaves Info and Conversation with
// the session that is open then; an error leaves the one that was.
type Conversations interface {
	// Conversation returns the whole conversation, for display.
	Conversation(ctx context.Context) (Conversation, error)
	// Sessions lists sessions of the workspace, the newest first.
	Sessions(ctx context.Context) ([]SessionItem, error)
	// Resume opens a session by its id or the beginning of it.
	Resume(ctx context.Context, id string) error
	// Fork goes on in a copy of the session.
	Fork(ctx context.Context) error
	// Rewind goes on before a turn, which counts from 1; what was said since
	// is kept where it was.
	Rewind(ctx context.Context, turn int) error
	// New begins an empty session.
	New(ctx context.Context) error
}

// Models chooses what answers.
type Models interface {
	// Models lists the models that can be chosen.
	Models(ctx context.Context) ([]Choice, error)
	// SetModel and SetEffort take effect with the next run. An unknown name is
	// an error that says which are known.
	SetModel(ctx context.Context, id string) error
	SetEffort(ctx context.Context, level string) error
	// Efforts lists the levels of effort that the model knows; nil for none.
	Efforts() []string
}

// Pins are statements that every checkpoint keeps.
type Pins interface {
	// Pins lists them in the order in which they were pinned.
	Pins(ctx context.Context) ([]string, error)
	Pin(ctx context.Context, text string) error
	// Unpin removes one, which counts from 1.
	Unpin(ctx context.Context, n int) error
}

// Surroundings is what can be named in a prompt or looked up.
type Surroundings interface {
	// Complete lists paths of the workspace that begin with a prefix, which
	// may be empty; folders end in a slash. It answers soon and returns few.
	Complete(prefix string) []string
	// Skills lists what can be named with $.
	Skills() []Choice
	// Plugins lists the plugins and whether they are trusted.
	Plugins(ctx context.Context) ([]Choice, error)
	// Hint says which shell command does what the interface does not: login
	// and logout.
	Hint(command string) string
}

// Info describes a session. It holds no window: the only window that is shown
// is that of a Fit (fault B16).
type Info struct {
	// Version is Forge's.
	Version string
	// Model, Provider and Effort are what would answer next; Effort is empty
	// when the model has none.
	Model, Provider, Effort string
	// Mode is what is done about a full window.
	Mode contextwindow.Mode
	// Session is the session's id, Title what it is called, empty for none.
	Session, Title string
	// Workspace is the folder, for people.
	Workspace string
	// Profile is the permission profile.
	Profile policy.Profile
	// CostUSD is what the session has cost at list prices, nil when unknown.
	CostUSD *float64
	// Warnings are lines to show when the session is opened.
	Warnings []string
}

// A Prompt is what a person sends.
type Prompt struct {
	// Text is what was typed, names of files and skills included.
	Text string
	// Files and Images are the paths named with @, each once, in order. They
	// were not looked at.
	Files, Images []string
}

// A Proposal is a compaction that was worked out, with its price.
type Proposal struct {
	Plan *contextwindow.Plan
	// BeforeUSD and AfterUSD are what the conversation costs in each further
	// request when a cache holds it, RewriteUSD is what the change costs once,
	// at list prices. Nil when a price is unknown.
	BeforeUSD, AfterUSD, RewriteUSD *float64
}

// A Conversation is what was said, and where it was compacted.
type Conversation struct {
	Messages []message.Message
	Marks    []trace.CompactionMark
}

// A SessionItem is a session in a list.
type SessionItem struct {
	ID, Title string
	// UpdatedAt is when it was last written.
	UpdatedAt time.Time
	// Messages is how many it holds.
	Messages int
}

// A Choice is an entry of a list.
type Choice struct {
	// Name is what is chosen, Detail says more in a few words.
	Name, Detail string
}
