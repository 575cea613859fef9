package main

import (
	"fmt"
	"io"

	"github.com/forge-agent/forge/internal/eval/clearing"
	"github.com/forge-agent/forge/projection"
)

// minStop is the earliest request at which a session is taken to stop.
const minStop = 5

// stops says what would be if sessions stopped somewhere: no rule that
// does not know the future can be good at every place.
type stops struct {
	count, above int // all, and those above 1.02 × never clearing
	far          int // those above 1.2 × the best
	worst        float64
	bestSum      float64
}

func (s *stops) add(ours, never, best float64) {
	s.count++
	s.bestSum += ours / best
	s.worst = max(s.worst, ours/never)
	if ours > 1.02*never {
		s.above++
	}
	if ours > 1.2*best {
		s.far++
	}
}

func (s stops) String() string {
	n := float64(max(1, s.count))
	return fmt.Sprintf("%6d stops: ours/best mean %.3f, above 1.2 in %.2f %%; ours/never max %.3f, above 1.02 in %.2f %%",
		s.count, s.bestSum/n, 100*float64(s.far)/n, s.worst, 100*float64(s.above)/n)
}

func reportStops(w io.Writer, all []*clearing.Series, verbose bool) error {
	sheets, _ := clearing.CatalogSheets()
	sheets = append(sheets, clearing.RoundSheets()...)
	fmt.Fprintln(w, "## If the sessions had stopped elsewhere, at the prices of both tables")
	fmt.Fprintln(w, "At the end of a run: before a person spoke again. Anywhere: after any request.")
	for _, v := range variants(clearing.Clearable(all)) {
		os, err := measureAll(v.all, sheets, v.options, false)
		if err != nil {
			return err
		}
		var ends, anywhere stops
		final := 0
		for _, o := range os {
			if o.toNever() > 1.02 {
				final++
			}
			for t := range o.ours {
				if t+1 < minStop && t < o.last() {
					continue
				}
				anywhere.add(o.ours[t], o.never[t], o.best[t])
				if o.series.Steps[t].Ends {
					ends.add(o.ours[t], o.never[t], o.best[t])
				}
			}
		}
		fmt.Fprintf(w, "%-44s as recorded: ours/best mean %.3f max %.3f, ours/never max %.3f, above 1.02 in %d of %d\n", v.name,
			mean(os, outcome.toBest), most(os, outcome.toBest), most(os, outcome.toNever), final, len(os))
		fmt.Fprintf(w, "%-44s end of a run %v\n%-44s anywhere     %v\n", "", ends, "", anywhere)
	}
	return nil
}

// variant is a set of sessions that nobody recorded, or another setting.
type variant struct {
	name    string
	all     []*clearing.Series
	options projection.Options
}

func variants(all []*clearing.Series) []variant {
	scaled := func(share float64, front int) []*clearing.Series {
		var out []*clearing.Series
		for _, s := range all {
			out = append(out, s.Scaled(share, front))
		}
		return out
	}
	var paused []*clearing.Series
	for _, s := range all {
		paused = append(paused, s.WithPauses())
	}
	return []variant{
		{name: "sessions as they are", all: all},
		{name: "tool output 7 % lighter", all: scaled(0.93, 0)},
		{name: "tool output 7 % heavier", all: scaled(1.07, 0)},
		{name: "tool output half as heavy", all: scaled(0.5, 0)},
		{name: "tool output twice as heavy", all: scaled(2, 0)},
		{name: "15,000 more tokens of instructions and tools", all: scaled(1, 15_000)},
		{name: "with the pauses that people made", all: paused},
		{name: "as they are, MostOverspend 0.02", all: all, options: projection.Options{MostOverspend: 0.02}},
	}
}
