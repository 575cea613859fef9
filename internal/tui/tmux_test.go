package tui

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A pane is the interface in a terminal of tmux.
type pane struct {
	t      *testing.T
	socket string
}

// inTmux starts the interface with a fake backend in a terminal of this size.
func inTmux(t *testing.T, width, height string, environ ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "forge") // short: the name of a socket may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &pane{t: t, socket: filepath.Join(dir, "s")}
	config := filepath.Join(dir, "conf")
	if err := os.WriteFile(config, []byte("set -g status off\nset -g escape-time 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-f", config, "-u", "new-session", "-d", "-x", width, "-y", height, "env", "FORGE_TUI_SCRIPT=1"}, environ...)
	p.tmux(append(args, "sh", "-c", `"$0"; echo "ended with $?"; exec cat`, self)...)
	t.Cleanup(func() { p.tmux("kill-server") })
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...)
	colours := func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") || strings.HasPrefix(v, "COLORTERM=") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), colours), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (p *pane) keys(keys ...string) { p.tmux(append([]string{"send-keys", "--"}, keys...)...) }

func (p *pane) write(text string) { p.tmux("send-keys", "-l", "--", text) }

// screen is what stands in the terminal; looks includes the colours.
func (p *pane) screen(looks bool) string {
	args := []string{"capture-pane", "-p"}
	if looks {
		args = append(args, "-e")
	}
	return p.tmux(args...)
}

// wait looks at the terminal until it holds a text and not another one, and
// has stood still for two looks.
func (p *pane) wait(with, without string) string {
	p.t.Helper()
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	last := ""
	for {
		now := p.screen(false)
		if strings.Contains(now, with) && (without == "" || !strings.Contains(now, without)) && now == last {
			return now
		}
		last = now
		select {
		case <-again.C:
		case <-deadline:
			p.t.Fatalf("waited in vain for %q, and no %q:\n%s", with, without, now)
		}
	}
}

func (p *pane) golden(part, with, without string) {
	p.t.Helper()
	lines := strings.Split(p.wait(with, without), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	golden(p.t, "tmux.txtar", part, strings.Join(lines, "\n"))
}

// Issue 6, behaviour 8: the interface in a real terminal of 80x24, after a
// resize, and when it is left.
func TestInTmux(t *testing.T) {
	p := inTmux(t, "80", "24", "NO_COLOR=1")
	p.golden("start", "of 184k", "opening")
	p.write("Greet in 你好 too")
	p.golden("typed", "你好 too", "")
	p.keys("Enter")
	p.golden("approval", "y once", "")
	p.keys("y")
	p.golden("done", "54k ±1.1k", "working") // measured after the answer
	p.write("one")
	p.keys("C-j")
	p.write("two")
	p.keys("M-Enter")
	p.write("three")
	p.golden("lines", "three", "")
	p.keys("C-c")
	p.write("/context")
	p.keys("Enter")
	p.golden("context", "Checkpoint, generation", "measuring")
	p.tmux("resize-window", "-x", "60", "-y", "16")
	p.golden("context-60x16", "lines 1 to 11 of", "")
	p.keys("Escape")
	p.golden("done-60x16", "two languages", "Escape")
	p.tmux("resize-window", "-x", "100", "-y", "30")
	p.golden("done-100x30", "Say what to do", "")
	p.write("/compact")
	p.keys("Enter")
	p.golden("compacted", "The transcript is kept", "compacting")
	p.keys("C-d")
	p.wait("left the interface\nended with 0", "")
}

// Ctrl+C ends the run, not the program; twice it ends the program.
func TestInterruptInTmux(t *testing.T) {
	p := inTmux(t, "80", "24", "COLORTERM=truecolor")
	p.wait("of 184k", "opening")
	p.write("wait for me")
	p.keys("Enter")
	p.wait("y once", "")
	if looks := p.screen(true); !strings.Contains(looks, "\x1b[") {
		t.Errorf("no colours:\n%q", looks)
	}
	p.keys("y")
	p.waitMoving("working")
	p.keys("C-c")
	p.wait("Interrupted: interrupted by the user", "working")
	p.keys("C-c", "C-c")
	p.wait("left the interface\nended with 0", "")
}

// waitMoving waits for a text while the spinner turns.
func (p *pane) waitMoving(with string) {
	p.t.Helper()
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !strings.Contains(p.screen(false), with) {
		select {
		case <-again.C:
		case <-deadline:
			p.t.Fatalf("waited in vain for %q:\n%s", with, p.screen(false))
		}
	}
}
