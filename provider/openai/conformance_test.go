package openai_test

import (
	_ "embed"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/openai"
)

//go:embed testdata/conformance.txtar
var answers []byte

// Every adapter passes the same suite, over its own wire format: encoding,
// pairing, reasoning and opaque state are the adapter's (F-CAP-01, F-CAP-05,
// F-OVF-01, F-TST-09, F-TST-14, B4, B12, B26, weak spots 6, 8).
func TestConformance(t *testing.T) {
	modeltest.Run(t, subject())
}

func subject() modeltest.Subject {
	return modeltest.Subject{
		Answers: answers,
		New: func(t *testing.T, s modeltest.Setup) model.Model {
			return newModel(t, s, openai.Options{})
		},
		Body: func(m model.Model, r model.Request) ([]byte, error) { return m.(*openai.Model).Encode(r) },
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// What the provider wants back of its reasoning goes back as it came, also
// beside a stand-in and behind a checkpoint (F-RUN-04, F-RUN-09, F-RUN-10,
// F-TST-10, F-CLS-04).
func TestContinuation(t *testing.T) {
	const golden = "testdata/continuation.txtar"
	got := txtar.Format(modeltest.Continue(t, subject()))
	if *update {
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

func newModel(t testing.TB, s modeltest.Setup, o openai.Options) *openai.Model {
	t.Helper()
	key, err := provider.NewKey(s.Secret, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.Connection = provider.Connection{Endpoint: s.URL, Key: key, Retry: provider.Retry{Attempts: s.Attempts}, Sleep: s.Sleep}
	if o.Model == "" {
		o.Model = "test-model"
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
