package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/internal/mcp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// A server over HTTP works in each of the protocol's forms, gets the declared
// headers, and its tools have the risk network.
func TestHTTP(t *testing.T) {
	for name, o := range map[string]*sdk.StreamableHTTPOptions{
		"events": {}, "json": {JSONResponse: true}, "stateless": {Stateless: true}, "stateless json": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return testServer() }, o)
			var without atomic.Int32
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer token" {
					without.Add(1)
				}
				handler.ServeHTTP(w, r)
			}))
			all := connect(t, options(), mcp.Server{Name: "web", URL: url, Headers: map[string]string{"Authorization": "Bearer token"}})
			defer func() {
				if without.Load() != 0 {
					t.Errorf("%d requests without the header", without.Load())
				}
			}()
			s := set(t, all)
			if len(all.Problems()) != 0 {
				t.Fatalf("problems: %v", all.Problems())
			}
			p := plan(t, s, "web__echo", `{"a":1}`)
			if p.Risk != tool.RiskNetwork {
				t.Errorf("risk %s", p.Risk)
			}
			if r := p.Run(t.Context()); r.Outcome != message.OutcomeSuccess || r.Text != `{"a":1}` {
				t.Errorf("echo: %+v", r)
			}
			if r := call(t, s, "web__ask", ""); r.Outcome != message.OutcomeFailure {
				t.Errorf("ask: %+v", r)
			}
			if r := call(t, s, "web__fail", ""); r.Outcome != message.OutcomeFailure || r.Text != "no such ticket" {
				t.Errorf("fail: %+v", r)
			}
			if i := all.Infos(); len(i) != 1 || i[0].Transport != "http" {
				t.Errorf("infos %+v", i)
			}
			if strings.Contains(name, "stateless") {
				return
			}
			polls := 0
			await(t, func() bool {
				if polls%200 == 0 { // a notice is lost before the stream of notices is open
					if r := call(t, s, "web__change", ""); r.Text != "changed" {
						t.Errorf("change: %+v", r)
					}
				}
				polls++
				return len(all.Problems()) > 0
			})
			problem(t, all, mcp.Changed, "web")
			if r := call(t, s, "web__big", fmt.Sprintf(`{"bytes":%d}`, mcp.MaxMessageBytes)); r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "thrown away") {
				t.Errorf("big: %.300s", r.Text)
			}
			if r := call(t, s, "web__echo", ""); r.Outcome != message.OutcomeSuccess {
				t.Errorf("after a result that is too long: %+v", r)
			}
		})
	}
}

// webServer answers by hand. Each method is answered by a function, or as a
// server of the older protocol would.
type webServer struct {
	answer map[string]http.HandlerFunc
	once   bool // the functions answer the first call only
	mu     sync.Mutex
	calls  []string
}

func (s *webServer) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.calls {
		if m == method {
			n++
		}
	}
	return n
}

