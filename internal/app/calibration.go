package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forge-agent/forge/tokencount"
)

// calibrationFile keeps what was learned about the estimates of each model:
// numbers only (F-EST-02).
const calibrationFile = "calibration.json"

// readCalibrations reads what was learned. A file that cannot be read is begun
// anew: it only makes estimates better.
func (a *App) readCalibrations() map[string]*tokencount.Calibration {
	out := map[string]*tokencount.Calibration{}
	if a.opts.Home == "" {
		return out
	}
	data, err := os.ReadFile(filepath.Join(a.opts.Home, calibrationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		a.problems = append(a.problems, fmt.Sprintf("what was learned about estimates cannot be read and is begun anew: %v", err))
		return map[string]*tokencount.Calibration{}
	}
	for id, k := range out {
		if k == nil {
			delete(out, id)
		}
	}
	return out
}

// writeCalibrations keeps what was learned. The later of two programs wins.
func (a *App) writeCalibrations() error {
	if a.opts.Home == "" {
		return nil
	}
	data, err := json.Marshal(a.learned)
	if err != nil {
		return fmt.Errorf("keep what was learned about estimates: %w", err)
	}
	if err := os.MkdirAll(a.opts.Home, 0o700); err != nil {
		return fmt.Errorf("keep what was learned about estimates: %w", err)
	}
	f, err := os.CreateTemp(a.opts.Home, calibrationFile+".*")
	if err != nil {
		return fmt.Errorf("keep what was learned about estimates: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(a.opts.Home, calibrationFile))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep what was learned about estimates: %w", err), os.Remove(f.Name()))
	}
	return nil
}
