package tui

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/trace"
)

// A stream is the answer that is being written.
type stream struct {
	// done are its finished blocks, each drawn once.
	done     []*row
	splitter splitter
	thought  string
}

func (m stream) empty() bool { return len(m.done) == 0 && m.splitter.open == "" && m.thought == "" }

func (m stream) add(text string) stream {
	var finished []string
	m.splitter, finished = m.splitter.add(text)
	m.done = m.done[:len(m.done):len(m.done)]
	for _, b := range finished {
		m.done = append(m.done, newRow(answerRow{b}))
	}
	return m
}

// rows closes the stream.
func (m stream) rows() []*row {
	out := m.done[:len(m.done):len(m.done)]
	if strings.TrimSpace(m.splitter.open) != "" {
		out = append(out, newRow(answerRow{strings.Trim(m.splitter.open, "\n")}))
	}
	return out
}

// says reports whether the stream holds this text, spaces aside.
func (m stream) says(text string) bool {
	var b strings.Builder
	for _, r := range m.rows() {
		if a, ok := r.content.(answerRow); ok {
			b.WriteString(a.text)
		}
	}
	return squeezed(b.String()) == squeezed(text)
}

func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// event takes in what happened in a run.
func (s state) event(e agent.Event) (state, []effect) {
	switch e := e.(type) {
	case agent.Admitted:
		return s.admitted(e.Message), nil
	case agent.Budgeted:
		return s.budgeted(e.Fit), nil
	case agent.TextDelta:
		s.stream = s.stream.add(e.Text)
	case agent.ReasoningDelta:
		s.stream.thought += e.Text
	case agent.Retrying:
		s.stream = stream{}
		return s.say("what stood here of an answer does not count; asking again: " + e.Reason), nil
	case agent.Answered:
		return s.answered(e), nil
	case agent.CallPlanned:
		return s.call(e.Call, func(r callRow) callRow {
			r.summary = cmp.Or(e.Plan.Summary, callSummary(e.Call))
			return r
		}), nil
	case agent.CallDecided:
		return s.call(e.Call, func(r callRow) callRow { return decided(r, e.Decision) }), nil
	case agent.CallCompleted:
		return s.call(e.Call, func(r callRow) callRow {
			r = completed(r, e.Result)
			r.took = e.Took
			return r
		}), nil
	case agent.Notice:
		return s.notice(e), nil
	case agent.Ended:
		return s.endOf(e.Result), nil
	}
	return s, nil
}

// admitted: the newest prompt is in the session.
func (s state) admitted(m message.Message) state {
	if m.Role != message.RoleUser {
		return s // shown with the answer or the call
	}
	if !m.Authored() {
		return s.say("note for the model, " + size(len(m.Text())))
	}
	kept := userRow{text: promptText(m)}
	for i := len(s.rows) - 1; i >= 0; i-- {
		if r, ok := s.rows[i].content.(userRow); ok && r.unkept {
			return s.set(i, kept)
		}
	}
	return s.add(newRow(kept))
}

// budgeted: every compaction is a row and a notice (P-ROW-03, P-ROW-04).
func (s state) budgeted(f *contextwindow.Fit) state {
	if f == nil {
		return s
	}
	s.fit, s.window = f, nil
	for _, c := range f.Compactions {
		if c.Checkpoint == nil {
			continue
		}
		s = s.add(newRow(compactionRow{trace.CompactionMark{
			ID: c.Checkpoint.ID, ThroughMessage: c.Checkpoint.Anchors.Last, Generation: c.Checkpoint.Generation,
			SummaryTokens: c.Checkpoint.EstimatedCheckpointTokens, Summarized: c.Checkpoint.SummarizedThroughMessageIndex,
		}}))
		s.told = cmp.Or(f.Warning, fmt.Sprintf("the window held %s tokens and holds %s; the transcript keeps everything",
			inspect.Tokens(c.TokensBefore), inspect.Tokens(c.TokensAfter)))
	}
	if len(f.Compactions) > 0 && s.told != "" {
		return s.say(s.told)
	}
	return s
}

// notice shows a line, unless it repeats what was just said of a compaction.
func (s state) notice(n agent.Notice) state {
	if n.Kind == "compaction" && s.told != "" && n.Text == s.told {
		s.told = ""
		return s
	}
	switch n.Kind {
	case "warning", "overflow":
		return s.alarm(n.Text)
	}
	return s.say(n.Text)
}

