package compaction

import (
	"fmt"

	"github.com/forge-agent/forge/checkpoint"
)

// plan renders what was chosen and gives lines back while the whole weighs
// more than its parts did.
func (s *selection) plan() (*Plan, error) {
	for {
		p := s.render()
		if p.CheckpointTokens <= s.in.TargetTokens {
			if p.CheckpointTokens >= s.in.RangeTokens {
				return nil, noGain(p.CheckpointTokens, s.in.RangeTokens)
			}
			return p, nil
		}
		if n := len(s.names); n > 0 {
			s.names = s.names[:n-1]
			continue
		}
		if len(s.order) == 0 {
			if p.CheckpointTokens >= s.in.RangeTokens {
				return nil, noGain(p.CheckpointTokens, s.in.RangeTokens)
			}
			return nil, fmt.Errorf("plan compaction: %w: a target of %d tokens is less than the %d that the frame alone weighs",
				ErrInvalid, s.in.TargetTokens, p.CheckpointTokens)
		}
		last := s.order[len(s.order)-1]
		s.order = s.order[:len(s.order)-1]
		if last.unit >= 0 {
			s.state[last.unit] = unitOpen
		} else {
			s.shown[last.ledger]--
		}
	}
}

func (s *selection) render() *Plan {
	p := &Plan{Through: s.in.Through, RangeTokens: s.in.RangeTokens, TargetTokens: s.in.TargetTokens,
		PinsFound: s.found, UserFound: s.userSeen, CoverPercent: s.cover}
	sections := s.sections(p)
	p.Text = render(s.in.Through, sections)
	p.CheckpointTokens = s.in.Counter.Text(p.Text)
	return p
}

// sections returns what was chosen, by heading, and enters it into p unless that
// is nil.
func (s *selection) sections(p *Plan) []section {
	if p == nil {
		p = &Plan{}
	}
	pins, user := section{heading: headingPins}, section{heading: headingUser}
	for i, u := range s.units {
		switch s.state[i] {
		case unitPinned:
			pins.lines = append(pins.lines, s.line(i))
			p.Pins = append(p.Pins, s.pin(i, u))
		case unitShown:
			user.lines = append(user.lines, s.line(i))
		}
	}
	p.PinsKept, p.UserKept = len(pins.lines), len(user.lines)
	p.PinsLeftOut = p.PinsFound - p.PinsKept
	sections := []section{pins, user}
	add := func(name string, lines []shownLine) {
		for _, l := range lines {
			if p.Ledgers == nil {
				p.Ledgers = map[string][]checkpoint.Entry{}
			}
			p.Ledgers[name] = append(p.Ledgers[name], checkpoint.Entry{Text: l.text, MessageID: s.in.Transcript.At(int(l.message)).ID})
		}
		sections = append(sections, section{heading: ledgerHeadings[name], lines: lines})
	}
	for _, name := range ledgerOrder {
		var lines []shownLine
		for _, line := range s.ledgers[name][:s.shown[name]] {
			lines = append(lines, ledgerShown(line))
		}
		add(name, lines)
	}
	add(LedgerNames, s.names)
	return sections
}

func (s *selection) pin(i int, u *unit) checkpoint.Pin {
	pin := checkpoint.Pin{Text: checkpoint.FoldSpace(u.text), MessageID: s.in.Transcript.At(int(u.message)).ID, Kind: string(u.kind), Source: "user"}
	if u.system {
		pin.Source = "system"
	}
	if n := s.next[i]; n >= 0 {
		pin.SupersededBy = s.in.Transcript.At(int(s.units[n].message)).ID
	}
	return pin
}
