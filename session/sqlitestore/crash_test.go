//go:build unix

package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sessiontest"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/transcript"
)

// The tests of crashes start this test program again as a worker.
func TestMain(m *testing.M) {
	if job := os.Getenv("FORGE_TEST_WORKER"); job != "" {
		if err := work(job, os.Args[1:]); err != nil {
			fmt.Println("error", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func work(job string, args []string) error {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 1))
	switch job {
	case "crash":
		return crashWorker(args[0], r)
	case "turns":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return turnsWorker(args[0], args[1], n)
	case "full":
		return fullWorker(args[0])
	case "readonly":
		return readOnlyWorker(args[0])
	}
	return fmt.Errorf("unknown job %s", job)
}

func worker(ctx context.Context, job string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "FORGE_TEST_WORKER="+job)
	return cmd
}

// crashWorker changes the session "k" for ever. Before each step it prints
// what the session will be, after it that it is so.
func crashWorker(dir string, r *rand.Rand) error {
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	s, err := session.Open(ctx, store, "k", nil)
	if errors.Is(err, session.ErrNotFound) {
		s, err = session.Create(ctx, store, "k", session.Info{}, nil)
	}
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		h := s.Header()
		say := func(what string, messages int, hash message.Hash) { fmt.Println(what, messages, hash) }
		switch step := r.IntN(10); {
		case step < 5:
			var ms []message.Message
			hash := h.Hash
			for i := range 1 + r.IntN(3) {
				m := sessiontest.User(fmt.Sprintf("%d-%d-%d", r.Uint64(), n, i), strings.Repeat("x", r.IntN(20_000)))
				ms = append(ms, m)
				hash = transcript.Chain(hash, m.Hash())
			}
			say("try", h.Messages+len(ms), hash)
			if _, err = s.Append(ctx, ms...); err == nil {
				say("ack", h.Messages+len(ms), hash)
			}
		case step == 5:
			_, err = s.Finish(ctx, session.Completed)
		case step == 6 && s.Transcript().Len() > s.Transcript().Base():
			err = s.AddCheckpoint(ctx, sessiontest.Checkpoint(fatal{}, s, s.Transcript().Base()+1+r.IntN(s.Transcript().Len()-s.Transcript().Base())), map[string][]byte{"claims": []byte("1")})
		case step == 7:
			var id string
			if id, _, err = s.Fork(ctx, "", r.IntN(h.Messages+1)); err == nil {
				fmt.Println("fork", id)
			}
		case step == 8 && h.Messages > 30:
			whole, _, failed := s.Whole(ctx)
			if failed != nil {
				return failed
			}
			keep := whole.Len() - 1 - r.IntN(20)
			say("try", keep, whole.RangeHash(0, keep))
			if _, err = s.Truncate(ctx, keep); err == nil {
				say("ack", keep, whole.RangeHash(0, keep))
			}
		case step == 9:
			s.Close()
			s, err = session.Open(ctx, store, "k", nil)
		}
		if err != nil {
			return err
		}
	}
}

