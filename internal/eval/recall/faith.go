package recall

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// A FaithReport says how true checkpoints and stand-ins are, over the recorded
// sessions, each compacted as a whole to the default weight.
type FaithReport struct {
	// Sessions is how many were compacted.
	Sessions int `json:"sessions"`
	// Lines counts the lines of the checkpoints, QuotedLines those under the
	// user's headings, TrueLines those of these that stand in their message
	// word for word. Findings counts what the verification of the checkpoints
	// found.
	Lines       int `json:"lines"`
	QuotedLines int `json:"quotedLines"`
	TrueLines   int `json:"trueLines"`
	Findings    int `json:"findings"`
	// Default and Tenth are the artefacts in checkpoints of the default
	// weight and of a tenth of the session.
	Default Artefacts `json:"artefactsByDefault"`
	Tenth   Artefacts `json:"artefactsAtTenPercent"`
	// StandIns counts the tool results that a stand-in can be made for,
	// StandInBytes the bytes that they hold, RestoredBytes those that its
	// reference gives back unchanged, in one call for each.
	StandIns      int `json:"standIns"`
	StandInBytes  int `json:"standInBytes"`
	RestoredBytes int `json:"restoredBytes"`
}

// Artefacts compare the files that tool calls changed with success, and that
// no later command removed, with those that checkpoints list as changed by
// such calls. What commands change is left out on both sides: no replay knows
// it.
type Artefacts struct {
	// Truth, Listed and Hit count the files that were changed, that are
	// listed, and both.
	Truth  int     `json:"changed"`
	Listed int     `json:"listed"`
	Hit    int     `json:"hit"`
	F1     float64 `json:"f1"`
}

func (a *Artefacts) add(o Artefacts) {
	a.Truth += o.Truth
	a.Listed += o.Listed
	a.Hit += o.Hit
	a.F1 = 2 * float64(a.Hit) / float64(max(1, a.Truth+a.Listed))
}

// Fidelity is the share of quoted lines that are true.
func (r FaithReport) Fidelity() float64 { return float64(r.TrueLines) / float64(max(1, r.QuotedLines)) }

// Restorable is the share of bytes that come back.
func (r FaithReport) Restorable() float64 {
	return float64(r.RestoredBytes) / float64(max(1, r.StandInBytes))
}

func faith(ctx context.Context, c *corpus.Corpus, o Options) (FaithReport, error) {
	results := make([]FaithReport, len(c.Sessions))
	err := work.Each(ctx, "checkpoints and stand-ins", len(c.Sessions), o.Progress, func(ctx context.Context, _, i int) error {
		t := c.Sessions[i].Session.Transcript
		if err := results[i].checkpoint(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", c.Sessions[i].Name, err)
		}
		return results[i].standIns(t)
	})
	var out FaithReport
	for _, r := range results {
		out.Sessions += r.Sessions
		out.Lines += r.Lines
		out.QuotedLines += r.QuotedLines
		out.TrueLines += r.TrueLines
		out.Findings += r.Findings
		out.Default.add(r.Default)
		out.Tenth.add(r.Tenth)
		out.StandIns += r.StandIns
		out.StandInBytes += r.StandInBytes
		out.RestoredBytes += r.RestoredBytes
	}
	return out, err
}

func (r *FaithReport) checkpoint(ctx context.Context, t *transcript.Transcript) error {
	made, err := compaction.Extractive{}.Compact(ctx, compaction.Input{Transcript: t, Through: t.Len(), Counter: newCounter(), Now: time.Unix(0, 0)})
	if errors.Is(err, compaction.ErrNoGain) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Sessions++
	r.Findings += len(compaction.Verify(made, t))
	lines, err := compaction.Lines(made.Summary)
	if err != nil {
		return err
	}
	for _, l := range lines {
		r.Lines++
		if l.Heading != "What the user stated" && l.Heading != "From the user's other words" {
			continue
		}
		r.QuotedLines++
		if strings.Contains(fold(t.At(l.Message).Text()), fold(l.Text)) {
			r.TrueLines++
		}
	}
	r.Default.add(compareFiles(t, made))
	larger, err := compaction.Extractive{}.Compact(ctx, compaction.Input{Transcript: t, Through: t.Len(), Counter: newCounter(), Reduction: 0.9, Now: time.Unix(0, 0)})
	if err == nil {
		r.Tenth.add(compareFiles(t, larger))
	}
	return nil
}

