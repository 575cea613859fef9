package compaction

// authority reports whether a sentence gives leave, or says how a test ended,
// rather than setting a rule. A rule about approvals or tests forbids or
// narrows something ("never skip the approval", "before I approve"), and is
// none; nor is a bound on a named thing (weak spot 3).
func authority(f features) bool {
	before := func(a, b family) bool { return f.first[a] >= 0 && f.first[a] < f.first[b] }
	rules := f.count[prohibit] + f.count[limit] + f.count[oblige] + f.count[keep]
	switch {
	case f.count[grantAlways] > 0:
		return !before(prohibit, grantAlways)
	case f.count[waive] > 0 && f.count[consult] > 0 && f.count[prohibit]+f.count[limit]+f.count[oblige] == 0,
		f.first[waive] >= 0 && f.first[prohibit] == f.first[waive] && f.count[prohibit] == 1 && f.last[consult]-f.first[waive] < 26 && f.last[consult] > f.first[waive]:
		return true // "no more check-ins"; but not "never skip a review"
	case f.count[claimAlways] > 0:
		return f.count[prohibit]+f.count[limit] == 0
	case f.count[test] > 0 && f.count[success] > 0:
		return rules+f.count[guard]+f.count[prefer]+f.count[need] == 0
	case f.count[shield] > 0 && f.count[down] > 0:
		return rules+f.count[guard]+f.count[need]+f.count[condition] == 0
	case f.count[grant] > 0:
		return f.count[prohibit]+f.count[limit] == 0 && !f.narrows
	case f.count[permit] > 0:
		return rules+f.count[guard]+f.count[need]+f.count[decide] == 0 && !f.ordered
	case f.count[claim] > 0 && !f.named:
		return rules+f.count[guard]+f.count[condition]+f.count[prefer]+f.count[correct]+f.count[wish]+f.count[bound]+
			f.count[order]+f.count[decide] == 0
	}
	return false
}
