package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/forge-agent/forge/provider"
)

func TestEndpointIsHTTPSOrThisMachine(t *testing.T) {
	good := map[string]string{
		"https://api.example.com/v1/":     "https://api.example.com/v1",
		"https://api.example.com":         "https://api.example.com",
		"http://localhost:11434/v1":       "http://localhost:11434/v1",
		"http://127.0.0.1:8080":           "http://127.0.0.1:8080",
		"http://[::1]:8080/v1":            "http://[::1]:8080/v1",
		"  https://api.example.com/v1\n ": "https://api.example.com/v1",
	}
	for in, want := range good {
		u, err := provider.ParseEndpoint(in)
		if err != nil || u.String() != want {
			t.Errorf("ParseEndpoint(%q) = %v, %v, want %s", in, u, err, want)
		}
	}
	for _, in := range []string{
		"", "api.example.com", "http://api.example.com", "ftp://localhost", "https://", "https://user:word@api.example.com",
		"https://api.example.com?key=1", "https://api.example.com#x", "http://localhost.example.com", "http://127.0.0.1.example.com",
		"http://10.0.0.1", "https://\x00",
	} {
		if u, err := provider.ParseEndpoint(in); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("ParseEndpoint(%q) = %v, %v, want an error", in, u, err)
		}
	}
}

func secret() string { return strings.Repeat("not-real-", 4) }

func TestKeyNeverPrints(t *testing.T) {
	key, err := provider.NewKey(secret(), "https://api.example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(struct{ Key provider.Key }{key})
	if err != nil {
		t.Fatal(err)
	}
	var record strings.Builder
	slog.New(slog.NewTextHandler(&record, nil)).Info("made", "key", key)
	for _, text := range []string{
		fmt.Sprint(key), fmt.Sprintf("%v %+v %#v %s %q %x %d", key, key, key, key, key, key, key),
		fmt.Sprintf("%+v", struct{ K provider.Key }{key}), string(encoded), record.String(), key.Redact("a " + secret() + " b"),
	} {
		if strings.Contains(text, "not-real") || strings.Contains(text, fmt.Sprintf("%x", secret())) {
			t.Errorf("the key shows: %s", text)
		}
	}
}

func TestKeyIsBoundToItsEndpoint(t *testing.T) {
	key, err := provider.NewKey(secret(), "https://api.example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{
		"https://api.example.com/v2":        true,
		"https://API.example.com:443":       true,
		"https://api.example.com:8443":      false,
		"https://api.example.com.evil.test": false,
		"https://example.com":               false,
		"http://localhost":                  false,
	}
	for endpoint, ok := range tests {
		u, err := url.Parse(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		got, err := key.Reveal(u)
		if ok != (err == nil && got == secret()) || !ok && got != "" {
			t.Errorf("Reveal(%s) = %t, %v, want %t", endpoint, got != "", err, ok)
		}
	}
	for _, bad := range []string{"", " ", "a b", "a\nb", "ключ"} {
		if _, err := provider.NewKey(bad, "https://api.example.com"); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("NewKey(%q): %v, want an error", bad, err)
		}
	}
	if _, err := provider.NewKey(secret(), "http://api.example.com"); err == nil {
		t.Error("a key was bound to an endpoint without encryption")
	}
}
