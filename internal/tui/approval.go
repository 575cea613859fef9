package tui

import (
	"strings"

	"github.com/forge-agent/forge/policy"
)

// armed: from now on a key answers the question. Before, it was meant for
// what stood on the screen until then.
func (s state) armed(id int) state {
	s.asks = append([]ask(nil), s.asks...)
	for i := range s.asks {
		if s.asks[i].id == id {
			s.asks[i].armed = true
		}
	}
	return s
}

// settled takes a question off the screen. The next one waits anew until it
// has been seen.
func (s state) settled(id int) (state, []effect) {
	var left []ask
	for _, a := range s.asks {
		if a.id != id {
			left = append(left, a)
		}
	}
	changed := len(left) > 0 && s.asks[0].id != left[0].id
	s.asks = left
	if !changed {
		return s, nil
	}
	s.asks[0].armed = false
	return s, []effect{arm{s.asks[0].id}}
}

// askKey answers the first question, or scrolls in it.
func (s state) askKey(name string) (state, []effect) {
	a := s.asks[0]
	if name == "ctrl+c" || name == "esc" {
		s, stopped := s.stop()
		s, effects := s.settled(a.id)
		return s, append(append([]effect{answer{a.id, policy.Refuse}}, stopped...), effects...)
	}
	if !a.armed {
		return s, nil
	}
	reply := policy.Answer(-1)
	switch name {
	case "y":
		reply = policy.ApproveOnce
	case "a":
		if a.request.Scope == "" {
			s.hint = "there is no approval for the whole run for this call; y allows it once"
			return s, nil
		}
		reply = policy.ApproveForRun
	case "n":
		reply = policy.Refuse
	case "up", "k":
		a.scroll--
	case "down", "j":
		a.scroll++
	case "pgup":
		a.scroll -= s.overlayRoom()
	case "pgdown", "space":
		a.scroll += s.overlayRoom()
	default:
		s.hint = "y allows it once, a for this run, n refuses"
		return s, nil
	}
	if reply >= 0 {
		s, effects := s.settled(a.id)
		return s, append([]effect{answer{a.id, reply}}, effects...)
	}
	a.scroll = max(0, min(a.scroll, len(a.body(s.theme, s.width))-s.askRoom()))
	s.asks = append([]ask{a}, s.asks[1:]...)
	return s, nil
}

// body is what the question is about: the whole command and the difference.
func (a ask) body(t theme, width int) []string {
	q := a.request
	var out []string
	out = append(out, paragraph(t, "  ", "  ", width, plain(cleanLine(q.Summary)))...)
	if len(q.Command) > 0 {
		for i, word := range q.Command {
			begin := "    "
			if i == 0 {
				begin = t.paint("  $ ", lookAccent)
			}
			for _, line := range cleanLines(shellWord(word)) {
				out = append(out, paragraph(t, begin, "      ", width, span{text: line, look: lookCode})...)
				begin = "      "
			}
		}
	}
	if a.decision.Reason != "" {
		out = append(out, paragraph(t, "  ", "  ", width, span{text: cleanLine("asked because " + a.decision.Reason), look: lookFaint})...)
	}
	if q.Diff != "" {
		out = append(out, "")
		out = append(out, diffLines(t, q.Diff, width)...)
	}
	return out
}

// shellWord shows where an argument begins and ends.
func shellWord(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\n\"'\\") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(word) + `"`
	}
	return word
}

// diffLines draws a unified diff. Long lines are wrapped, so that all of what
// would change can be read.
func diffLines(t theme, diff string, width int) []string {
	var out []string
	for _, line := range cleanLines(diff) {
		l := lookPlain
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			l = lookBold
		case strings.HasPrefix(line, "@@"):
			l = lookHunk
		case strings.HasPrefix(line, "+"):
			l = lookAdded
		case strings.HasPrefix(line, "-"):
			l = lookRemoved
		}
		for i, part := range chop([]span{{text: line, look: l}}, width-2) {
			lead := "  "
			if i > 0 {
				lead = t.paint("↪ ", lookFaint)
			}
			out = append(out, cutStyled(lead+t.spans(part), width))
		}
	}
	return out
}
