package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/internal/command"
)

// passedToServers are variables that servers get beside those of a command:
// they run unconfined, and the package runners that start many of them keep
// what they have fetched where these say.
var passedToServers = []string{"TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GOCACHE", "PROGRAMDATA"}

// environment is what a server over stdio gets: what is harmless of the user's
// and what is declared for it.
// All folders for temporary files are named in passedToServers, so they stay
// the user's.
func environment(s Server, o Options) []string {
	declared := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, ok := s.Env[name]
		return ok
	}
	out := command.Environment(o.Environ, append(slices.Clone(passedToServers), o.Pass...), os.TempDir())
	out = slices.DeleteFunc(out, declared)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		out = append(out, name+"="+s.Env[name])
	}
	return out
}

// maxNoise is how many lines that are no messages are passed over before a
// server is given up.
const maxNoise = 10_000

// A child is a server that runs as a child process. It is a transport, which
// starts it, and the connection to it: one message a line.
type child struct {
	server Server
	spec   command.Spec
	grace  time.Duration
	noise  func(text string) // told of the first line that is no message

	stdin  *os.File
	stdout *io.PipeReader
	stderr *lastBytes
	lines  *lineReader
	writes chan struct{} // held while a message is written
	noises int

	life context.Context // done when it is to be killed
	kill context.CancelFunc

	ended chan struct{} // closed when nothing of it is left
	exit  command.Exit  // valid then
	err   error         // valid then: why it was not started

	closing sync.Once
}

func newChild(s Server, o Options, noise func(string)) *child {
	dir := s.Dir
	if dir == "" {
		dir = o.Dir
	}
	life, kill := context.WithCancel(context.Background())
	return &child{
		server: s,
		spec:   command.Spec{Args: s.Command, DirPath: dir, Env: environment(s, o), Grace: o.Grace},
		grace:  o.Grace, noise: noise,
		stderr: &lastBytes{}, writes: make(chan struct{}, 1), ended: make(chan struct{}),
		life: life, kill: kill,
	}
}

// Connect starts the server. Whether that works shows when it is read from.
func (c *child) Connect(context.Context) (sdk.Connection, error) {
	input, stdin, err := os.Pipe()
	if err != nil {
		close(c.ended)
		return nil, err
	}
	stdout, output := io.Pipe()
	c.stdin, c.stdout, c.lines = stdin, stdout, newLineReader(stdout, maxMessageBytes)
	spec := c.spec
	spec.Input, spec.Output, spec.Errors = input, output, c.stderr
	go func() {
		defer close(c.ended)
		defer c.kill()
		c.exit, c.err = command.Run(c.life, spec)
		stdin.Close()
		output.Close()
	}()
	return c, nil
}

// Read returns the next message. Lines that are none are passed over: servers
// print greetings.
func (c *child) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := c.lines.next()
		if err != nil {
			return nil, io.EOF
		}
		if l.tooLong() {
			answer, err := unreadable(l.id(), tooLongText(l.total))
			if err != nil {
				return nil, fmt.Errorf("it sent a message of %d bytes; at most %d are read", l.total, maxMessageBytes)
			}
			return answer, nil
		}
		if len(bytes.TrimSpace(l.text)) == 0 {
			continue
		}
		message, _, err := decode(l.text)
		if err == nil {
			return message, nil
		}
		if c.noises++; c.noises == 1 {
			c.noise(string(l.text))
		}
		if c.noises > maxNoise {
			return nil, fmt.Errorf("it wrote more than %d lines that are no messages", maxNoise)
		}
	}
}

// codeUnreadable is the code of the error that stands in for a message that was
// not read. It is in the range that the protocol leaves to its users.
const codeUnreadable = -32050

