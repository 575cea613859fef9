package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
)

// A command is a slash command.
type command struct {
	name string
	// argument is how it is written in the help, empty for none. One in
	// brackets may be left out.
	argument string
	help     string
	// always: it may be given while something is under way.
	always bool
	run    func(s state, argument string) (state, []effect)
}

// needsArgument says that the name alone is not enough.
func (c command) needsArgument() bool {
	return c.argument != "" && !strings.HasPrefix(c.argument, "[")
}

// commands are the slash commands in the order of the help.
func commands() []command {
	return []command{
		{name: "context", help: "show what is in the window, and what would be done next", always: true, run: runContext},
		{name: "compact", argument: "[--dry-run] [--tail N]", help: "put a checkpoint in the place of old messages; with --dry-run only show it", run: runCompact},
		{name: "pin", argument: "TEXT", help: "keep a statement in every request, word for word", run: runPin},
		{name: "unpin", argument: "N", help: "remove a pin by its number", run: runUnpin},
		{name: "pins", help: "list the pins", run: simple("reading the pins", list{listPins})},
		{name: "rewind", argument: "[TURN]", help: "go on before an earlier request of this session", run: runRewind},
		{name: "resume", argument: "[ID]", help: "open another session", run: runResume},
		{name: "fork", help: "go on in a copy of this session", run: simple("copying the session", open{how: openFork})},
		{name: "new", help: "begin an empty session; /clear does the same", run: simple("beginning a session", open{how: openNew})},
		{name: "model", argument: "[NAME]", help: "choose the model", run: runModel},
		{name: "effort", argument: "[LEVEL]", help: "choose how long the model thinks", run: runEffort},
		{name: "plugins", help: "list the plugins", run: simple("reading the plugins", list{listPlugins})},
		{name: "login", help: "say how to store a key", always: true, run: hintFor("login")},
		{name: "logout", help: "say how to remove a key", always: true, run: hintFor("logout")},
		{name: "help", help: "show this list", always: true, run: runHelp},
		{name: "exit", help: "leave; the session is kept", always: true, run: runExit},
	}
}

// alias returns the command that another name stands for.
func alias(name string) string {
	switch name {
	case "clear":
		return "new"
	case "quit":
		return "exit"
	}
	return name
}

func findCommand(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == alias(name) })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// slash runs a line that begins with a slash.
func (s state) slash(line string) (state, []effect) {
	name, argument, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	argument = strings.TrimSpace(argument)
	c, ok := findCommand(name)
	switch {
	case !ok:
		return s.alarm(unknownCommand(name)), nil
	case s.phase != phaseIdle && !c.always:
		s.hint = "/" + c.name + " waits until this has ended; Esc interrupts it"
		return s, nil
	case argument != "" && c.argument == "":
		return s.alarm(fmt.Sprintf("/%s takes no argument", c.name)), nil
	case argument == "" && c.needsArgument():
		return s.alarm(fmt.Sprintf("/%s needs an argument: /%s %s", c.name, c.name, c.argument)), nil
	}
	s.editor = editor{}
	return c.run(s, argument)
}

func unknownCommand(name string) string {
	best, least := "", 0
	for _, c := range commands() {
		for _, n := range []string{c.name, map[string]string{"new": "clear", "exit": "quit"}[c.name]} {
			if d := distance(name, n); n != "" && (best == "" || d < least) {
				best, least = n, d
			}
		}
	}
	return fmt.Sprintf("there is no command /%s; the nearest is /%s, and /help lists all", name, best)
}

// distance is how many letters two words differ in: put in, left out, changed.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 32 {
		x = x[:32]
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		left, diagonal := i+1, row[0]
		row[0] = left
		for j := range y {
			change := diagonal
			if x[i] != y[j] {
				change++
			}
			diagonal = row[j+1]
			left = min(change, left+1, row[j+1]+1)
			row[j+1] = left
		}
	}
	return row[len(y)]
}

func simple(doing string, e effect) func(state, string) (state, []effect) {
	return func(s state, _ string) (state, []effect) { return s.work(doing, e) }
}

