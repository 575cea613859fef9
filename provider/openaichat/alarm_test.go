package openaichat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider/openaichat"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/conservative"
)

// A server that cuts the request in silence and says so by its usage raises
// the alarm; one that caches most of it does not (B4, F-EST-01, F-TST-09).
func TestSilentTruncationAlarm(t *testing.T) {
	r := modeltest.Ask()
	r.Messages[0].Blocks = []message.Block{message.Text{Text: strings.Repeat("A line of the log that was read. ", 4000)}}
	profile := tokencount.ProfileFor("openai")
	counted := tokencount.New(conservative.New(), profile).Request(r).Breakdown
	sample := tokencount.Sample{Counted: counted, Complete: true}
	usage := func(input, cached int) string {
		return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":%d}}}`, input, cached)
	}
	for name, test := range map[string]struct {
		usage string
		alarm bool
	}{
		"cut to the window of the server": {usage(2048, 0), true},
		"whole":                           {usage(counted.Total(), 0), false},
		"whole and cached":                {usage(counted.Total(), counted.Total()-100), false},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := serve(t, openaichat.Options{Provider: "ollama"}, modeltest.Events(chunk(`{"content":"a"}`), stop, test.usage, done))
			_, completed, err := modeltest.Play(m, r)
			if err != nil {
				t.Fatal(err)
			}
			var k tokencount.Calibration
			k.Observe(profile, sample, *completed.Usage)
			if k.Suspicious() != test.alarm {
				t.Errorf("alarm is %t for %+v against an estimate of %d", k.Suspicious(), *completed.Usage, counted.Total())
			}
		})
	}
}

// Every shared error body is classified on its way through the adapter, from
// the raw body and never from a rewritten message (weak spot 6, F-OVF-01).
func TestSharedBodies(t *testing.T) {
	for _, r := range adaptertest.Refusals(t) {
		status := r.Status
		if status < 400 {
			status = 400 // inside a stream, or not known
		}
		m, _ := serve(t, openaichat.Options{}, modeltest.Document(status, r.Body))
		_, _, failed := modeltest.Play(m, modeltest.Ask())
		var e *model.Error
		if !errors.As(failed, &e) || errors.Is(failed, model.ErrContextOverflow) != r.Overflow || string(e.Body) != r.Body {
			t.Errorf("%s: %v, want overflow %t: %s", r.Provider, failed, r.Overflow, r.Body)
		}
	}
}
