package journey

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// shell is what connects a process's streams to a port. Where it is missing,
// the fixture of the external engine cannot be played.
const shell = "/bin/bash"

// An appServer plays the program of the external engine: it forgets
// everything from one thread to the next and follows a script.
type appServer struct {
	listener net.Listener
	// turn is called for each turn with what the thread was handed and the
	// prompt; it returns the output of a command and the answer.
	turn func(view, prompt string) (output, answer string)

	mu      sync.Mutex
	count   int
	threads map[string]string // thread → what was handed to it
}

func serveCodex(turn func(view, prompt string) (output, answer string)) (*appServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start scripted app server: %w", err)
	}
	s := &appServer{listener: l, turn: turn, threads: map[string]string{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			go s.serve(c)
		}
	}()
	return s, nil
}

func (s *appServer) close() error { return s.listener.Close() }

// program writes the program that a run starts: its streams are the server's.
func (s *appServer) program(dir string) (string, error) {
	_, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "codex")
	text := fmt.Sprintf("#!%s\nexec 3<>/dev/tcp/127.0.0.1/%s\n/bin/cat <&3 &\ntrap 'kill $!' EXIT\n/bin/cat >&3\n", shell, port)
	return path, os.WriteFile(path, []byte(text), 0o700)
}

// conn is one connection; answers and events come from one goroutine each.
type conn struct {
	mu  sync.Mutex
	out io.Writer
}

func (c *conn) send(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Write(append(data, '\n')) // a client that is gone gets nothing
}

func (c *conn) note(method string, params map[string]any) {
	c.send(map[string]any{"method": method, "params": params, "emittedAtMs": 1})
}

func (s *appServer) serve(n net.Conn) {
	defer n.Close()
	c := &conn{out: n}
	lines := bufio.NewReader(n)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ThreadID string                                      `json:"threadId"`
				Input    []struct{ Text string }                     `json:"input"`
				Items    []struct{ Content []struct{ Text string } } `json:"items"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := s.result(c, m.Method, m.Params.ThreadID, handed(m.Params.Items))
		if m.Method == "turn/start" {
			prompt := ""
			for _, in := range m.Params.Input {
				prompt += in.Text
			}
			s.mu.Lock()
			s.count++
			id := fmt.Sprintf("turn-%d", s.count)
			view := s.threads[m.Params.ThreadID]
			s.mu.Unlock()
			c.send(map[string]any{"id": m.ID, "result": map[string]any{"turn": map[string]any{"id": id, "status": "inProgress"}}})
			s.play(c, m.Params.ThreadID, id, view, prompt)
			continue
		}
		c.send(map[string]any{"id": m.ID, "result": result})
	}
}

func handed(items []struct{ Content []struct{ Text string } }) string {
	var b strings.Builder
	for _, i := range items {
		for _, c := range i.Content {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// result answers everything but a turn.
func (s *appServer) result(_ *conn, method, thread, view string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "initialize":
		return map[string]any{"userAgent": "forge/0.171.0 (Scripted; x86_64) forge", "codexHome": "/nowhere"}
	case "account/read":
		return map[string]any{"account": nil, "requiresOpenaiAuth": false}
	case "thread/start":
		s.count++
		id := fmt.Sprintf("thread-%d", s.count)
		s.threads[id] = ""
		return map[string]any{"thread": map[string]any{"id": id}, "model": "gpt-4o"}
	case "thread/inject_items":
		s.threads[thread] += view
	}
	return map[string]any{"data": []string{}}
}

// play is one turn: a command, an answer, the usage.
func (s *appServer) play(c *conn, thread, turn, view, prompt string) {
	s.mu.Lock()
	output, answer := s.turn(view, prompt)
	s.mu.Unlock()
	item := func(what string, v map[string]any) {
		c.note("item/"+what, map[string]any{"threadId": thread, "turnId": turn, "item": v})
	}
	c.note("turn/started", map[string]any{"threadId": thread, "turn": map[string]any{"id": turn, "status": "inProgress"}})
	item("completed", map[string]any{"type": "commandExecution", "id": "cmd-" + turn, "command": "cat part", "status": "completed", "exitCode": 0, "aggregatedOutput": output})
	item("started", map[string]any{"type": "agentMessage", "id": "msg-" + turn, "text": ""})
	item("completed", map[string]any{"type": "agentMessage", "id": "msg-" + turn, "text": answer})
	c.note("turn/completed", map[string]any{"threadId": thread, "turn": map[string]any{"id": turn, "status": "completed"}})
}

// wrapped: a session that is carried into the external engine by the wrapper
// stays bounded, and holds what the person stated.
func wrapped() fixture {
	f := constraint()
	f.id, f.model, f.codex = "F-E2E-09", func() script { return func(int, *request) reply { return reply{} } }, true
	f.config = map[string]any{"engine": "codex"}
	for i := range 6 {
		f.tasks = append(f.tasks, task{prompt: fmt.Sprintf("%sGo on with part %d.", taskMark, i)})
	}
	return f
}

// codexTurn counts what the external engine was handed, and answers.
func (p *play) codexTurn(view, prompt string) (output, answer string) {
	one := received{inputTokens: p.server.count.Count(view) + p.server.count.Count(prompt)}
	for _, text := range []string{view, prompt} {
		one.add("user", text)
	}
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	n := len(p.server.log)
	output = source(n)
	answer = fmt.Sprintf("Part %d is read. ", n) + strings.Repeat("Each step passes its item on and adds a number to it. ", 25)
	one.outputTokens = p.server.count.Count(answer)
	p.server.log = append(p.server.log, one)
	return output, answer
}