func runContext(s state, _ string) (state, []effect) {
	if s.phase == phaseIdle {
		return s.work("measuring", measure{show: true})
	}
	if s.fit == nil {
		s.hint = "nothing has been measured yet"
		return s, nil
	}
	s.overlay = overlay{title: "Context", page: contextPage{fit: s.fit, running: true}}
	return s, nil
}

func runCompact(s state, argument string) (state, []effect) {
	var o contextwindow.ManualOptions
	dry := false
	words := strings.Fields(argument)
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "--dry-run":
			dry = true
		case words[i] == "--tail" && i+1 < len(words):
			n, err := strconv.Atoi(words[i+1])
			if err != nil || n < 0 {
				return s.alarm("--tail is how many tokens of the newest messages stay: a number from 0 up"), nil
			}
			if o.TailTokens = n; n == 0 {
				o.TailTokens = -1
			}
			i++
		default:
			return s.alarm(fmt.Sprintf("/compact does not know %q: use /compact [--dry-run] [--tail N]", words[i])), nil
		}
	}
	if dry {
		return s.work("planning a compaction", plan{o})
	}
	return s.work("compacting", compact{o})
}

func runPin(s state, argument string) (state, []effect) { return s.work("pinning", pin{argument}) }

func runUnpin(s state, argument string) (state, []effect) {
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 {
		return s.alarm("/unpin needs the number of a pin; /pins lists them"), nil
	}
	return s.work("unpinning", unpin{n})
}

func runRewind(s state, argument string) (state, []effect) {
	turns := s.turns()
	if len(turns) == 0 {
		return s.say("nothing has been asked in this session yet"), nil
	}
	if argument == "" {
		p := picker{title: "Go on before which request?", what: pickTurn}
		for i := len(turns) - 1; i >= 0; i-- {
			p.items = append(p.items, pickItem{id: strconv.Itoa(i + 1), label: fmt.Sprintf("%d  %s", i+1, turns[i])})
		}
		s.overlay = overlay{picker: &p}
		return s, nil
	}
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 || n > len(turns) {
		return s.alarm(fmt.Sprintf("/rewind needs a number from 1 to %d", len(turns))), nil
	}
	return s.rewind(n)
}

// turns are the requests of the session.
func (s state) turns() []string {
	var out []string
	for _, r := range s.rows {
		if u, ok := r.content.(userRow); ok && !u.unkept {
			out = append(out, u.text)
		}
	}
	return out
}

func (s state) rewind(turn int) (state, []effect) {
	return s.work("going back", open{how: openRewind, turn: turn, prompt: s.turns()[turn-1]})
}

func runResume(s state, argument string) (state, []effect) {
	if argument != "" {
		return s.work("opening the session", open{how: openResume, id: argument})
	}
	return s.work("reading the sessions", list{listSessions})
}

func runModel(s state, argument string) (state, []effect) {
	if argument != "" {
		return s.work("changing the model", setModel{argument})
	}
	return s.work("reading the models", list{listModels})
}

func runEffort(s state, argument string) (state, []effect) {
	if argument != "" {
		return s.work("changing the effort", setEffort{argument})
	}
	return s.work("reading the levels", list{listEfforts})
}

func hintFor(what string) func(state, string) (state, []effect) {
	return func(s state, _ string) (state, []effect) { return s, []effect{hintOf{what}} }
}

func runExit(s state, _ string) (state, []effect) { return s.exit() }

func runHelp(s state, _ string) (state, []effect) {
	lines := []textLine{{term: "Commands"}}
	for _, c := range commands() {
		lines = append(lines, textLine{term: strings.TrimSpace("/" + c.name + " " + c.argument), text: c.help})
	}
	lines = append(lines, textLine{term: "Keys"})
	for _, k := range [][2]string{
		{"Enter", "send"}, {"Alt+Enter, Ctrl+J", "begin a new line"}, {"Up, Down", "earlier and later requests, from the first and last line"},
		{"@", "name a file, or a picture to send along"}, {"$", "name a skill"}, {"Tab", "take what is offered"},
		{"PgUp, PgDn", "scroll"}, {"Esc, Ctrl+C", "interrupt"}, {"Ctrl+D, twice Ctrl+C", "leave, when nothing is written"},
	} {
		lines = append(lines, textLine{term: k[0], text: k[1]})
	}
	s.overlay = overlay{title: "Help", page: textRow{lines}}
	return s, nil
}
