package provider

// A ModelInfo is what an endpoint says about one of its models. What it does
// not say is zero.
type ModelInfo struct {
	// ID is the name that a request uses.
	ID string
	// WindowTokens is the context window, MaxInputTokens the most that a
	// request may weigh where that is stated apart, MaxOutputTokens the most
	// that an answer may weigh.
	WindowTokens, MaxInputTokens, MaxOutputTokens int
}
