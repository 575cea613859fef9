package plugin_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/internal/plugin"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/trace"
)

func observing(t testing.TB, script string, o plugin.Options) (place, *plugin.Observers) {
	t.Helper()
	p := newPlace(t, nil, map[string]string{
		"plugins/o/plugin.json": manifest("o", `"observer": {"command": ["./observe.sh"]}`),
		"plugins/o/observe.sh":  "#!/bin/sh\n" + script,
	})
	return p, p.activate(t, o).Observers(t.Context())
}

func started(id string) *trace.RunStarted { return &trace.RunStarted{Run: id} }

// F-SEC-08: an observer gets copies of the events as JSON lines, in order and
// without recognised secrets; the payloads stay as they were.
func TestObserver(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	p, o := observing(t, `cat > "$FORGE_WORKSPACE/events"; echo '{"type":"context.compaction.completed"}'`,
		plugin.Options{Clock: clock, Grace: time.Minute, Redactor: redact.New(&redact.Options{Values: []redact.Value{{Name: "x", Text: "secret-run-name"}}})})
	payload := started("secret-run-name")
	before := *payload
	for range 3 {
		must(t, o.Emit(payload))
	}
	report := o.Close()
	if len(report) != 1 || report[0] != (plugin.ObserverReport{Plugin: "o", Written: 3}) {
		t.Errorf("report %v", report)
	}
	if !reflect.DeepEqual(before, *payload) {
		t.Error("the payload was changed")
	}
	data, err := os.ReadFile(filepath.Join(p.w.Dir(), "events"))
	must(t, err)
	if strings.Contains(string(data), "secret-run-name") {
		t.Errorf("not redacted: %s", data)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		e, err := trace.ParseEvent(line)
		if err != nil || e.Seq != int64(i+1) || !e.Time.Equal(clock()) {
			t.Errorf("line %d: %s, %v", i, line, err)
		}
	}
	must(t, o.Emit(payload))
	if o.Report()[0].Dropped != 1 {
		t.Errorf("after Close: %v", o.Report())
	}
}

// F-SEC-08: observers that hang, end, write garbage or cannot be started hold
// nothing up and fail nothing; what they missed is counted.
func TestBadObservers(t *testing.T) {
	const events = 3000
	const short = 50 * time.Millisecond
	for name, tt := range map[string]struct {
		script, ended string
		grace         time.Duration
	}{
		"hangs":         {"trap '' TERM PIPE\n: > \"$FORGE_WORKSPACE/up\"\nsleep 1000 & sleep 1000\n", "did not end in time", short},
		"ends at once":  {"exit 4\n", "code 4", time.Minute},
		"closes input":  {"exec <&-; sleep 1000\n", "", short},
		"garbage":       {": > \"$FORGE_WORKSPACE/up\"\ncat /dev/zero\n", "did not end in time", short},
		"not a program": {"", "", short},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := observing(t, tt.script, plugin.Options{Grace: tt.grace})
			if name == "not a program" {
				must(t, os.Chmod(filepath.Join(p.home, "plugins", "o", "observe.sh"), 0o644))
				o.Close()
				o = p.activate(t, plugin.Options{}).Observers(t.Context())
				tt.ended = "not started"
			}
			if strings.Contains(tt.script, "/up") {
				await(t, filepath.Join(p.w.Dir(), "up"))
			}
			for range events {
				must(t, o.Emit(started(strings.Repeat("r", 1000))))
			}
			report := o.Close()[0]
			if report.Written+report.Dropped != events || report.Dropped == 0 || !strings.Contains(report.Ended, tt.ended) || report.Ended == "" {
				t.Errorf("%s", report)
			}
		})
	}
}

// await polls for a file that a program makes.
func await(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Minute)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("there is no %s", path)
		}
	}
}

// Observers end with the run's context, and none is needed.
func TestNoObservers(t *testing.T) {
	p := newPlace(t, nil, nil)
	o := p.activate(t, plugin.Options{}).Observers(t.Context())
	var sink trace.Sink = o
	must(t, sink.Emit(started("x")))
	if r := o.Close(); len(r) != 0 {
		t.Errorf("%v", r)
	}
}

// F-SEC-12: an event holds no content, so that what an observer gets of an
// opaque item is its metadata. What cannot be an event reaches nobody.
func TestObserverGetsEventsOnly(t *testing.T) {
	p, o := observing(t, `cat > "$FORGE_WORKSPACE/events"`, plugin.Options{Grace: time.Minute})
	must(t, o.Emit(&trace.Unknown{Name: "x", Raw: json.RawMessage(`{"v":1,"seq":1,"type":"x"}`)}), o.Emit(&trace.ContextBudgeted{Attempt: -1}))
	r := o.Close()[0]
	data, err := os.ReadFile(filepath.Join(p.w.Dir(), "events"))
	must(t, err)
	if r.Written != 1 || r.Dropped != 1 || strings.Count(string(data), "\n") != 1 {
		t.Errorf("%s: %q", r, data)
	}
}
