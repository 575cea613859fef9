package projection_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// BenchmarkStep is one request of a long conversation: a result comes in, a
// decision, its clearing, the answer.
func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct {
		name  string
		steps int
	}{{"after 1,000 steps", 1000}, {"after 100,000 steps", 100_000}} {
		b.Run(bench.name, func(b *testing.B) {
			s, err := projection.New(fable())
			if err != nil {
				b.Fatal(err)
			}
			step := 0
			take := func() {
				step++
				s.Extend(100)
				o := projection.Observation{Ref: transcript.Ref{Message: step}, Tokens: 20 + step*7919%900, StandInTokens: 20, Outcome: message.OutcomeSuccess}
				o.Call[0], o.Call[1], o.Call[2] = byte(step), byte(step>>8), byte(step>>16)
				o.Content = o.Call
				if err := s.Admit(o); err != nil {
					b.Fatal(err)
				}
				d := s.Decide(projection.Query{FrontTokens: front})
				if err := s.Apply(d.Clear); err != nil {
					b.Fatal(err)
				}
				s.Sent()
			}
			for range bench.steps {
				take()
			}
			for b.Loop() {
				take()
			}
		})
	}
}

// BenchmarkStandIn makes the stand-in of 40 KB of output.
func BenchmarkStandIn(b *testing.B) {
	s := projection.Source{Tool: "bash", Reference: "#7", Result: textResult(strings.Repeat("a line of output\n", 2400), message.OutcomeSuccess)}
	b.SetBytes(int64(len(s.Result.Text())))
	for b.Loop() {
		projection.StandIn(s, projection.Targets{})
	}
}
