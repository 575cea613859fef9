package projection

import (
	"slices"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// MinRepeatSavedTokens is the least that the text of Repeat should take off a
// result: a short output is worth more than the pointer to an equal one.
const MinRepeatSavedTokens = 100

// Repeat returns the text that stands for a tool result whose content is that
// of an earlier one, sameAs, which the view shows:
//
//	[repeated tool output: read_file, succeeded, 5120 bytes, the same as #12, hash 2c26b46b68ff, recall #31]
//
// Nothing is lost, since the content stands further up, and it costs no cache
// when it is done before the result is first sent. Like StandIn it depends on
// its arguments only, and stays true when the earlier result is cleared.
//
// ok is false when the result is a stand-in itself.
func Repeat(s Source, sameAs transcript.Ref) (text string, ok bool) {
	original := s.Result.Text()
	if IsStandIn(original) {
		return "", false
	}
	return header(repeatPrefix, s, original, OutcomeOf(s.Result), Reference(sameAs)), true
}

// mostSearched is how long a conversation may be, in observations that are no
// longer among the newest, for one of them to be held again: it must be taken
// out of what can be cleared, which looks at all of them.
const mostSearched = 512

// Shown returns the newest tool result with this content that the view shows
// as it is, and that can be held there.
func (s *Scheduler) Shown(content message.Hash) (transcript.Ref, bool) {
	i, ok := s.newestSame[content]
	if !ok || s.observations[i].cleared || s.observations[i].grouped && s.aged > mostSearched {
		return transcript.Ref{}, false
	}
	return s.observations[i].Ref, true
}

// AsRepeat returns the observation as it is once a pointer that weighs
// pointerTokens stands for it. Nothing more can be taken off it.
func (o Observation) AsRepeat(sameAs transcript.Ref, pointerTokens int) Observation {
	o.Tokens, o.StandInTokens, o.SameAs = pointerTokens, pointerTokens, &sameAs
	return o
}

// hold keeps an observation in the view for as long as one that points to it
// is among the newest: what the model has just read must be somewhere.
func (s *Scheduler) hold(original, by int) {
	e := &s.observations[original]
	grouped := e.grouped
	e.heldBy, e.grouped = by, false
	if grouped {
		s.rebuild()
		return
	}
	s.late = slices.DeleteFunc(s.late, func(i int) bool { return i == original })
}

// release ends what hold began, once observation i is no longer among the
// newest.
func (s *Scheduler) release(i int) {
	o := s.observations[i].original
	if o == none || s.observations[o].heldBy != i {
		return
	}
	s.observations[o].heldBy = none
	if o < s.aged && s.observations[o].clearable() {
		s.insert(o)
	}
}

// admitRepeat takes note that observation i points to an earlier one. What the
// scheduler does not know, or what is cleared, holds nothing.
func (s *Scheduler) admitRepeat(i int, o Observation) {
	if o.SameAs == nil {
		return
	}
	original, known := s.index[*o.SameAs]
	if !known || s.observations[original].cleared {
		return
	}
	s.observations[i].original = original
	s.observations[original].superseded = false // it is what came again
	s.hold(original, i)
}

// none is no observation.
const none = -1

// pointsTo reports whether the new observation o points to observation i, which
// is not out of date then.
func (s *Scheduler) pointsTo(o Observation, i int) bool {
	return o.SameAs != nil && s.observations[i].Ref == *o.SameAs
}
