package tui

import (
	"cmp"
	"fmt"
	"strings"
)

// An overlay stands in the place of the transcript until it is closed. The
// zero value is none.
type overlay struct {
	title string
	// page is text to scroll in, picker a list to choose from: one of them.
	page   content
	picker *picker
	scroll int // lines from the top
}

func (o overlay) shown() bool { return o.page != nil || o.picker != nil }

// pickWhat says what is chosen.
type pickWhat int

const (
	pickSession pickWhat = iota
	pickModel
	pickEffort
	pickTurn
)

// A picker is a list to choose from. Typing narrows it.
type picker struct {
	title  string
	what   pickWhat
	items  []pickItem
	filter string
	at     int
}

type pickItem struct{ id, label, detail string }

// matching are the items that hold the filter's words.
func (p picker) matching() []pickItem {
	var out []pickItem
	words := strings.Fields(strings.ToLower(p.filter))
next:
	for _, item := range p.items {
		text := strings.ToLower(item.label + " " + item.detail + " " + item.id)
		for _, w := range words {
			if !strings.Contains(text, w) {
				continue next
			}
		}
		out = append(out, item)
	}
	return out
}

// draw shows the part of the list around the choice.
func (p picker) draw(t theme, width, height int) []string {
	out := []string{t.paint(cut(cleanLine(p.title), width), lookBold)}
	if p.filter != "" {
		out[0] = cutStyled(out[0]+t.paint("  "+cleanLine(p.filter), lookAccent), width)
	}
	items := p.matching()
	if len(items) == 0 {
		return append(out, t.paint(cut("  nothing matches", width), lookFaint))
	}
	room := max(1, height-1)
	at := min(p.at, len(items)-1)
	first := max(0, min(at-room/2, len(items)-room))
	for i := first; i < min(first+room, len(items)); i++ {
		out = append(out, choiceLine(t, items[i].label, items[i].detail, i == at, width))
	}
	return out
}

// choiceLine draws an entry of a list; the chosen one has a mark.
func choiceLine(t theme, label, detail string, chosen bool, width int) string {
	mark, l := "  ", lookPlain
	if chosen {
		mark, l = "› ", lookAccent
	}
	label, detail = cleanLine(label), cleanLine(detail)
	line := mark + cut(label, width-2)
	if room := width - cells(line) - 2; detail != "" && room > 4 {
		return cutStyled(t.paint(line, l)+t.paint("  "+cut(detail, room), lookFaint), width)
	}
	return t.paint(cut(line, width), l)
}

// overlayKey handles a key while an overlay is open.
func (s state) overlayKey(key, text string) (state, []effect) {
	switch key {
	case "esc", "ctrl+c":
		s.overlay = overlay{}
		return s, nil
	}
	if s.overlay.picker != nil {
		return s.pickerKey(key, text)
	}
	room := s.overlayRoom()
	switch key {
	case "q", "enter", "ctrl+d":
		s.overlay = overlay{}
	case "up", "k":
		s.overlay.scroll--
	case "down", "j":
		s.overlay.scroll++
	case "pgup", "ctrl+b":
		s.overlay.scroll -= room
	case "pgdown", "space", "ctrl+f":
		s.overlay.scroll += room
	case "home", "g":
		s.overlay.scroll = 0
	case "end", "G":
		s.overlay.scroll = len(s.overlayLines())
	}
	s.overlay.scroll = max(0, min(s.overlay.scroll, len(s.overlayLines())-room))
	return s, nil
}

func (s state) pickerKey(key, text string) (state, []effect) {
	p := *s.overlay.picker
	items := p.matching()
	switch key {
	case "up", "ctrl+p":
		p.at = max(0, p.at-1)
	case "down", "ctrl+n":
		p.at = min(max(0, len(items)-1), p.at+1)
	case "pgup":
		p.at = max(0, p.at-s.overlayRoom())
	case "pgdown":
		p.at = min(max(0, len(items)-1), p.at+s.overlayRoom())
	case "backspace":
		p.filter, p.at = newEditor(p.filter).backspace().text, 0
	case "ctrl+u":
		p.filter, p.at = "", 0
	case "enter":
		if len(items) == 0 {
			return s, nil
		}
		return s.pick(p.what, items[min(p.at, len(items)-1)].id)
	default:
		if text != "" && len(p.filter) < 200 {
			p.filter, p.at = p.filter+text, 0
		}
	}
	s.overlay.picker = &p
	return s, nil
}

// pick does what was chosen.
func (s state) pick(what pickWhat, id string) (state, []effect) {
	s.overlay = overlay{}
	if s.phase != phaseIdle {
		s.hint = "this waits until what is under way has ended"
		return s, nil
	}
	switch what {
	case pickSession:
		return runResume(s, id)
	case pickModel:
		return runModel(s, id)
	case pickEffort:
		return runEffort(s, id)
	case pickTurn:
		return runRewind(s, id)
	}
	return s, nil
}

// listed shows a list that was read.
func (s state) listed(m listedMsg) (state, []effect) {
	s, effects := s.rest()
	if m.err != nil {
		return s.alarm(fmt.Sprintf("%s could not be read: %v", m.what, m.err)), effects
	}
	switch m.what {
	case listPins, listPlugins:
		return s.listRows(m), effects
	case listSessions, listModels, listEfforts:
	}
	p := picker{}
	switch m.what {
	case listSessions:
		p.title, p.what = "Open which session?", pickSession
		for _, item := range m.sessions {
			detail := plural(item.Messages, "message")
			if !item.UpdatedAt.IsZero() {
				detail = item.UpdatedAt.Format("2006-01-02 15:04") + ", " + detail
			}
			p.items = append(p.items, pickItem{id: item.ID, label: cmp.Or(item.Title, item.ID), detail: detail})
		}
	case listModels:
		p.title, p.what = "Which model?", pickModel
	case listEfforts:
		p.title, p.what = "How long may it think?", pickEffort
	}
	for _, c := range m.choices {
		p.items = append(p.items, pickItem{id: c.Name, label: c.Name, detail: c.Detail})
	}
	if len(p.items) == 0 {
		if m.what == listModels {
			return s.say("no models are known to choose from; /model NAME takes any"), effects
		}
		return s.say(fmt.Sprintf("there are no %s to choose from", m.what)), effects
	}
	s.overlay = overlay{picker: &p}
	return s, effects
}

// listRows answers with a list in the transcript.
func (s state) listRows(m listedMsg) state {
	if len(m.choices) == 0 {
		return s.say(fmt.Sprintf("there are no %s", m.what))
	}
	lines := []textLine{{term: strings.ToUpper(string(m.what[:1])) + string(m.what[1:])}}
	for i, c := range m.choices {
		if m.what == listPins {
			lines = append(lines, textLine{term: fmt.Sprint(i + 1), text: cmp.Or(c.Name, "(empty)")})
			continue
		}
		lines = append(lines, textLine{term: cmp.Or(c.Name, "(no name)"), text: cmp.Or(c.Detail, "–")})
	}
	return s.add(newRow(textRow{lines}))
}
