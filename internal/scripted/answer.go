package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// An event is one of a stream. Gemini and chat completions give them no name.
type event struct {
	name string
	data string
}

func named(name string, data map[string]any) event { return event{name: name, data: encode(data)} }

func unnamed(data map[string]any) event { return event{data: encode(data)} }

// encode writes JSON whose values always encode.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return string(bytes.TrimSpace(b.Bytes()))
}

// bytes is the event as it goes over the wire.
func (e event) bytes() []byte {
	if e.name == "" {
		return []byte("data: " + e.data + "\n\n")
	}
	return []byte("event: " + e.name + "\ndata: " + e.data + "\n\n")
}

// answer writes a reply.
type answer struct {
	w            http.ResponseWriter
	request      *http.Request
	asked        Request
	reply        Reply
	usage        message.Usage
	windowTokens int
}

func (a *answer) write() {
	d, fault := a.asked.Dialect, a.reply.Fault
	if a.reply.RetryAfter != "" {
		a.w.Header().Set("Retry-After", a.reply.RetryAfter)
	}
	switch fault {
	case RateLimited, ServerError, Overloaded, Unauthorized, Unscripted, Overflow:
		refuse(a.w, d, refusalOf(fault, d, a.asked.InputTokens, a.windowTokens))
		return
	case CutAtStart:
		a.begin()
		panic(http.ErrAbortHandler) // the connection breaks
	case Hang:
		a.begin()
		<-a.request.Context().Done()
		return
	}
	events := a.events()
	half := max(1, len(events)/2)
	switch fault {
	case OverflowInStream, ErrorInStream:
		events = []event{a.failure()}
	case OverflowAfterText:
		events = append(events[:half:half], a.failure())
	case Garbage:
		events = append(events[:half:half], event{data: "{\"a\":"})
	case CutInStream, HangInStream:
		events = events[:half]
	}
	a.begin()
	for _, e := range events {
		if !a.send(e.bytes()) {
			return
		}
	}
	switch fault {
	case CutInStream:
		panic(http.ErrAbortHandler)
	case HangInStream:
		<-a.request.Context().Done()
	}
}

// begin sends the header of a stream.
func (a *answer) begin() {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.WriteHeader(http.StatusOK)
	a.flush()
}

func (a *answer) flush() {
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// send writes an event; false means that whoever asked is gone.
func (a *answer) send(data []byte) bool {
	piece := len(data)
	if a.reply.Fault == Drip {
		piece = 1
	}
	for len(data) > 0 {
		n := min(piece, len(data))
		if _, err := a.w.Write(data[:n]); err != nil {
			return false
		}
		a.flush()
		data = data[n:]
	}
	return true
}

// failure is an error inside a stream.
func (a *answer) failure() event {
	d := a.asked.Dialect
	body := encode(refusalOf(a.reply.Fault, d, a.asked.InputTokens, a.windowTokens).body(d, true))
	switch d {
	case wirebody.Responses:
		return event{name: "response.failed", data: body}
	case wirebody.Anthropic:
		return event{name: "error", data: body}
	}
	return event{data: body}
}

// events are the whole answer.
func (a *answer) events() []event {
	if a.reply.Fault == Empty {
		a.reply.Reasoning, a.reply.Text, a.reply.Calls = "", "", nil
	}
	if a.reply.Fault == BadUsage {
		a.usage.OutputTokens = -1
	}
	switch a.asked.Dialect {
	case wirebody.Responses:
		return a.responses()
	case wirebody.Anthropic:
		return a.messages()
	case wirebody.Gemini:
		return a.gemini()
	}
	return a.chat()
}

// id names the answer.
func (a *answer) id(prefix string) string { return fmt.Sprintf("%s_%06d", prefix, a.asked.N) }

// reports says whether usage is reported.
func (a *answer) reports() bool { return a.reply.Fault != NoUsage }

// halves cuts a text in two pieces, between characters.
func halves(text string) []string {
	r := []rune(text)
	if len(r) < 2 {
		return []string{text}
	}
	return []string{string(r[:len(r)/2]), string(r[len(r)/2:])}
}
