package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider/anthropic"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/conservative"
	"github.com/forge-agent/forge/transcript"
)

// An overflow that the provider states on the wire teaches the window and is
// answered by one smaller request with the same input; one after output is not
// (weak spot 6, F-OVF-01, F-OVF-02, F-OVF-03, F-TST-13, F-TST-14, C9).
func TestOverflowIsRecovered(t *testing.T) {
	const refusal = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 30200 tokens > 24000 maximum"}}`
	answers, err := modeltest.ParseAnswers(answers)
	if err != nil {
		t.Fatal(err)
	}
	for _, evidence := range []bool{false, true} {
		t.Run(fmt.Sprintf("evidence %t", evidence), func(t *testing.T) {
			first := modeltest.Document(400, refusal)
			if evidence {
				first = answers["overflow-after-text"]
			}
			m, server := serve(t, anthropic.Options{Capabilities: model.Capabilities{WindowTokens: 40000, WindowSource: model.WindowFromCatalog, MaxOutputTokens: 2000}}, first, answers["text"])
			counter := tokencount.New(conservative.New(), tokencount.ProfileFor("claude"))
			manager, err := contextwindow.New(m.Capabilities(), counter, &contextwindow.Options{Mode: contextwindow.Compact})
			if err != nil {
				t.Fatal(err)
			}
			in := contextwindow.Input{Transcript: longTranscript(t), Complete: true}
			fit, err := manager.Fit(t.Context(), in)
			if err != nil || fit.Action != contextwindow.Send {
				t.Fatalf("%+v, %v", fit, err)
			}
			_, _, failed := modeltest.Play(m, manager.Request(in))
			var overflow *model.Error
			if !errors.As(failed, &overflow) || !errors.Is(failed, model.ErrContextOverflow) {
				t.Fatal(failed)
			}
			again, err := manager.Recover(context.Background(), in, overflow)
			if evidence {
				if !errors.Is(err, contextwindow.ErrNotRecovered) {
					t.Errorf("an attempt with output is made again: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if again.Budget.WindowTokens != 24000 || again.Capabilities.WindowSource != model.WindowLearned || again.Estimate.Tokens >= fit.Estimate.Tokens || again.Attempt != 2 {
				t.Errorf("window %d (%s), estimate %d after %d", again.Budget.WindowTokens, again.Capabilities.WindowSource, again.Estimate.Tokens, fit.Estimate.Tokens)
			}
			if _, completed, err := modeltest.Play(m, manager.Request(in)); err != nil || completed == nil {
				t.Fatal(err)
			}
			requests := server.Requests()
			if len(requests) != 2 || len(requests[1].Body) >= len(requests[0].Body) || !strings.Contains(string(requests[1].Body), "The current request.") {
				t.Errorf("%d requests; the second has %d bytes", len(requests), len(requests[1].Body))
			}
		})
	}
}

// longTranscript is some thirty turns that fill most of a window of 40,000
// tokens, and a current request.
func longTranscript(t *testing.T) *transcript.Transcript {
	t.Helper()
	tr := &transcript.Transcript{}
	add := func(id string, role message.Role, s string) {
		if err := tr.Append(message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: s}}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		add(fmt.Sprintf("u%d", i), message.RoleUser, fmt.Sprintf("Look at part %d of the program.", i))
		add(fmt.Sprintf("a%d", i), message.RoleAssistant, strings.Repeat(fmt.Sprintf("Part %d does what its name says. ", i), 60))
	}
	add("now", message.RoleUser, "The current request.")
	return tr
}
