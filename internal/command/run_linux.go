package command

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// markName is the variable by which processes of a program are found that have
// left its session.
const markName = "FORGE_COMMAND"

// setDir enters the folder that is open, whatever stands at its path by then.
func setDir(cmd *exec.Cmd, s Spec) {
	cmd.Dir = s.DirPath
	if _, err := os.Stat("/proc/self/fd"); s.Dir != nil && err == nil {
		cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", s.Dir.Fd())
	}
}

func (r *runner) prepare() error {
	r.mark = rand.Text()
	confinement, err := confine(landlockVersion(), r.spec.Writable)
	if err != nil {
		return err
	}
	r.exit.Confinement = confinement
	r.cmd.Env = append(r.cmd.Env[:len(r.cmd.Env):len(r.cmd.Env)], "PWD="+r.spec.DirPath, markName+"="+r.mark)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:    true,            // a process group of its own, and no terminal to read from or write to
		Pdeathsig: syscall.SIGKILL, // when Forge is killed
	}
	return nil
}

func (r *runner) terminate() { unix.Kill(-r.cmd.Process.Pid, unix.SIGTERM) }

func (r *runner) kill() { unix.Kill(-r.cmd.Process.Pid, unix.SIGKILL) }

// reap waits for the program, kills what it left, and only then takes its exit
// status: until then its process ID, which is that of group and session,
// cannot be given to anybody else.
func (r *runner) reap() {
	pid := r.cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	unix.Kill(-pid, unix.SIGKILL)
	r.exit.Stray = r.sweep(pid)
	r.mu.Lock()
	r.reaped = true
	r.mu.Unlock()
	r.wait()
}

// sweepRounds bounds how often new processes are looked for. Each round kills
// what it finds, so only a program that forks faster than it is killed needs
// more.
const sweepRounds = 50

// sweep kills the processes that are in the program's session or carry its
// mark, until there are none, and returns how many they were.
func (r *runner) sweep(session int) int {
	killed := map[int]bool{}
	for range sweepRounds {
		alive := 0
		for _, pid := range processes() {
			if pid == session || pid == os.Getpid() {
				continue
			}
			sid, state := sessionOf(pid)
			if state == 'Z' || state == 'X' || state == 0 || sid != session && !r.isMarked(pid) {
				continue
			}
			alive++
			killed[pid] = true
			unix.Kill(pid, unix.SIGKILL)
		}
		if alive == 0 {
			break
		}
		time.Sleep(time.Millisecond) // a signal is delivered soon, not at once
	}
	return len(killed)
}

func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// sessionOf reads a process's session and state; the state is zero when there
// is no such process.
func sessionOf(pid int) (session int, state byte) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	// The name in parentheses may hold anything; after it come the state, the
	// parent, the group and the session.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 4 {
		return 0, 0
	}
	session, err = strconv.Atoi(string(fields[3]))
	if err != nil {
		return 0, 0
	}
	return session, fields[0][0]
}

func (r *runner) isMarked(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(data, []byte(markName+"="+r.mark))
}