// F-CKP-06, F-CKP-07, F-TST-16, must reach 1: a process that is killed at
// random points while it appends, checkpoints, forks, truncates and makes its
// tables loses nothing that it was told was stored, and leaves nothing half
// done. 1,000 kills in a soak.
func TestKilledAtRandomPoints(t *testing.T) {
	kills := soak(24, 1000)
	seed := rand.Uint64()
	t.Logf("seed %d, %d kills", seed, kills)
	r := rand.New(rand.NewPCG(seed, 2))
	dir, forks, acked, tries := t.TempDir(), map[string]bool{}, 0, 0
	state := "0 " + session.EmptyHash().String()
	for kill := range kills {
		if kill%5 == 0 { // a new store: killed while it makes its tables, too
			dir, forks, state = t.TempDir(), map[string]bool{}, "0 "+session.EmptyHash().String()
		}
		a, maybe := crashOnce(t, r, dir, forks, &state)
		acked += a
		if maybe != "" {
			tries++
		}
		store, err := sqlitestore.Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		h, err := store.Header(t.Context(), "k")
		got := fmt.Sprintf("%d %s", h.Messages, h.Hash)
		switch {
		case errors.Is(err, session.ErrNotFound) && strings.HasPrefix(state, "0 ") && maybe == "":
		case err != nil:
			t.Fatalf("kill %d: %v", kill, err)
		case got != state && got != maybe:
			t.Fatalf("kill %d: the store holds %s; acknowledged was %s, under way %q", kill, got, state, maybe)
		default:
			state = got
		}
		for h, err := range store.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			delete(forks, h.ID)
			if report, err := session.Verify(t.Context(), store, h.ID); err != nil || len(report.Findings) > 0 {
				t.Fatalf("kill %d: session %s: %v %v", kill, h.ID, report.Findings, err)
			}
		}
		if len(forks) > 0 {
			t.Fatalf("kill %d: forks are gone: %v", kill, forks)
		}
		store.Close()
	}
	t.Logf("%d changes acknowledged, %d kills in the middle of one", acked, tries)
}

// crashOnce runs the worker and kills it after a random number of lines and a
// random moment more. It returns how many changes were acknowledged and what
// was under way.
func crashOnce(t *testing.T, r *rand.Rand, dir string, forks map[string]bool, state *string) (acked int, maybe string) {
	cmd := worker(t.Context(), "crash", dir, fmt.Sprint(r.Uint64()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	kill := time.AfterFunc(time.Duration(20+r.IntN(200))*time.Millisecond, func() { cmd.Process.Kill() }) // the random point
	defer kill.Stop()
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "try":
			maybe = rest
		case "ack":
			*state, maybe = rest, ""
			acked++
		case "fork":
			forks[rest] = true
		default:
			t.Errorf("the worker says %q", lines.Text())
		}
	}
	_ = cmd.Wait() // it was killed
	return acked, maybe
}

