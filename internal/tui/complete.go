package tui

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// A popup offers what can stand at the cursor. The zero value offers nothing.
type popup struct {
	// sign is what the word begins with: "/", "@" or "$".
	sign  string
	items []Choice
	at    int
	// from is where the word begins in the text.
	from int
	// number is that of the look-up that fills it.
	number int
	// closed: Esc was pressed for this word.
	closed bool
}

func (p popup) shown() bool { return len(p.items) > 0 && !p.closed }

// maxOffered is how many entries a popup keeps.
const maxOffered = 50

// offer looks at the word at the cursor after an edit.
func (s state) offer() (state, []effect) {
	word, from := s.editor.word()
	old := s.popup
	s.popup = popup{from: from, closed: old.closed && old.from == from && old.sign != ""}
	switch {
	case strings.HasPrefix(word, "/") && from == 0 && !strings.ContainsRune(s.editor.text, '\n'):
		s.popup.sign = "/"
		for _, c := range commands() {
			if strings.HasPrefix(c.name, word[1:]) {
				s.popup.items = append(s.popup.items, Choice{Name: "/" + c.name, Detail: c.help})
			}
		}
	case strings.HasPrefix(word, "$"):
		s.popup.sign = "$"
		for _, k := range s.skills {
			if strings.HasPrefix(k.Name, word[1:]) && len(s.popup.items) < maxOffered {
				s.popup.items = append(s.popup.items, Choice{Name: "$" + k.Name, Detail: k.Detail})
			}
		}
	case strings.HasPrefix(word, "@"):
		s.popup.sign = "@"
		s.asked++
		s.popup.number = s.asked
		if old.sign == "@" && old.from == from { // until the answer is here
			for _, c := range old.items {
				if strings.HasPrefix(c.Name, word) {
					s.popup.items = append(s.popup.items, c)
				}
			}
		}
		return s, []effect{complete{prefix: word[1:], number: s.asked}}
	}
	return s, nil
}

// offered takes in paths that were looked up, unless the word has changed.
func (s state) offered(m completedMsg) state {
	if s.popup.sign != "@" || s.popup.number != m.number {
		return s
	}
	s.popup.items, s.popup.at = nil, 0
	for _, p := range m.paths[:min(len(m.paths), maxOffered)] {
		s.popup.items = append(s.popup.items, Choice{Name: "@" + p})
	}
	if word, _ := s.editor.word(); len(s.popup.items) == 1 && s.popup.items[0].Name == word {
		s.popup.items = nil
	}
	return s
}

// take puts the chosen entry into the text.
func (s state) take() (state, []effect) {
	name := s.popup.items[min(s.popup.at, len(s.popup.items)-1)].Name
	end := name
	if !strings.HasSuffix(name, "/") {
		end += " "
	}
	s.editor = s.editor.replace(s.popup.from, s.editor.at, end)
	s.popup = popup{}
	if strings.HasSuffix(name, "/") {
		return s.offer()
	}
	return s, nil
}

// popupKey handles the keys that a popup takes. It reports false for others.
func (s state) popupKey(key string) (state, []effect, bool) {
	switch key {
	case "up", "ctrl+p":
		s.popup.at = max(0, s.popup.at-1)
	case "down", "ctrl+n":
		s.popup.at = min(len(s.popup.items)-1, s.popup.at+1)
	case "esc":
		s.popup.closed = true
	case "tab":
		s, effects := s.take()
		return s, effects, true
	case "enter":
		return s.popupEnter()
	default:
		return s, nil, false
	}
	return s, nil, true
}

// popupEnter takes a choice. A command that is complete is run at once.
func (s state) popupEnter() (state, []effect, bool) {
	if s.popup.sign != "/" {
		s, effects := s.take()
		return s, effects, true
	}
	word, _ := s.editor.word()
	if _, whole := findCommand(strings.TrimPrefix(word, "/")); whole && s.popup.at == 0 {
		return s, nil, false // as written
	}
	s, effects := s.take()
	if c, ok := findCommand(strings.TrimPrefix(strings.TrimSpace(s.editor.text), "/")); ok && !c.needsArgument() {
		s, effects = s.submit()
	}
	return s, effects, true
}

// draw shows at most height entries.
func (p popup) draw(t theme, width, height int) []string {
	if !p.shown() || height < 1 {
		return nil
	}
	at := min(p.at, len(p.items)-1)
	first := max(0, min(at-height/2, len(p.items)-height))
	var out []string
	for i := first; i < min(first+height, len(p.items)); i++ {
		out = append(out, choiceLine(t, p.items[i].Name, p.items[i].Detail, i == at, width))
	}
	return out
}

// readPrompt finds the files and pictures that a text names.
func readPrompt(text string) Prompt {
	p := Prompt{Text: text}
	for _, word := range strings.FieldsFunc(text, unicode.IsSpace) {
		name, ok := strings.CutPrefix(word, "@")
		name = strings.TrimRight(name, ".,;:!?)]}\"'")
		if !ok || name == "" {
			continue
		}
		to := &p.Files
		switch strings.ToLower(path.Ext(name)) {
		case ".png", ".jpg", ".jpeg", ".gif", ".webp":
			to = &p.Images
		}
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	return p
}
