// Package baseline holds what other agents keep and send, made again from the
// documented mechanism of each: for a transcript and a budget the pieces of
// text that are left, for a session and a window the requests that go out.
//
// It is no port: none of their code is here, numbers are theirs, and where a
// model would write a summary a deterministic extract stands in. Each policy
// says where its rule comes from and what is simpler than the peer.
package baseline

// A Policy is one way of staying within a window.
type Policy struct {
	// ID is its name in reports, Title what it is called for people.
	ID, Title string
	// Source says where its rules and numbers come from.
	Source string
	// StandIn says what stands in for the summary that the peer's model
	// writes, and what else is simpler than the peer; empty for nothing.
	StandIn string
	// Retain returns what is left of a transcript within a number of tokens;
	// nil where the policy says nothing about that.
	Retain func(r *Reading, budget int) []Unit
	// Tactic makes what the policy does to a growing conversation; nil where
	// it has no rule of its own for when to act.
	Tactic func() Tactic
}

// summaryStandIn is what stands in for a model's summary.
const summaryStandIn = "summary: greedy coverage of the user's words, the strongest extract measured here that is not Forge's"

const halfNote = summaryStandIn + "; the peer bounds it nowhere, so it gets half of the budget"

// All returns the policies in the order of reports. The numbers are documented
// facts about the peers as of November 2026: [S] read in their source, [D]
// documentation, [P] probed.
func All() []Policy {
	return []Policy{
		{ID: "codex-local", Title: "Codex, local compaction",
			Source:  "[S] codex-rs/core/src/compact.rs: user messages newest first up to 20,000 tokens, the last one cut, and the summary; [P] trigger at 90 % of the window, the call without tools",
			StandIn: halfNote, Retain: retainCodex, Tactic: tacticCodex},
		{ID: "codex-fresh", Title: "Codex, fresh window",
			Source: "[P] token_budget: the window is reset to the initial context, even the pending request is gone", Retain: func(*Reading, int) []Unit { return nil }, Tactic: tacticFresh},
		{ID: "opencode-v1", Title: "OpenCode v1 with prune",
			Source:  "[S] session/compaction.ts, overflow.ts: tail min(15,000, max(2,000, 25 %)), results cut to 2,000 characters for the summarizer; prune protects 2 turns and 40,000 tool tokens and takes 20,000 or nothing",
			StandIn: halfNote, Retain: retainOpenCode1, Tactic: tacticOpenCode1},
		{ID: "opencode-v2", Title: "OpenCode v2",
			Source:  "[S] SessionCompaction.make: characters/4 before each call against window − max(output, 20,000); 8,000 tokens of recent text, results cut to 2,000 characters; summary of at most 4,096",
			StandIn: summaryStandIn, Retain: retainOpenCode2, Tactic: tacticOpenCode2},
		{ID: "pi", Title: "pi",
			Source:  "[S] core/compaction: usage > window − 16,384 between runs only; keeps 20,000 tokens, never cuts at a tool result; summary at most 0.8 of the reserve",
			StandIn: summaryStandIn, Retain: retainPi, Tactic: tacticPi},
		{ID: "cline-basic", Title: "Cline, basic",
			Source: "[S] extensions/context/basic-compaction.ts: characters/3 against 90 % of the input, down to 70 % of that; results cut to 2,000 characters; answers go first, oldest first, then the user's words but the first; the newest turn is protected",
			Retain: retainCline, Tactic: tacticCline},
		{ID: "claude-clear", Title: "Claude API, clear_tool_uses_20250919",
			Source: "[D] context editing: above 100,000 input tokens all but the newest 3 tool results are cleared; taken as stateful, which is the cheaper reading", Retain: retainClear(3), Tactic: tacticClear},
		{ID: "gemini-cli", Title: "Gemini CLI",
			Source:  "[S] chatCompressionService.ts, toolOutputMaskingService.ts: at 50 % of the limit the newest 30 % of characters stay, cut at a user's turn; two calls; masking protects 50,000 tool tokens and acts on 30,000",
			StandIn: halfNote, Retain: retainGemini, Tactic: tacticGemini},
		{ID: "crush", Title: "crush",
			Source:  "[S] internal/agent: at 20,000 tokens or 20 % left the whole history goes to the summarizer, no tail, the user's prompt is asked again",
			StandIn: summaryStandIn, Retain: retainExtract(true), Tactic: tacticCrush},
		{ID: "rolling-mask", Title: "rolling mask, 10",
			Source: "Complexity Trap (arXiv 2508.21433): all observations but the newest 10 are masked with every request", Retain: retainClear(10), Tactic: tacticMask},
		{ID: "recency", Title: "recency",
			Source: "the oldest messages go; LiteLLM trim_messages [D]: down to 75 % of the window", Retain: retainRecent, Tactic: tacticRecent},
		{ID: "user-text", Title: "user text only, newest first", Source: "ECONOMICS pilot", Retain: retainUsers, Tactic: nil},
		{ID: "textrank", Title: "TextRank", Source: "Mihalcea and Tarau 2004, over what person and model said", Retain: retainTextRank, Tactic: nil},
		{ID: "coverage", Title: "term coverage of all that was said", Source: "Lin and Bilmes 2010", Retain: retainExtract(false), Tactic: nil},
		{ID: "user-coverage", Title: "term coverage of the user's words", Source: "Lin and Bilmes 2010; the stand-in for summaries", Retain: retainExtract(true), Tactic: nil},
		{ID: "name-list", Title: "list of all names, newest first", Source: "no peer: what a plain list of paths, names and numbers keeps, read by the scanner that the measure uses", Retain: retainNames, Tactic: nil},
	}
}

