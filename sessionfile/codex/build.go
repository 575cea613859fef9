package codex

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// builder turns the entries into messages, requests and marks.
type builder struct {
	*importer
	entries []entry
	// summaries are the ids of the responses that are summaries.
	summaries map[string]bool

	model string
	// pending is a reply that is not yet known to be complete: its items, and
	// its usage once that was written.
	pending        []pendingItem
	pendingUsage   *message.Usage
	pendingClosed  bool
	pendingSummary bool

	// replies are the requests that got a reply, by their index in
	// Session.Requests.
	replies     []int
	hasRecords  bool
	counts      []count
	lastTotal   wireUsage
	counted     bool // lastTotal is set
	compactions []compactionMark
	lastFailure *failed
	outputs     []outputEntry
}

type pendingItem struct {
	*entry
	said
}

// compactionMark remembers where a compaction stands: the index of its mark,
// and how many requests came before it.
type compactionMark struct {
	mark, requests int
}

type outputEntry struct {
	shownOutput
	line int
}

func newBuilder(im *importer, entries []entry) *builder {
	bu := &builder{importer: im, entries: entries, summaries: map[string]bool{}}
	for _, e := range entries {
		switch d := e.data.(type) {
		case compacted:
			if d.id != "" {
				bu.summaries[d.id] = true
			}
		case model:
			if bu.model == "" {
				bu.model = d.name
			}
		}
	}
	return bu
}

func (bu *builder) build() {
	for i := range bu.entries {
		bu.add(&bu.entries[i])
	}
	bu.flush()
	bu.assignCounts()
	bu.finishMarks()
	bu.checkOutputs()
}

func (bu *builder) add(e *entry) {
	switch d := e.data.(type) {
	case said:
		bu.say(e, d)
	case reply:
		bu.close(e, d)
	case tokens:
		bu.count(e, d.info)
	case turn:
		bu.flush()
	case failure:
		bu.fail(e, d)
	case aborted:
		bu.flush()
		bu.b.Mark(sessionfile.Mark{At: bu.b.Len(), Kind: sessionfile.MarkInterrupted, Line: e.line,
			Trigger: d.reason, Detail: "the turn was stopped"})
	case compacted:
		bu.compact(e, d)
	case model:
		bu.model = d.name
	case window:
		bu.b.Session.WindowTokens = d.tokens
	case shown:
		bu.b.Expect(e.line, d.text, d.what)
	case shownOutput:
		bu.outputs = append(bu.outputs, outputEntry{d, e.line})
	}
}

// say adds an item. Items of the model wait until their reply is complete.
func (bu *builder) say(e *entry, d said) {
	if !d.byModel {
		bu.flush()
		for _, m := range d.messages {
			bu.append(e, m)
		}
		return
	}
	if bu.pendingClosed {
		bu.flush()
	}
	bu.pending = append(bu.pending, pendingItem{e, d})
}

func (bu *builder) append(e *entry, m message.Message) {
	if m.ID == "" {
		m.ID = bu.b.NextID() // old versions write none
	}
	bu.b.Append(e.line, m)
}

// close ends a reply with its usage. Usage without items is that of a reply
// that left nothing in the file, or of a compaction by the provider.
func (bu *builder) close(e *entry, d reply) {
	bu.hasRecords = true
	usage := d.usage.normalized()
	if len(bu.pending) > 0 && !bu.pendingClosed {
		bu.pendingClosed, bu.pendingUsage, bu.pendingSummary = true, usage, bu.summaries[d.id]
		return
	}
	bu.flush()
	at := bu.b.Len()
	bu.b.Request(sessionfile.Request{At: at, End: at, Model: bu.model, Usage: usage, Time: e.time, Line: e.line,
		Compaction: bu.summaries[d.id]})
}

// flush adds the pending reply and its request.
func (bu *builder) flush() {
	if len(bu.pending) == 0 {
		return
	}
	pending := bu.pending
	first := pending[0]
	r := sessionfile.Request{At: bu.b.Len(), Model: bu.model, Usage: bu.pendingUsage, Time: first.time,
		Line: first.line, Compaction: bu.pendingSummary}
	for _, p := range pending {
		for _, m := range p.messages {
			if bu.pendingSummary {
				bu.b.Said(m.Text()) // in the mark
				continue
			}
			m.Model = bu.model
			bu.append(p.entry, m)
		}
	}
	r.End = bu.b.Len()
	bu.replies = append(bu.replies, bu.b.Request(r))
	bu.pending, bu.pendingUsage, bu.pendingClosed, bu.pendingSummary = nil, nil, false, false
}

// failed is the newest failure, to recognise it when it is told twice.
type failed struct {
	failure
	at int
}

// fail records a request without a reply. An error event and the end of its
// turn tell the same failure.
func (bu *builder) fail(e *entry, d failure) {
	bu.flush()
	at := bu.b.Len()
	last := bu.lastFailure
	bu.lastFailure = &failed{d, at}
	if last != nil && last.turnID == "" && d.turnID != "" && last.at == at && last.reason == d.reason {
		return
	}
	bu.b.Request(sessionfile.Request{At: at, End: at, Model: bu.model, Time: e.time, Line: e.line, Failed: d.reason})
	if d.overflow {
		bu.b.Mark(sessionfile.Mark{At: at, Kind: sessionfile.MarkOverflow, Line: e.line, Detail: d.reason})
	}
}
