package compaction

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
)

// Names of the ledgers, in the order in which they are shown.
const (
	LedgerFiles     = "files"
	LedgerArtefacts = "artefacts"
	LedgerRuns      = "runs"
	LedgerErrors    = "errors"
	LedgerPlan      = "plan"
	LedgerDecisions = "decisions"
)

var ledgerOrder = []string{LedgerErrors, LedgerRuns, LedgerPlan, LedgerFiles, LedgerArtefacts, LedgerDecisions}

// ledgerLine is one fact that parsing found.
type ledgerLine struct {
	ledger  string
	text    string
	message int32
}

// withheld stands in a ledger for a text of a tool or model that reads like an
// instruction, an approval or a test result.
const withheld = "(withheld: it reads like an instruction)"

// ledgers returns every ledger line of the events in [0, through), the most
// useful first within each ledger. The same events give the same lines.
func (x *Index) ledgers(through int) map[string][]ledgerLine {
	b := ledgerBuilder{reader: &x.reader, files: map[string]*fileState{}, failed: map[string]*failure{}}
	for _, e := range x.events {
		if int(e.result) < through {
			b.take(e)
		}
	}
	out := map[string][]ledgerLine{}
	b.fileLines(out)
	b.runLines(out)
	b.errorLines(out)
	for _, item := range b.plan.open {
		if text := b.neutral(item, 160); text != withheld {
			out[LedgerPlan] = append(out[LedgerPlan], ledgerLine{LedgerPlan, "open: " + text, b.plan.call})
		}
	}
	for _, d := range slices.Backward(x.decisions) {
		if int(d.message) < through {
			out[LedgerDecisions] = append(out[LedgerDecisions], ledgerLine{LedgerDecisions, checkpoint.FoldSpace(d.text), d.message})
		}
	}
	return out
}

type ledgerBuilder struct {
	reader  *reader
	files   map[string]*fileState
	order   []string // paths in the order of their first use
	failed  map[string]*failure
	causes  []string // keys of failed in order
	plan    event
	command event
	test    event
	edited  int32 // the last message that changed a file
}

type fileState struct {
	kind    actionKind
	edits   int
	last    int32
	created bool
}

type failure struct {
	event
	open bool
}

func (b *ledgerBuilder) take(e event) {
	failed := e.outcome == message.OutcomeFailure
	switch e.kind {
	case actionPlan:
		b.plan = e
		return
	case actionRun:
		b.command = e
		if testCommand(e.subject) {
			b.test = e
		}
	default:
		if !failed {
			b.file(e)
		}
	}
	if e.kind == actionRead {
		return
	}
	key := "file " + e.subject
	if e.kind == actionRun {
		key = "run " + e.subject
	}
	f := b.failed[key]
	switch {
	case failed && e.failure != "":
		if f == nil {
			f = &failure{}
			b.failed[key] = f
			b.causes = append(b.causes, key)
		}
		f.event, f.open = e, true
	case !failed && f != nil:
		f.open = false
	}
	if !failed && e.kind == actionRun && testCommand(e.subject) {
		b.settleTests(e.subject)
	}
}

// settleTests settles the failed test runs that a later success covers: the
// same runner without a narrower selection.
func (b *ledgerBuilder) settleTests(command string) {
	words := strings.Fields(command)
	if len(words) > 2 && !strings.Contains(command, "./...") {
		return
	}
	for _, f := range b.failed {
		other := strings.Fields(f.subject)
		if f.kind == actionRun && testCommand(f.subject) && slices.Equal(other[:min(2, len(other))], words[:min(2, len(words))]) {
			f.open = false
		}
	}
}

func (b *ledgerBuilder) file(e event) {
	s := b.files[e.subject]
	if s == nil {
		s = &fileState{}
		b.files[e.subject] = s
		b.order = append(b.order, e.subject)
	}
	switch e.kind {
	case actionEdit, actionCreate:
		s.edits++
		s.created = s.created || e.kind == actionCreate
		s.kind, s.last = e.kind, e.call
		b.edited = e.result
	case actionDelete:
		s.kind, s.last, s.created, s.edits = actionDelete, e.call, false, 0
		b.edited = e.result
	case actionRead:
		if s.edits == 0 && s.kind != actionDelete {
			s.kind, s.last = actionRead, e.call
		}
	}
}

