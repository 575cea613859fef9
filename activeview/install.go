package activeview

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// HistoricalMark stands before a user message that outlived the turn it
// belongs to, so that it is not taken for a new request (resolution C2).
const HistoricalMark = "[Earlier message of the user, kept for reference. It is not a new request.]\n"

// A Retention says what stays of the beginning of a transcript when a
// checkpoint takes its place.
type Retention struct {
	// Through is the number of messages that the checkpoint stands for.
	Through int
	// Memory is the checkpoint as the model sees it: labelled, of low
	// authority, after the instructions (resolution C13). Empty for none.
	Memory []message.Message
	// Users are the user messages of the range that stay, by ascending index.
	Users []RetainedUser
	// Kept are messages of the range that stay as they are, by index: the
	// request that was current when the checkpoint was made. The request that
	// is current now stays in any case.
	Kept []int
}

// A RetainedUser is a user message inside a summarized range that stays in
// the view.
type RetainedUser struct {
	// Index is where it stands in the transcript.
	Index int
	// Text is what is left of it; empty for the whole message.
	Text string
}

// Install puts a checkpoint in the place of the messages [0, r.Through) of t.
// System messages, the current request and the retained users stay; every
// other message of the range is in the ledger as summarized. Messages that an
// earlier Install hid and this one retains come back. On an error the view is
// as it was.
func (v *View) Install(t *transcript.Transcript, r Retention) error {
	if r.Through < 0 || r.Through > v.seen() {
		return fmt.Errorf("install checkpoint through message %d: the view has %d", r.Through, v.seen())
	}
	users := map[int]RetainedUser{}
	for _, u := range r.Users {
		if u.Index < v.base || u.Index >= r.Through || !t.At(u.Index).Authored() {
			return fmt.Errorf("install checkpoint: message %d is no user message of its range", u.Index)
		}
		users[u.Index] = u
	}
	stays := map[*entry]bool{}
	for _, e := range v.current {
		stays[e] = true
	}
	for _, i := range r.Kept {
		if i < v.base || i >= v.seen() {
			return fmt.Errorf("install checkpoint: message %d is kept, the view has %d to %d", i, v.base, v.seen())
		}
		if !t.At(i).Authored() {
			return fmt.Errorf("install checkpoint: message %d is kept and is no user message; a result would lose its call", i)
		}
		stays[v.entry(i)] = true
	}
	v.stale = true
	v.generation++
	v.replaceMemory(r.Memory, false)
	for i, e := range v.between(0, r.Through) {
		u, retained := users[v.base+i]
		switch {
		case e.message.Role == message.RoleSystem, stays[e]:
		case retained:
			v.retain(e, t.At(u.Index), u.Text)
		case !e.hidden:
			v.hide(e, Summarized, ReasonSummarized)
			v.retained--
		}
	}
	v.touch(0)
	return nil
}

// replaceMemory drops the memory in force and takes other messages in. Foreign
// messages get ids of their own: theirs may stand in the transcript too.
func (v *View) replaceMemory(ms []message.Message, foreign bool) {
	for _, e := range v.memory {
		v.hide(e, Dropped, ReasonReplaced)
	}
	v.replaced, v.memory = append(v.replaced, v.memory...), nil
	for i, m := range ms {
		if foreign || m.ID == "" {
			m.ID = fmt.Sprintf("compaction-%d-%d", v.generation, i+1)
		}
		reason := ReasonSummary
		if m.Origin != message.OriginSummary {
			reason = ReasonRetained
		}
		v.memory = append(v.memory, v.admit(m, false, reason, nil))
	}
}

// Historical returns a user message in the form in which it outlives its
// turn: marked as no new request, whole, or cut to text when that is not
// empty.
func Historical(m message.Message, text string) message.Message {
	if text != "" {
		m.Blocks = []message.Block{message.Text{Text: HistoricalMark + text}}
		return m
	}
	m.Blocks = append([]message.Block{message.Text{Text: HistoricalMark}}, m.Blocks...)
	return m
}

