package journey

import (
	"context"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/internal/scripted"
)

// documents puts files of prose into the workspace.
func (s *stage) documents(p *plan, n, lines int) error {
	for i := 1; i <= n; i++ {
		if err := s.write(part(i), p.document(fmt.Sprintf("Part %d", i), lines)); err != nil {
			return err
		}
	}
	return nil
}

func part(i int) string { return fmt.Sprintf("docs/part-%02d.md", i) }

// talkAbout plays turns in which the user asks about one document after the
// other, first to last, and states a rule in each of the first seeds turns.
func (s *stage) talkAbout(ctx context.Context, p *plan, first, last, seeds int, extra ...string) error {
	for i := first; i <= last; i++ {
		said := p.talk()
		if i-first < seeds {
			x := p.rule()
			s.seeds = append(s.seeds, x)
			said = x.text
		}
		prompt := fmt.Sprintf("%s\nRead %s and tell me what it says.", said, part(i))
		answer := fmt.Sprintf("Part %d in short:\n%s", i, p.document(fmt.Sprintf("Summary %d", i), 36))
		s.feeds("answer", answer)
		r, err := s.turn(ctx, prompt, steps(reads(part(i)), says("%s", answer)), extra...)
		if err != nil {
			return err
		}
		if r.code != 0 {
			s.journey.Problems = append(s.journey.Problems, fmt.Sprintf("turn %d ended with %d: %s", len(s.runs), r.code, r.result.Reason))
		}
	}
	return nil
}

// lastRequest returns what the provider got last, nil when it got nothing.
func (s *stage) lastRequest() *scripted.Request {
	all := s.server.Requests()
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

// lineWith returns the first line of a text that holds all of the words.
func lineWith(text string, words ...string) (string, bool) {
	for line := range strings.Lines(text) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return line, true
		}
	}
	return "", false
}

// longRecall: rules from the first turns are there, and are followed, when
// more turns have passed than stay verbatim (F-E2E-01).
func longRecall(ctx context.Context, s *stage) error {
	const turns, seeds = 30, 24
	p, err := newPlan(1)
	if err != nil {
		return err
	}
	if err := s.documents(p, turns, 60); err != nil {
		return err
	}
	place := seed{"Whenever you write a report, it goes into handover/kestrel.md and into no other file.", []string{"report", "handover/kestrel.md"}}
	s.seeds = append(s.seeds, place)
	if _, err := s.turn(ctx, place.text, says("Understood.")); err != nil {
		return err
	}
	if err := s.talkAbout(ctx, p, 1, turns, seeds); err != nil {
		return err
	}
	r, err := s.turn(ctx, "Now write the report about the parts.", followsRule(place, "handover/kestrel.md", "REPORT.md"))
	if err != nil {
		return err
	}
	s.passed(map[string]bool{
		"the last run completes":        r.code == 0,
		"the report is where it was to": s.read("handover/kestrel.md") == report,
		"and nowhere else":              s.read("REPORT.md") == "",
	})
	return nil
}

const report = "The parts say how rows are handled.\n"

// followsRule is a model that writes a report: where the rule says, if a
// request still has the rule, and at a usual place if not.
func followsRule(rule seed, ruled, usual string) func(scripted.Request) scripted.Reply {
	return steps(func(q scripted.Request) scripted.Reply {
		if rule.keptIn(strings.Split(q.Text(), "\n")) {
			return creates(ruled, report)(q)
		}
		return creates(usual, report)(q)
	}, says("The report is written."))
}

const noteRule = "Release notes go to "

// changedInstructions: after AGENTS.md has changed, what it says now counts
// against a conversation that followed the old one (F-E2E-02).
func changedInstructions(ctx context.Context, s *stage) error {
	const oldPlace, newPlace = "notes/lark.md", "notes/heron.md"
	p, err := newPlan(2)
	if err != nil {
		return err
	}
	if err := s.documents(p, 18, 60); err != nil {
		return err
	}
	if err := s.write("AGENTS.md", noteRule+oldPlace+".\n"); err != nil {
		return err
	}
	if _, err := s.turn(ctx, "Where do the notes of a release belong?", says("AGENTS.md says: release notes go to %s.", oldPlace)); err != nil {
		return err
	}
	if _, err := s.turn(ctx, "Write the notes of version 1.", followsInstructions("Version 1.\n")); err != nil {
		return err
	}
	if err := s.talkAbout(ctx, p, 1, 18, 0); err != nil {
		return err
	}
	if err := s.write("AGENTS.md", noteRule+newPlace+".\n"); err != nil {
		return err
	}
	r, err := s.turn(ctx, "Write the notes of version 2.", followsInstructions("Version 2.\n"))
	if err != nil {
		return err
	}
	if q := s.lastRequest(); q != nil {
		text := instructions(*q)
		if strings.Contains(text, oldPlace) {
			s.unsafe("what AGENTS.md said before is among the instructions")
		}
		if !strings.Contains(text, noteRule+newPlace) {
			s.unsafe("what AGENTS.md says now is not among the instructions")
		}
	}
	s.passed(map[string]bool{
		"the last run completes":                 r.code == 0,
		"version 1 stands at the old place":      s.read(oldPlace) == "Version 1.\n",
		"version 2 stands where AGENTS.md says":  s.read(newPlace) == "Version 2.\n",
		"the instructions come before all turns": firstSystem(s.lastRequest()),
	})
	return nil
}

// followsInstructions is a model that writes where the instructions say.
func followsInstructions(content string) func(scripted.Request) scripted.Reply {
	return steps(func(q scripted.Request) scripted.Reply {
		line, ok := lineWith(instructions(q), noteRule)
		if !ok {
			return creates("NOTES.md", content)(q)
		}
		_, place, _ := strings.Cut(strings.TrimSpace(line), noteRule)
		return creates(strings.TrimSuffix(place, "."), content)(q)
	}, says("The notes are written."))
}
