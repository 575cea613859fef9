package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/tool"
)

// source is a listing of about n bytes.
func source(seed, n int) string {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	words := []string{"return", "value", "err", "nil", "request", "buffer", "index", "func", "range", "append", "result", "parse", "token", "window", "limit"}
	var b strings.Builder
	for line := 1; b.Len() < n; line++ {
		fmt.Fprintf(&b, "%d\t", line)
		for range 4 + r.IntN(8) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(" .(,)"[r.IntN(5)])
		}
		b.WriteByte('\n')
	}
	return b.String()[:n]
}

// prefixCache counts what a cache of common beginnings would not cover.
type prefixCache struct {
	last     []string
	uncached int
	total    int
	peak     int
}

func (c *prefixCache) take(r model.Request) message.Usage {
	pieces := []string{}
	for _, m := range append(append([]message.Message{}, r.Instructions...), r.Messages...) {
		pieces = append(pieces, string(m.AppendCanonical(nil)))
	}
	pieces = append(pieces, r.Reminder)
	counter := o200k.New()
	total, cached, same := 0, 0, true
	for i, p := range pieces {
		n := counter.Count(p)
		total += n
		same = same && i < len(c.last) && c.last[i] == p
		if same {
			cached += n
		}
	}
	c.last = pieces
	c.uncached += total - cached
	c.total += total
	c.peak = max(c.peak, total)
	return message.Usage{InputTokens: total, CachedInputTokens: cached, OutputTokens: 30}
}

// F-RUN-02, F-RUN-04, issue "Under pressure": 300 steps of 6 KB in a window
// of 64,000 tokens.
func TestUnderPressure(t *testing.T) {
	// The application plays all of it in each wire format; here a short run
	// stands for it unless asked for more.
	steps, names := 60, []string{"gpt-5"}
	if os.Getenv("FORGE_SOAK") != "" {
		steps, names = 300, []string{"gpt-5", "claude-sonnet-4-5", "deepseek-chat", "unknown"}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			cache := &prefixCache{}
			b := newBench(t, contextwindow.Compact, 64000, func(i int, r model.Request) modeltest.Reply {
				u := cache.take(r)
				reply := say("done")
				if i < steps {
					reply = modeltest.Call(call(fmt.Sprint("c", i), "read", fmt.Sprint(i)))
				}
				for k, e := range reply.Events {
					if done, ok := e.(model.Completed); ok {
						done.Usage = &u
						reply.Events[k] = done
					}
				}
				return reply
			})
			b.read.run = func(_ context.Context, text string) tool.Result {
				n := 0
				fmt.Sscan(text, &n)
				return tool.Success(source(n, 6144))
			}
			if m, ok := catalog.Default().Lookup(name); ok {
				b.options.Prices, b.options.Cache = m.Prices, m.Cache
			}
			b.renew()
			b.request.Limits = agent.Limits{Steps: 400, ToolCalls: 400}
			res := b.run("Migrate the parser. Do not touch internal/legacy/wire.go under any circumstances.")
			t.Logf("%s: compactions %d, projections %d, uncached %d of %d, peak %d", name, res.Totals.Compactions, res.Totals.Projections, cache.uncached, cache.total, cache.peak)
			if res.Status != agent.StatusCompleted || len(b.read.runs) != steps {
				t.Errorf("result %+v", res)
			}
			if cache.peak > 64000 {
				t.Errorf("a request weighs %d", cache.peak)
			}
			if res.Totals.Compactions > 8 {
				t.Errorf("%d compactions", res.Totals.Compactions)
			}
			if cache.uncached > 2400*steps || steps == 300 && cache.uncached > 700_000 {
				t.Errorf("%d uncached input tokens", cache.uncached)
			}
			last := b.model.requests[len(b.model.requests)-1]
			if !strings.Contains(seen(last), "internal/legacy/wire.go") || last.OutputTokens <= 0 {
				t.Error("the constraint or the output cap is gone")
			}
		})
	}
}
