package compaction

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

// LedgerNames is the ledger of names that fills a checkpoint up: paths,
// identifiers and numbers, each in a line of a message that holds it.
const LedgerNames = "names"

// Bounds of the ledger of names.
const (
	// leastNameRoom is the room from which names are listed.
	leastNameRoom = 40
	// nameShare is the most that they weigh, in percent of the range.
	nameShare = 25
	// nameFrame is what a name weighs besides its letters, for its rank.
	nameFrame = 12
	// namePages is how often the list is made anew to fill the room.
	namePages = 5
)

// rankedName is a name that may be listed.
type rankedName struct {
	id    int32
	score int
	kept  posting // newest of the range
	uses  int32
	calls int32
	where nameSource
}

// fillNames lists names in what room is left, the most useful first.
func (s *selection) fillNames() {
	heading := s.in.Counter.Text(ledgerHeadings[LedgerNames]) + 4
	room := min(s.room, s.in.RangeTokens*nameShare/100) - heading
	if room < leastNameRoom {
		return
	}
	n := &s.in.Index.names
	n.extend(s.in.Transcript, s.in.Through)
	ranked := s.rankNames(n)
	// An estimate first, then as many more or fewer as the text really takes.
	take, weight, spent := 0, 0, 0
	for take < len(ranked) && weight < room {
		weight += 1 + len(n.text[ranked[take].id])/3
		take++
	}
	best := 0
	for page := 0; page < namePages && take > 0; page++ {
		lines := s.nameLines(n, ranked[:take])
		weight = s.in.Counter.Text(joinLines(lines))
		if weight <= room {
			s.names, best, spent = lines, take, weight+heading
			if take == len(ranked) || weight*100 >= room*97 {
				break
			}
		}
		next := take * room / max(weight, 1)
		if next == take {
			break
		}
		if weight > room {
			next = max(best, next-1-next/50)
		}
		if take = min(next, len(ranked)); take == best {
			break
		}
	}
	s.room -= spent
}

func joinLines(lines []shownLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String())
	}
	return b.String()
}

// rankNames orders the names of the range by how likely they are needed: what
// calls used before what only stood in output, the user's before others',
// often and lately seen before the rest, shorter before longer.
func (s *selection) rankNames(n *names) []rankedName {
	end, _ := slices.BinarySearchFunc(n.post, int32(s.in.Through), func(p posting, at int32) int { return cmp.Compare(p.message, at) })
	all := make([]rankedName, len(n.text))
	for _, p := range n.post[:end] {
		r := &all[p.name]
		r.id, r.kept = p.name, p
		r.uses++
		r.where |= p.where
		if p.where&inCall != 0 {
			r.calls++
		}
	}
	shown := s.shownNames()
	ranked := all[:0]
	for _, r := range all {
		name := n.text[r.id]
		if r.uses == 0 || shown[name] {
			continue
		}
		r.score = r.value(name, s.in.Through) * 1000 / (len(name) + nameFrame)
		ranked = append(ranked, r)
	}
	slices.SortFunc(ranked, func(a, b rankedName) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.kept.message, a.kept.message), cmp.Compare(a.id, b.id))
	})
	// Only those that may get a place are read closely.
	kept, room := ranked[:0], 2*s.room
	for _, r := range ranked {
		if room <= 0 {
			break
		}
		if s.in.Index.reader.plainName(n.text[r.id]) {
			kept = append(kept, r)
			room -= 1 + len(n.text[r.id])/4
		}
	}
	return kept
}

func (r *rankedName) value(name string, through int) int {
	v := 8 * bits.Len(uint(r.uses))
	v += 30 * int(r.kept.message+1) / through
	if r.calls > 0 {
		v += 40 + 8*bits.Len(uint(r.calls))
	}
	if r.where&inUser != 0 {
		v += 16
	}
	if r.where&inAnswer != 0 {
		v += 10
	}
	if r.where&inCall == 0 && strings.Count(name, "/") == 1 && name[0] != '/' && !strings.ContainsAny(name, "._") {
		v /= 2 // mostly "this/that" in prose
	}
	if nameKind(name) == 2 && r.where&(inCall|inUser) == 0 {
		v /= 3 // most numbers in output number lines or count something
	}
	return v
}

// shownNames returns the names that the lines chosen so far show.
func (s *selection) shownNames() map[string]bool {
	shown := map[string]bool{}
	for _, section := range s.sections(nil) {
		for _, l := range section.lines {
			for name := range namesIn(l.text, false) {
				shown[name] = true
				for part := range partsOf(name) {
					shown[part] = true
				}
			}
		}
	}
	return shown
}