// decode reads a message. own is set when it is an error with the code of those
// that are made here: it has another code then and is cut, so that no server
// speaks for this program.
func decode(data []byte) (message jsonrpc.Message, own bool, err error) {
	const serverError = -32000 // as servers use for what has no code of its own
	message, err = jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, false, err
	}
	var wire *jsonrpc.Error
	if response, ok := message.(*jsonrpc.Response); ok && errors.As(response.Error, &wire) && wire.Code == codeUnreadable {
		own = true
		wire.Code, wire.Message, wire.Data = serverError, clip(wire.Message, 4000), nil
	}
	return message, own, nil
}

// unreadable answers the call with an error in place of a message that cannot
// be read, so that the connection lives on.
func unreadable(id []byte, text string) (jsonrpc.Message, error) {
	var value any
	if len(id) > 0 && id[0] == '"' {
		value = strings.Trim(string(id), `"`)
	} else if n, err := parseNumber(id); err == nil {
		value = n
	}
	made, err := jsonrpc.MakeID(value)
	if err != nil || !made.IsValid() {
		return nil, errors.New("it answers no call that is known")
	}
	return &jsonrpc.Response{ID: made, Error: &jsonrpc.Error{Code: codeUnreadable, Message: text}}, nil
}

func tooLongText(total int) string {
	return fmt.Sprintf("the result has %d bytes, more than the %d that are read, and was thrown away. What the call did is done. Ask for less, a part or a page at a time", total, maxMessageBytes)
}

// Write sends a message, or gives up when ctx is done: a server need not read.
// After half a message there is no way to go on, so it is ended then.
func (c *child) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	select {
	case c.writes <- struct{}{}:
		defer func() { <-c.writes }()
	case <-ctx.Done():
		return ctx.Err()
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err := c.stdin.Write(append(data, '\n'))
	if !stop() {
		<-interrupted
		c.stdin.SetWriteDeadline(time.Time{})
	}
	if err != nil && n > 0 {
		c.kill()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// SessionID is empty: there is one session for a process.
func (c *child) SessionID() string { return "" }

// Close closes the server's input, waits, and ends what is left.
func (c *child) Close() error {
	c.closing.Do(func() {
		if c.stdin == nil {
			c.kill()
			return // never started
		}
		c.stdin.Close()
		c.stdout.Close() // so that nothing it still writes holds it up
		grace := time.NewTimer(c.grace)
		defer grace.Stop()
		select {
		case <-c.ended:
		case <-grace.C:
			c.kill()
			<-c.ended
		}
	})
	return nil
}

// hasEnded reports whether nothing of the server is left.
func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// ending says how the server ended, empty while it runs. The text may hold
// words of the server and its secrets.
func (c *child) ending() string {
	if !c.hasEnded() {
		return ""
	}
	if c.err != nil {
		text := strings.TrimPrefix(c.err.Error(), command.ErrNotStarted.Error()+": ")
		if errors.Is(c.err, os.ErrNotExist) {
			text = fmt.Sprintf("there is no program %q, or no folder %q", c.spec.Args[0], c.spec.DirPath)
		}
		return "it could not be started: " + text
	}
	text := fmt.Sprintf("it ended with exit code %d", c.exit.Code)
	if c.exit.Signal != "" {
		text = "it was ended by a signal: " + c.exit.Signal
	}
	if said := c.lastWords(); said != "" {
		text += fmt.Sprintf("; its last words: %q", said)
	}
	return text
}

// stderrBytes is how much of the standard error is kept. It is far more than is
// shown, so that a long secret at its beginning is whole enough to be known.
const stderrBytes = 16 << 10

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	mu   sync.Mutex
	text []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[max(0, len(p)-stderrBytes):]...)
	l.text = append([]byte{}, l.text[max(0, len(l.text)-stderrBytes):]...)
	return len(p), nil
}

// String returns what was kept.
func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// lastWords are the last lines of the standard error on one line, without the
// server's secrets; empty when there are none.
func (c *child) lastWords() string {
	const most = 300
	words := strings.Join(strings.Fields(strings.ToValidUTF8(c.server.mask(c.stderr.String()), "\uFFFD")), " ")
	from := max(0, len(words)-most)
	for from < len(words) && words[from]&0xC0 == 0x80 {
		from++
	}
	return words[from:]
}
