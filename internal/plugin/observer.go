package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/forge-agent/forge/internal/command"
	"github.com/forge-agent/forge/trace"
)

// Bounds of the events that wait for one observer. A run makes a few events a
// step, most far below a kilobyte.
const (
	maxQueuedEvents = 1024
	maxQueuedBytes  = 4 << 20
)

// Observers hand copies of a run's events to the observers of plugins. It is a
// trace.Sink. An observer cannot answer, and one that is slow, dead or missing
// holds nothing up: what it does not take in time is dropped and counted. It
// may be used by several goroutines.
type Observers struct {
	active *Active
	cancel context.CancelFunc

	mu     sync.Mutex
	seq    int64
	closed bool
	list   []*observer
}

// An ObserverReport says what became of the events of one observer.
type ObserverReport struct {
	Plugin string
	// Written is how many events it was given, Dropped how many it was not.
	Written, Dropped int
	// Ended says how it ended before the run did; empty when it did not.
	Ended string
}

// String is one clause.
func (r ObserverReport) String() string {
	text := fmt.Sprintf("observer of plugin %q: %d events written, %d dropped", r.Plugin, r.Written, r.Dropped)
	if r.Ended != "" {
		text += "; " + r.Ended
	}
	return text
}

// Observers starts the observers of the plugins. They end with ctx, or with
// Close on the result, which is to be called before that of the Active.
func (a *Active) Observers(ctx context.Context) *Observers {
	ctx, cancel := context.WithCancel(ctx)
	o := &Observers{active: a, cancel: cancel}
	for _, r := range a.running {
		if r.plugin.Manifest.Capabilities.Observer != nil {
			b := &observer{plugin: r.plugin, wake: make(chan struct{}, 1), done: make(chan struct{})}
			o.list = append(o.list, b)
			go b.run(ctx, a, r)
		}
	}
	return o
}

// Emit gives a payload to all observers. It never blocks and never fails. The
// payload is encoded at once, with recognised secrets taken out, and not kept.
func (o *Observers) Emit(p trace.Payload) error {
	if len(o.list) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seq++
	line, ok := o.encode(p)
	for _, b := range o.list {
		b.offer(line, ok && !o.closed)
	}
	return nil
}

// encode makes the line of one event. An observer sees a gap in seq where an
// event was dropped.
func (o *Observers) encode(p trace.Payload) ([]byte, bool) {
	e := trace.Event{Seq: o.seq, Payload: p}
	if o.active.options.Clock != nil {
		e.Time = o.active.options.Clock()
	}
	line, err := e.AppendJSON(nil)
	if err != nil || len(line) > trace.MaxLineBytes {
		return nil, false
	}
	text, hits := o.active.options.Redactor.Text(string(line))
	if len(hits) > 0 {
		if line = []byte(text); !json.Valid(line) {
			return nil, false
		}
	}
	return append(line, '\n'), true
}

// Close lets the observers read what waits for them, ends those that do not
// end by themselves within the grace, and reports. Later events are dropped.
func (o *Observers) Close() []ObserverReport {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	for _, b := range o.list {
		b.close()
	}
	grace := time.AfterFunc(o.active.options.Grace, o.cancel)
	defer grace.Stop()
	var out []ObserverReport
	for _, b := range o.list {
		<-b.done
		out = append(out, b.report())
	}
	o.cancel()
	return out
}

// Report says how things stand now.
func (o *Observers) Report() []ObserverReport {
	var out []ObserverReport
	for _, b := range o.list {
		out = append(out, b.report())
	}
	return out
}

// An observer is one program and what waits for it.
type observer struct {
	plugin Plugin
	wake   chan struct{} // holds one when there is something new
	done   chan struct{} // closed when nothing of it is left

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	closed  bool // no more events come
	dead    bool // nobody reads them
	ended   string
	written int
	dropped int
}

// offer queues a line when there is room.
func (b *observer) offer(line []byte, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok || b.dead || b.closed || len(b.queue) >= maxQueuedEvents || b.bytes+len(line) > maxQueuedBytes {
		b.dropped++
		return
	}
	b.queue = append(b.queue, line)
	b.bytes += len(line)
	b.notify()
}

func (b *observer) notify() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *observer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.notify()
}

// next takes a line; finished means that there will be none.
func (b *observer) next() (line []byte, finished bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return nil, b.closed || b.dead
	}
	line = b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.bytes -= len(line)
	return line, false
}

// run runs the program to its end.
func (b *observer) run(ctx context.Context, a *Active, r running) {
	defer close(b.done)
	exit, err := b.start(ctx, a, r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = true
	b.dropped += len(b.queue)
	b.queue, b.bytes = nil, 0
	switch {
	case err != nil:
		b.ended = err.Error()
	case exit.Ending == command.Canceled:
		b.ended = "it did not end in time and was ended"
	case !b.closed || exit.Code != 0:
		b.ended = fmt.Sprintf("it ended with code %d%s", exit.Code, signal(exit))
	}
}

// start feeds the program while it runs. What it writes goes nowhere.
func (b *observer) start(ctx context.Context, a *Active, r running) (command.Exit, error) {
	spec, err := a.spec(r, r.plugin.Manifest.Capabilities.Observer.Command)
	if err != nil {
		return command.Exit{}, err
	}
	defer spec.Dir.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return command.Exit{}, err
	}
	defer reader.Close()
	spec.Input = reader
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		b.feed(writer)
	}()
	exit, err := command.Run(ctx, spec)
	b.mu.Lock()
	b.dead = true
	b.notify()
	b.mu.Unlock()
	writer.Close() // ends a write that nobody reads
	<-fed
	return exit, err
}

// feed writes what is queued until there will be no more.
func (b *observer) feed(writer *os.File) {
	defer writer.Close()
	for {
		line, finished := b.next()
		if finished {
			return
		}
		if line == nil {
			<-b.wake
			continue
		}
		_, err := writer.Write(line)
		b.mu.Lock()
		if err != nil {
			b.dead = true
			b.dropped++
		} else {
			b.written++
		}
		b.mu.Unlock()
	}
}

func (b *observer) report() ObserverReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	return ObserverReport{b.plugin.Manifest.Name, b.written, b.dropped, b.ended}
}
