// Package claudecode reads the session files of Claude Code: one JSON object
// on a line, linked to a tree by uuid and parentUuid.
//
// The transcript is the path to the last message. The lines of one response
// (they share message.id) become one message; the results of its calls follow
// it. Other branches and the conversations of sub-agents are left out and
// named. Summaries and microcompactions become marks.
//
// Lines that only keep the program's books are skipped without a loss:
// progress, file history, queue operations whose text was sent, titles,
// modes, durations. The richer copies of tool results (toolUseResult) are
// never read.
package claudecode

import (
	"github.com/forge-agent/forge/sessionfile"
)

// Name is the name of the format.
const Name = "claude-code"

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Name }

// Match looks for the fields that link lines, or for lines that only this
// agent writes before the first message.
func (format) Match(h sessionfile.Head) bool {
	if h.Array {
		return false
	}
	for _, o := range h.Objects {
		if o.Has("type", "uuid", "parentUuid") || o.Has("type", "uuid", "isSidechain") {
			return true
		}
		switch o.Text("type") {
		case "summary":
			if o.Has("summary", "leafUuid") {
				return true
			}
		case "file-history-snapshot":
			if o.Has("messageId", "snapshot") {
				return true
			}
		case "queue-operation":
			if o.Has("operation", "sessionId") {
				return true
			}
		}
	}
	return false
}

// Import reads the file.
func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	im := &importer{
		b:    sessionfile.NewBuilder(src, Name),
		uuid: map[string]int{},
	}
	im.b.Session.Provider = provider
	for v, err := range src.Objects() {
		if err != nil {
			return nil, err
		}
		im.read(v)
	}
	im.build()
	return im.b.Finish(), nil
}

// provider names whom opaque data may go back to.
const provider = "anthropic"

// importer holds the state of one import.
type importer struct {
	b     *sessionfile.Builder
	lines []line         // the nodes of the tree, in file order
	uuid  map[string]int // → index into lines
	// lastPrompt is the leaf that the agent recorded, and the index of the
	// line that would come next.
	lastPrompt   string
	lastPromptAt int
}
