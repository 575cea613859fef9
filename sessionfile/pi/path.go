package pi

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// path returns the entries from the root to the last one of the file, and
// names what stands on other branches.
func (r *reader) path() []*entry {
	var last *entry
	for _, e := range slices.Backward(r.entries) {
		if e.kind != "session" {
			last = e
			break
		}
	}
	on := map[*entry]bool{}
	var path []*entry
	for e := last; e != nil; e = r.parentOf(e) {
		on[e] = true
		path = append(path, e)
	}
	slices.Reverse(path)
	for _, e := range r.entries {
		if !on[e] && (len(e.blocks) > 0 || e.summary != "") {
			r.b.Lose(e.line, "an entry on another branch, not part of the context")
		}
	}
	return path
}

// parentOf returns the entry that e follows: one before it in the file, so
// that no entry is its own ancestor.
func (r *reader) parentOf(e *entry) *entry {
	if e.parent == "" {
		return nil
	}
	for _, parent := range slices.Backward(r.byID[e.parent]) {
		if parent.number < e.number {
			return parent
		}
	}
	if e.filed != "" {
		r.b.Lose(e.line, "an entry whose parent is not before it in the file; the context begins here")
	}
	return nil
}

// writer turns the path into messages, requests and marks.
type writer struct {
	b *sessionfile.Builder
	// resends is true for version 1, whose agent sent the text of aborted
	// replies again; later ones leave such replies out.
	resends bool
	all     []*entry
	starts  map[*entry]int // number of messages before each entry of the path
	ids     map[string]*entry
}

func (w *writer) write(path []*entry) {
	results := map[string]bool{}
	for _, e := range path {
		for _, block := range e.blocks {
			if r, ok := block.(message.ToolResult); ok {
				results[r.CallID] = true
			}
		}
	}
	for _, e := range path {
		w.starts[e], w.ids[e.id] = w.b.Len(), e
		switch {
		case e.kind == "compaction":
			w.compaction(e)
		case e.kind == "branch_summary" || e.role == "branchSummary" || e.role == "compactionSummary":
			w.append(e, message.RoleUser, message.OriginSummary, summaryBlocks(e.summary))
		case e.kind == "message" || e.kind == "custom_message":
			w.message(e, results)
		}
	}
}

func summaryBlocks(summary string) []message.Block {
	return []message.Block{message.Text{Text: fmt.Sprintf("<summary>\n%s\n</summary>", summary)}}
}

func (w *writer) append(e *entry, role message.Role, origin message.Origin, blocks []message.Block) (first, end int) {
	id := e.filed
	if id == "" {
		id = w.b.NextID()
	}
	m := message.Message{ID: id, Role: role, Origin: origin, Blocks: blocks, Time: e.time}
	if role == message.RoleAssistant {
		m.Model = e.model
	}
	return w.b.Append(e.line, m)
}

func (w *writer) message(e *entry, results map[string]bool) {
	switch e.role {
	case "user":
		w.append(e, message.RoleUser, message.OriginAuthored, e.blocks)
	case "assistant":
		w.reply(e, results)
	case "toolResult":
		w.append(e, message.RoleTool, message.OriginAuthored, e.blocks)
	case "bashExecution":
		if e.hidden {
			w.b.Lose(e.line, "a command of the person whose output the model does not see")
			return
		}
		w.append(e, message.RoleUser, message.OriginInjected, e.blocks)
	case "custom", "hookMessage":
		w.append(e, message.RoleUser, message.OriginInjected, e.blocks)
	default:
		w.append(e, message.Role(e.role), message.OriginAuthored, e.blocks)
	}
}

// reply adds an assistant message and its request.
func (w *writer) reply(e *entry, results map[string]bool) {
	s := w.b.Session
	request := sessionfile.Request{At: w.b.Len(), End: w.b.Len(), Model: e.model, Usage: e.usage, Time: e.time, Line: e.line}
	if e.stop != "aborted" && e.stop != "error" {
		request.At, request.End = w.append(e, message.RoleAssistant, message.OriginAuthored, e.blocks)
		w.b.Request(request)
		s.Model, s.Provider = e.model, e.provider
		return
	}
	if request.Failed = e.stop; e.fault != "" {
		request.Failed += ": " + e.fault
	}
	w.b.Request(request)
	if sessionfile.SaysOverflow(e.fault) {
		w.b.Mark(sessionfile.Mark{At: w.b.Len(), Kind: sessionfile.MarkOverflow, Line: e.line, Detail: e.fault})
	}
	if len(e.blocks) == 0 {
		return
	}
	if !w.resends {
		w.b.Losef(e.line, "a reply that was cut short (%s) and that the agent does not send again", e.stop)
		return
	}
	kept := slices.DeleteFunc(e.blocks, func(block message.Block) bool {
		call, ok := block.(message.ToolCall)
		return ok && !results[call.ID]
	})
	if len(kept) < len(e.blocks) {
		w.b.Losef(e.line, "a tool call in a reply that was cut short (%s), never run and not sent again", e.stop)
	}
	if len(kept) > 0 {
		w.append(e, message.RoleAssistant, message.OriginAuthored, kept)
	}
}

// compaction adds the mark, or the summary itself where nothing stands
// before it.
func (w *writer) compaction(e *entry) {
	if w.b.Len() == 0 {
		w.append(e, message.RoleUser, message.OriginSummary, summaryBlocks(e.summary))
		return
	}
	id := e.filed
	if id == "" {
		id = fmt.Sprintf("compaction-line%d", e.line)
	}
	change := &activeview.Change{Kind: activeview.ChangeCompaction, KeepFrom: w.keepFrom(e)}
	if e.summary != "" {
		change.Replacement = []message.Message{{ID: id, Role: message.RoleUser, Origin: message.OriginSummary,
			Blocks: summaryBlocks(e.summary), Time: e.time}}
	}
	mark := sessionfile.Mark{At: w.b.Len(), Kind: sessionfile.MarkCompaction, Line: e.line,
		TokensBefore: e.tokensBefore, Change: change}
	if e.hook {
		mark.Trigger = "hook"
	}
	w.b.Mark(mark)
}

// keepFrom returns the first message that a compaction keeps.
func (w *writer) keepFrom(e *entry) int {
	var kept *entry
	switch {
	case e.keptID != "":
		kept = w.ids[e.keptID]
	case e.keptIndex >= 0 && e.keptIndex < len(w.all):
		kept = w.all[e.keptIndex]
	case e.keptIndex < 0:
		return w.b.Len() // it keeps nothing
	}
	at, known := w.starts[kept]
	if !known {
		w.b.Lose(e.line, "a compaction whose first kept entry is not before it; nothing is taken as kept")
		return w.b.Len()
	}
	return at
}
