package contextwindow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/transcript"
)

// Defaults and bounds of compaction (F-CFG-01, resolution C15, P-RET-05).
const (
	// DefaultRecentTailTokens is how much of the newest messages stays
	// verbatim.
	DefaultRecentTailTokens = 12000
	// RetainedUserTokens is the most that user messages may weigh that stay
	// in the view out of a summarized range; half the budget is the other
	// bound.
	RetainedUserTokens = 20000
	// MinReclaimTokens is the least that a compaction must free, or 2 % of
	// the window if that is more.
	MinReclaimTokens = 512
	// MaxAttempts is how many checkpoints are made for one request.
	MaxAttempts = 2
)

// Compaction are the settings of the mode Compact. The zero value means the
// defaults.
type Compaction struct {
	// Strategy makes checkpoints; nil means compaction.Extractive.
	Strategy compaction.Strategy
	// RecentTailTokens is how much of the newest messages stays verbatim;
	// zero means DefaultRecentTailTokens, negative is an error.
	RecentTailTokens int
	// SummaryTargetTokens is the most that a checkpoint may weigh; zero means
	// compaction.DefaultSummaryTargetTokens, negative is an error.
	SummaryTargetTokens int
	// Chain holds the checkpoints of the session so far; nil for none. The
	// manager appends to it.
	Chain *checkpoint.Chain
	// Prices and Cache are those of the model, from the catalog: old tool
	// output is cleared of its own accord only where that pays. Unknown
	// prices leave it to the budget.
	Prices catalog.Prices
	Cache  catalog.CacheRules
	// Now gives the time that a checkpoint records; nil records none.
	Now func() time.Time
}

func (c Compaction) withDefaults() (Compaction, error) {
	if c.RecentTailTokens < 0 || c.SummaryTargetTokens < 0 {
		return c, fmt.Errorf("%w: recentTailTokens is %d and summaryTargetTokens %d; use 0 for the defaults", ErrInvalid, c.RecentTailTokens, c.SummaryTargetTokens)
	}
	if c.Strategy == nil {
		c.Strategy = compaction.Extractive{}
	}
	if c.RecentTailTokens == 0 {
		c.RecentTailTokens = DefaultRecentTailTokens
	}
	if c.SummaryTargetTokens == 0 {
		c.SummaryTargetTokens = compaction.DefaultSummaryTargetTokens
	}
	if c.Chain == nil {
		c.Chain = &checkpoint.Chain{}
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Time{} }
	}
	return c, nil
}

// CompactionReport is one checkpoint that was made or reused.
type CompactionReport struct {
	// Checkpoint is what stands for the range.
	Checkpoint *checkpoint.Checkpoint
	// Reused: it had been made before.
	Reused bool
	// Shape is how the view was cut.
	Shape Shape
	// TokensBefore and TokensAfter are the counted request.
	TokensBefore, TokensAfter int
	// RetainedUsers is how many user messages of the range stay in the view.
	RetainedUsers int
}

// ReclaimedTokens is what was freed.
func (r CompactionReport) ReclaimedTokens() int { return r.TokensBefore - r.TokensAfter }

// reuse installs the newest valid checkpoint when it stands for more than
// what is summarized now (F-SEL-05).
func (m *Manager) reuse(in Input, f *Fit) (bool, error) {
	c := m.usable(in)
	if c == nil || c.SummarizedThroughMessageIndex <= m.through {
		return false, nil
	}
	shape := ShapeTurns
	if start := currentTurn(in); c.SummarizedThroughMessageIndex > start {
		shape = ShapeUserMessages
	}
	cut := Cut{Through: c.SummarizedThroughMessageIndex, Shape: shape}
	if p := m.layOut(in, cut, c); p.TokensAfter >= p.TokensBefore {
		return false, nil
	}
	return true, m.install(in, f, c, cut, true)
}

// compact makes a checkpoint for the cut and installs it. It reports false,
// and leaves everything as it was, when that would gain too little.
func (m *Manager) compact(ctx context.Context, in Input, f *Fit, cut Cut) (bool, error) {
	source := in.Transcript.RangeHash(0, cut.Through)
	if m.compacted[source] {
		return false, nil // the same range again frees nothing (F-NOP-02)
	}
	made, err := m.make(ctx, m.input(in, cut))
	if errors.Is(err, compaction.ErrNoGain) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c := made[len(made)-1]
	if c.Method == checkpoint.MethodFreshWindow {
		cut = Cut{Through: c.SummarizedThroughMessageIndex, Shape: ShapeTurns, RangeTokens: c.TokensBefore}
	}
	if cut.RangeTokens-c.EstimatedCheckpointTokens < m.minReclaim() && !cut.Manual {
		return false, nil // F-NOP-03
	}
	if p := m.layOut(in, cut, c); p.TokensAfter >= p.TokensBefore {
		return false, nil // the marks on what stays outweigh the range (weak spot 5)
	}
	for _, record := range made {
		if err := m.compaction.Chain.Add(record, in.Transcript); err != nil {
			return false, fmt.Errorf("keep checkpoint: %w", err)
		}
	}
	m.compacted[source] = true
	return true, m.install(in, f, c, cut, false)
}

