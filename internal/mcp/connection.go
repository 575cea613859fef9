package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A connection is one declared server on its way through a run.
type connection struct {
	server  Server
	options Options
	tell    func(Problem)

	// Set by open, fixed afterwards.
	connected bool
	session   *sdk.ClientSession
	child     *child    // nil over HTTP
	endpoint  *endpoint // nil over stdio
	entries   []entry
	excluded  int
	listed    []string // the names as sent, while the list is read

	life    context.Context // done when the run's servers are closed
	endLife context.CancelFunc
	status  atomic.Int64 // the last refusal over HTTP
	listing atomic.Bool  // the list is being read or has been
	dead    atomic.Bool
}

func newConnection(s Server, o Options, tell func(Problem)) *connection {
	c := &connection{server: s, options: o, tell: tell}
	c.life, c.endLife = context.WithCancel(context.Background())
	return c
}

// report records a problem. Its text may hold what a server said.
func (c *connection) report(kind Kind, tool, text string) {
	c.tell(Problem{Kind: kind, Server: c.server.Name, Tool: shown(tool, 128), Text: shown(c.server.mask(text), 1000)})
}

// open connects and reads the list of tools, or reports why not.
func (c *connection) open(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.options.ConnectTimeout)
	defer cancel()
	stage := ""
	err := c.handshake(ctx)
	if err == nil {
		stage = "its list of tools could not be read: "
		err = c.list(ctx)
	}
	if err != nil {
		c.report(Unreachable, "", stage+c.unreachable(ctx, err)+" Its tools are missing in this run.")
		c.close()
		return
	}
	c.connected = true
	go c.watch()
}

// legacyProtocol is the newest version that begins with initialize.
const legacyProtocol = "2025-11-25"

// handshake begins the session. The newest protocol begins with a question
// that older servers refuse, and some of them end over it; such a server is
// started once more and asked the old way.
func (c *connection) handshake(ctx context.Context) error {
	err := c.attempt(ctx, "")
	if err != nil && ctx.Err() == nil && c.child != nil && c.child.stdin != nil {
		c.child.Close()
		if c.child.err == nil {
			err = c.attempt(ctx, legacyProtocol)
		}
	}
	return err
}

func (c *connection) attempt(ctx context.Context, protocol string) error {
	transport, kill := c.transport()
	stop := context.AfterFunc(ctx, kill) // whatever waits inside ends with it
	defer stop()
	client := sdk.NewClient(&sdk.Implementation{Name: "forge", Version: c.options.Version}, &sdk.ClientOptions{
		Logger:                 slog.New(slog.DiscardHandler),
		Capabilities:           &sdk.ClientCapabilities{}, // nothing is answered to a server
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: c.changed,
	})
	client.AddSendingMiddleware(c.observe)
	session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	c.session = session
	return err
}

func (c *connection) transport() (sdk.Transport, func()) {
	switch {
	case c.options.transport != nil:
		return c.options.transport(c.server), func() {}
	case c.server.URL != "":
		c.endpoint = newEndpoint(c.server, c.options.Client, func(code int) { c.status.Store(int64(code)) }, c.noise("sends events"))
		return c.endpoint.transport(), c.endpoint.kill
	}
	child := newChild(c.server, c.options, c.noise("writes lines to its standard output"))
	c.child = child
	return child, child.kill
}

// noise returns what is told the first thing that is no message.
func (c *connection) noise(does string) func(string) {
	return func(text string) {
		c.report(Noise, "", fmt.Sprintf("it %s that are no messages, and they are passed over. The first: %s", does, c.server.quote(text, 200)))
	}
}

// observe bounds the question that begins the newest protocol, since a server
// that never answers it may answer the old one, and sees the whole list of
// tools, from which the protocol's client takes out what it cannot use.
func (c *connection) observe(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "server/discover" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, c.options.ConnectTimeout/4)
			defer cancel()
		}
		result, err := next(ctx, method, req)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil && list != nil {
			c.see(list.Tools)
		}
		return result, err
	}
}

// changed notes that the list is another one by now.
func (c *connection) changed(context.Context, *sdk.ToolListChangedRequest) {
	if c.listing.Load() {
		c.report(Changed, "", "it changed its tools. The list of this run stays; the change takes effect at the next run.")
	}
}

// watch notes that the session ended before the run.
func (c *connection) watch() {
	c.session.Wait()
	if c.life.Err() != nil {
		return
	}
	c.dead.Store(true)
	if c.child != nil {
		c.child.Close()
	}
	c.report(Ended, "", c.gone()+" Its tools fail until the next run.")
}

// gone says that and how the server is gone.
func (c *connection) gone() string {
	if c.child != nil {
		if ending := c.child.ending(); ending != "" {
			return "the server is gone: " + ending + "."
		}
	}
	return "the connection to the server is broken."
}