// answered: the answer is whole. What was streamed stays as it was drawn when
// it is the same. The run goes on (fault B15).
func (s state) answered(e agent.Answered) state {
	s.spent = s.spent.add(e.CostUSD)
	var texts, thoughts []string
	var calls []message.ToolCall
	for _, m := range e.Messages {
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case message.Text:
				texts = append(texts, b.Text)
			case message.Reasoning:
				thoughts = append(thoughts, b.Text)
			case message.ToolCall:
				calls = append(calls, b)
			}
		}
	}
	if thought := strings.TrimSpace(strings.Join(thoughts, "\n")); thought != "" {
		s = s.add(newRow(thoughtRow{thought}))
	} else if s.stream.thought != "" {
		s = s.add(newRow(thoughtRow{s.stream.thought}))
	}
	text := strings.Join(texts, "\n\n")
	if s.stream.says(text) {
		s = s.add(s.stream.rows()...)
	} else {
		s = s.add(textRows(text)...)
	}
	s.stream = stream{}
	for _, c := range calls {
		s = s.add(newRow(callRow{id: c.ID, name: c.Name, summary: callSummary(c)}))
	}
	return s
}

// call changes the first row of a call that has no result, or begins one. Ids
// may repeat; those of former runs are over.
func (s state) call(c message.ToolCall, change func(callRow) callRow) state {
	at := -1
	for i := len(s.rows) - 1; i >= 0; i-- {
		if _, ok := s.rows[i].content.(userRow); ok {
			break
		}
		if r, ok := s.rows[i].content.(callRow); ok && r.id == c.ID && !r.closed {
			at = i
		}
	}
	if at >= 0 {
		r, _ := s.rows[at].content.(callRow)
		return s.set(at, change(r))
	}
	return s.add(newRow(change(callRow{id: c.ID, name: c.Name, summary: callSummary(c)})))
}

func decided(r callRow, d policy.Decision) callRow {
	if d.Allowed() {
		r.state = callRunning
		return r
	}
	r.state, r.reason = callDenied, d.Reason
	return r
}

// endOf says how a run ended. Whatever is not completion stands there as what
// it is (fault B26).
func (s state) endOf(r agent.Result) state {
	if s.ended {
		return s
	}
	s.ended = true
	if !s.stream.empty() { // an answer that was never whole
		rows := s.stream.rows()
		s.stream = stream{}
		s = s.add(rows...)
		if len(rows) > 0 {
			s = s.alarm("this answer was cut off and is not part of the session")
		}
	}
	for i, r := range s.rows {
		if c, ok := r.content.(callRow); ok && !c.closed {
			c.closed = true
			if !c.done() {
				c.state, c.reason = callUnknown, "the run ended before a result was seen"
			}
			s = s.set(i, c)
		}
	}
	switch r.Status {
	case agent.StatusCompleted:
		return s
	case agent.StatusCancelled:
		return s.add(newRow(outcomeRow{"Interrupted", cmp.Or(r.Reason, "the session keeps what was said")}))
	case agent.StatusLimitReached:
		return s.add(newRow(outcomeRow{"Stopped at a limit", sentence(r.Limit, r.Reason)}))
	case agent.StatusDenied:
		return s.add(newRow(outcomeRow{"Denied", r.Reason}))
	}
	reason := r.Reason
	if reason == "" && r.Err != nil {
		reason = r.Err.Error()
	}
	return s.add(newRow(outcomeRow{"Failed", cmp.Or(reason, "the run gives no reason")}))
}

func sentence(limit, reason string) string {
	if limit == "" {
		return reason
	}
	return limit + ": " + reason
}

// ran: the run has returned, and only now is the interface at rest.
func (s state) ran(m ranMsg) (state, []effect) {
	switch {
	case m.err != nil:
		s = s.add(newRow(outcomeRow{"Nothing was run", m.err.Error()}))
		s = s.takeBack()
	case m.result != nil:
		s = s.endOf(*m.result)
	case !s.ended:
		s = s.endOf(agent.Result{Status: agent.StatusFailed})
	}
	s.stream, s.asks = stream{}, nil
	s, effects := s.rest()
	if len(effects) > 0 {
		return s, effects
	}
	return s, []effect{measure{}}
}

// takeBack puts a prompt that is not in the session back into the editor.
func (s state) takeBack() state {
	for i := len(s.rows) - 1; i >= 0; i-- {
		if r, ok := s.rows[i].content.(userRow); ok && r.unkept {
			s.rows = append(s.rows[:i:i], s.rows[i+1:]...)
			if s.editor.empty() {
				s.editor = newEditor(r.text)
			}
			return s
		}
	}
	return s
}
