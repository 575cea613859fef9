package trace

import (
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/contextwindow"
)

// Compactions makes the events for the checkpoints that a Fit made or took up
// again, in order: they stand before its budget event.
func Compactions(f *contextwindow.Fit, trigger Trigger) []Payload {
	var out []Payload
	for _, r := range f.Compactions {
		c := r.Checkpoint
		if !r.Reused {
			out = append(out, &CompactionStarted{
				Compaction: c.ID, Request: f.Step, Trigger: trigger, Strategy: string(c.Strategy), Method: string(c.Method), Model: c.ModelID,
				FromMessage: c.Anchors.First, ThroughMessage: c.Anchors.Last, Messages: c.SummarizedThroughMessageIndex, SourceHash: c.SourceHash, TokensBefore: r.TokensBefore,
			})
		}
		out = append(out, &CompactionCompleted{
			Compaction: c.ID, Request: f.Step, Strategy: string(c.Strategy), Method: string(c.Method), SourceHash: c.SourceHash, OutputHash: c.PayloadHash(),
			Opaque: c.Summary == "", TokensBefore: r.TokensBefore, TokensAfter: r.TokensAfter,
			Mark: CompactionMark{ID: c.ID, ThroughMessage: c.Anchors.Last, Generation: c.Generation,
				SummaryTokens: c.EstimatedCheckpointTokens, Summarized: c.SummarizedThroughMessageIndex},
		})
	}
	return out
}

// With adds what compaction and projection did to a Fit.
func (d Details) With(f *contextwindow.Fit) Details {
	if n := len(f.Compactions); n > 0 {
		d.Strategy = string(f.Compactions[n-1].Checkpoint.Strategy)
	}
	for _, r := range f.Compactions {
		d.ReclaimedTokens += r.ReclaimedTokens()
	}
	for _, x := range f.Projections {
		d.ReclaimedTokens += x.TokensBefore - x.TokensAfter
	}
	if f.Checkpoint != nil {
		d.Summarized = summarized(f.Checkpoint)
	}
	return d
}

func summarized(c *checkpoint.Checkpoint) *SummarizedRange {
	return &SummarizedRange{FromMessage: c.Anchors.First, ThroughMessage: c.Anchors.Last, Messages: c.SummarizedThroughMessageIndex, Checkpoint: c.ID}
}
