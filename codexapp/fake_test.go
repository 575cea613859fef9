package codexapp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/forge-agent/forge/codexapp"
)

// fake is an app server in this process. It knows the methods that the client
// uses and keeps threads; what a turn does is scripted.
type fake struct {
	t  testing.TB
	mu sync.Mutex

	userAgent string
	// play does what a turn or a compaction does, and ends with f.complete.
	play func(f *fake, c call)
	// reply answers a request in another way; ok is false for the usual one.
	reply func(f *fake, method string, id json.RawMessage, params json.RawMessage) (ok bool)

	threads  map[string]*fakeThread
	loaded   map[string]bool
	count    int
	starts   int      // servers that were started
	calls    []string // methods, in order
	prompts  []string
	injected []string
	answers  map[string]chan json.RawMessage
	out      *io.PipeWriter
	closed   bool
	running  int        // turns
	ended    *sync.Cond // one of them
	words    string     // last words
	left     int        // messages until it dies, when mortal
	mortal   bool
}

type fakeThread struct {
	id     string
	params map[string]any
	turns  []string
}

// call is a turn that was asked for.
type call struct {
	thread, turn, prompt string
	compact              bool
	interrupted          chan struct{}
}

func newFake(t testing.TB, play func(f *fake, c call)) *fake {
	f := &fake{t: t, userAgent: "forge/0.171.0 (Test; x86_64) forge", play: play, threads: map[string]*fakeThread{}, loaded: map[string]bool{}, answers: map[string]chan json.RawMessage{}}
	f.ended = sync.NewCond(&f.mu)
	return f
}

// change changes what the server does, between two runs.
func (f *fake) change(to func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to()
}

// connect starts a server that knows the threads of the one before.
func (f *fake) connect() (io.WriteCloser, io.Reader, func(), func() (string, string), error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	f.mu.Lock()
	f.out, f.closed, f.loaded = outW, false, map[string]bool{}
	f.starts++
	f.mu.Unlock()
	go f.serve(inR, outW)
	stop := func() {
		f.mu.Lock()
		f.closed = true
		f.mu.Unlock()
		inW.Close()
		outW.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		for f.running > 0 {
			f.ended.Wait()
		}
	}
	return inW, outR, stop, func() (string, string) { return f.words, "exit status 3" }, nil
}

func (f *fake) serve(in *io.PipeReader, out *io.PipeWriter) {
	defer in.Close()
	interrupts := map[string]chan struct{}{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			out.Close()
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(line, &m) != nil {
			f.t.Errorf("the client wrote %.200q", line)
			continue
		}
		if m.Method == "" {
			f.mu.Lock()
			to := f.answers[string(m.ID)]
			f.mu.Unlock()
			if to != nil {
				if m.Result == nil {
					m.Result = m.Error
				}
				to <- m.Result
			}
			continue
		}
		f.mu.Lock()
		f.calls = append(f.calls, m.Method)
		other := f.reply
		f.mu.Unlock()
		if other != nil && other(f, m.Method, m.ID, m.Params) {
			continue
		}
		f.request(m.Method, m.ID, m.Params, interrupts)
	}
}

func (f *fake) request(method string, id, params json.RawMessage, interrupts map[string]chan struct{}) {
	var p struct {
		ThreadID string                                      `json:"threadId"`
		TurnID   string                                      `json:"turnId"`
		Input    []struct{ Text string }                     `json:"input"`
		Items    []struct{ Content []struct{ Text string } } `json:"items"`
	}
	json.Unmarshal(params, &p)
	switch method {
	case "initialize":
		f.result(id, map[string]any{"userAgent": f.userAgent, "codexHome": "/nowhere", "unknownMember": []int{1}})
	case "initialized":
	case "account/read":
		f.result(id, map[string]any{"account": nil, "requiresOpenaiAuth": false})
	case "thread/start":
		f.mu.Lock()
		f.count++
		th := &fakeThread{id: fmt.Sprintf("thread-%d", f.count)}
		json.Unmarshal(params, &th.params)
		f.threads[th.id], f.loaded[th.id] = th, true
		f.mu.Unlock()
		f.result(id, map[string]any{"thread": map[string]any{"id": th.id}, "model": "fake-model"})
	case "thread/resume":
		f.mu.Lock()
		th := f.threads[p.ThreadID]
		f.loaded[p.ThreadID] = th != nil
		f.mu.Unlock()
		if th == nil {
			f.refuse(id, "thread not found: "+p.ThreadID)
			return
		}
		f.result(id, map[string]any{"thread": map[string]any{"id": th.id}, "model": "fake-model"})
	case "thread/turns/list":
		var data []map[string]any
		f.mu.Lock()
		if th := f.threads[p.ThreadID]; len(th.turns) > 0 {
			data = append(data, map[string]any{"id": th.turns[len(th.turns)-1], "status": "completed"})
		}
		f.mu.Unlock()
		f.result(id, map[string]any{"data": data})
	case "thread/inject_items":
		f.mu.Lock()
		f.injected = append(f.injected, p.Items[0].Content[0].Text)
		f.mu.Unlock()
		f.result(id, map[string]any{})
	case "thread/unsubscribe", "thread/loaded/list":
		f.result(id, map[string]any{"data": []string{}})
	case "turn/start", "thread/compact/start":
		f.startTurn(method, id, p.ThreadID, p.Input, interrupts)
	case "turn/interrupt":
		f.result(id, map[string]any{})
		if c := interrupts[p.TurnID]; c != nil {
			delete(interrupts, p.TurnID)
			close(c)
		}
	default:
		f.refuse(id, "unknown variant "+method)
	}
}