// retain keeps a user message in its historical form, whole or cut to text.
func (v *View) retain(e *entry, original message.Message, text string) {
	decision, reason := Projected, ReasonCut
	if text == "" {
		decision, reason = Kept, ReasonRetained
	}
	m := Historical(original, text)
	if e.hidden {
		e.hidden = false
		v.retained++
	}
	v.visited++
	e.message = m
	count := v.counter.Message(m)
	// The ledger keeps one line for each block of the original; the first one
	// carries the mark, or all of a text that was cut.
	extra := 0
	if text == "" {
		extra = count.BlockTokens[0]
		count.BlockTokens = count.BlockTokens[1:]
	}
	for i := range e.lines {
		l := e.lines[i]
		l.Decision, l.Reason, l.Tokens, l.FramingTokens = decision, reason, 0, 0
		if i < len(count.BlockTokens) {
			l.Tokens = count.BlockTokens[i]
		}
		if i == 0 {
			l.Tokens += extra
			l.FramingTokens = count.FramingTokens
		}
		v.change(&e.lines[i], l)
	}
}

// Project puts a stand-in in place of the tool result at ref. A result that is
// out of the window stays as it is. For one that was in no request yet it is as
// if the result had come like that: the view has only grown.
func (v *View) Project(ref transcript.Ref, standIn, reason string) error {
	if err := v.project(ref, standIn, reason); err != nil {
		return err
	}
	switch {
	case ref.Message < v.sent:
		v.stale = true
		v.generation++
	case v.sent == 0:
		v.stale = true
	case !v.stale:
		v.replace(ref.Message)
	}
	return nil
}

// replace puts message i anew into the messages, behind which only new ones
// stand. Slices that were returned before end before it.
func (v *View) replace(i int) {
	at := len(v.messages)
	for _, e := range v.between(i, v.seen()) {
		if !e.hidden {
			at--
		}
	}
	if e := v.entry(i); !e.hidden {
		v.messages[at] = e.message
	}
}

// LeaveOut takes the messages of a turn that was never completed out of the
// window (resolution C16); their ledger lines say so. System messages and the
// current request stay.
func (v *View) LeaveOut(turn transcript.Turn) error {
	if turn.Start < 0 || turn.Start > turn.End || turn.End > v.seen() {
		return fmt.Errorf("leave out messages %d to %d: the view has %d", turn.Start+1, turn.End, v.seen())
	}
	v.stale = true
	v.generation++
	v.touch(turn.Start)
	for _, e := range v.between(turn.Start, turn.End) {
		if e.hidden || e.message.Role == message.RoleSystem || slices.Contains(v.current, e) {
			continue
		}
		v.hide(e, Dropped, ReasonUncompleted)
		v.retained--
	}
	return nil
}

// EntryTokens returns what message i of the transcript weighs in the window,
// zero when it is not in it.
func (v *View) EntryTokens(i int) int {
	if v.Hidden(i) {
		return 0
	}
	v.visited++
	return v.entry(i).tokens()
}

// BlockTokens returns what one block weighs in the window, without framing.
func (v *View) BlockTokens(ref transcript.Ref) int {
	v.visited++
	return v.entry(ref.Message).lines[ref.Block].Tokens
}

// Hidden reports whether message i is out of the window.
func (v *View) Hidden(i int) bool { return i < v.base || v.entry(i).hidden }

// MemoryTokens returns what the memory weighs.
func (v *View) MemoryTokens() int {
	total := 0
	for _, e := range v.memory {
		total += e.tokens()
	}
	return total
}

// touch says that everything from entry index on is not what it was at the
// last request; index 0 stands for the memory too.
func (v *View) touch(index int) {
	if !v.touched || index < v.firstTouched {
		v.touched, v.firstTouched = true, index
	}
}

// TakePrefix returns the tokens of the beginning of the request that is the
// same as at the last call: what a provider's cache can cover. The first call
// returns 0.
func (v *View) TakePrefix() int {
	prefix := v.lastTotal
	if v.touched {
		prefix = 0
		if v.firstTouched >= 0 {
			prefix = v.fixedTokens()
		}
		if v.firstTouched > 0 {
			prefix += v.MemoryTokens()
			for _, e := range v.between(0, v.firstTouched) {
				if !e.hidden {
					prefix += e.tokens()
				}
			}
		}
		prefix = min(prefix, v.lastTotal)
	}
	v.touched, v.firstTouched, v.lastTotal, v.sent = false, 0, v.totals.Total(), v.seen()
	return prefix
}

// fixedTokens is what stands before memory and messages.
func (v *View) fixedTokens() int {
	total := v.counter.Fixed(len(v.tools))
	for _, t := range v.tools {
		total += t.line.Tokens
	}
	for _, e := range v.instructions {
		total += e.tokens()
	}
	return total
}