// unreachable says why there is no session.
func (c *connection) unreachable(ctx context.Context, err error) string {
	if c.child != nil && c.child.stdin != nil {
		if ctx.Err() != nil && !c.child.hasEnded() {
			c.child.kill()
			<-c.child.ended
		} else if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) {
			c.child.Close()
		}
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		text := fmt.Sprintf("it was not ready within %s, and was given up. Check that it starts by itself, or give it more time.", c.options.ConnectTimeout)
		if c.child != nil && c.child.stdin != nil && c.child.lastWords() != "" {
			text += fmt.Sprintf(" Its last words: %q.", c.child.lastWords())
		}
		return text
	case ctx.Err() != nil:
		return "connecting was interrupted."
	case c.child != nil && c.child.err != nil:
		return c.child.ending() + "."
	case c.child != nil && c.child.ending() != "":
		return c.child.ending() + ", before it was ready. Start its command by hand to see why."
	}
	return c.refusal() + strings.TrimSuffix(reason(err), ".") + "."
}

// refusal says what an HTTP status asks for, empty for none.
func (c *connection) refusal() string {
	switch code := c.status.Load(); {
	case code == 0:
		return ""
	case code == 401 || code == 403:
		return fmt.Sprintf("it wants to know who asks (HTTP %d): give a valid Authorization in its headers. ", code)
	case code >= 300 && code < 400:
		return fmt.Sprintf("it is elsewhere (HTTP %d), and redirects are not followed: correct its URL. ", code)
	case code == 404 && c.connected:
		return fmt.Sprintf("it does not know the session any more (HTTP %d), as after a restart. ", code)
	case code == 404 || code == 405:
		return fmt.Sprintf("there is no server of this protocol at its URL (HTTP %d): correct the URL. ", code)
	default:
		return fmt.Sprintf("it answered with HTTP %d. ", code)
	}
}

// reason is an error of the protocol's client in few words.
func reason(err error) string {
	var wire *jsonrpc.Error
	switch {
	case !errors.As(err, &wire):
		return err.Error()
	case wire.Code == codeUnreadable:
		return wire.Message
	}
	return fmt.Sprintf("it answered with the error %d: %s", wire.Code, wire.Message)
}

// info describes the server.
func (c *connection) info() Info {
	i := Info{Name: c.server.Name, Transport: "stdio", Risk: c.server.risk(), Tools: len(c.entries), Excluded: c.excluded, Deferred: c.server.DeferTools}
	if c.server.URL != "" {
		i.Transport = "http"
	}
	if result := c.session.InitializeResult(); result != nil {
		i.Protocol = shown(result.ProtocolVersion, 40)
		if result.ServerInfo != nil {
			i.Title, i.Version = shown(result.ServerInfo.Name, 80), shown(result.ServerInfo.Version, 40)
		}
	}
	return i
}

// endTime is how long a session may take to notice that its server is gone. It
// waits for nobody but this program, so it is ample.
const endTime = 10 * time.Second

// close ends calls, session and server. A session over HTTP is told good-bye
// for as long as a child process is given to end.
func (c *connection) close() error {
	c.endLife()
	said := make(chan struct{})
	go func() {
		defer close(said)
		if c.session != nil {
			c.session.Close()
		}
	}()
	if c.child != nil {
		c.child.Close()
	}
	if c.endpoint != nil {
		grace := time.NewTimer(c.options.Grace)
		defer grace.Stop()
		select {
		case <-said:
		case <-grace.C:
		}
		c.endpoint.close()
	}
	gone := time.NewTimer(max(c.options.Grace, endTime))
	defer gone.Stop()
	select {
	case <-said:
		return nil
	case <-gone.C:
		return fmt.Errorf("close MCP server %s: the session does not end, although the server is gone", c.server.Name)
	}
}

// Bounds of a list of tools.
const (
	maxTools = 2000
	maxPages = 200
)

// see remembers the names of a page as the server sent it.
func (c *connection) see(tools []*sdk.Tool) {
	for _, t := range tools {
		if t == nil {
			c.report(Refused, "", "it listed a tool that is null.")
		} else {
			c.listed = append(c.listed, t.Name)
		}
	}
}

// list reads the list of tools, once.
func (c *connection) list(ctx context.Context) error {
	c.listing.Store(true)
	result := c.session.InitializeResult()
	if result == nil || result.Capabilities == nil || result.Capabilities.Tools == nil {
		c.report(Altered, "", "it offers no tools. Other things that servers offer are not used.")
		return nil
	}
	var read []*sdk.Tool
	cursor := ""
	for pages := 1; ; pages++ {
		page, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return err
		}
		read = append(read, page.Tools...)
		if page.NextCursor == "" {
			break
		}
		if page.NextCursor == cursor || pages >= maxPages || len(read) > maxTools {
			c.report(Refused, "", fmt.Sprintf("its list of tools does not end, or has more than %d; what comes after the first %d is left out.", maxTools, min(len(read), maxTools)))
			break
		}
		cursor = page.NextCursor
	}
	for _, name := range c.listed {
		if !slices.ContainsFunc(read, func(t *sdk.Tool) bool { return t.Name == name }) {
			c.report(Refused, name, "its schema asks for headers in a way that the protocol does not allow, so it is left out.")
		}
	}
	c.listed = nil
	if len(read) > maxTools {
		c.report(Refused, "", fmt.Sprintf("it has %d tools; those after the first %d are left out. Name those that are needed in its allow list.", len(read), maxTools))
		read = read[:maxTools]
	}
	c.take(read)
	return nil
}
