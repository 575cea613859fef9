package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/forge-agent/forge/session/filelock"
)

// LedgerFile is the name of the file in a folder that notes every trial.
const LedgerFile = "trials.jsonl"

// ErrOther is wrapped when a folder holds trials of something else.
var ErrOther = errors.New("the folder holds trials of another setting")

// entry is one line: the setting, a trial that begins, or one that has ended.
type entry struct {
	Setting *Setting `json:"setting,omitempty"`
	Begin   *Trial   `json:"begin,omitempty"`
	End     *Outcome `json:"end,omitempty"`
	// Lost is a trial that began and will not end.
	Lost *Trial `json:"lost,omitempty"`
}

// A Ledger notes trials in a file. Each line is on the disk before anything
// depends on it.
type Ledger struct {
	file    *os.File
	setting Setting
	begun   map[Trial]int // how often, whatever became of it
	open    map[Trial]int // begun and neither ended nor lost
	lost    int
	ended   map[Trial]Outcome
}

// OpenLedger opens the ledger of a folder, or begins one. Trials that were
// begun in an earlier run and did not end are lost: they count as spent. The
// ledger is locked until it is closed, so that no two runs spend the same money.
func OpenLedger(dir string, s Setting) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open ledger of trials: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, LedgerFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger of trials: %w", err)
	}
	if err := filelock.Lock(f, false); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger of trials in %s: %w: wait for the other \"forge eval live\" to end, or name another folder", dir, err), f.Close())
	}
	l := &Ledger{file: f, setting: s, begun: map[Trial]int{}, open: map[Trial]int{}, ended: map[Trial]Outcome{}}
	if err := l.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger of trials in %s: %w", dir, err), f.Close())
	}
	return l, nil
}

// load reads what is there. A last line that a crash tore is cut off; any
// other line that cannot be read is an error.
func (l *Ledger) load() error {
	data, err := io.ReadAll(bufio.NewReader(l.file))
	if err != nil {
		return err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	if err := l.file.Truncate(int64(len(whole))); err != nil {
		return err
	}
	if _, err := l.file.Seek(int64(len(whole)), io.SeekStart); err != nil {
		return err
	}
	if len(whole) == 0 {
		return l.write(entry{Setting: &l.setting})
	}
	number := 0
	for line := range bytes.Lines(whole) {
		number++
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if number == 1 && (e.Setting == nil || !reflect.DeepEqual(*e.Setting, l.setting)) {
			return fmt.Errorf("%w (commit, tasks, model, window or bounds): give another folder", ErrOther)
		}
		l.take(e)
	}
	for t, n := range l.open {
		for range n {
			if err := l.Lose(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Ledger) take(e entry) {
	switch {
	case e.Begin != nil:
		l.begun[*e.Begin]++
		l.open[*e.Begin]++
	case e.End != nil:
		l.open[e.End.Trial]--
		l.ended[e.End.Trial] = *e.End
	case e.Lost != nil:
		l.open[*e.Lost]--
		l.lost++
	}
}

func (l *Ledger) write(e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write ledger of trials: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("write ledger of trials: %w", err)
	}
	l.take(e)
	return nil
}

// Begin notes that a trial begins and returns how often it has.
func (l *Ledger) Begin(t Trial) (int, error) {
	err := l.write(entry{Begin: &t})
	return l.begun[t], err
}

// End notes what became of a trial.
func (l *Ledger) End(o Outcome) error { return l.write(entry{End: &o}) }

// Lose notes that a trial that began will not end.
func (l *Ledger) Lose(t Trial) error { return l.write(entry{Lost: &t}) }

// Ended returns what became of a trial.
func (l *Ledger) Ended(t Trial) (Outcome, bool) {
	o, ok := l.ended[t]
	return o, ok
}

// Outcomes returns all, sorted.
func (l *Ledger) Outcomes() []Outcome {
	out := make([]Outcome, 0, len(l.ended))
	for _, o := range l.ended {
		out = append(out, o)
	}
	sortOutcomes(out)
	return out
}

// SpentUSD is what everything counts as: outcomes with their cost, trials that
// were lost and those that are going on with all that they may cost.
func (l *Ledger) SpentUSD() float64 {
	sum := float64(l.lost) * l.setting.reserve()
	for _, n := range l.open {
		sum += float64(n) * l.setting.reserve()
	}
	for _, o := range l.Outcomes() {
		sum += l.setting.cost(o)
	}
	return sum
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }
