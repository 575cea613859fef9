package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pinState is the name of the session's state that holds pins.
const pinState = "pins"

// Pins lists what the user has pinned.
func (t *Terminal) Pins(context.Context) ([]string, error) { return t.app.pins() }

// Pin pins a statement: it stands in the instructions of every later request,
// so no checkpoint can lose it.
func (t *Terminal) Pin(ctx context.Context, text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return errors.New("there is nothing to pin: give a text")
	}
	if err := t.app.ensure(ctx); err != nil {
		return err
	}
	pins, err := t.app.pins()
	if err != nil {
		return err
	}
	return t.app.setPins(ctx, append(pins, text))
}

// Unpin removes a pin, which counts from 1.
func (t *Terminal) Unpin(ctx context.Context, n int) error {
	pins, err := t.app.pins()
	if err != nil {
		return err
	}
	if n < 1 || n > len(pins) {
		return fmt.Errorf("there is no pin %d: %d are pinned", n, len(pins))
	}
	return t.app.setPins(ctx, slices.Delete(pins, n-1, n))
}

func (a *App) pins() ([]string, error) {
	if a.session == nil {
		return nil, nil
	}
	body := a.session.State(pinState)
	if len(body) == 0 {
		return nil, nil
	}
	var out []string
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("read pins: %w", err)
	}
	return out, nil
}

func (a *App) setPins(ctx context.Context, pins []string) error {
	var body []byte
	if len(pins) > 0 {
		for i, p := range pins {
			pins[i], _ = a.opts.Redactor.Text(p)
		}
		var err error
		if body, err = json.Marshal(pins); err != nil {
			return fmt.Errorf("keep pins: %w", err)
		}
	}
	return a.session.SetStates(ctx, map[string][]byte{pinState: body})
}