func (f *fake) startTurn(method string, id json.RawMessage, threadID string, input []struct{ Text string }, interrupts map[string]chan struct{}) {
	f.mu.Lock()
	th := f.threads[threadID]
	if f.closed {
		f.mu.Unlock()
		return
	}
	if th == nil || !f.loaded[threadID] {
		f.mu.Unlock()
		f.refuse(id, "thread not found: "+threadID)
		return
	}
	f.count++
	c := call{thread: threadID, turn: fmt.Sprintf("turn-%d", f.count), compact: method != "turn/start", interrupted: make(chan struct{})}
	th.turns = append(th.turns, c.turn)
	for _, in := range input {
		c.prompt += in.Text
	}
	if !c.compact {
		f.prompts = append(f.prompts, c.prompt)
	}
	play := f.play
	f.running++
	f.mu.Unlock()
	interrupts[c.turn] = c.interrupted
	if c.compact {
		f.result(id, map[string]any{})
	} else {
		f.result(id, map[string]any{"turn": map[string]any{"id": c.turn, "status": "inProgress"}})
	}
	go func() {
		defer f.change(func() { f.running--; f.ended.Broadcast() })
		f.note("turn/started", map[string]any{"threadId": threadID, "turn": map[string]any{"id": c.turn, "status": "inProgress"}})
		play(f, c)
	}()
}

// send writes one message; a server that has ended writes nothing.
func (f *fake) send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		f.t.Error(err)
		return
	}
	f.raw(string(line) + "\n")
}

func (f *fake) raw(text string) {
	f.mu.Lock()
	out := f.out
	if f.mortal {
		if f.left--; f.left < 0 {
			f.mu.Unlock()
			out.Close()
			return
		}
	}
	f.mu.Unlock()
	io.WriteString(out, text)
}

func (f *fake) result(id json.RawMessage, v any) { f.send(map[string]any{"id": id, "result": v}) }

func (f *fake) refuse(id json.RawMessage, text string) {
	f.send(map[string]any{"id": id, "error": map[string]any{"code": -32600, "message": text}})
}

func (f *fake) note(method string, params any) {
	f.send(map[string]any{"method": method, "params": params, "emittedAtMs": 1})
}

// ask sends a request of the server and returns the client's answer.
func (f *fake) ask(id, method string, params any) json.RawMessage {
	to := make(chan json.RawMessage, 1)
	f.mu.Lock()
	f.answers[id] = to
	f.mu.Unlock()
	f.send(map[string]any{"id": json.RawMessage(id), "method": method, "params": params})
	return <-to
}

func (f *fake) item(c call, what string, item map[string]any) {
	f.note("item/"+what, map[string]any{"threadId": c.thread, "turnId": c.turn, "item": item})
}

// say is an answer of the model.
func (f *fake) say(c call, text string) {
	id := fmt.Sprintf("msg-%s-%d", c.turn, len(text))
	f.item(c, "started", map[string]any{"type": "agentMessage", "id": id, "text": ""})
	f.note("item/agentMessage/delta", map[string]any{"threadId": c.thread, "itemId": id, "delta": text})
	f.item(c, "completed", map[string]any{"type": "agentMessage", "id": id, "text": text})
}

// usage reports a model request; total is made up, as it is after an overflow.
func (f *fake) usage(c call, input, output, window int) {
	last := map[string]any{"totalTokens": input + output, "inputTokens": input, "outputTokens": output, "cachedInputTokens": 0, "reasoningOutputTokens": 0}
	f.note("thread/tokenUsage/updated", map[string]any{"threadId": c.thread, "turnId": c.turn,
		"tokenUsage": map[string]any{"last": last, "total": map[string]any{"totalTokens": 999999}, "modelContextWindow": window}})
}

func (f *fake) estimate(c call, tokens, window int) {
	f.note("thread/tokenUsage/updated", map[string]any{"threadId": c.thread, "turnId": c.turn,
		"tokenUsage": map[string]any{"last": map[string]any{"totalTokens": tokens}, "total": map[string]any{"totalTokens": 1}, "modelContextWindow": window}})
}

func (f *fake) complete(c call, status, kind string) {
	t := map[string]any{"id": c.turn, "status": status}
	if kind != "" {
		t["error"] = map[string]any{"message": "it went wrong", "codexErrorInfo": kind}
	}
	f.note("turn/completed", map[string]any{"threadId": c.thread, "turn": t})
}

// answer plays an ordinary turn.
func (f *fake) answer(c call, text string) {
	f.say(c, text)
	f.usage(c, 1000+len(c.prompt)/4, 10, 100_000)
	f.complete(c, "completed", "")
}

func (f *fake) called(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, m := range f.calls {
		if m == method {
			n++
		}
	}
	return n
}

// lastInjected is the newest wrapper.
func (f *fake) lastInjected() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.injected) == 0 {
		return ""
	}
	return f.injected[len(f.injected)-1]
}

func (f *fake) options(o codexapp.Options) codexapp.Options {
	o.Connect(f.connect)
	return o
}