func (m *Manager) minReclaim() int { return max(MinReclaimTokens, m.budget.WindowTokens/50) }

// install puts a checkpoint into the view.
func (m *Manager) install(in Input, f *Fit, c *checkpoint.Checkpoint, cut Cut, reused bool) error {
	before := m.view.Breakdown().Total()
	users := m.retainedUsers(in, cut)
	m.windows++
	if err := m.show(in.Transcript, c, cut.Through, users, keptRequest(in, cut)); err != nil {
		return err
	}
	m.compactedTo(cut.Through)
	m.claims = claims{}
	m.newContext = false
	f.Compactions = append(f.Compactions, CompactionReport{Checkpoint: c, Reused: reused, Shape: cut.Shape,
		TokensBefore: before, TokensAfter: m.view.Breakdown().Total(), RetainedUsers: len(users)})
	return nil
}

// show puts a checkpoint and what stays beside it into the view.
func (m *Manager) show(t *transcript.Transcript, c *checkpoint.Checkpoint, through int, users []activeview.RetainedUser, kept []int) error {
	err := m.view.Install(t, activeview.Retention{Through: through, Memory: memoryOf(c, m.windows), Users: users, Kept: kept})
	if err != nil {
		return fmt.Errorf("install checkpoint: %w", err)
	}
	m.through, m.active, m.users, m.kept = through, c, users, kept
	return nil
}

// memoryOf is a checkpoint as the model sees it: a message of its own, of low
// authority (resolution C13, F-SUM-05).
func memoryOf(c *checkpoint.Checkpoint, window int) []message.Message {
	var b message.Block = message.Text{Text: c.Summary}
	if c.Summary == "" {
		b = message.Opaque{Provider: c.Provider, Type: "compaction", Data: c.OpaqueProviderItem}
	}
	return []message.Message{{ID: fmt.Sprintf("%s.%d", c.ID, window), Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{b}}}
}

// retainedUsers chooses the user messages of a range that stay, newest first
// up to their share; the one that crosses it is cut, and order is restored
// (P-RET-03 to P-RET-07).
func (m *Manager) retainedUsers(in Input, cut Cut) []activeview.RetainedUser {
	if cut.Shape != ShapeUserMessages {
		return nil
	}
	left := min(RetainedUserTokens, m.budget.AvailableTokens/2)
	if cut.UserTokens > 0 {
		left = min(left, cut.UserTokens)
	}
	start := currentTurn(in)
	mark := m.counter.Text(activeview.HistoricalMark)
	var out []activeview.RetainedUser
	for i := min(cut.Through, start) - 1; i >= 0; i-- {
		msg := in.Transcript.At(i)
		if !msg.Authored() {
			continue
		}
		cost := m.counter.Message(msg).Total() + mark
		if cost <= left {
			out = append(out, activeview.RetainedUser{Index: i})
			left -= cost
			continue
		}
		if text := m.cutText(msg.Text(), left-mark-cost/20-8); text != "" {
			out = append(out, activeview.RetainedUser{Index: i, Text: text})
		}
		break
	}
	slices.Reverse(out)
	return out
}

// cutText returns the longest beginning of text that weighs at most
// maxTokens, with a mark at its end; empty when nothing sensible fits.
func (m *Manager) cutText(text string, maxTokens int) string {
	const end = " […]"
	const least = 24 // a shorter rest tells nothing
	if maxTokens < least || text == "" {
		return ""
	}
	low, high := 0, len(text)
	for low < high {
		mid := runeStart(text, (low+high+1)/2)
		if mid <= low {
			break
		}
		if m.counter.Text(text[:mid]+end) <= maxTokens {
			low = mid
		} else {
			high = mid - 1
		}
	}
	low = runeStart(text, low)
	if low == 0 {
		return ""
	}
	return text[:low] + end
}

// runeStart returns the start of the rune that holds byte i of text.
func runeStart(text string, i int) int {
	if i >= len(text) {
		return len(text)
	}
	for i > 0 && text[i]&0xC0 == 0x80 {
		i--
	}
	return i
}