func retainCodex(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.users(min(20_000, budget/2))
	k.extract(k.left, r.cover(true))
	return k.units
}

func retainOpenCode1(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.tail(min(15_000, budget/2), k.asIs)
	k.extract(k.left, r.cover(true))
	return k.units
}

// retainOpenCode2 divides the budget as 8,000 to 4,096.
func retainOpenCode2(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.tail(budget*8_000/(8_000+4_096), k.cutTo(2_000))
	k.extract(k.left, r.cover(true))
	return k.units
}

// retainPi divides the budget as 20,000 to 0.8 × 16,384.
func retainPi(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.tail(budget*20_000/(20_000+13_107), k.asIs)
	k.extract(k.left, r.cover(true))
	return k.units
}

func retainCline(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	first, last := -1, 0
	for i, m := range r.messages {
		if m.authored {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 || !k.whole(first) {
		k.tail(k.left, k.cutTo(2_000))
		return k.units
	}
	if last > first {
		k.whole(last)
	}
	weigh := k.cutTo(2_000)
	k.tail(k.left, func(i int) (int, string) {
		if i <= last {
			return k.left + 1, "" // the protected turn ends here
		}
		return weigh(i)
	})
	k.users(k.left)
	for i := last - 1; i > first; i-- { // answers, newest first, only after all users fit
		if n, _ := weigh(i); r.messages[i].authored || k.taken[i] || n > k.left {
			continue
		}
		n, text := weigh(i)
		k.left -= n
		k.units = append(k.units, Unit{r.messages[i].id, text})
	}
	return k.units
}

func retainClear(newest int) func(*Reading, int) []Unit {
	return func(r *Reading, budget int) []Unit {
		k := r.keep(budget)
		k.masked(newest)
		return k.units
	}
}

func retainGemini(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.tail(min(budget/2, r.Tokens*3/10), k.asIs)
	k.extract(k.left, r.cover(true))
	return k.units
}

func retainRecent(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.tail(budget, k.asIs)
	return k.units
}

func retainUsers(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.users(budget)
	return k.units
}

func retainTextRank(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.extract(budget, r.textRank())
	return k.units
}

func retainExtract(users bool) func(*Reading, int) []Unit {
	return func(r *Reading, budget int) []Unit {
		k := r.keep(budget)
		k.extract(budget, r.cover(users))
		return k.units
	}
}

func retainNames(r *Reading, budget int) []Unit {
	k := r.keep(budget)
	k.names(r.counter.Text)
	return k.units
}
