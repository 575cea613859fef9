package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/workspace"
)

// folders makes a home and a workspace with these files; empty for none.
func folders(t *testing.T, user, project string) config.Options {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{filepath.Join(home, config.UserFile): user, filepath.Join(dir, config.ProjectFile): project} {
		if text == "" {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return config.Options{Home: home, Workspace: open(t, dir)}
}

func open(t *testing.T, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// F-CFG-01, C11: what holds without any setting, and what the packages that
// take it make of it.
func TestDefaults(t *testing.T) {
	c, err := config.Load(config.Options{})
	if err != nil || len(c.Findings()) != 0 {
		t.Fatalf("%v %v", err, c.Findings())
	}
	want := config.Context{Mode: contextwindow.Warn, ReservedOutputTokens: 4096, BufferTokens: 8192, RecentTailTokens: 12000, SummaryTargetTokens: 1200}
	if c.Context != want {
		t.Errorf("context %+v, want %+v", c.Context, want)
	}
	limits := config.Limits{MaxSteps: 200, MaxToolCalls: 400, MaxRunSeconds: 3600, CommandTimeoutSeconds: 60, MaxToolOutputBytes: 65536, MaxStoredOutputBytes: 16777216}
	if c.Limits != limits || c.PermissionProfile != "safe" || c.Engine != "native" || c.Family != compaction.FamilySummary {
		t.Errorf("limits %+v, profile %s, engine %s, family %s", c.Limits, c.PermissionProfile, c.Engine, c.Family)
	}
	auto, err := config.Load(config.Options{Flags: map[string]string{"context.reservedOutputTokens": "auto", "context.bufferTokens": "auto"}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := budget.New(200_000, 32_000, c.BudgetSettings())
	b, err2 := budget.New(200_000, 32_000, auto.BudgetSettings())
	if err != nil || err2 != nil || a != b {
		t.Errorf("auto is another budget: %+v, %+v", a, b)
	}
	if o := auto.ContextOptions(); o.Mode != contextwindow.Warn || o.Compaction.RecentTailTokens != 12000 || o.Compaction.SummaryTargetTokens != 1200 {
		t.Errorf("options %+v", o)
	}
}

// F-CFG-03, F-TST-05, F-PKG-03: each layer beats the one below, and every
// opinion keeps its place.
func TestLayers(t *testing.T) {
	o := folders(t, "{\"version\": 1,\n  \"model\": \"from-user\",\n  \"limits\": {\"maxSteps\": 100}}", "{\"version\": 1,\n \"limits\":\n  {\"maxSteps\": 50}}")
	o.Getenv = environment(map[string]string{"FORGE_MODEL": "from-env", "FORGE_THINKING": "on", "FORGE_REASONING_EFFORT": "high",
		"FORGE_PROVIDER": "anthropic", "FORGE_CODEX_PATH": "/opt/codex"})
	c, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != "from-env" || c.Thinking != "on" || c.ReasoningEffort != "high" || c.Provider != "anthropic" || c.CodexPath != "/opt/codex" || c.Limits.MaxSteps != 50 {
		t.Errorf("values %+v", c.Values)
	}
	var places []string
	for _, p := range c.Provenance("model") {
		places = append(places, fmt.Sprint(p.Layer, " ", filepath.Base(p.Place.String()), " ", p.Value, " ", p.Used))
	}
	if want := []string{"environment FORGE_MODEL from-env true", "user config.json:2:3 from-user false"}; !slices.Equal(places, want) {
		t.Errorf("provenance %q, want %q", places, want)
	}
	// B17, C4: a flag leads out of everything, the stricter project included.
	o.Flags = map[string]string{"limits.maxSteps": "300", "context.mode": "off", "model": "from-flag"}
	if c, err = config.Load(o); err != nil || c.Limits.MaxSteps != 300 || c.Context.Mode != contextwindow.Off || c.Model != "from-flag" {
		t.Errorf("%v, values %+v", err, c.Values)
	}
	if p := c.Provenance("limits.maxSteps"); len(p) != 4 || p[0].Name != "--max-steps" || p[1].Layer != config.Project || p[1].Line != 3 {
		t.Errorf("provenance %+v", p)
	}
}

// F-MOD-01: off comes from the user or a flag; no variable sets the mode.
func TestOff(t *testing.T) {
	c := config.Merge([]byte(`{"version": 1, "context": {"mode": "off"}}`), nil)
	if c.Context.Mode != contextwindow.Off || len(c.Findings()) != 0 {
		t.Errorf("mode %s, %v", c.Context.Mode, c.Findings())
	}
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Path, "context.") && k.Env != "" {
			t.Errorf("%s is set by %s", k.Path, k.Env)
		}
	}
}

// P-FAM-01, P-FAM-04: an option, then the environment, then summary, and
// nowhere among the settings.
func TestFamily(t *testing.T) {
	for _, tt := range []struct {
		option compaction.Family
		env    string
		want   compaction.Family
		fails  bool
	}{
		{"", "", compaction.FamilySummary, false},
		{"", "fresh_window", compaction.FamilyFreshWindow, false},
		{compaction.FamilySummary, "fresh_window", compaction.FamilySummary, false},
		{"", "other", compaction.FamilySummary, true},
	} {
		c, err := config.Load(config.Options{Family: tt.option, Getenv: environment(map[string]string{config.FamilyVariable: tt.env})})
		if c.Family != tt.want || (err != nil) != tt.fails {
			t.Errorf("%+v: got %s, %v", tt, c.Family, err)
		}
	}
	if strings.Contains(config.Page()+string(config.Schema())+config.Example(), "STRATEGY") {
		t.Error("the family is documented as a setting")
	}
}

// P-MAN-02: settings of compaction that another program stored have no effect.
func TestStoredCompactionSettings(t *testing.T) {
	c := config.Merge([]byte(`{"version": 1, "compaction": {"enabled": false, "keepRecentTokens": 1}}`), nil)
	if f := c.Findings(); len(f) != 1 || f[0].Severity != config.Notice || c.Context.Mode != contextwindow.Warn {
		t.Errorf("got %v", f)
	}
}

// All faults of all layers come back at once.
func TestAllFaults(t *testing.T) {
	o := folders(t, `{"version": 1, "modle": "x", "limits": {"maxSteps": 0}}`, `{"version": 3}`)
	o.Getenv = environment(map[string]string{"FORGE_THINKING": "perhaps"})
	o.Flags = map[string]string{"limits.maxSteps": "many", "no.such": "1", "model": ""}
	c, err := config.Load(o)
	var faults *config.Error
	if !errors.As(err, &faults) || !errors.Is(err, config.ErrInvalid) || len(faults.Faults) != 7 || len(c.Warnings()) != 0 {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{`"modle"; did you mean "model"?`, "is 0, but must be from 1", "version is 3, but must be 1", "FORGE_THINKING is", "--max-steps must be a whole number", `no flag for "no.such"`, "--model is empty"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}

// F-CFG-02: no link leads the project's file out of the workspace, and what
// is there but cannot be read is no silence.
func TestProjectFileStaysInside(t *testing.T) {
	o := folders(t, "", `{"version": 1}`)
	outside := filepath.Join(t.TempDir(), "config.json")
	file := filepath.Join(o.Workspace.Dir(), config.ProjectFile)
	if err := errors.Join(os.WriteFile(outside, []byte(`{"version": 1, "context": {"mode": "compact"}}`), 0o600), os.Remove(file), os.Symlink(outside, file)); err != nil {
		t.Fatal(err)
	}
	if c, err := config.Load(o); err == nil || c.Context.Mode != contextwindow.Warn || !strings.Contains(err.Error(), "leads out of the workspace") {
		t.Errorf("a link outside: mode %s, %v", c.Context.Mode, err)
	}
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{outside, "nowhere"} {
		if err := errors.Join(os.Remove(file), os.Symlink(target, file)); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(o); err == nil {
			t.Errorf("a link to %s is taken as no file", target)
		}
	}
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(o); err == nil {
		t.Error("a folder is taken as no file")
	}
}

// A session in the home directory has one file, and it is the user's.
func TestHomeAsWorkspace(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, ".forge")
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, config.UserFile), []byte(`{"version": 1, "model": "mine"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Home: home, Workspace: open(t, dir)})
	if err != nil || c.Model != "mine" || len(c.Findings()) != 0 {
		t.Errorf("model %q, %v %v", c.Model, err, c.Findings())
	}
}

// An endpoint belongs to the provider that it was stated with.
func TestEndpointFollowsProvider(t *testing.T) {
	o := folders(t, `{"version": 1, "provider": "openai", "endpoint": "https://proxy.example.com/v1"}`, "")
	tests := []struct {
		flags map[string]string
		want  string
	}{
		{nil, "https://proxy.example.com/v1"},
		{map[string]string{"provider": "openai"}, "https://proxy.example.com/v1"},
		{map[string]string{"provider": "anthropic"}, ""},
		{map[string]string{"provider": "anthropic", "endpoint": "https://other.example.com"}, "https://other.example.com"},
	}
	for _, tt := range tests {
		o.Flags = tt.flags
		c, err := config.Load(o)
		if err != nil || c.Endpoint != tt.want || (tt.want == "") != (len(c.Warnings()) == 1) {
			t.Errorf("%v: endpoint %q, %v %v", tt.flags, c.Endpoint, err, c.Warnings())
		}
	}
}

// Secrets are used and never shown.
func TestSecrets(t *testing.T) {
	const secret = "very-secret-words"
	text := fmt.Sprintf(`{"version": 1, "mcp": {"servers": {"a": {"url": "https://example.com", "headers": {"Authorization": %q, "X-Other": "${OTHER}"}}}}}`, secret)
	c := config.Merge([]byte(text), []byte(fmt.Sprintf(`{"version": 1, "mcp": {"servers": {"a": {"headers": {"Authorization": "other-%s"}}}}}`, secret)))
	headers := c.MCP.Servers["a"].Headers
	if headers["Authorization"] != secret {
		t.Error("the secret is lost")
	}
	values, err := json.Marshal(c.Values)
	settings, err2 := json.Marshal(c.Settings())
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("headers", "are", headers)
	shown := string(values) + string(settings) + fmt.Sprintf("%v %+v %#v %s %q %x", headers, headers, headers, headers, c.Settings(), headers) + fmt.Sprint(c.Findings()) + log.String()
	if strings.Contains(shown, secret) || !strings.Contains(shown, "Authorization") {
		t.Errorf("shown: %s", shown)
	}
	if _, err := headers.Expand(environment(nil)); err == nil || !strings.Contains(err.Error(), "OTHER") {
		t.Errorf("a variable that is not set: %v", err)
	}
	all, err := headers.Expand(environment(map[string]string{"OTHER": "found"}))
	if err != nil || all["X-Other"] != "found" || all["Authorization"] != secret {
		t.Errorf("got %d values, %v", len(all), err)
	}
}

// A key of a provider that was pasted into the wrong place is not repeated, and
// nothing that a project writes can change how a terminal shows a line.
func TestShownTextIsSafe(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("aB3dE5gH", 12)
	f := config.Check(config.User, "f", []byte(`{"version": 1, "provider": "`+key+`", "thinking": "`+key+`", "`+key+`": 1}`))
	if len(f) != 3 || strings.Contains(fmt.Sprint(f), key[:40]) {
		t.Errorf("got %v", f)
	}
	c := config.Merge(nil, []byte(`{"version": 1, "mcp": {"servers": {"a": {"command": ["x\u001b[2J\u009b\u202e", "y"]}}}}`))
	for _, s := range c.Settings() {
		if strings.ContainsAny(s.Text, "\u001b\u009b\u202e") {
			t.Errorf("%s is shown as %q", s.Key, s.Text)
		}
	}
}

// The values have a field for every key, and no other.
func TestValuesHaveAllKeys(t *testing.T) {
	var fields []string
	walk(reflect.TypeFor[config.Values](), "", &fields)
	fields = slices.DeleteFunc(fields, func(f string) bool {
		return strings.HasPrefix(f, "mcp.proposed") || strings.HasPrefix(f, "policy.projectRules")
	})
	var keys []string
	for _, k := range config.Keys() {
		if k.Type != config.Ignored && k.Type != config.Objects {
			keys = append(keys, k.Path)
		}
	}
	slices.Sort(keys)
	slices.Sort(fields)
	if !slices.Equal(keys, fields) {
		t.Errorf("keys   %q\nfields %q", keys, fields)
	}
}

func walk(t reflect.Type, at string, out *[]string) {
	for f := range t.Fields() {
		name := f.Tag.Get("json")
		if name == "-" {
			continue
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		switch {
		case f.Type.Kind() == reflect.Struct:
			walk(f.Type, path, out)
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			walk(f.Type.Elem(), path+".*", out)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			walk(f.Type.Elem(), path+"[]", out)
		default:
			*out = append(*out, path)
		}
	}
}

// F-CFG-04: the example is free of faults and uses every group.
func TestExample(t *testing.T) {
	if f := config.Check(config.User, "example", []byte(config.Example())); len(f) != 0 {
		t.Errorf("got %v", f)
	}
}
