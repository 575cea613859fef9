package openai_test

import (
	_ "embed"
	"flag"
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
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
	adaptertest.CheckContinuation(t, subject(), *update)
}

func FuzzStream(f *testing.F) { adaptertest.FuzzStream(f, subject()) }

func newModel(t testing.TB, s modeltest.Setup, o openai.Options) *openai.Model {
	t.Helper()
	o.Connection = adaptertest.Connection(t, s)
	if o.Model == "" {
		o.Model = "test-model"
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
