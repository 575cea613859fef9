package cost

import (
	"math"

	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
)

func weigh(c *tokencount.Counter) func(message.Message) int {
	return func(m message.Message) int { return c.Message(m).Total() }
}

// A Report holds the figures.
type Report struct {
	// Seed is the seed of the first joined session.
	Seed uint64 `json:"seed"`
	// Recorded and Long count the sessions.
	Recorded int `json:"recordedSessions"`
	Long     int `json:"longSessions"`
	// LongTokens are the weights of the joined sessions.
	LongTokens []int `json:"longSessionTokens"`
	// Policies describe the rows.
	Policies []Described `json:"policies"`
	// Sheets are the prices with their results.
	Sheets []SheetReport `json:"sheets"`
}

// Described is a policy with the source of its rules.
type Described struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Source  string `json:"source"`
	StandIn string `json:"standIn,omitempty"`
}

// A SheetReport is what happens at some prices.
type SheetReport struct {
	Name         string `json:"name"`
	Models       int    `json:"models"`
	WindowTokens int    `json:"windowTokens"`
	// Shape are the ratios of the prices, Source and Date where they are from.
	Shape  string `json:"shape"`
	Source string `json:"source"`
	Date   string `json:"date"`
	// Recorded, Long and All are the sets of sessions; of all together only
	// Forge's row is kept.
	Recorded SetReport `json:"recorded"`
	Long     SetReport `json:"long"`
	All      SetReport `json:"all"`
}

// A SetReport compares the policies on a set of sessions.
type SetReport struct {
	Policies []Row `json:"policies"`
	// Cheapest is the cheapest in the mean of those that never overflow, Best
	// of the others the cheapest that is not Forge, with how much cheaper or
	// dearer Forge is than it: 0.9 is a tenth cheaper.
	Cheapest     string  `json:"cheapest"`
	NextBest     string  `json:"nextBest"`
	ForgeToOther float64 `json:"forgeToNextBest"`
}

// A Row is a policy on a set of sessions. Ratios are of what input and
// summaries cost, since the answers are the same under all.
type Row struct {
	Policy string `json:"policy"`
	// MeanUSD is the whole bill of a session in the mean.
	MeanUSD float64 `json:"meanUSD"`
	// ToAppendOnly is the sum of all sessions over that of append-only,
	// MeanToAppendOnly the mean of the sessions' ratios, WorstToAppendOnly
	// the largest among the sessions that append-only can be used for: those
	// that never exceed the window.
	ToAppendOnly      float64 `json:"toAppendOnly"`
	MeanToAppendOnly  float64 `json:"meanToAppendOnly"`
	WorstToAppendOnly float64 `json:"worstToAppendOnly"`
	// WorstSession is where, by format and number.
	WorstSession string `json:"worstSession"`
	// HitRate is the share of input tokens read from the cache.
	HitRate float64 `json:"hitRate"`
	// OverflowShare is the share of sessions with a request that weighs more
	// than the model takes.
	OverflowShare float64 `json:"overflowShare"`
	// Compactions is the mean number of compactions of a session.
	Compactions float64 `json:"compactions"`
	// Stops counts requests that Forge would not have sent.
	Stops int `json:"stops,omitempty"`
	// MeanRegret and WorstRegret are input cost over the offline optimum,
	// minus one, for sessions that nothing was compacted in; RegretSessions
	// counts them.
	MeanRegret     float64 `json:"meanRegret,omitempty"`
	WorstRegret    float64 `json:"worstRegret,omitempty"`
	RegretSessions int     `json:"regretSessions,omitempty"`
}

func newReport(all []*session, policies []baseline.Policy, o Options) *Report {
	r := &Report{Seed: o.Seed}
	for _, p := range policies {
		r.Policies = append(r.Policies, Described{p.ID, p.Title, p.Source, p.StandIn})
	}
	var recorded, long []*session
	for _, s := range all {
		if len(s.series.Steps) == 0 {
			continue
		}
		if s.long {
			long = append(long, s)
			r.LongTokens = append(r.LongTokens, weight(s))
		} else {
			recorded = append(recorded, s)
		}
	}
	r.Recorded, r.Long = len(recorded), len(long)
	for i, sheet := range o.Sheets {
		all := compare(append(recorded[:len(recorded):len(recorded)], long...), policies, i, sheet)
		all.Policies = all.Policies[:min(1, len(all.Policies))]
		r.Sheets = append(r.Sheets, SheetReport{Name: sheet.Name, Models: sheet.Models, WindowTokens: sheet.Limits.WindowTokens, Shape: sheet.Shape(), Source: sheet.Source, Date: sheet.Date,
			Recorded: compare(recorded, policies, i, sheet), Long: compare(long, policies, i, sheet), All: all})
	}
	return r
}

