package codexapp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the program has ended. It does not take its exit
// status yet: until then nobody else can get its process ID, which is that of
// its group.
func (p *process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// sweepRounds bounds how often processes are looked for that have left the
// group.
const sweepRounds = 50

// sweep kills what carries the mark of this server in its environment, until
// there is nothing.
func (p *process) sweep() {
	for range sweepRounds {
		found := false
		for _, pid := range processes() {
			if pid == os.Getpid() || pid == p.cmd.Process.Pid || !p.marked(pid) {
				continue
			}
			found = true
			unix.Kill(pid, unix.SIGKILL)
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond) // a signal is delivered soon, not at once
	}
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

// marked reports whether a process carries the mark. The environment of one
// that has ended is empty.
func (p *process) marked(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(data, []byte(markName+"="+p.mark))
}
