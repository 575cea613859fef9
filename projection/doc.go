// Package projection puts bounded stand-ins in place of old tool output, and
// decides when that is worth the provider's cache that it breaks.
//
// Three things are here, each of use without the others:
//
//   - StandIn and Project make the text that stands for a tool result: the
//     same bytes for ever, never larger than the original, never nested.
//   - Trim and TrimAll cut fresh output to a bound, and Repeat points to an
//     earlier output with the same content, before it is first sent: that costs
//     no cache.
//   - A Scheduler says when to clear old output: of its own accord when that
//     pays (Decide), and because the budget needs the room (Relieve).
//
// What may be cleared is a completed tool result that the model has answered
// since, and that is none of the newest three. The pair of call and result
// stays whole. An error that the same call has not got over is cleared for the
// budget only. User text is never touched.
//
// # Driving a scheduler
//
// Make one for each conversation with one model. As messages come into the
// view, give it their tokens in order: Admit for each tool result (Observe
// describes it), Extend for everything else. Then, for each request:
//
//	d := s.Decide(projection.Query{FrontTokens: front, Idle: idle})
//	// or, when the request is over its budget: s.Relieve(query, need)
//	for _, ref := range d.Clear { … } // stand-ins into the view, ledger lines with d.Reason
//	err := s.Apply(d.Clear)
//	// send the request; when the answer is there:
//	s.Sent()
//
// Both may be asked in one step, Decide first; each is applied before the
// next. A request that fails is not Sent. CacheBroken says that the next
// request finds no cache (another model, other tools or instructions);
// Compacted says that a checkpoint took the place of the beginning.
//
// A scheduler keeps no state on disk. After a restart, make the same calls
// again: Extend and Admit for the transcript, and for each request Decide,
// Apply with the recorded clearing, Sent. The same calls lead to the same
// state.
//
// # The rule
//
// Clearing D tokens that S surviving tokens follow costs (w−r)·S − r·D once,
// and saves r·D with every further request, where w is the price of writing to
// the cache and r of reading from it. How many requests follow is not known.
// So each request adds what the old output has cost it needlessly, r·D, to an
// account, and the suffix is cleared whose account pays for a share of the
// broken cache, as one buys skis once renting has cost enough. The newest
// results, which every clearing writes anew, and what stands before them have
// shares of their own, and a clearing waits for a moment at which little stands
// behind it. It must be back within 100 requests. It may put the total above
// that of a conversation that is never cleared, for a while: by no more than
// MostOverspend, not for long, and by the less the younger the conversation is.
// When the cache has expired or is broken, or when a price step is ahead, it
// acts at once.
//
// Package projection does no input or output, reads no clock and knows no
// provider. It does not apply anything to a view, and it does not count
// tokens: package contextwindow drives it.
package projection
