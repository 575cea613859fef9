package tui

import (
	"context"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/policy"
)

// An effect is something that update wants done outside. Effects are values,
// so that a test can compare them.
type effect interface{ effect() }

type (
	// run works on a prompt.
	run struct{ prompt Prompt }
	// interrupt cancels what is under way.
	interrupt struct{}
	// answer settles a question.
	answer struct {
		id     int
		answer policy.Answer
	}
	// arm waits until a question has been seen.
	arm struct{ id int }
	// tick turns the spinner.
	tick struct{}
	// measure looks at the window, show says that a person wants to see it.
	measure struct{ show bool }
	// plan works a compaction out, compact makes one.
	plan    struct{ options contextwindow.ManualOptions }
	compact struct{ options contextwindow.ManualOptions }
	// open changes or reads the session.
	open struct {
		how  openHow
		id   string
		turn int
		// prompt goes into the editor afterwards.
		prompt string
	}
	// list reads one of the lists.
	list struct{ what listWhat }
	// setModel and setEffort choose what answers.
	setModel  struct{ id string }
	setEffort struct{ level string }
	// pin and unpin change the pins.
	pin   struct{ text string }
	unpin struct{ n int }
	// complete looks paths up.
	complete struct {
		prefix string
		number int
	}
	// hintOf asks which shell command does something.
	hintOf struct{ what string }
	// suspend stops the program as Ctrl+Z does, quit ends it.
	suspend struct{}
	quit    struct{}
)

func (run) effect()       {}
func (interrupt) effect() {}
func (answer) effect()    {}
func (arm) effect()       {}
func (tick) effect()      {}
func (measure) effect()   {}
func (plan) effect()      {}
func (compact) effect()   {}
func (open) effect()      {}
func (list) effect()      {}
func (setModel) effect()  {}
func (setEffort) effect() {}
func (pin) effect()       {}
func (unpin) effect()     {}
func (complete) effect()  {}
func (hintOf) effect()    {}
func (suspend) effect()   {}
func (quit) effect()      {}

// openHow is how a session is opened.
type openHow string

const (
	openStart  openHow = "open"
	openResume openHow = "resume"
	openFork   openHow = "fork"
	openRewind openHow = "rewind"
	openNew    openHow = "begin"
)

// listWhat names a list.
type listWhat string

const (
	listSessions listWhat = "sessions"
	listModels   listWhat = "models"
	listEfforts  listWhat = "levels of effort"
	listPins     listWhat = "pins"
	listPlugins  listWhat = "plugins"
)

// What comes back from outside.
type (
	eventMsg   struct{ event agent.Event }
	askMsg     struct{ ask ask }
	askDoneMsg struct{ id int }
	armMsg     struct{ id int }
	tickMsg    struct{}
	ranMsg     struct {
		result *agent.Result
		err    error
	}
	windowMsg struct {
		window *agent.Window
		info   Info
		show   bool
		err    error
	}
	planMsg struct {
		proposal *Proposal
		err      error
	}
	compactedMsg struct {
		plan   *contextwindow.Plan
		window *agent.Window // as it is now, nil when it could not be measured
		err    error
	}
	openedMsg struct {
		open         open
		info         Info
		conversation Conversation
		skills       []Choice
		err          error
	}
	listedMsg struct {
		what     listWhat
		choices  []Choice
		sessions []SessionItem
		err      error
	}
	// changedMsg says that a setting or a pin was changed.
	changedMsg struct {
		said string
		info Info
		// window is as it is now, nil when it could not be measured.
		window *agent.Window
		err    error
	}
	completedMsg struct {
		number int
		paths  []string
	}
	hintMsg  struct{ text string }
	themeMsg struct{ theme theme }
)

// perform does what needs the backend, and blocks until it is done.
func perform(ctx context.Context, b Backend, e effect) any {
	switch e := e.(type) {
	case run:
		result, err := b.Run(ctx, e.prompt)
		return ranMsg{result, err}
	case measure:
		w, err := b.Window(ctx)
		return windowMsg{window: w, info: b.Info(), show: e.show, err: err}
	case plan:
		p, err := b.PlanCompaction(ctx, e.options)
		return planMsg{p, err}
	case compact:
		p, err := b.Compact(ctx, e.options)
		return compactedMsg{plan: p, window: measured(ctx, b), err: err}
	case open:
		return performOpen(ctx, b, e)
	case list:
		return performList(ctx, b, e.what)
	case setModel:
		err := b.SetModel(ctx, e.id)
		return changedMsg{said: "model: " + e.id, info: b.Info(), window: measured(ctx, b), err: err}
	case setEffort:
		err := b.SetEffort(ctx, e.level)
		return changedMsg{said: "effort: " + e.level, info: b.Info(), window: measured(ctx, b), err: err}
	case pin:
		err := b.Pin(ctx, e.text)
		return changedMsg{said: "pinned; every request holds it word for word", info: b.Info(), window: measured(ctx, b), err: err}
	case unpin:
		err := b.Unpin(ctx, e.n)
		return changedMsg{said: "unpinned", info: b.Info(), window: measured(ctx, b), err: err}
	}
	return nil
}

// measured is the window as it is now. What could not be measured is said by
// the next measurement that a person asks for.
func measured(ctx context.Context, b Backend) *agent.Window {
	w, err := b.Window(ctx)
	if err != nil {
		return nil
	}
	return w
}

func performOpen(ctx context.Context, b Backend, e open) openedMsg {
	var err error
	switch e.how {
	case openStart:
	case openResume:
		err = b.Resume(ctx, e.id)
	case openFork:
		err = b.Fork(ctx)
	case openRewind:
		err = b.Rewind(ctx, e.turn)
	case openNew:
		err = b.New(ctx)
	}
	m := openedMsg{open: e, info: b.Info(), err: err}
	if err == nil {
		m.conversation, m.err = b.Conversation(ctx)
		m.skills = b.Skills()
	}
	return m
}

func performList(ctx context.Context, b Backend, what listWhat) listedMsg {
	m := listedMsg{what: what}
	switch what {
	case listSessions:
		m.sessions, m.err = b.Sessions(ctx)
	case listModels:
		m.choices, m.err = b.Models(ctx)
	case listEfforts:
		for _, level := range b.Efforts() {
			m.choices = append(m.choices, Choice{Name: level})
		}
	case listPins:
		var pins []string
		pins, m.err = b.Pins(ctx)
		for _, text := range pins {
			m.choices = append(m.choices, Choice{Name: text})
		}
	case listPlugins:
		m.choices, m.err = b.Plugins(ctx)
	}
	return m
}
