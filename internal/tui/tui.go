// Package tui is the interactive terminal interface: an editor, the transcript
// of a session as it grows, questions before risky calls, and always the
// window of the model with what fills it.
//
// It holds no context logic and runs nothing itself. A state and a message
// make the next state and a list of effects (update), a state makes a screen
// (view), and both only compute; a program around them talks to the terminal
// and to a Backend.
//
// All text that it draws is foreign. Before it is drawn, control characters,
// escape sequences and marks that turn the direction of text become U+FFFD.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Options are the terminal that the interface runs in. The zero value takes
// the process's own.
type Options struct {
	// Input and Output are the terminal; nil means standard input and output.
	Input  io.Reader
	Output io.Writer
	// Environ is the environment, for TERM, NO_COLOR and COLORTERM; nil means
	// the process's own.
	Environ []string
}

// Run shows the interface until the person leaves or ctx is done. Whatever is
// under way then is cancelled and waited for, so that the session is at rest
// when Run returns. The terminal is left as it was.
//
// Run leaves signals to the caller: let those that end the program cancel ctx.
func Run(ctx context.Context, b Backend, o Options) error {
	if b == nil {
		return errors.New("run terminal interface: there is no backend")
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := newEngine(ctx, b)
	p := tea.NewProgram(&program{state: newState(theme{}), engine: e}, o.program(ctx)...)
	e.attach(p.Send)
	_, err := p.Run()
	cancel()
	e.wait()
	switch {
	case outer.Err() != nil:
		return context.Cause(outer)
	case err != nil:
		return fmt.Errorf("run terminal interface: %w", err)
	}
	return nil
}

func (o Options) program(ctx context.Context) []tea.ProgramOption {
	out := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler()}
	if o.Input != nil {
		out = append(out, tea.WithInput(o.Input))
	}
	if o.Output != nil {
		out = append(out, tea.WithOutput(o.Output))
	}
	if o.Environ != nil {
		out = append(out, tea.WithEnvironment(o.Environ))
	}
	return out
}

// A program carries a state through the terminal's loop.
type program struct {
	state  state
	engine *engine
	// profile and dark make the theme.
	profile colorprofile.Profile
	dark    bool
}

// Init asks for the session and for the background.
func (p *program) Init() tea.Cmd {
	p.dark = true
	p.state.phase, p.state.doing = phaseWorking, "opening the session"
	return tea.Batch(p.engine.do(open{how: openStart}), p.engine.do(tick{}), tea.RequestBackgroundColor)
}

// Update makes the next state and starts its effects.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var m any = msg
	switch msg := msg.(type) {
	case tea.ColorProfileMsg:
		p.profile = msg.Profile
		m = themeMsg{p.theme()}
	case tea.BackgroundColorMsg:
		p.dark = msg.IsDark()
		m = themeMsg{p.theme()}
	}
	s, effects := p.state.update(m)
	p.state = s
	var cmds []tea.Cmd
	for _, e := range effects {
		cmds = append(cmds, p.engine.do(e))
	}
	return p, tea.Batch(cmds...)
}

// theme is plain where the terminal or NO_COLOR wants no colours.
func (p *program) theme() theme {
	return theme{colour: p.profile > colorprofile.ASCII, dark: p.dark}
}

// View draws the state.
func (p *program) View() tea.View { return p.state.teaView() }
