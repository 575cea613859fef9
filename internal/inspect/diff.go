package inspect

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
)

// A Diff compares two requests of a run.
type Diff struct {
	// Before and After are the two requests.
	Before, After *Request
	// Added are lines that only After has, Removed lines that only Before
	// has, Changed lines that both have in different forms; each with the
	// heaviest first.
	Added, Removed []activeview.Line
	Changed        []ChangedLine
	// Same is how many lines are the same in both.
	Same int
	// Prefix says how much of Before is an unchanged beginning of After.
	Prefix Prefix
}

// A ChangedLine is a line in its two forms.
type ChangedLine struct {
	Before activeview.Line `json:"before"`
	After  activeview.Line `json:"after"`
}

// ChangeTokens is how much heavier the line became.
func (c ChangedLine) ChangeTokens() int {
	return weight(c.After) - weight(c.Before)
}

// PrefixCause says what ended the common beginning of two requests.
type PrefixCause string

// The causes, in the order in which they stand in a request.
const (
	PrefixIntact       PrefixCause = "intact"               // nothing: the later request only adds at its end
	PrefixModel        PrefixCause = "model changed"        // another model has another cache
	PrefixTools        PrefixCause = "tools changed"        // the advertised tools are not the same
	PrefixInstructions PrefixCause = "instructions changed" // the instructions are not the same
	PrefixSummary      PrefixCause = "summary changed"      // a summary came, went or was replaced
	PrefixCleared      PrefixCause = "tool output cleared"  // a stand-in took the place of tool output
	PrefixMessages     PrefixCause = "messages changed"     // messages left, came back or were altered
)

// A Prefix is the unchanged beginning of two requests, in the order in which
// a provider reads them: tools, instructions, memory, messages. A provider's
// cache covers at most this much.
type Prefix struct {
	// Cause is what ended it.
	Cause PrefixCause `json:"cause"`
	// SharedTokens is the weight of the beginning that is the same; LostTokens
	// is the rest of the earlier request, which a cache no longer covers.
	// Together they are the earlier request's estimate.
	SharedTokens int `json:"sharedTokens"`
	LostTokens   int `json:"lostTokens"`
	// Line is the id of the first line of the earlier request that is
	// different, empty when intact.
	Line string `json:"line,omitempty"`
}

// Diff compares the requests at two indexes.
func (r *Run) Diff(before, after int) Diff {
	d := Diff{Before: &r.Requests[before], After: &r.Requests[after]}
	old, present := r.at(before), r.at(after)
	byID := make(map[string][]*version, len(present))
	for _, v := range present {
		byID[v.line.ID] = append(byID[v.line.ID], v)
	}
	for _, v := range old {
		same := byID[v.line.ID]
		if len(same) == 0 {
			d.Removed = append(d.Removed, v.line)
			continue
		}
		w := same[0]
		byID[v.line.ID] = same[1:]
		if w.line == v.line {
			d.Same++
			continue
		}
		d.Changed = append(d.Changed, ChangedLine{Before: v.line, After: w.line})
	}
	for _, v := range present {
		if left := byID[v.line.ID]; len(left) > 0 && left[0] == v {
			byID[v.line.ID] = left[1:]
			d.Added = append(d.Added, v.line)
		}
	}
	slices.SortStableFunc(d.Added, heavier)
	slices.SortStableFunc(d.Removed, heavier)
	slices.SortStableFunc(d.Changed, func(a, b ChangedLine) int {
		return cmp.Compare(max(b.ChangeTokens(), -b.ChangeTokens()), max(a.ChangeTokens(), -a.ChangeTokens()))
	})
	d.Prefix = prefix(old, present, d.Before.Budgeted.Model != d.After.Budgeted.Model)
	d.Prefix.scale(d.Before.InputTokens())
	return d
}

// memoryPrefix begins the ids that activeview gives to memory: the messages
// that stand before the transcript's own.
const memoryPrefix = "compaction-"

// section is where a line stands in a request.
func section(l activeview.Line) int {
	switch {
	case l.Category == budget.ToolSchemas:
		return 0
	case l.Reason == activeview.ReasonInstructions:
		return 1
	case strings.HasPrefix(l.ID, memoryPrefix):
		return 2
	}
	return 3
}

func sent(l activeview.Line) bool {
	return l.Decision == activeview.Kept || l.Decision == activeview.Projected
}

// wire puts the versions that were sent into request order.
func wire(at []*version) []*version {
	var out []*version
	for _, v := range at {
		if sent(v.line) {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b *version) int { return cmp.Compare(section(a.line), section(b.line)) })
	return out
}

// sameBytes reports whether two lines are the same to a provider. Category
// and reason are ours alone.
func sameBytes(a, b activeview.Line) bool {
	return a.Hash == b.Hash && a.Decision == b.Decision && (a.Decision == activeview.Kept || a.Tokens == b.Tokens)
}

func prefix(before, after []*version, otherModel bool) Prefix {
	old, present := wire(before), wire(after)
	n := 0
	for n < len(old) && n < len(present) && sameBytes(old[n].line, present[n].line) {
		n++
	}
	if otherModel {
		n = 0
	}
	p := Prefix{Cause: PrefixIntact}
	for i, v := range old {
		if i < n {
			p.SharedTokens += weight(v.line)
			continue
		}
		p.LostTokens += weight(v.line)
	}
	switch {
	case otherModel && len(old) > 0:
		p.Cause, p.Line = PrefixModel, old[0].line.ID
	case n < len(old):
		p.Line = old[n].line.ID
		p.Cause = cause(old[n].line, present[n:])
	}
	return p
}

// scale turns sums of counted lines into parts of the estimate of the earlier
// request. Where that is larger, the difference is what no line holds: most of
// it instructions that the file does not have, at the beginning. Where it is
// smaller, the provider was seen to count less than we do.
func (p *Prefix) scale(inputTokens int) {
	counted := p.SharedTokens + p.LostTokens
	switch {
	case counted == 0 || inputTokens == counted:
		return
	case p.SharedTokens == 0:
		p.LostTokens = inputTokens
	case inputTokens > counted:
		p.SharedTokens = inputTokens - p.LostTokens
	default:
		p.LostTokens = int(math.Round(float64(p.LostTokens) / float64(counted) * float64(inputTokens)))
		p.SharedTokens = inputTokens - p.LostTokens
	}
}

// cause finds out what stands where the first different line stood.
func cause(lost activeview.Line, rest []*version) PrefixCause {
	at := section(lost)
	if len(rest) > 0 {
		at = min(at, section(rest[0].line))
	}
	switch at {
	case 0:
		return PrefixTools
	case 1:
		return PrefixInstructions
	case 2:
		return PrefixSummary
	}
	if len(rest) > 0 && rest[0].line.Hash == lost.Hash && rest[0].line.Decision != lost.Decision {
		return PrefixCleared
	}
	return PrefixMessages
}