func weight(s *session) int {
	n := 0
	for _, it := range s.series.Items {
		n += it.Tokens
	}
	return n
}

// compare makes the rows of a set at sheet i.
func compare(set []*session, policies []baseline.Policy, i int, sheet Sheet) SetReport {
	var out SetReport
	if len(set) == 0 {
		return out
	}
	forge := newSum(Forge)
	sums := make([]*sum, len(policies))
	for p := range policies {
		sums[p] = newSum(policies[p].ID)
	}
	for _, s := range set {
		runs := s.runs[sheet.Limits]
		base := sheet.bill(runs[0].Requests)
		for p := range policies {
			sums[p].add(s.named.Name, sheet.bill(runs[p].Requests), base, runs[p], runs[0])
		}
		mine := sheet.bill(s.forge[i].Requests)
		forge.add(s.named.Name, mine, base, s.forge[i].Run, runs[0])
		forge.row.Stops += s.forge[i].Stops
		if s.forge[i].Compactions == 0 && s.best[i] > 0 {
			forge.regret(mine.input/s.best[i] - 1)
		}
	}
	out.Policies = append(out.Policies, forge.finish(len(set)))
	for _, s := range sums {
		out.Policies = append(out.Policies, s.finish(len(set)))
	}
	out.rank()
	return out
}

// rank finds the cheapest policies among those that never overflow.
func (r *SetReport) rank() {
	least, other := math.Inf(1), math.Inf(1)
	for _, row := range r.Policies {
		if row.OverflowShare > 0 || row.Stops > 0 {
			continue
		}
		if row.MeanUSD < least {
			least, r.Cheapest = row.MeanUSD, row.Policy
		}
		if row.Policy != Forge && row.MeanUSD < other {
			other, r.NextBest = row.MeanUSD, row.Policy
		}
	}
	if r.NextBest != "" {
		r.ForgeToOther = r.Policies[0].MeanUSD / other
	}
}

// sum collects a policy's row.
type sum struct {
	row             Row
	input, base     float64
	tokens, hits    int
	overflowing     int
	ratios, regrets float64
}

func newSum(policy string) *sum { return &sum{row: Row{Policy: policy}} }

func (s *sum) add(session string, b, base bill, run, never baseline.Run) {
	s.row.MeanUSD += b.total()
	input := b.total() - base.output
	s.input += input
	s.base += base.input
	if base.input > 0 {
		s.ratios += input / base.input
		if never.Overflows == 0 && input/base.input > s.row.WorstToAppendOnly {
			s.row.WorstToAppendOnly, s.row.WorstSession = input/base.input, session
		}
	}
	s.tokens += b.inputTokens
	s.hits += b.hitToken
	s.row.Compactions += float64(run.Compactions)
	if run.Overflows > 0 {
		s.overflowing++
	}
}

func (s *sum) regret(r float64) {
	s.regrets += r
	s.row.RegretSessions++
	s.row.WorstRegret = max(s.row.WorstRegret, r)
}

func (s *sum) finish(n int) Row {
	r := s.row
	r.MeanUSD /= float64(n)
	r.ToAppendOnly = s.input / max(s.base, 1e-12)
	r.MeanToAppendOnly = s.ratios / float64(n)
	r.HitRate = float64(s.hits) / float64(max(s.tokens, 1))
	r.OverflowShare = float64(s.overflowing) / float64(n)
	r.Compactions /= float64(n)
	if r.RegretSessions > 0 {
		r.MeanRegret = s.regrets / float64(r.RegretSessions)
	}
	for _, v := range []*float64{&r.MeanUSD, &r.ToAppendOnly, &r.MeanToAppendOnly, &r.WorstToAppendOnly, &r.HitRate, &r.OverflowShare, &r.Compactions, &r.MeanRegret, &r.WorstRegret} {
		*v = math.Round(*v*1e6) / 1e6
	}
	return r
}
