package tui

import (
	"slices"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/policy"
)

// A phase is what the interface is busy with.
type phase int

const (
	// phaseIdle: a prompt can be sent.
	phaseIdle phase = iota
	// phaseRunning: from the moment a prompt is sent until its run has ended
	// and returned. A finished answer does not end it (fault B15).
	phaseRunning
	// phaseWorking: something else that needs the session is under way.
	phaseWorking
)

// A state is all that the interface knows. update makes the next one; slices
// and maps in it are not changed in place.
type state struct {
	width, height int
	theme         theme
	info          Info
	skills        []Choice

	phase phase
	// doing says what phaseWorking is about.
	doing string
	// stopping: an interruption was asked for. leaving: the program ends when
	// the session is at rest.
	stopping, leaving bool
	// ended: the run has said how it ended.
	ended bool
	// frame turns the spinner.
	frame int

	rows   []*row
	stream stream
	// told is the newest notice of a compaction, so that the same words do
	// not stand there twice.
	told string

	// fit is the newest measurement, nil before the first; window has the
	// ledger that goes with it, nil while a run goes on.
	fit    *contextwindow.Fit
	window *agent.Window
	spent  spending

	editor  editor
	history []string
	histAt  int    // len(history) for the draft
	draft   string // what was being written before the history was opened
	popup   popup
	asked   int // completions asked for

	asks    []ask
	overlay overlay
	// scroll is how many lines the transcript is scrolled up from its end.
	scroll int
	// hint is a line above the editor, gone with the next key.
	hint string
	// leave: Ctrl+C was pressed once on an empty editor.
	leave bool
}

// A spending is money at list prices.
type spending struct {
	usd float64
	// unknown: a part has no known price.
	unknown bool
}

func (s spending) add(usd *float64) spending {
	if usd == nil {
		s.unknown = true
		return s
	}
	s.usd += *usd
	return s
}

// An ask is a call that waits for an answer.
type ask struct {
	id       int
	request  policy.Request
	decision policy.Decision
	// armed: it has been on the screen long enough that a key is meant for it.
	armed  bool
	scroll int
}

// newState begins with a screen of the usual size.
func newState(t theme) state { return state{width: 80, height: 24, theme: t} }

// add appends rows to the transcript.
func (s state) add(rows ...*row) state {
	s.rows = append(slices.Clip(s.rows), rows...)
	return s
}

// say appends a notice.
func (s state) say(text string) state { return s.add(newRow(noticeRow{text: text})) }

// alarm appends a notice about something wrong.
func (s state) alarm(text string) state { return s.add(newRow(noticeRow{text: text, alarm: true})) }

// set puts a row in the place of another one.
func (s state) set(at int, c content) state {
	s.rows = slices.Clone(s.rows)
	s.rows[at] = newRow(c)
	return s
}

// work begins something that needs the session.
func (s state) work(doing string, e effect) (state, []effect) {
	s.phase, s.doing, s.stopping = phaseWorking, doing, false
	return s, []effect{e, tick{}}
}

// rest is the end of a run or of work. A program that is to end does so now.
func (s state) rest() (state, []effect) {
	s.phase, s.doing, s.stopping = phaseIdle, "", false
	if s.leaving {
		return s, []effect{quit{}}
	}
	return s, nil
}

// busy says what is under way, empty for nothing.
func (s state) busy() string {
	switch s.phase {
	case phaseIdle:
		return ""
	case phaseRunning:
		return "working"
	case phaseWorking:
		return s.doing
	}
	return ""
}
