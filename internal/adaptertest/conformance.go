package adaptertest

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
)

// Connection is the connection that a setup describes.
func Connection(t testing.TB, s modeltest.Setup) provider.Connection {
	t.Helper()
	key, err := provider.NewKey(s.Secret, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return provider.Connection{Endpoint: s.URL, Key: key, Client: s.Client, Retry: provider.Retry{Attempts: s.Attempts}, Sleep: s.Sleep}
}

// Nowhere is a setup for a model that is asked nothing.
func Nowhere() modeltest.Setup {
	return modeltest.Setup{URL: "https://api.example.com", Secret: "not-a-real-key", Attempts: 1}
}

// Text is a message of one text.
func Text(role message.Role, s string) message.Message {
	return message.Message{Role: role, Blocks: []message.Block{message.Text{Text: s}}}
}

// CheckContinuation compares what modeltest.Continue sends with the golden
// file testdata/continuation.txtar, which it writes first with update.
func CheckContinuation(t *testing.T, subject modeltest.Subject, update bool) {
	t.Helper()
	const golden = "testdata/continuation.txtar"
	got := txtar.Format(modeltest.Continue(t, subject))
	if update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("-update rewrites the file; bodies differ (-want +got):\n%s", diff)
	}
}

// A ModelLister asks an endpoint which models it serves.
type ModelLister func(ctx context.Context, c provider.Connection) ([]provider.ModelInfo, error)

// CheckModels checks that a lister asks at path, reads the pages as want, and
// gives an error for what is no list and for an endpoint without encryption.
func CheckModels(t *testing.T, list ModelLister, path string, want []provider.ModelInfo, pages ...string) {
	t.Helper()
	var answers []modeltest.Answer
	for _, page := range pages {
		answers = append(answers, modeltest.Document(200, page))
	}
	server := modeltest.NewServer(t, answers...)
	got, err := list(t.Context(), Connection(t, server.Setup()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := server.Requests()[0]; r.Method != "GET" || r.Path != path || len(r.Body) != 0 {
		t.Errorf("asked with %s %s %s", r.Method, r.Path, r.Body)
	}
	for _, bad := range []modeltest.Answer{modeltest.Document(200, `{}`), modeltest.Document(200, `<html>`), modeltest.Document(401, `{"error":{"message":"no"}}`)} {
		server := modeltest.NewServer(t, bad)
		var e *model.Error
		if got, err := list(t.Context(), provider.Connection{Endpoint: server.URL}); !errors.As(err, &e) || got != nil {
			t.Errorf("%s: %v, %v", bad.Body, got, err)
		}
	}
	if _, err := list(t.Context(), provider.Connection{Endpoint: "http://api.example.com"}); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("no encryption: %v", err)
	}
}
