package compaction

import (
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// An Index holds what parsing found in a transcript, message by message, so
// that a compaction reads only the messages that are new since the last one.
// It keeps pieces of the messages' texts, no copies of them. The zero Index is
// empty and ready to use; it belongs to one transcript and one goroutine.
type Index struct {
	units     []unit
	events    []event
	decisions []decision
	seen      int
	hash      message.Hash // of the messages seen
	openFile  string       // of an agent whose editor has one file open
	reader    reader
	actions   []action
	names     names
}

// event is something that a tool did.
type event struct {
	call, result int32 // messages
	kind         actionKind
	subject      string
	outcome      message.Outcome
	failure      string   // the line that says why it failed
	open         []string // of a plan
}

// decision is a sentence in which the assistant says what it chose and why.
type decision struct {
	message int32
	text    string
}

// Extend reads the messages that t has gained since the last call. When t is
// not the transcript that was read before, or was cut, everything is read
// again.
func (x *Index) Extend(t *transcript.Transcript) {
	if x.seen > t.Len() || x.seen > 0 && t.RangeHash(0, x.seen) != x.hash {
		*x = Index{}
	}
	for i, m := range t.From(x.seen) {
		x.read(t, i, m)
	}
	x.seen = t.Len()
	x.hash = t.RangeHash(0, x.seen)
}

func (x *Index) read(t *transcript.Transcript, i int, m message.Message) {
	switch m.Role {
	case message.RoleSystem:
		if m.Origin == message.OriginAuthored {
			x.units = x.reader.units(x.units, i, m)
		}
	case message.RoleUser:
		// An answer to a command written as text follows the assistant's; the
		// first task of such an agent may end in a shell prompt too.
		if text := m.Text(); m.Origin != message.OriginSummary && i > 0 && t.At(i-1).Role == message.RoleAssistant && observation(text) {
			x.observe(t, i, text)
			return
		}
		if !m.Authored() {
			return
		}
		x.units = x.reader.units(x.units, i, m)
	case message.RoleAssistant:
		x.decide(i, m)
	case message.RoleTool:
		for j, b := range m.Blocks {
			if r, ok := b.(message.ToolResult); ok {
				x.result(t, transcript.Ref{Message: i, Block: j}, r)
			}
		}
	}
}

// result takes in a tool result together with its call.
func (x *Index) result(t *transcript.Transcript, ref transcript.Ref, r message.ToolResult) {
	at, ok := t.Call(ref)
	if !ok {
		return
	}
	call, ok := t.At(at.Message).Blocks[at.Block].(message.ToolCall)
	if !ok {
		return
	}
	text := r.Text()
	x.actions = parseCall(x.actions[:0], call.Name, call.Arguments)
	x.record(at.Message, ref.Message, outcomeOf(r, text), text)
}

// observe takes in an answer that stands in a user message, together with the
// command in the assistant's message before it.
func (x *Index) observe(t *transcript.Transcript, i int, text string) {
	command, ok := textAction(t.At(i - 1).Text())
	if !ok {
		return
	}
	if file, ok := strings.CutPrefix(text, "[File: "); ok {
		if file, _, ok = strings.Cut(file, " ("); ok {
			x.openFile = file
		}
	}
	x.actions = x.actions[:0]
	if strings.HasPrefix(command, "edit ") && x.openFile != "" {
		x.actions = append(x.actions, action{kind: actionEdit, subject: x.openFile})
	} else {
		x.actions = appendCommand(x.actions, command)
	}
	x.record(i-1, i, outcomeOf(message.ToolResult{}, text), text)
}

// record turns the parsed actions into events.
func (x *Index) record(call, result int, outcome message.Outcome, text string) {
	failure := ""
	if outcome == message.OutcomeFailure {
		failure = failureLine(text)
	}
	for i, a := range x.actions {
		if i == 1 && x.actions[0].kind == actionRun {
			failure = "" // it is the command's, told once
		}
		x.events = append(x.events, event{call: int32(call), result: int32(result), kind: a.kind, subject: a.subject,
			outcome: outcome, failure: failure, open: a.open})
	}
}

// decide looks for sentences in which the assistant gives a choice and its
// reason. Only the beginning and the end of a long text are read.
func (x *Index) decide(i int, m message.Message) {
	const window = 3000
	for _, b := range m.Blocks {
		t, ok := b.(message.Text)
		if !ok {
			continue
		}
		parts := []string{t.Text}
		if len(t.Text) > 2*window {
			parts = []string{strings.ToValidUTF8(t.Text[:window], ""), strings.ToValidUTF8(t.Text[len(t.Text)-window:], "")}
		}
		for _, part := range parts {
			x.decideIn(i, part)
		}
	}
}

func (x *Index) decideIn(i int, text string) {
	for _, s := range segment(text) {
		raw := text[s.start:s.end]
		if len(raw) < 24 || len(raw) > 300 {
			continue
		}
		st := x.reader.classify(raw)
		f := featuresOf(x.reader.hits, len(x.reader.folded))
		if f.count[choose] > 0 && f.count[reason] > 0 && st.kind != KindAuthority && plain(f) && !strings.HasSuffix(raw, "?") {
			x.decisions = append(x.decisions, decision{int32(i), raw})
		}
	}
}

// plain reports whether a text that somebody other than the user wrote gives
// no leave and claims no test result.
func plain(f features) bool {
	return f.count[grant]+f.count[grantAlways]+f.count[claimAlways] == 0
}

// failureLine returns the line of an output that says why it failed, empty
// when there is none.
func failureLine(text string) string {
	const window = 16 << 10
	if len(text) > 2*window {
		text = text[:window] + "\n" + text[len(text)-window:]
	}
	best, rank := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "<") || len(line) > 600 {
			continue
		}
		if r := failureRank(line); r > rank || r == rank && r == 3 {
			best, rank = line, r
		}
	}
	return best
}

// failureRank orders lines by how likely they name the cause; of the final
// lines of Python traces the last one counts.
func failureRank(line string) int {
	head, _, colon := strings.Cut(line, ":")
	switch {
	case colon && !strings.ContainsAny(head, " \t") && (strings.HasSuffix(head, "Error") || strings.HasSuffix(head, "Exception")):
		return 3
	case strings.HasPrefix(line, "panic:"), strings.HasPrefix(line, "fatal:"), strings.HasPrefix(line, "error"), strings.HasPrefix(line, "Error"),
		strings.HasPrefix(line, "ERROR"), strings.Contains(line, ": error"), strings.Contains(line, "error:"), strings.HasPrefix(line, "--- FAIL"),
		strings.HasPrefix(line, "E   "):
		return 4
	case located(line):
		return 2
	case strings.Contains(line, "rror"), strings.Contains(line, "FAIL"), strings.Contains(line, "failed"), strings.Contains(line, "not found"),
		strings.Contains(line, "denied"):
		return 1
	}
	return 0
}
