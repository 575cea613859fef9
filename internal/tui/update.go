package tui

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/trace"
)

// update is the whole behaviour of the interface: what a message makes of a
// state, and what is to be done outside.
func (s state) update(msg any) (state, []effect) {
	held := s.scroll > 0
	before := 0
	if held {
		before = s.transcriptHeight()
	}
	s, effects := s.step(msg)
	if s.scroll > 0 { // what is being read stays where it is
		if _, resized := msg.(tea.WindowSizeMsg); held && !resized {
			if _, key := msg.(tea.KeyPressMsg); !key {
				s.scroll += s.transcriptHeight() - before
			}
		}
		s.scroll = max(0, min(s.scroll, s.transcriptHeight()-s.transcriptRoom()))
	}
	return s, effects
}

func (s state) step(msg any) (state, []effect) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = max(msg.Width, 1), max(msg.Height, 1)
		s.overlay.scroll = 0
	case themeMsg:
		s.theme = msg.theme
	case tea.PasteMsg:
		return s.paste(msg.Content)
	case tea.KeyPressMsg:
		return s.key(msg.String(), msg.Text)
	case eventMsg:
		return s.event(msg.event)
	case ranMsg:
		return s.ran(msg)
	case askMsg:
		s.asks = append(s.asks[:len(s.asks):len(s.asks)], msg.ask)
		return s, []effect{arm{msg.ask.id}}
	case askDoneMsg:
		return s.settled(msg.id)
	case armMsg:
		return s.armed(msg.id), nil
	case tickMsg:
		return s.tick()
	case completedMsg:
		return s.offered(msg), nil
	case listedMsg:
		return s.listed(msg)
	case windowMsg:
		return s.measured(msg)
	case planMsg:
		return s.planned(msg)
	case compactedMsg:
		return s.compacted(msg)
	case openedMsg:
		return s.opened(msg)
	case changedMsg:
		return s.changed(msg)
	case hintMsg:
		return s.say(msg.text), nil
	}
	return s, nil
}

// tick turns the spinner while something is under way.
func (s state) tick() (state, []effect) {
	if s.phase == phaseIdle {
		return s, nil
	}
	s.frame++
	return s, []effect{tick{}}
}

// measured takes a new measurement in.
func (s state) measured(m windowMsg) (state, []effect) {
	if !m.show && s.phase != phaseIdle {
		return s, nil // a run has begun since; its own measurements count
	}
	var effects []effect
	if m.show {
		s, effects = s.rest()
	}
	s.info, s.spent = m.info, spending{}.add(m.info.CostUSD)
	if m.err != nil {
		return s.alarm("the window could not be measured: " + m.err.Error()), effects
	}
	if m.window == nil {
		return s, effects
	}
	s.window, s.fit = m.window, m.window.Fit
	if m.show && s.fit != nil {
		s.overlay = overlay{title: "Context", page: contextPage{fit: s.fit, window: s.window}}
	}
	return s, effects
}

func (s state) planned(m planMsg) (state, []effect) {
	s, effects := s.rest()
	switch {
	case m.err != nil:
		return s.alarm("no compaction: " + compactionFault(m.err)), effects
	case m.proposal == nil || m.proposal.Plan == nil:
		return s.alarm("no compaction: there is no plan"), effects
	}
	s.overlay = overlay{title: "Compaction, dry run", page: planPage{*m.proposal}}
	return s, effects
}

// compactionFault names the command's own option where there is nothing to
// compact.
func compactionFault(err error) string {
	if errors.Is(err, contextwindow.ErrNothing) {
		return strings.TrimPrefix(err.Error(), "plan compaction: ") + ": /compact --tail N"
	}
	return err.Error()
}

// compacted shows a compaction that a person asked for: a row, a notice and
// the new estimate (F-MAN-03, P-ROW-03, P-ROW-04).
func (s state) compacted(m compactedMsg) (state, []effect) {
	s, effects := s.rest()
	if m.err != nil || m.plan == nil || m.plan.Checkpoint == nil {
		reason := "there is no plan"
		if m.err != nil {
			reason = compactionFault(m.err)
		}
		return s.alarm("nothing was compacted: " + reason), effects
	}
	c := m.plan.Checkpoint
	s = s.add(newRow(compactionRow{trace.CompactionMark{
		ID: c.ID, ThroughMessage: c.Anchors.Last, Generation: c.Generation,
		SummaryTokens: c.EstimatedCheckpointTokens, Summarized: c.SummarizedThroughMessageIndex,
	}}))
	text := fmt.Sprintf("The window held %s tokens and holds %s now. The transcript is kept: nothing of it was removed.",
		inspect.Tokens(m.plan.TokensBefore), inspect.Tokens(m.plan.TokensAfter))
	if m.window != nil && m.window.Fit != nil {
		s.window, s.fit = m.window, m.window.Fit
		e := s.fit.Estimate
		text += fmt.Sprintf(" The next request is estimated at %s tokens%s.", inspect.Tokens(e.Tokens), band(e.BandTokens))
	} else {
		s.window, s.fit = nil, nil // what was measured is no longer true
	}
	return s.say(text), effects
}

// opened shows the session that is open now.
func (s state) opened(m openedMsg) (state, []effect) {
	s, effects := s.rest()
	if m.err != nil {
		return s.alarm(fmt.Sprintf("could not %s the session: %v", m.open.how, m.err)), effects
	}
	s.info, s.spent, s.skills = m.info, spending{}.add(m.info.CostUSD), m.skills
	s.rows, s.stream, s.overlay, s.scroll = conversationRows(m.conversation), stream{}, overlay{}, 0
	s.fit, s.window, s.told = nil, nil, ""
	if len(s.rows) == 0 {
		s = s.add(newRow(textRow{[]textLine{
			{term: "Forge " + m.info.Version},
			{text: strings.TrimSpace("works in " + m.info.Workspace)},
			{text: "Say what to do. / lists commands, @ names a file, /help says more."},
		}}))
	}
	switch m.open.how {
	case openFork:
		s = s.say("this is a copy; the session it was made from is kept as it is")
	case openRewind:
		s = s.say("what was said since is kept in the session before")
		if s.editor.empty() {
			s.editor = newEditor(m.open.prompt)
		}
	case openStart, openResume, openNew:
	}
	for _, w := range m.info.Warnings {
		s = s.alarm(w)
	}
	s.history = append(s.history[:len(s.history):len(s.history)], prompts(m.conversation)...)
	s.histAt = len(s.history)
	if len(effects) > 0 {
		return s, effects
	}
	return s, []effect{measure{}}
}

// changed answers for a setting or a pin.
func (s state) changed(m changedMsg) (state, []effect) {
	s, effects := s.rest()
	if m.err != nil {
		return s.alarm("nothing was changed: " + m.err.Error()), effects
	}
	s.info = m.info
	s.window, s.fit = m.window, nil // another model may have another window (fault B16)
	if m.window != nil {
		s.fit = m.window.Fit
	}
	return s.say(m.said), effects
}

func band(tokens int) string {
	if tokens == 0 {
		return ""
	}
	return ", give or take " + inspect.Tokens(tokens)
}
