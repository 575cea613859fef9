package trace

// EngineTurn says how a turn was carried into another engine: the engine that
// makes the model requests is not Forge's own, and Forge sees only what that
// engine reports (F-PKG-07). It follows the ContextBudgeted of its request.
type EngineTurn struct {
	// Request is the number of the ContextBudgeted.
	Request int `json:"request"`
	// Engine names the engine and Version its version, empty when unknown.
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"`
	// Carry says how the conversation gets there: "wrapper", a text with the
	// active view in a fresh thread, or "thread", a thread that the engine
	// keeps.
	Carry string `json:"carry"`
	// Thread is the engine's id for the thread; Origin says where the thread
	// comes from: "fresh", "kept", "resumed" or "rebuilt". Reason is a fixed
	// word for why it is not the one of the turn before, empty when it is.
	Thread string `json:"thread"`
	Origin string `json:"origin"`
	Reason string `json:"reason,omitempty"`
	// WrapperTokens and WrapperBytes are the whole text that carries the
	// view, content included; zero when none was sent.
	WrapperTokens int `json:"wrapperTokens"`
	WrapperBytes  int `json:"wrapperBytes"`
	// OccupancyTokens is what the thread holds already, by the engine's own
	// word, zero when it has not said.
	OccupancyTokens int `json:"occupancyTokens"`
}

// Type returns TypeEngineTurn.
func (*EngineTurn) Type() Type { return TypeEngineTurn }

func (p *EngineTurn) check() error {
	return checkCounts(count{"request", p.Request, 1}, count{"wrapperTokens", p.WrapperTokens, 0},
		count{"wrapperBytes", p.WrapperBytes, 0}, count{"occupancyTokens", p.OccupancyTokens, 0})
}

// EngineUsage is a report of another engine on its context.
type EngineUsage struct {
	// Request is the number of the turn's ContextBudgeted.
	Request int `json:"request"`
	// OccupancyTokens is what the thread holds. Estimated says that the
	// engine reckoned it; otherwise a provider reported it, and Usage is that
	// report. Unknown says that the number cannot be trusted: the engine
	// writes it after an overflow.
	OccupancyTokens int    `json:"occupancyTokens"`
	Estimated       bool   `json:"estimated,omitempty"`
	Unknown         bool   `json:"unknown,omitempty"`
	Usage           *Usage `json:"usage,omitempty"`
	// WindowTokens is the window that the engine goes by, zero when it did
	// not say.
	WindowTokens int `json:"windowTokens,omitempty"`
	// Compaction says that the report is of a request for a summary.
	Compaction bool `json:"compaction,omitempty"`
}

// Type returns TypeEngineUsage.
func (*EngineUsage) Type() Type { return TypeEngineUsage }

func (p *EngineUsage) check() error {
	if err := p.Usage.check(); err != nil {
		return err
	}
	return checkCounts(count{"request", p.Request, 1}, count{"occupancyTokens", p.OccupancyTokens, 0}, count{"windowTokens", p.WindowTokens, 0})
}
