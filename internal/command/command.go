// Package command runs a program for a model: an argument vector and no shell,
// a reduced environment, no terminal, bounded time, and nothing
// left running afterwards. On Linux, where the kernel has Landlock, the program
// and all that it starts can write only below the folders that are named.
//
// It asks nobody and knows no policy. What it cannot confine it says.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A Spec says what to run.
type Spec struct {
	// Args is the argument vector; the first entry is a program on the PATH of
	// Env, or a path with a slash, relative to Dir.
	Args []string
	// Dir is the open folder to start in. It stays the caller's.
	Dir *os.File
	// DirPath is the path of Dir, for PWD and where a folder cannot be entered
	// by its handle.
	DirPath string
	// Env is the whole environment, see Environment.
	Env []string
	// Timeout ends the program; zero or less means none beside the context.
	Timeout time.Duration
	// Grace is how long the program may take to end after it was asked to,
	// before it is killed. Zero means that it is killed at once.
	Grace time.Duration
	// Writable are the folders below which the program may write, absolute.
	// Nil means that it is not confined.
	Writable []string
	// Output gets what the program writes to both outputs, in order. A write
	// that does not succeed does not end the program. A write that blocks holds
	// the program up, and Run too.
	Output io.Writer
	// Errors gets the error output instead of Output, unless it is nil. A file
	// is handed to the program as it is, so that a terminal stays one.
	Errors io.Writer
	// Input is what the program reads, a file or the reading end of a pipe;
	// nil for nothing. Run closes it.
	Input *os.File
}

// Ending is why a program ended.
type Ending string

// The endings.
const (
	// Exited: by itself, with a code or by a signal.
	Exited Ending = "exited"
	// TimedOut: it was ended after the timeout.
	TimedOut Ending = "timed-out"
	// Canceled: it was ended because the context was done.
	Canceled Ending = "canceled"
)

// An Exit is how a program ended.
type Exit struct {
	Ending Ending
	// Code is the exit code, -1 when a signal ended it.
	Code int
	// Signal names the signal that ended it, empty for none.
	Signal string
	// Stray is how many processes outlived the program and were killed, as far
	// as they could be counted.
	Stray int
	// Confinement says what the program was kept from.
	Confinement Confinement
}

// Confinement says whether writing was confined.
type Confinement struct {
	// Enforced is set when the kernel kept the program to its folders.
	Enforced bool
	// Text says it in a sentence, with the reason where it was not enforced or
	// has gaps.
	Text string
}

// Expect says what a program would be kept from, before it is run.
func Expect(writable []string) Confinement { return expect(writable) }

// ErrNotStarted is wrapped by the error of a program that could not be
// started.
var ErrNotStarted = errors.New("the program was not started")

// Run runs a program to its end and returns when nothing of it is left. The
// error is not nil only when it was not started, and wraps ErrNotStarted.
func Run(ctx context.Context, s Spec) (Exit, error) {
	if s.Input != nil {
		defer s.Input.Close()
	}
	if len(s.Args) == 0 || s.Args[0] == "" {
		return Exit{}, fmt.Errorf("%w: there is no program in the argument vector", ErrNotStarted)
	}
	if err := ctx.Err(); err != nil {
		return Exit{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	program, err := lookPath(s.Args[0], s.Env)
	if err != nil {
		return Exit{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	out, err := newStream(s.Output)
	if err != nil {
		return Exit{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	defer out.close()
	r := runner{spec: s, cmd: &exec.Cmd{Path: program, Args: s.Args, Env: s.Env, Stdout: out.writer, Stderr: out.writer}}
	streams := []*stream{out}
	if file, ok := s.Errors.(*os.File); ok {
		r.cmd.Stderr = file
	} else if s.Errors != nil {
		errs, err := newStream(s.Errors)
		if err != nil {
			return Exit{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
		}
		defer errs.close()
		r.cmd.Stderr = errs.writer
		streams = append(streams, errs)
	}
	if s.Input != nil {
		r.cmd.Stdin = s.Input
	}
	setDir(r.cmd, s)

	started := make(chan error, 1)
	ended := make(chan struct{})
	go r.thread(started, ended)
	if err := <-started; err != nil {
		<-ended
		return Exit{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	if s.Input != nil {
		s.Input.Close() // the program has its own, and a writer shall learn of its end
	}
	for _, stream := range streams {
		stream.begin()
	}
	ending := r.await(ctx, ended)
	for _, stream := range streams {
		stream.end()
	}
	r.exit.Ending = ending
	return r.exit, nil
}

// A runner is one program on its way.
type runner struct {
	spec Spec
	cmd  *exec.Cmd
	exit Exit
	mark string // in the environment of the program and its children

	mu     sync.Mutex
	reaped bool // the process ID may belong to somebody else by now
}

// thread starts the program and waits for it on a thread of its own. The
// thread is confined, the program inherits that, and the thread ends with the
// goroutine, since it is never unlocked. It also has to live as long as the
// program does, whose death is tied to it.
func (r *runner) thread(started chan<- error, ended chan<- struct{}) {
	defer close(ended)
	runtime.LockOSThread()
	err := r.prepare()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		started <- err
		return
	}
	started <- nil
	r.reap()
	r.exit.Code = -1
	if state := r.cmd.ProcessState; state != nil {
		r.exit.Code = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok {
			r.exit.Signal = signalName(status)
		}
	}
}

// await ends the program when its time is up and returns why it ended.
func (r *runner) await(ctx context.Context, ended <-chan struct{}) Ending {
	var timeout <-chan time.Time
	if r.spec.Timeout > 0 {
		timer := time.NewTimer(r.spec.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	ending := Exited
	select {
	case <-ended:
		return Exited
	case <-ctx.Done():
		ending = Canceled
	case <-timeout:
		ending = TimedOut
	}
	if r.spec.Grace > 0 {
		r.whileAlive(r.terminate)
		grace := time.NewTimer(r.spec.Grace)
		defer grace.Stop()
		select {
		case <-ended:
			return ending
		case <-grace.C:
		}
	}
	r.whileAlive(r.kill)
	<-ended
	return ending
}

// whileAlive calls a function that needs the process ID.
func (r *runner) whileAlive(signal func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		signal()
	}
}

// wait takes the exit status, which frees the process ID.
func (r *runner) wait() {
	state, err := r.cmd.Process.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reaped = true
	if err == nil {
		r.cmd.ProcessState = state
	}
}
