package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/internal/app"
	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// Figures of the run under pressure. The files alone weigh 531,000 tokens, all
// of which have to be read once without a cache. mostUncached only keeps what is
// reached: the issue asks for 700,000 (docs/measured.md).
const (
	pressureSteps   = 300
	pressureBytes   = 6 << 10
	pressureWindow  = 64_000
	mostCompactions = 8
	mostUncached    = 700_000
	// At known prices old output is cleared as often as is cheapest, which
	// reads more anew and costs less.
	mostUncachedPriced = 860_000
	pressurePlanted    = "Do not touch internal/legacy/wire.go under any circumstances."
	pressureQuestion   = "Migrate the parser to the new reader, file by file. " + pressurePlanted
)

// F-E2E-01, F-RUN-02, issue "under pressure": 300 steps of 6 KB each, by each
// wire format, through the real adapters and tools.
func TestUnderPressureByWireFormat(t *testing.T) {
	text := sources(t, pressureSteps*pressureBytes+pressureBytes)
	for _, d := range scripted.Dialects() {
		t.Run(string(d)+" at the model's prices", func(t *testing.T) {
			t.Parallel()
			underPressure(t, d, text, mostUncachedPriced, func(*app.Options) {})
		})
		t.Run(string(d)+" at unknown prices", func(t *testing.T) {
			t.Parallel()
			underPressure(t, d, text, mostUncached, func(o *app.Options) { o.Choice.Entry.Prices = catalog.Prices{} })
		})
	}
}

func underPressure(t *testing.T, d wirebody.Dialect, text string, mostUncached int, change func(*app.Options)) {
	b := newBench(t, d, pressureWindow, map[string]string{"context.mode": "compact", "limits.maxSteps": "400"},
		scripted.Options{WindowTokens: pressureWindow, Script: func(r scripted.Request) scripted.Reply {
			if r.N > pressureSteps {
				return scripted.Reply{Text: "The parser is migrated."}
			}
			return scripted.Reply{Calls: []scripted.Call{{Name: "read_file", Arguments: fmt.Sprintf(`{"path":"src/file%03d.go"}`, r.N)}}}
		}})
	change(&b.options)
	b.app.Close()
	b.open()
	for i := range pressureSteps {
		part := text[i*pressureBytes : (i+1)*pressureBytes]
		b.write(fmt.Sprintf("src/file%03d.go", i+1), strings.ToValidUTF8(part, "?"))
	}
	res := b.run(pressureQuestion)
	total := b.server.Totals()
	t.Logf("%s: %d requests, %d compactions, %d stand-ins, input %d, uncached %d, heaviest %d (with the bound of its answer %d)",
		d, total.Requests, res.Totals.Compactions, res.Totals.Projections, total.InputTokens, total.UncachedTokens(), total.PeakInputTokens, total.PeakWithOutputTokens)
	if res.Status != agent.StatusCompleted || res.Totals.ToolCalls != pressureSteps || res.Totals.Refused+res.Totals.Denied > 0 {
		t.Errorf("result %+v", res)
	}
	if total.OverWindow > 0 || total.PeakWithOutputTokens > pressureWindow {
		t.Errorf("%d requests over the window, the heaviest %d", total.OverWindow, total.PeakWithOutputTokens)
	}
	if res.Totals.Compactions > mostCompactions || total.UncachedTokens() > mostUncached || total.Uncapped > 0 {
		t.Errorf("%d compactions, %d uncached tokens, %d requests without a bound", res.Totals.Compactions, total.UncachedTokens(), total.Uncapped)
	}
	last := b.server.Requests()
	if !strings.Contains(last[len(last)-1].Text(), pressurePlanted) {
		t.Error("the constraint is not in the last request")
	}
}
