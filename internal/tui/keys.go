package tui

import (
	"strings"
)

// key handles a key press. name is the key's name, text what it types.
func (s state) key(name, text string) (state, []effect) {
	s.hint = ""
	leave := s.leave
	s.leave = false
	switch {
	case name == "ctrl+z":
		return s, []effect{suspend{}}
	case len(s.asks) > 0:
		return s.askKey(name)
	case s.overlay.shown():
		return s.overlayKey(name, text)
	}
	if s.popup.shown() {
		if s, effects, ok := s.popupKey(name); ok {
			return s, effects
		}
	}
	switch name {
	case "ctrl+c":
		return s.ctrlC(leave)
	case "esc":
		return s.stop()
	case "ctrl+d":
		if s.editor.text == "" {
			return s.exit()
		}
	case "enter":
		return s.submit()
	case "pgup", "shift+up":
		s.scroll += s.scrollStep(name)
		return s, nil
	case "pgdown", "shift+down":
		s.scroll -= s.scrollStep(name)
		s.scroll = max(0, s.scroll)
		return s, nil
	case "up":
		return s.up(), nil
	case "down":
		return s.down(), nil
	}
	return s.edit(name, text)
}

func (s state) scrollStep(name string) int {
	if strings.HasPrefix(name, "shift") {
		return 1
	}
	return max(1, s.transcriptRoom()-2)
}

// edit changes the text.
func (s state) edit(name, text string) (state, []effect) {
	before := s.editor
	switch name {
	case "alt+enter", "shift+enter", "ctrl+j":
		s.editor, _ = s.editor.insert("\n")
	case "left", "ctrl+b":
		s.editor = s.editor.left()
	case "right", "ctrl+f":
		s.editor = s.editor.right()
	case "alt+left", "ctrl+left", "alt+b":
		s.editor = s.editor.wordLeft()
	case "alt+right", "ctrl+right", "alt+f":
		s.editor = s.editor.wordRight()
	case "home", "ctrl+a":
		s.editor = s.editor.home()
	case "end", "ctrl+e":
		s.editor = s.editor.end()
	case "backspace", "ctrl+h":
		s.editor = s.editor.backspace()
	case "delete", "ctrl+d":
		s.editor = s.editor.deleteNext()
	case "ctrl+w", "alt+backspace":
		s.editor = s.editor.killWord()
	case "ctrl+u":
		s.editor = s.editor.killStart()
	case "ctrl+k":
		s.editor = s.editor.killEnd()
	case "tab":
		return s, nil
	default:
		if text == "" {
			return s, nil
		}
		return s.paste(text)
	}
	if s.editor == before {
		return s, nil
	}
	return s.offer()
}

// paste puts text in.
func (s state) paste(text string) (state, []effect) {
	switch {
	case len(s.asks) > 0 || s.overlay.page != nil:
		return s, nil // nothing there takes text
	case s.overlay.picker != nil:
		return s.pickerKey("", cleanLine(text))
	}
	e, ok := s.editor.insert(text)
	if !ok {
		s.hint = "that is too long; put it into a file and name it with @"
		return s, nil
	}
	s.editor = e
	return s.offer()
}

func (s state) up() state {
	if e, ok := s.editor.vertical(-1, s.editorWidth()); ok {
		s.editor, s.popup = e, popup{}
		return s
	}
	if s.histAt == 0 || len(s.history) == 0 {
		s.editor.at = 0
		return s
	}
	if s.histAt >= len(s.history) {
		s.draft = s.editor.text
	}
	s.histAt--
	s.editor, s.popup = newEditor(s.history[s.histAt]), popup{}
	return s
}

func (s state) down() state {
	if e, ok := s.editor.vertical(1, s.editorWidth()); ok {
		s.editor, s.popup = e, popup{}
		return s
	}
	if s.histAt >= len(s.history) {
		s.editor.at = len(s.editor.text)
		return s
	}
	s.histAt++
	text := s.draft
	if s.histAt < len(s.history) {
		text = s.history[s.histAt]
	}
	s.editor, s.popup = newEditor(text), popup{}
	return s
}

// submit sends what is written, or runs the command that it is.
func (s state) submit() (state, []effect) {
	text := strings.TrimSpace(s.editor.text)
	s.popup = popup{}
	switch {
	case text == "":
		return s, nil
	case strings.HasPrefix(text, "/") && !strings.ContainsAny(strings.Fields(text)[0][1:], "/."):
		return s.slash(text)
	case s.phase == phaseRunning:
		s.hint = "the run goes on; Esc interrupts it, and Enter then sends this"
		return s, nil
	case s.phase != phaseIdle:
		s.hint = s.doing + "; Enter sends this when it has ended"
		return s, nil
	}
	s.history = append(s.history[:len(s.history):len(s.history)], text)
	s.histAt, s.draft, s.editor = len(s.history), "", editor{}
	s.phase, s.stopping, s.ended, s.scroll, s.told = phaseRunning, false, false, 0, ""
	s.stream = stream{}
	s = s.add(newRow(userRow{text: text, unkept: true}))
	return s, []effect{run{readPrompt(text)}, tick{}}
}

// ctrlC interrupts, clears the editor, or leaves when pressed twice.
func (s state) ctrlC(again bool) (state, []effect) {
	switch {
	case s.phase != phaseIdle && !s.stopping:
		return s.stop()
	case s.editor.text != "":
		s.editor, s.popup = editor{}, popup{}
		s.histAt = len(s.history)
		return s, nil
	case again:
		return s.exit()
	}
	s.leave = true
	s.hint = "Ctrl+C again leaves"
	return s, nil
}

// stop interrupts what is under way. It stays under way until it has ended.
func (s state) stop() (state, []effect) {
	if s.phase == phaseIdle || s.stopping {
		return s, nil
	}
	s.stopping = true
	return s, []effect{interrupt{}}
}

// exit leaves, once the session is at rest. A second time it does not wait.
func (s state) exit() (state, []effect) {
	if s.phase == phaseIdle || s.leaving {
		return s, []effect{quit{}}
	}
	s.leaving, s.stopping = true, true
	s.hint = "leaving when the session is at rest"
	return s, []effect{interrupt{}}
}