func compareFiles(t *transcript.Transcript, c *checkpoint.Checkpoint) Artefacts {
	truth, listed := changed(t), listedFiles(t, c)
	a := Artefacts{Truth: len(truth), Listed: len(listed)}
	for path := range listed {
		if truth[path] {
			a.Hit++
		}
	}
	return a
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

// listedFiles reads which files a checkpoint's ledgers call changed by a tool
// that names them.
func listedFiles(t *transcript.Transcript, c *checkpoint.Checkpoint) map[string]bool {
	out := map[string]bool{}
	for _, ledger := range []string{compaction.LedgerFiles, compaction.LedgerArtefacts} {
		for _, e := range c.Ledgers[ledger] {
			verb, path, _ := strings.Cut(e.Text, " ")
			at, known := t.Index(e.MessageID)
			if verb != "edited" && verb != "created" || !known || !namesFile(t, at) {
				continue
			}
			path, _, _ = strings.Cut(path, " (")
			out[path] = true
		}
	}
	return out
}

// namesFile reports whether a message holds, or answers, a call of a tool that
// names the file it changes.
func namesFile(t *transcript.Transcript, at int) bool {
	for b, block := range t.At(at).Blocks {
		if _, ok := block.(message.ToolResult); ok {
			if from, ok := t.Call(transcript.Ref{Message: at, Block: b}); ok {
				block = t.At(from.Message).Blocks[from.Block]
			}
		}
		if call, ok := block.(message.ToolCall); ok && (writes(call.Name) || strings.Contains(call.Arguments, "*** Begin Patch")) {
			return true
		}
	}
	return false
}

// changed replays which files tool calls changed with success. It knows the
// tools whose arguments name a file, and patches; not what commands do.
func changed(t *transcript.Transcript) map[string]bool {
	out := map[string]bool{}
	path := regexp.MustCompile(`"(?:file_path|filePath|path|absolute_path|notebook_path|filename)"\s*:\s*"((?:[^"\\]|\\.)*)"`)
	patched := regexp.MustCompile(`\*\*\* (?:Add|Update) File: ([^\n"\\]+)`)
	for i, m := range t.All() {
		for b, block := range m.Blocks {
			call, ok := block.(message.ToolCall)
			if !ok {
				continue
			}
			at, answered := t.Result(transcript.Ref{Message: i, Block: b})
			if !answered {
				continue
			}
			if removes(call) {
				for path := range out {
					if strings.Contains(call.Arguments, path) {
						delete(out, path)
					}
				}
			}
			result, ok := t.At(at.Message).Blocks[at.Block].(message.ToolResult)
			if !ok || projection.OutcomeOf(result) == message.OutcomeFailure {
				continue
			}
			for _, found := range patched.FindAllStringSubmatch(call.Arguments, -1) {
				out[strings.TrimSpace(found[1])] = true
			}
			if found := path.FindStringSubmatch(call.Arguments); found != nil && writes(call.Name) {
				out[found[1]] = true
			}
		}
	}
	return out
}

// removes reports whether a call is a command that deletes.
func removes(call message.ToolCall) bool {
	return !writes(call.Name) && (strings.Contains(call.Arguments, `"rm `) || strings.Contains(call.Arguments, " rm "))
}

// writes reports whether a tool changes the file that it names.
func writes(tool string) bool {
	switch strings.ToLower(tool) {
	case "edit", "write", "multiedit", "notebookedit", "replace", "write_file", "edit_file", "create_file":
		return true
	}
	return false
}

// standIns makes a stand-in for every tool result and follows its reference.
func (r *FaithReport) standIns(t *transcript.Transcript) error {
	reference := regexp.MustCompile(`recall (#[0-9.]+)`)
	for i, m := range t.All() {
		if m.Role != message.RoleTool {
			continue
		}
		for b := range m.Blocks {
			source, _, err := projection.SourceAt(t, transcript.Ref{Message: i, Block: b})
			if err != nil {
				return err
			}
			text, ok := projection.StandIn(source, projection.Targets{})
			if !ok {
				continue
			}
			r.StandIns++
			original := source.Result.Text()
			r.StandInBytes += len(original)
			found := reference.FindStringSubmatch(text)
			if found == nil {
				continue
			}
			at, ok := projection.ParseReference(found[1])
			if !ok || at.Message >= t.Len() || at.Block >= len(t.At(at.Message).Blocks) {
				continue
			}
			if back, ok := t.At(at.Message).Blocks[at.Block].(message.ToolResult); ok && back.Text() == original {
				r.RestoredBytes += len(original)
			}
		}
	}
	return nil
}
