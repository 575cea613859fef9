package journey

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// A chatMessage is a message as the server reads it.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// A request is what the server got.
type request struct {
	Messages []chatMessage     `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
}

// add appends a message with a text.
func (r *request) add(role, text string) {
	r.Messages = append(r.Messages, chatMessage{Role: role, Content: json.RawMessage(quoted(text))})
}

// texts returns the text of each message.
func (r request) texts() []string {
	var out []string
	for _, m := range r.Messages {
		out = append(out, contentText(m.Content))
	}
	return out
}

// contentText reads a content that is a text or a list of parts.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		text += p.Text + "\n"
	}
	return text
}

// tasks counts the tasks of a person that stand in it word for word.
func (r request) tasks() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "user" && strings.HasPrefix(contentText(m.Content), taskMark) {
			n++
		}
	}
	return n
}

// A call is a tool call of the scripted model.
type call struct{ name, arguments string }

// A reply is what the scripted model answers.
type reply struct {
	text string
	call *call
	// tooLong refuses the request as too long; hang answers nothing until
	// the client is gone.
	tooLong, hang bool
}

// received is one request with what the server counted of it.
type received struct {
	request
	inputTokens, outputTokens int
	refused                   bool
}

// A script answers the n-th request of a story, counted from 0.
type script func(n int, r *request) reply

// A server speaks chat completions on the loopback interface. It counts with
// a tokenizer of its own and its own framing, and knows nothing of what Forge
// estimates.
type server struct {
	url   string
	http  *http.Server
	count tokenizer.Counter

	mu     sync.Mutex
	script script
	log    []received
	calls  int
	hung   chan struct{} // closed when a reply hangs
	tools  []json.RawMessage
}

func serve() (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start scripted server: %w", err)
	}
	s := &server{url: "http://" + listener.Addr().String(), count: o200k.New(), hung: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("/mcp", s.mcp)
	s.http = &http.Server{Handler: mux}
	go s.http.Serve(listener) // it ends with Close
	return s, nil
}

// requests returns what the server got so far.
func (s *server) requests() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *server) close() error { return s.http.Close() }

// weigh counts a request: texts, calls and tools, four tokens for each message
// and three for the answer to begin.
func (s *server) weigh(r *request) int {
	n := 3
	for i, text := range r.texts() {
		n += 4 + s.count.Count(text)
		for _, c := range r.Messages[i].ToolCalls {
			n += s.count.Count(c.Function.Name) + s.count.Count(c.Function.Arguments)
		}
	}
	for _, t := range r.Tools {
		n += s.count.Count(string(t))
	}
	return n
}

func (s *server) complete(w http.ResponseWriter, hr *http.Request) {
	var r request
	if err := json.NewDecoder(hr.Body).Decode(&r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	n := len(s.log)
	answer := s.script(n, &r)
	one := received{request: r, inputTokens: s.weigh(&r), refused: answer.tooLong}
	one.outputTokens = s.count.Count(answer.text)
	if answer.call != nil {
		s.calls++
		one.outputTokens += s.count.Count(answer.call.name + answer.call.arguments)
	}
	id := s.calls
	s.log = append(s.log, one)
	s.mu.Unlock()
	switch {
	case answer.hang:
		close(s.hung)
		<-hr.Context().Done()
	case answer.tooLong:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"This model's maximum context length is 16000 tokens. However, your messages resulted in %d tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, one.inputTokens)
	default:
		stream(w, answer, id, one)
	}
}

// stream sends an answer as events.
func stream(w http.ResponseWriter, a reply, id int, one received) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(format string, args ...any) {
		fmt.Fprintf(w, "data: "+format+"\n\n", args...)
	}
	const head = `{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1,"model":"gpt-4o",`
	finish := "stop"
	if a.text != "" {
		event(head+`"choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]}`, id, quoted(a.text))
	}
	if a.call != nil {
		finish = "tool_calls"
		event(head+`"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%s,"arguments":%s}}]},"finish_reason":null}]}`,
			id, id, quoted(a.call.name), quoted(a.call.arguments))
	}
	event(head+`"choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}`, id, finish)
	event(head+`"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, id, one.inputTokens, one.outputTokens, one.inputTokens+one.outputTokens)
	event("[DONE]")
}

func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(data)
}

// mcp is a server of tools: it lists them and runs none.
func (s *server) mcp(w http.ResponseWriter, hr *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	if hr.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if json.NewDecoder(hr.Body).Decode(&m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":%s,"capabilities":{"tools":{}},"serverInfo":{"name":"many","version":"1"}}`, quoted(m.Params.Version))
	case "tools/list":
		var list []string
		for _, t := range s.tools {
			list = append(list, string(t))
		}
		result = `{"tools":[` + strings.Join(list, ",") + `]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}
