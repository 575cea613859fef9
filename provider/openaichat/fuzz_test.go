package openaichat_test

import (
	"net/http"
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/openaichat"
)

func FuzzStream(f *testing.F) {
	adaptertest.FuzzStream(f, answers, func(t *testing.T, client *http.Client) model.Model {
		m, err := openaichat.New(openaichat.Options{Model: "test-model", Connection: provider.Connection{
			Endpoint: "https://api.example.com", Client: client, Retry: provider.Retry{Attempts: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}, func(m model.Model, r model.Request) ([]byte, error) { return m.(*openaichat.Model).Encode(r) })
}