// partsOf yields the beginnings and ends of a path or a dotted name.
func partsOf(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := 1; i < len(name)-1; i++ {
			if name[i] == '/' || name[i] == '.' {
				if !yield(name[:i]) || !yield(name[i+1:]) {
					return
				}
			}
		}
	}
}

// nameLines lists names by message. A name goes to the message that holds most
// of them, so that there are few lines.
func (s *selection) nameLines(n *names, chosen []rankedName) []shownLine {
	covered := map[string]bool{}
	for _, r := range chosen {
		for part := range partsOf(n.text[r.id]) {
			covered[part] = true
		}
	}
	listed := make([]bool, len(n.text))
	for _, r := range chosen {
		listed[r.id] = !covered[n.text[r.id]]
	}
	held := make([]int32, s.in.Through)
	for _, p := range n.post {
		if int(p.message) < s.in.Through && listed[p.name] {
			held[p.message]++
		}
	}
	home := make([]int32, len(n.text))
	for _, p := range n.post {
		if int(p.message) < s.in.Through && listed[p.name] {
			if at := home[p.name] - 1; at < 0 || held[p.message] >= held[at] {
				home[p.name] = p.message + 1
			}
		}
	}
	byMessage := map[int32][]string{}
	for _, r := range chosen {
		if listed[r.id] {
			at := home[r.id] - 1
			byMessage[at] = append(byMessage[at], n.text[r.id])
		}
	}
	var lines []shownLine
	for at := range int32(s.in.Through) {
		if of := byMessage[at]; len(of) > 0 {
			lines = append(lines, shownLine{message: at, text: joinNames(of)})
		}
	}
	return lines
}

// joinNames writes names on one line: paths by folder first, then the rest. Two
// names and more of a folder share it: "src/{lexer.go,parser.go}".
func joinNames(of []string) string {
	slices.SortFunc(of, func(a, b string) int {
		return cmp.Or(cmp.Compare(nameKind(a), nameKind(b)), cmp.Compare(folderOf(a), folderOf(b)), cmp.Compare(a, b))
	})
	var b strings.Builder
	for i := 0; i < len(of); {
		folder := folderOf(of[i])
		j := i + 1
		for folder != "" && j < len(of) && folderOf(of[j]) == folder {
			j++
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		if j == i+1 {
			b.WriteString(of[i])
		} else {
			b.WriteString(folder + "{")
			for k, name := range of[i:j] {
				if k > 0 {
					b.WriteByte(',')
				}
				b.WriteString(name[len(folder):])
			}
			b.WriteByte('}')
		}
		i = j
	}
	return b.String()
}

// folderOf returns the folder of a path with its slash, empty without one.
func folderOf(name string) string { return name[:strings.LastIndexByte(name, '/')+1] }

// nameKind orders names on a line: paths, identifiers, numbers.
func nameKind(name string) int {
	switch {
	case strings.Contains(name, "/"):
		return 0
	case strings.ContainsFunc(name, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }):
		return 1
	}
	return 2
}

// Names returns the names that a line of the ledger of names lists.
func Names(line string) []string {
	var out []string
	for item := range strings.FieldsSeq(line) {
		folder, rest, ok := strings.Cut(item, "{")
		if !ok {
			out = append(out, item)
			continue
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
			out = append(out, folder+name)
		}
	}
	return out
}

// plainName reports whether the words of a name give no leave, claim no test
// result: anybody may have written it.
func (r *reader) plainName(name string) bool {
	words := strings.TrimSpace(wordsOfName(name))
	if !strings.Contains(words, " ") {
		return true
	}
	r.classify(words)
	f := featuresOf(r.hits, len(r.folded))
	return f.count[grantAlways]+f.count[claimAlways]+f.count[grant] == 0 && (f.count[waive] == 0 || f.count[consult] == 0) &&
		(f.count[success] == 0 || f.count[test] == 0)
}

// wordsOfName parts a name at its joints and humps.
func wordsOfName(name string) string {
	var b strings.Builder
	lower := false
	for _, c := range name {
		switch {
		case c == '_' || strings.ContainsRune(nameJoints, c):
			c, lower = ' ', false
		case unicode.IsUpper(c):
			if lower {
				b.WriteByte(' ')
			}
			lower = false
		default:
			lower = true
		}
		b.WriteRune(c)
	}
	return b.String()
}