// fileLines lists files, changed ones before those only read, newest first.
func (b *ledgerBuilder) fileLines(out map[string][]ledgerLine) {
	paths := slices.Clone(b.order)
	slices.SortStableFunc(paths, func(p, q string) int {
		s, u := b.files[p], b.files[q]
		if (s.kind == actionRead) != (u.kind == actionRead) {
			if s.kind == actionRead {
				return 1
			}
			return -1
		}
		return int(u.last) - int(s.last)
	})
	for _, p := range paths {
		s := b.files[p]
		path := b.neutral(p, 200)
		if path == withheld {
			continue
		}
		ledger, verb := LedgerFiles, "read "
		switch {
		case s.kind == actionDelete:
			verb = "deleted "
		case s.created:
			ledger, verb = LedgerArtefacts, "created "
		case s.edits > 0:
			verb = "edited "
		}
		out[ledger] = append(out[ledger], ledgerLine{ledger, verb + path, s.last})
	}
}

// runLines tells how the last test run and the last command ended, as of then
// (F-SEC-03, F-E2E-04).
func (b *ledgerBuilder) runLines(out map[string][]ledgerLine) {
	add := func(what string, e event) {
		if e.subject == "" {
			return
		}
		text := what + " `" + strings.ReplaceAll(b.neutral(e.subject, 120), "`", "'") + "`, " + ended(e.outcome)
		if b.edited > e.result {
			text += "; files changed since"
		}
		out[LedgerRuns] = append(out[LedgerRuns], ledgerLine{LedgerRuns, text, e.call})
	}
	add("test run", b.test)
	if b.command.subject != b.test.subject || b.command.call != b.test.call {
		add("command", b.command)
	}
}

func ended(o message.Outcome) string {
	switch o {
	case message.OutcomeSuccess:
		return "ended with exit 0 in that run"
	case message.OutcomeFailure:
		return "ended with a failure in that run"
	}
	return "end unknown"
}

func (b *ledgerBuilder) errorLines(out map[string][]ledgerLine) {
	for _, key := range slices.Backward(b.causes) {
		f := b.failed[key]
		if !f.open {
			continue
		}
		subject := b.neutral(f.subject, 60)
		text := "`" + strings.ReplaceAll(subject, "`", "'") + "`: " + b.quoteError(f.failure)
		out[LedgerErrors] = append(out[LedgerErrors], ledgerLine{LedgerErrors, text, f.result})
	}
}

// neutral folds and shortens a text that a model or tool wrote, and withholds
// it when it gives leave or claims a test result.
func (b *ledgerBuilder) neutral(text string, maxBytes int) string {
	text = shorten(checkpoint.FoldSpace(text), maxBytes)
	b.reader.classify(text)
	f := featuresOf(b.reader.hits, len(b.reader.folded))
	if f.count[grantAlways]+f.count[claimAlways] > 0 || f.count[grant] > 0 && strings.Contains(text, " ") ||
		f.count[waive] > 0 && f.count[consult] > 0 || f.count[success] > 0 && f.count[test] > 0 {
		return withheld
	}
	return text
}

// quoteError is neutral for a line of tool output, which anybody may have
// written: it also withholds what speaks to the reader.
func (b *ledgerBuilder) quoteError(line string) string {
	text := b.neutral(line, 200)
	lower := " " + strings.ToLower(text) + " "
	for _, w := range []string{" you ", " your ", " please ", " assistant", " ignore ", " user ", " agent ", " instruction"} {
		if strings.Contains(lower, w) {
			return withheld
		}
	}
	if _, said, ok := strings.Cut(line, ": "); ok && len(said) < len(line) {
		line = said
	}
	b.reader.classify(line)
	f := featuresOf(b.reader.hits, len(b.reader.folded))
	if f.count[grant]+f.count[permit] > 0 || f.first[prohibit] == 0 || f.first[oblige] == 0 || f.first[order] == 0 && f.count[prohibit]+f.count[oblige] > 0 {
		return withheld
	}
	return text
}

// shorten cuts s at maxBytes on a rune boundary and marks the cut.
func shorten(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	cut := maxBytes
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
