package codexapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// client talks to one running app server. Replies, notifications and requests
// come in one stream and are taken in the order in which they were sent, by
// the one goroutine that uses the client.
type client struct {
	w       *wire
	limits  Timeouts
	handle  func(context.Context, inbound) // notifications and requests of the server
	last    int64                          // newest id
	ignored int                            // replies that nothing waited for
	posted  map[string]bool                // requests whose reply tells nothing
	dead    error                          // why no more can be said
	closed  bool
}

func newClient(c conn, limits Timeouts, handle func(context.Context, inbound)) *client {
	return &client{w: newWire(c), limits: limits, handle: handle, posted: map[string]bool{}}
}

type request struct {
	ID     int64  `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

type notification struct {
	Method string `json:"method"`
}

type reply struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result,omitempty"`
	Error  *replyError     `json:"error,omitempty"`
}

type replyError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// strays is what the server sent without rule so far.
func (c *client) strays() Strays {
	return Strays{Garbage: int(c.w.strays.garbage.Load()), Oversize: int(c.w.strays.oversize.Load()), Unmatched: c.ignored}
}

// send writes a message, and fails when the server takes none for the time
// that a reply may take.
func (c *client) send(v any) error {
	if c.dead != nil {
		return c.dead
	}
	give := make(chan struct{})
	timer := time.AfterFunc(c.limits.Reply, func() { close(give) })
	defer timer.Stop()
	if err := c.w.send(v, give); err != nil {
		return c.die(err)
	}
	return nil
}

// call sends a request and takes messages until its reply is there. What else
// comes meanwhile goes to the handler.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	c.last++
	id := c.last
	if err := c.send(request{ID: id, Method: method, Params: params}); err != nil {
		return err
	}
	deadline := time.NewTimer(c.limits.Reply)
	defer deadline.Stop()
	for {
		select {
		case m, ok := <-c.w.messages:
			if !ok {
				return c.die(nil)
			}
			if m.Method != "" {
				c.handle(ctx, m)
				continue
			}
			if string(m.ID) != strconv.FormatInt(id, 10) {
				c.stray(m)
				continue
			}
			return decodeReply(method, m, result)
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return c.die(fmt.Errorf("%w: there was no reply to %s within %s; it was ended, try again", ErrSilent, method, c.limits.Reply))
		}
	}
}

func decodeReply(method string, m inbound, result any) error {
	if m.Error != nil {
		return &ReplyError{Method: method, Code: m.Error.Code, Message: m.Error.Message}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("%w: its reply to %s cannot be read; this Forge was tested with Codex %s", ErrProtocol, method, testedVersions)
	}
	return nil
}

// post sends a request whose reply is not waited for.
func (c *client) post(method string, params any) error {
	c.last++
	c.posted[strconv.FormatInt(c.last, 10)] = true
	return c.send(request{ID: c.last, Method: method, Params: params})
}

// stray takes a reply that nothing waits for: to what was posted, a second
// one, or one to what was given up.
func (c *client) stray(m inbound) {
	if id := string(m.ID); c.posted[id] {
		delete(c.posted, id)
		return
	}
	c.ignored++
}

// errQuiet: the server lives and has nothing to say.
var errQuiet = errors.New("nothing was said")

// next takes one message that is not a reply and hands it to the handler. When
// there is none for the time that a server may be silent, it is asked whether
// it still lives; the error is errQuiet when it does. wake, which may be nil,
// ends the waiting.
func (c *client) next(ctx context.Context, wake <-chan struct{}) error {
	if c.dead != nil {
		return c.dead
	}
	idle := time.NewTimer(c.limits.Idle)
	defer idle.Stop()
	select {
	case m, ok := <-c.w.messages:
		switch {
		case !ok:
			return c.die(nil)
		case m.Method != "":
			c.handle(ctx, m)
		default:
			c.stray(m)
		}
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-idle.C:
		if err := c.alive(ctx); err != nil {
			return err
		}
		return errQuiet
	}
}

// alive takes in what the server has said since the last run, and asks whether
// it still answers. The error ends the client.
func (c *client) alive(ctx context.Context) error {
	if c.dead != nil {
		return c.dead
	}
	var loaded json.RawMessage
	err := c.call(ctx, methodLoaded, struct{}{}, &loaded)
	if refused := (*ReplyError)(nil); errors.As(err, &refused) {
		return nil
	}
	return err
}

// answer replies to a request of the server.
func (c *client) answer(id json.RawMessage, result any) error {
	return c.send(reply{ID: id, Result: result})
}

// refuse answers a request that this client does not know.
func (c *client) refuse(id json.RawMessage, text string) error {
	return c.send(reply{ID: id, Error: &replyError{Code: -32601, Message: text}})
}

// die ends the server and keeps the reason. A nil reason means that the
// server's output ended.
func (c *client) die(reason error) error {
	if c.dead != nil {
		return c.dead
	}
	if reason == nil {
		reason = c.w.failed
	}
	c.close()
	if reason == nil {
		reason = ErrExited
		last, ending := "", ""
		if c.w.conn.told != nil {
			last, ending = c.w.conn.told()
		}
		if ending != "" {
			reason = fmt.Errorf("%w (%s)", reason, clean(ending))
		}
		if last = strings.TrimSpace(last); last != "" {
			reason = fmt.Errorf("%w; its last words: %s", reason, clean(last))
		}
	}
	c.dead = reason
	return reason
}

// close ends the server and waits until nothing of it is left.
func (c *client) close() {
	if c.closed {
		return
	}
	c.closed = true
	c.w.close()
}
