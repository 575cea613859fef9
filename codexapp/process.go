package codexapp

import (
	"crypto/rand"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// markName is the variable by which processes of an app server are found that
// have left its process group.
const markName = "FORGE_CODEX_SERVER"

// A process is a running app server.
type process struct {
	cmd    *exec.Cmd
	mark   string
	in     io.WriteCloser
	errors *lastWords
	grace  time.Duration
	ended  chan struct{} // closed when it and all that it started are gone
	once   sync.Once
}

// start runs the program as an app server that talks over its standard input
// and output. environ is its whole environment: Codex finds its own settings
// and credentials there, nothing of them is read here.
func start(program, dir string, environ []string, grace time.Duration) (conn, error) {
	p := &process{mark: rand.Text(), errors: &lastWords{}, grace: grace, ended: make(chan struct{})}
	p.cmd = exec.Command(program, "app-server")
	p.cmd.Dir = dir
	p.cmd.Env = append(environ[:len(environ):len(environ)], markName+"="+p.mark)
	p.cmd.Stderr = p.errors
	p.cmd.WaitDelay = grace // a process that holds the error output open shall not keep us
	p.prepare()
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return conn{}, fmt.Errorf("%w: %w", ErrStart, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return conn{}, fmt.Errorf("%w: %w", ErrStart, err)
	}
	if err := p.cmd.Start(); err != nil {
		return conn{}, fmt.Errorf("%w: %w", ErrStart, err)
	}
	p.in = in
	read := make(chan struct{})
	go p.reap(read)
	return conn{in: in, out: &untilEnd{r: out, done: read}, stop: p.stop, told: p.told}, nil
}

// untilEnd says when a reader has come to its end: only then may the program
// be waited for, since that closes its output.
type untilEnd struct {
	r    io.Reader
	done chan struct{}
	once sync.Once
}

func (u *untilEnd) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil {
		u.once.Do(func() { close(u.done) })
	}
	return n, err
}

// reap waits for the end of the program and kills what it has left.
func (p *process) reap(read <-chan struct{}) {
	defer close(p.ended)
	p.awaitExit()
	p.killGroup()
	p.sweep()
	select {
	case <-read:
	case <-time.After(p.grace):
	}
	p.cmd.Wait()
}

// stop asks the program to end by closing its input, then by a signal, then
// ends it, and returns when nothing of it is left.
func (p *process) stop() {
	p.once.Do(func() {
		p.in.Close()
		for _, next := range []func(){p.terminateGroup, p.killGroup} {
			select {
			case <-p.ended:
				return
			case <-time.After(p.grace):
				next()
			}
		}
	})
	<-p.ended
}

// told waits for the end, since only that is reported.
func (p *process) told() (last, ending string) {
	select {
	case <-p.ended:
	case <-time.After(p.grace):
		return p.errors.last(), ""
	}
	if state := p.cmd.ProcessState; state != nil {
		ending = state.String()
	}
	return p.errors.last(), ending
}

// lastWordsBytes is how much of the error output is kept.
const lastWordsBytes = 4096

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if n := len(l.text) - lastWordsBytes; n > 0 {
		l.text = append(l.text[:0], l.text[n:]...)
	}
	return len(p), nil
}

// last returns the last line that says something.
func (l *lastWords) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(l.text)), "\n")
	return lines[len(lines)-1]
}
