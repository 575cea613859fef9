package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/agent"
)

// What one piece of a streamed answer costs, with a long transcript above it:
// taking it in and drawing the screen.
func BenchmarkDelta(b *testing.B) {
	for _, rows := range []int{10, 5000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			p := play(b, 120, 40)
			for i := range rows {
				p.state = p.state.add(newRow(answerRow{fmt.Sprintf("answer **%d** with `code`\n\n- one\n- two", i)}))
			}
			p.keys("go", "enter")
			p.events(agent.Budgeted{Step: 1, Fit: sampleFit(1, 30_000)})
			i := 0
			for b.Loop() {
				piece := "some words "
				if i++; i%40 == 0 {
					piece = "end.\n\n"
				}
				p.events(agent.TextDelta{Text: piece})
				p.state.teaView()
				if i%2000 == 0 {
					p.state.stream = stream{}
				}
			}
		})
	}
}

// What drawing a finished block costs, once.
func BenchmarkMarkdown(b *testing.B) {
	source := strings.Repeat("Some **bold** words and `code` in a paragraph that is long enough to be wrapped once.\n\n- one item\n- another item\n\n```go\nfunc main() {}\n```\n\n", 30)
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		markdown(theme{colour: true, dark: true}, source, 100)
	}
}
