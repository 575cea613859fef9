package openaichat_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

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
	corpus := os.Getenv("FORGE_CORPUS")
	if corpus == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	file, err := os.Open(filepath.Join(corpus, "overflow-errors", "bodies.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var row struct {
			Provider string
			Status   json.RawMessage
			Body     string
			Overflow bool
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		status, _ := strconv.Atoi(regexp.MustCompile(`[45][0-9][0-9]`).FindString(string(row.Status)))
		if status == 0 {
			status = 400 // inside a stream, or not known
		}
		m, _ := serve(t, openaichat.Options{}, modeltest.Document(status, row.Body))
		_, _, failed := modeltest.Play(m, modeltest.Ask())
		var e *model.Error
		if !errors.As(failed, &e) || errors.Is(failed, model.ErrContextOverflow) != row.Overflow || string(e.Body) != row.Body {
			t.Errorf("line %d, %s: %v, want overflow %t", n, row.Provider, failed, row.Overflow)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
