package compaction

// maxSubjects bounds how many earlier statements on one name are compared with
// a new one, which keeps the work linear.
const maxSubjects = 12

// supersede marks, among statements in the order of the conversation, those
// that a newer one replaces: it returns for each its successor's index, or -1.
//
// A statement is replaced by a later one on the same subject: they share their
// names and most of their other words and differ in a number or in whether they
// forbid; or they share a name and some words and the newer one says that it
// corrects. On doubt both stay.
func supersede(units []*unit) []int {
	successor := make([]int, len(units))
	byName := map[uint64][]int{}
	var folded []byte
	all := make([][]term, len(units))
	for i, u := range units {
		successor[i] = -1
		folded = appendFolded(folded[:0], u.text)
		all[i] = terms(nil, folded)
		seen := map[int]bool{}
		for _, t := range all[i] {
			if t.number {
				continue
			}
			for _, j := range byName[t.hash] {
				if !seen[j] {
					seen[j] = true
					if successor[j] < 0 && units[j].message < u.message && replaces(u, units[j], all[i], all[j]) {
						successor[j] = i
					}
				}
			}
			if t.name || u.correction {
				at := append(byName[t.hash], i)
				if len(at) > maxSubjects {
					at = at[1:]
				}
				byName[t.hash] = at
			}
		}
	}
	return successor
}

// replaces reports whether the newer statement is on the older one's subject
// and says something else about it.
func replaces(newer, older *unit, a, b []term) bool {
	shared, names, otherNames, differs := 0, 0, 0, newer.prohibition != older.prohibition
	plainA, plainB := 0, 0
	for _, t := range b {
		if !t.number {
			plainB++
			if t.name && !contains(a, t.hash) {
				otherNames++
			}
		} else if !contains(a, t.hash) {
			differs = true
		}
	}
	for _, t := range a {
		if t.number {
			continue
		}
		plainA++
		if contains(b, t.hash) {
			shared++
			if t.name {
				names++
			}
		} else if t.name {
			otherNames++
		}
	}
	smaller := max(1, min(plainA, plainB))
	switch {
	case names == 0 || !differs && otherNames == 0:
		return false
	case newer.correction:
		return shared*100 >= 34*smaller
	case otherNames > 0:
		return false // "use a for x" and "use a for y" can both hold
	}
	return shared*100 >= 70*max(1, max(plainA, plainB))
}

func contains(ts []term, hash uint64) bool {
	for _, t := range ts {
		if t.hash == hash {
			return true
		}
	}
	return false
}
