package contextwindow

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/checkpoint"
)

// A State is what a manager decided about a conversation, for keeping with
// the session: with the transcript and the chain of checkpoints it gives the
// same view again after a restart, to the byte. It holds no content but the
// user messages that were cut to fit. The zero State is that of a new
// conversation.
type State struct {
	// Through is the number of messages summarized, Checkpoint the id of what
	// stands for them.
	Through    int    `json:"through,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"`
	// Users are the user messages of the range that stay in the view.
	Users []activeview.RetainedUser `json:"users,omitempty"`
	// Kept are the messages of the range that stay as they are: the request
	// that was current then.
	Kept []int `json:"kept,omitempty"`
	// Clearings is what the scheduler of projections saw, request by request.
	Clearings []Clearing `json:"clearings,omitempty"`
	// Answered: the last request went out.
	Answered bool `json:"answered,omitempty"`
	// Model is what answered the last request.
	Model string `json:"model,omitempty"`
	// Window counts the checkpoints installed.
	Window int `json:"window,omitempty"`
	// FirstReminder and SecondReminder were given in this window (fault B34).
	FirstReminder  bool `json:"firstReminder,omitempty"`
	SecondReminder bool `json:"secondReminder,omitempty"`
}

// State returns what to keep with the session.
func (m *Manager) State() State {
	s := m.Base()
	s.FirstReminder, s.SecondReminder = m.claims.First, m.claims.Second
	s.Clearings, s.Answered, s.Model = slices.Clone(m.clearings), m.answered, m.lastModel
	return s
}

// Restore brings a new manager to a kept state, before its first Fit. The
// input holds the transcript as it is now, at least as long as it was then.
// A checkpoint that is no longer valid is left out, and the view begins with
// the whole transcript: the next Fit makes it fit again. A state that no
// manager wrote for this transcript is an error; the manager is of no use then,
// make another one.
//
// The transcript may hold only what follows the checkpoint (transcript.Resume).
// Requests are weighed and sent from it; what needs the rest, a new checkpoint
// above all, is refused with ErrPartial.
func (m *Manager) Restore(in Input, s State) error {
	if m.step > 0 || in.Transcript == nil {
		return fmt.Errorf("%w: restore a manager before its first Fit, with a transcript", ErrInvalid)
	}
	m.view.SetInstructions(in.Instructions)
	m.view.SetTools(in.Tools)
	m.view.Extend(in.Transcript)
	if err := m.leaveOut(in); err != nil {
		return err
	}
	m.windows, m.claims = s.Window, claims{First: s.FirstReminder, Second: s.SecondReminder}
	if err := m.replayClearings(in.Transcript, s.Clearings); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	m.answered, m.lastModel, m.told = s.Answered, s.Model, len(m.clearings)
	switch n := len(s.Clearings); {
	case n > 0:
		m.before = s.Clearings[n-1].Messages
	case s.Answered || s.Model != "":
		m.before = in.Transcript.Len() // sent in another mode, whole
	}
	if s.Checkpoint == "" {
		if in.Transcript.Base() > 0 {
			return fmt.Errorf("restore: %w and no checkpoint stands for the rest", ErrPartial)
		}
		return nil
	}
	if in.Transcript.Base() > 0 && (len(s.Users)+len(s.Kept) > 0 || s.Through < in.Transcript.Base()) {
		return fmt.Errorf("restore: %w: user messages before message %d are in the view", ErrPartial, in.Transcript.Base()+1)
	}
	c := m.compaction.Chain.ActiveWhere(in.Transcript, func(c *checkpoint.Checkpoint) bool { return c.ID == s.Checkpoint })
	if c == nil || s.Through > in.Transcript.Len() {
		m.claims = claims{}
		return nil
	}
	if s.Through != c.SummarizedThroughMessageIndex {
		return fmt.Errorf("restore: %w: the state summarizes %d messages, its checkpoint %s covers %d; begin with the zero State instead",
			ErrInvalid, s.Through, c.ID, c.SummarizedThroughMessageIndex)
	}
	return m.show(in.Transcript, c, s.Through, s.Users, s.Kept)
}

// A Progress is what the state of a manager gains with one request. A keeper
// that stores one for each request, and the State without its Clearings when
// a checkpoint is made, writes what is new and no more.
type Progress struct {
	// Clearings are those since the last Progress, one for each request.
	Clearings []Clearing `json:"clearings,omitempty"`
	// The others are as in State.
	Answered       bool   `json:"answered,omitempty"`
	Model          string `json:"model,omitempty"`
	FirstReminder  bool   `json:"firstReminder,omitempty"`
	SecondReminder bool   `json:"secondReminder,omitempty"`
}

// Progress returns what the state has gained since the last call, or since
// Restore. With peek it is returned again by the next call.
func (m *Manager) Progress(peek bool) Progress {
	p := Progress{Answered: m.answered, Model: m.lastModel, FirstReminder: m.claims.First, SecondReminder: m.claims.Second}
	p.Clearings = slices.Clone(m.clearings[min(m.told, len(m.clearings)):])
	if !peek {
		m.told = len(m.clearings)
	}
	return p
}

// Add takes the progress of the next request in.
func (s *State) Add(p Progress) {
	if n := len(s.Clearings); n > 0 && s.Answered && len(p.Clearings) > 0 {
		s.Clearings[n-1].Sent = true // as the manager does when the next request comes
	}
	s.Clearings = append(s.Clearings, p.Clearings...)
	s.Answered, s.Model, s.FirstReminder, s.SecondReminder = p.Answered, p.Model, p.FirstReminder, p.SecondReminder
}

// Base returns the state without what Progress tells: what is to be stored
// with a checkpoint.
func (m *Manager) Base() State {
	s := State{Through: m.through, Users: m.users, Kept: m.kept, Window: m.windows}
	if m.active != nil {
		s.Checkpoint = m.active.ID
	}
	return s
}
