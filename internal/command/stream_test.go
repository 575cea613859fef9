//go:build unix

package command

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// begun returns a stream that is read, and a writing end as a program has it.
func begun(t *testing.T, to writerFunc) (*stream, *os.File) {
	t.Helper()
	s, err := newStream(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	fd, err := syscall.Dup(int(s.writer.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	writer := os.NewFile(uintptr(fd), "writer")
	t.Cleanup(func() { writer.Close() })
	s.begin()
	return s, writer
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// What is in the pipe when the program ends is passed on, however long the
// reader was kept from it.
func TestSlowReader(t *testing.T) {
	var got bytes.Buffer
	writing, free := make(chan struct{}, 2), make(chan struct{})
	s, writer := begun(t, func(p []byte) (int, error) {
		writing <- struct{}{}
		<-free
		return got.Write(p)
	})
	writer.WriteString("one, ")
	<-writing
	writer.WriteString("two")
	writer.Close()
	s.reader.SetReadDeadline(time.Unix(1, 0)) // the program ended long ago
	close(free)
	<-s.copied
	if got.String() != "one, two" {
		t.Errorf("got %q", got.String())
	}
}

// A writer that got away holds nobody up, whether it is silent or not, and
// what was written before the end is there.
func TestWriterThatGotAway(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		var got bytes.Buffer
		s, writer := begun(t, got.Write)
		writer.WriteString("one")
		s.end()
		if got.String() != "one" {
			t.Errorf("got %q", got.String())
		}
	})
	for name, pause := range map[string]time.Duration{"dripping": drainTime / 10, "endless": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			total := 0
			first, stopped := make(chan struct{}), make(chan struct{})
			s, writer := begun(t, func(p []byte) (int, error) {
				if total == 0 {
					close(first)
				}
				total += len(p)
				return len(p), nil
			})
			go func() {
				defer close(stopped)
				text := strings.Repeat("x", 1000)
				for tick := time.NewTicker(pause); ; <-tick.C {
					if _, err := writer.WriteString(text); err != nil {
						return
					}
				}
			}()
			<-first
			s.end()
			s.close()
			<-stopped
		})
	}
}