func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	m.Method = r.Method
	if r.Method == http.MethodPost {
		json.NewDecoder(r.Body).Decode(&m)
		r.Header.Set("X-Id", string(m.ID)) // for functions, which find the body read
	}
	s.mu.Lock()
	s.calls = append(s.calls, m.Method)
	s.mu.Unlock()
	if answer := s.answer[m.Method]; answer != nil && (!s.once || s.count(m.Method) == 1) {
		answer(w, r)
		return
	}
	body := ""
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "abc")
		body = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		body = `"result":{"tools":[{"name":"only","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		body = `"result":{"content":[{"type":"text","text":"done"}]}`
	case "server/discover":
		body = `"error":{"code":-32601,"message":"no such method"}`
	case http.MethodGet:
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
}

// Refusals name what to correct; a redirect is not followed, so headers go
// nowhere else.
func TestHTTPRefusals(t *testing.T) {
	var elsewhere atomic.Int32
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other)
			w.WriteHeader(code)
		})
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	headers := map[string]string{"Authorization": "Bearer sesame-street"}
	all := connect(t, options(),
		mcp.Server{Name: "who", URL: serve(t, status(401)), Headers: headers},
		mcp.Server{Name: "moved", URL: serve(t, status(307)), Headers: headers},
		mcp.Server{Name: "none", URL: serve(t, status(404))},
		mcp.Server{Name: "broken", URL: serve(t, status(500))},
		mcp.Server{Name: "closed", URL: closed.URL},
		mcp.Server{Name: "page", URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>sesame-street") }))},
	)
	problem(t, all, mcp.Unreachable, "who", "HTTP 401", "Authorization")
	problem(t, all, mcp.Unreachable, "moved", "HTTP 307", "redirects are not followed")
	problem(t, all, mcp.Unreachable, "none", "HTTP 404")
	problem(t, all, mcp.Unreachable, "broken", "HTTP 500")
	problem(t, all, mcp.Unreachable, "closed")
	problem(t, all, mcp.Unreachable, "page")
	o := options()
	o.ConnectTimeout = time.Second
	problem(t, connect(t, o, mcp.Server{Name: "hangs", URL: serve(t, hang)}), mcp.Unreachable, "hangs", "not ready within 1s")
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
	for _, p := range all.Problems() {
		if strings.Contains(p.String(), "sesame") {
			t.Errorf("a secret is shown: %s", p)
		}
	}
}

// The stream of notices can hang, break, be refused or hold anything: the
// session works without it, and a notice behind garbage is heard.
func TestNoticeStream(t *testing.T) {
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
		}
	}
	const notice = "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/tools/list_changed\"}\n\n"
	for name, test := range map[string]struct {
		get   http.HandlerFunc
		noise string // what is told of what was left out
		heard bool   // the notice is
	}{
		"hangs":           {get: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"breaks":          {get: stream("")},
		"fails":           {get: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		"cut":             {get: stream("data: {\"jsonrpc\"")},
		"no message":      {get: stream("data: sesame\n\n" + notice), noise: "sesame", heard: true},
		"no field":        {get: stream("sesame\n\n" + notice), heard: true},
		"other event":     {get: stream("event: ping\ndata: sesame\n\n" + notice), heard: true},
		"long line":       {get: stream("data: " + strings.Repeat("x", mcp.MaxMessageBytes) + "\n\n" + notice), noise: "an event of 20971526 bytes", heard: true},
		"many long lines": {get: stream(strings.Repeat("data: "+strings.Repeat("x", mcp.MaxMessageBytes/3)+"\n", 4) + "\n" + notice), noise: "an event of 27962028 bytes", heard: true},
		"long name":       {get: stream("id: " + strings.Repeat("x", 1<<20) + "\n" + notice), heard: true},
	} {
		t.Run(name, func(t *testing.T) {
			listed := make(chan struct{})
			server := &webServer{answer: map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter, r *http.Request) {
				select { // a change that is told before the list was read is none
				case <-listed:
					test.get(w, r)
				case <-r.Context().Done():
				}
			}}}
			all := connect(t, options(), mcp.Server{Name: "web", URL: serve(t, server)})
			close(listed)
			if test.heard {
				await(t, func() bool {
					return slices.ContainsFunc(all.Problems(), func(p mcp.Problem) bool { return p.Kind == mcp.Changed })
				})
			}
			if test.noise != "" {
				problem(t, all, mcp.Noise, "web", test.noise)
			}
			if r := call(t, set(t, all), "web__only", ""); r.Outcome != message.OutcomeSuccess || r.Text != "done" {
				t.Errorf("got %+v, %v", r, all.Problems())
			}
		})
	}
}

// F-SEC-10: whatever goes wrong with a call, it is sent once.
func TestCalledOnce(t *testing.T) {
	events := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }
	for name, answer := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"429": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
		"503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusPermanentRedirect)
		},
		"hang up":            func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut stream":         func(w http.ResponseWriter, _ *http.Request) { events(w); fmt.Fprint(w, "data: {\"jsonrpc\"") },
		"no answer":          func(w http.ResponseWriter, _ *http.Request) { events(w) },
		"garbage":            func(w http.ResponseWriter, _ *http.Request) { events(w); fmt.Fprint(w, "data: garbage\n\n") },
		"garbage with an id": func(w http.ResponseWriter, _ *http.Request) { events(w); fmt.Fprint(w, "id: 1\ndata: garbage\n\n") },
		"garbage behind an id": func(w http.ResponseWriter, _ *http.Request) {
			events(w)
			fmt.Fprint(w, "id: 1\ndata: \n\ndata: garbage\n\n")
		},
		"page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"bad JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":`)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &webServer{once: true, answer: map[string]http.HandlerFunc{"tools/call": answer}}
			o := options()
			if name == "hangs" {
				o.CallTimeout = time.Second
			}
			all := connect(t, o, mcp.Server{Name: "web", URL: serve(t, server)})
			s := set(t, all)
			r := call(t, s, "web__only", "{}")
			if r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "web") {
				t.Errorf("got %+v", r)
			}
			if n := server.count("tools/call"); n != 1 {
				t.Errorf("sent %d times", n)
			}
			if slices.Contains([]string{"cut stream", "no answer", "garbage", "garbage with an id", "garbage behind an id", "bad JSON", "429", "503"}, name) {
				if r := call(t, s, "web__only", "{}"); r.Outcome != message.OutcomeSuccess {
					t.Errorf("the next call: %+v", r)
				}
			}
		})
	}
}

// A server that never answers the good-bye does not hold up the end.
func TestHTTPClose(t *testing.T) {
	server := &webServer{answer: map[string]http.HandlerFunc{
		http.MethodDelete: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}}
	all := connect(t, options(), mcp.Server{Name: "web", URL: serve(t, server)})
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	if r := call(t, set(t, all), "web__only", "{}"); r.Outcome != message.OutcomeFailure {
		t.Errorf("after the end: %+v", r)
	}
}
