package sessionfile

import (
	"cmp"
	"fmt"
	"slices"
)

// maxLossKinds bounds the memory that the losses of a hostile file take.
const maxLossKinds = 1000

// losses collects what is lost: once for each text, with the first line and
// how often.
type losses struct {
	index map[string]int
	list  []lossCount
}

type lossCount struct {
	Loss
	times int
}

func (l *losses) add(line int, what string) {
	i, known := l.index[what]
	if !known && len(l.list) >= maxLossKinds {
		what = "more kinds of losses, not listed"
		i, known = l.index[what]
	}
	if known {
		l.list[i].times++
		return
	}
	if l.index == nil {
		l.index = map[string]int{}
	}
	l.index[what] = len(l.list)
	l.list = append(l.list, lossCount{Loss{line, what}, 1})
}

// merged returns all losses in file order.
func merged(ls ...*losses) []Loss {
	var out []Loss
	for _, l := range ls {
		for _, c := range l.list {
			if c.times > 1 {
				c.What = fmt.Sprintf("%s (%d times, here first)", c.What, c.times)
			}
			out = append(out, c.Loss)
		}
	}
	slices.SortStableFunc(out, func(a, b Loss) int { return cmp.Compare(a.Line, b.Line) })
	return out
}
