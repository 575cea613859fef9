package modeltest

import (
	"context"
	"net/http"
	"strings"

	"github.com/forge-agent/forge/model"
)

// Play reads a stream to its end: the texts of the answer in order, and how it
// ended.
func Play(m model.Model, r model.Request) (text string, completed *model.Completed, failed error) {
	for e, err := range m.Stream(context.Background(), r) {
		switch e := e.(type) {
		case model.TextDelta:
			text += e.Text
		case model.Completed:
			completed = &e
		}
		failed = err
	}
	return text, completed, failed
}

// Events is a stream with these events.
func Events(data ...string) Answer {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(b.String())}
}

// Document is an answer that is one JSON document.
func Document(status int, body string) Answer {
	return Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
}