// turnsWorker appends n messages to the session "t", reopening it often, and
// reads while another process has it.
func turnsWorker(dir, name string, n int) error {
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	for done := 0; done < n; {
		s, err := session.Open(ctx, store, "t", nil)
		if errors.Is(err, session.ErrLocked) {
			v, err := session.View(ctx, store, "t", nil)
			if err != nil {
				return fmt.Errorf("read while it is written: %w", err)
			}
			if v.Header().Messages != v.Transcript().Len() {
				return errors.New("half a change was read")
			}
			continue
		}
		if err != nil {
			return err
		}
		for i := 0; i < 7 && done < n; i++ {
			id := fmt.Sprintf("%s-%d", name, done)
			if _, err := s.Append(ctx, sessiontest.User(id, "x")); err != nil {
				return err
			}
			fmt.Println(id)
			done++
			if done%50 == 0 {
				if err := s.AddCheckpoint(ctx, sessiontest.Checkpoint(fatal{}, s, s.Transcript().Len()), nil); err != nil {
					return err
				}
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// B13, must reach 2: two processes on one session: one writes, the other is
// refused or reads; no message is lost or doubled. 10,000 in a soak.
func TestTwoProcesses(t *testing.T) {
	n := soak(100, 5000)
	dir := t.TempDir()
	store := opener(dir).Open(t)
	s, err := session.Create(t.Context(), store, "t", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	var cmds []*exec.Cmd
	var outs []*strings.Builder
	for _, name := range []string{"1", "2"} {
		cmd := worker(t.Context(), "turns", dir, name, fmt.Sprint(n))
		out := &strings.Builder{}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	acked := map[string]bool{}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("worker %d: %v: %s", i+1, err, outs[i])
		}
		for id := range strings.FieldsSeq(outs[i].String()) {
			acked[id] = true
		}
	}
	v, err := session.View(t.Context(), store, "t", nil)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range v.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if !acked[e.Message.ID] {
			t.Errorf("message %s is there twice, or was never acknowledged", e.Message.ID)
		}
		delete(acked, e.Message.ID)
	}
	if len(acked) > 0 || v.Header().Messages != 2*n {
		t.Errorf("%d messages, %d acknowledged ones are lost", v.Header().Messages, len(acked))
	}
}

// fullWorker appends until the disk is full, which a limit on the size of
// files stands for, and goes on reading.
func fullWorker(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 600_000, Max: 600_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := session.Create(ctx, store, "f", session.Info{}, nil)
	if err != nil {
		return err
	}
	return fill(ctx, store, s)
}

// fill appends until it is refused, and checks what is left.
func fill(ctx context.Context, store session.Store, s *session.Session) error {
	n := 0
	for ; ; n++ {
		_, err := s.Append(ctx, sessiontest.User(fmt.Sprint("m", n), strings.Repeat("y", 9000)))
		if errors.Is(err, session.ErrNoSpace) || errors.Is(err, session.ErrUnavailable) {
			break
		}
		if err != nil || n > 10_000 {
			return fmt.Errorf("message %d: %w", n, err)
		}
	}
	if err := s.Reload(ctx); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	if got := s.Header().Messages; got != n {
		return fmt.Errorf("%d messages are stored, %d were acknowledged", got, n)
	}
	report, err := session.Verify(ctx, store, s.ID())
	if err != nil || len(report.Findings) > 0 || n < 5 {
		return fmt.Errorf("after %d messages: %v %w", n, report.Findings, err)
	}
	return s.Close()
}

// F-CKP-08, must reach 1: a full disk is a clear error; what was acknowledged
// is there and can be read.
func TestFullDisk(t *testing.T) {
	if out, err := worker(t.Context(), "full", t.TempDir(), "1").CombinedOutput(); err != nil {
		t.Errorf("a limit on file sizes: %v\n%s", err, out)
	}
	dir := t.TempDir()
	store, err := sqlitestore.Open(t.Context(), dir, &sqlitestore.Options{MaxBytes: 600_000})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := session.Create(t.Context(), store, "f", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), store, s); err != nil {
		t.Error(err)
	}
	more := opener(dir).Open(t) // with more room it goes on
	s, err = session.Open(t.Context(), more, "f", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(t.Context(), sessiontest.User("later", "x")); err != nil {
		t.Error(err)
	}
}

// readOnlyWorker reads a store that it cannot write.
func readOnlyWorker(dir string) error {
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	v, err := session.View(ctx, store, "r", nil)
	if err != nil {
		return err
	}
	found := 0
	for _, err := range v.Search(ctx, "needle") {
		if err != nil {
			return err
		}
		found++
	}
	_, err = session.Open(ctx, store, "r", nil)
	fmt.Println(store.ReadOnly(), v.Header().Messages, found, errors.Is(err, session.ErrReadOnly))
	return nil
}

// Must reach 1: a store whose files cannot be written is read, and says so
// when somebody wants to write.
func TestReadOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	store := opener(dir).Open(t)
	s, err := session.Create(t.Context(), store, "r", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), sessiontest.User("a", "a needle"), sessiontest.User("b", "hay")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	store.Close()
	for name, mode := range map[string]os.FileMode{"/forge.db": 0o444, "/locks": 0o555, "": 0o555} {
		if err := os.Chmod(dir+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700); os.Chmod(dir+"/locks", 0o700) })
	cmd := worker(t.Context(), "readonly", dir, "1")
	if os.Getuid() == 0 { // who may do everything stands for nobody
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		exe, err := copyProgram(t)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Dir = exe, "/"
		for _, folder := range []string{dir, dir + "/.."} {
			if err := os.Chmod(folder, 0o555); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { os.Chmod(dir+"/..", 0o700) })
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "true 2 1 true\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// copyProgram puts this program where every user can run it.
func copyProgram(t *testing.T) (string, error) {
	folder, err := os.MkdirTemp("", "forge-test-")
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	in, err := os.Open(os.Args[0])
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.OpenFile(folder+"/program", os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	return out.Name(), errors.Join(err, out.Close(), os.Chmod(folder, 0o755), os.Chmod(out.Name(), 0o755))
}
