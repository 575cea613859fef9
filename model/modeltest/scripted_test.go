package modeltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
)

func TestScripted(t *testing.T) {
	boom := errors.New("boom")
	m := modeltest.NewScripted(model.Capabilities{Model: "s"}, modeltest.Text("Yes."), modeltest.Call(message.ToolCall{ID: "c", Name: "f"}),
		modeltest.Reply{Events: []model.Event{model.TextDelta{Text: "half"}}}, modeltest.Reply{Err: boom})
	if text, c, err := modeltest.Play(m, modeltest.Ask()); text != "Yes." || c == nil || c.Stop != model.StopEnd || err != nil {
		t.Errorf("%q, %+v, %v", text, c, err)
	}
	if _, c, err := modeltest.Play(m, modeltest.Ask()); c == nil || c.Stop != model.StopToolCall || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if text, c, err := modeltest.Play(m, modeltest.Ask()); text != "half" || c != nil || !errors.Is(err, model.ErrIncompleteStream) {
		t.Errorf("%q, %+v, %v", text, c, err)
	}
	if _, _, err := modeltest.Play(m, modeltest.Ask()); !errors.Is(err, boom) {
		t.Error(err)
	}
	if _, _, err := modeltest.Play(m, modeltest.Ask()); err == nil {
		t.Error("a reply that is not in the script")
	}
	if n := len(m.Requests()); n != 5 || m.Capabilities().Model != "s" {
		t.Errorf("%d requests", n)
	}
}

func TestScriptedIsCancelled(t *testing.T) {
	m := modeltest.NewScripted(model.Capabilities{}, modeltest.Text("Yes."))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for e, err := range m.Stream(ctx, modeltest.Ask()) {
		if e != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", e, err)
		}
	}
}

// A model whose provider counts nothing falls back at once.
func TestCountRequestFallsBack(t *testing.T) {
	fallback := model.Estimate{Tokens: 5, BandTokens: 2}
	got, err := model.CountRequest(t.Context(), modeltest.NewScripted(model.Capabilities{}), modeltest.Ask(), time.Second, fallback)
	if got != fallback || !errors.Is(err, model.ErrNoRequestCounter) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseAnswers(t *testing.T) {
	answers, err := modeltest.ParseAnswers([]byte("-- a --\nHTTP 400\nContent-Type: application/json\nRetry-After: 7\n\n{}\n-- b --\nHTTP 200\nContent-Type: text/event-stream\n\ndata: 1\n\n"))
	if err != nil || answers["a"].Status != 400 || string(answers["a"].Body) != "{}" || answers["a"].Header.Get("Retry-After") != "7" || string(answers["b"].Body) != "data: 1\n\n" {
		t.Errorf("%+v, %v", answers, err)
	}
	for _, bad := range []string{"-- a --\n", "-- a --\nHTTP x\n\n{}\n", "-- a --\nHTTP 200\n"} {
		if _, err := modeltest.ParseAnswers([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
