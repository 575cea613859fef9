package credential_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/provider"
)

func secret(n string) string { return "not-a-real-key-" + n }

func nothing(string) string { return "" }

func TestStore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "home")
	s := credential.Open(folder)
	if key, err := s.Key("https://a.example.com"); err != nil || !key.IsZero() {
		t.Errorf("empty store: %v, %v", key, err)
	}
	for _, endpoint := range []string{"https://a.example.com/v1", "http://localhost:8080"} {
		if err := s.Set(endpoint, " "+secret("a")+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %04o", info.Mode().Perm())
	}
	list, err := s.Endpoints()
	if err != nil || !slices.Equal(list, []string{"http://localhost:8080", "https://a.example.com:443"}) {
		t.Errorf("%q, %v", list, err)
	}
	// Bound to scheme, host and port, whatever the path.
	for endpoint, ok := range map[string]bool{"https://a.example.com": true, "https://A.example.com:443/v2": true, "https://a.example.com:444": false, "https://b.example.com": false} {
		if key, err := s.Key(endpoint); err != nil || key.IsZero() == ok {
			t.Errorf("%s: %v, %v", endpoint, key, err)
		}
	}
	for _, again := range []bool{true, false} {
		if found, err := s.Delete("https://a.example.com"); found != again || err != nil {
			t.Errorf("Delete: %t, %v", found, err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("files are left over: %v, %v", entries, err)
	}
}

func TestStoreRefuses(t *testing.T) {
	for _, bad := range []struct{ endpoint, secret string }{{"http://a.example.com", secret("a")}, {"https://a.example.com", ""}, {"https://a.example.com", "two words"}, {"", secret("a")}} {
		s := credential.Open(t.TempDir())
		if err := s.Set(bad.endpoint, bad.secret); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for name, content := range map[string]string{"no JSON": `{"keys":{"https://a.example.com:443":"` + secret("a"), "another version": `{"version":9}`, "wrong type": `{"version":1,"keys":["` + secret("a") + `"]}`} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, credential.FileName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := credential.Open(folder).Key("https://a.example.com")
		if err == nil || strings.Contains(err.Error(), "not-a-real") {
			t.Errorf("%s: %v", name, err)
		}
		if err := credential.Open(folder).Set("https://a.example.com", secret("b")); err == nil {
			t.Errorf("%s: overwritten", name)
		}
	}
}

func TestOthersMustNotRead(t *testing.T) {
	folder := t.TempDir()
	s := credential.Open(folder)
	if err := s.Set("https://a.example.com", secret("a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Key("https://a.example.com"); runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), "chmod 600")) {
		t.Errorf("got %v", err)
	}
}

func TestRoutes(t *testing.T) {
	names := map[string]bool{}
	for _, r := range credential.Routes() {
		if names[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		names[r.Name] = true
		if _, err := provider.ParseEndpoint(r.Endpoint); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		found, err := credential.Find(r.Name, "")
		if err != nil || found.Endpoint != r.Endpoint || found.Variables()[0] != "FORGE_"+strings.ToUpper(r.Name)+"_API_KEY" {
			t.Errorf("%s: %+v, %v", r.Name, found, err)
		}
	}
	for _, bad := range [][2]string{{"nobody", ""}, {"openai", "http://example.com"}, {"openai", "nope"}} {
		if _, err := credential.Find(bad[0], bad[1]); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The environment comes first; a vendor's variable holds for the vendor's
// endpoint only.
func TestKeyOfARoute(t *testing.T) {
	s := credential.Open(t.TempDir())
	env := func(name string) func(string) string {
		return func(asked string) string {
			if asked == name {
				return secret("env")
			}
			return ""
		}
	}
	own, err := credential.Find("openai", "https://proxy.example.com")
	if err != nil {
		t.Fatal(err)
	}
	usual, err := credential.Find("openai", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set(own.Endpoint, secret("stored")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		route credential.Route
		env   func(string) string
		from  string
	}{
		{"vendor's variable", usual, env("OPENAI_API_KEY"), "OPENAI_API_KEY"},
		{"our variable", usual, env("FORGE_OPENAI_API_KEY"), "FORGE_OPENAI_API_KEY"},
		{"vendor's variable, another endpoint", own, env("OPENAI_API_KEY"), credential.FileName},
		{"our variable, another endpoint", own, env("FORGE_OPENAI_API_KEY"), "FORGE_OPENAI_API_KEY"},
		{"nothing", usual, nothing, ""},
	}
	for _, test := range tests {
		key, from, err := test.route.Key(test.env, s)
		if err != nil || from != test.from || key.IsZero() != (test.from == "") {
			t.Errorf("%s: from %q, %v", test.name, from, err)
		}
	}
	if _, _, err := usual.Key(func(string) string { return "two words" }, s); err == nil || strings.Contains(err.Error(), "two words") {
		t.Errorf("a broken key: %v", err)
	}
}
