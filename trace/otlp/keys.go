package otlp

// Attribute names of the OpenTelemetry semantic conventions 1.41.0, the last
// version whose Go package has those for generative AI; they are copied so that
// an update of the client cannot rename them.
const (
	keyServiceName    = "service.name"
	keyServiceVersion = "service.version"
	keyErrorType      = "error.type"
	keyOperation      = "gen_ai.operation.name"
	keyProvider       = "gen_ai.provider.name"
	keyAgentName      = "gen_ai.agent.name"
	keyConversation   = "gen_ai.conversation.id"
	keyRequestModel   = "gen_ai.request.model"
	keyMaxTokens      = "gen_ai.request.max_tokens"
	keyInput          = "gen_ai.usage.input_tokens"
	keyOutput         = "gen_ai.usage.output_tokens"
	keyCacheRead      = "gen_ai.usage.cache_read.input_tokens"
	keyCacheWrite     = "gen_ai.usage.cache_creation.input_tokens"
	keyReasoning      = "gen_ai.usage.reasoning.output_tokens"
)

// Forge's own.
const (
	keyRun         = "forge.run"
	keyMode        = "forge.mode"
	keyRequest     = "forge.request"
	keyAttempt     = "forge.attempt"
	keyWindow      = "forge.window_tokens"
	keyReserve     = "forge.reserve_tokens"
	keyAvailable   = "forge.available_tokens"
	keyEstimate    = "forge.estimate_tokens"
	keyBand        = "forge.band_tokens"
	keyMandatory   = "forge.mandatory_tokens"
	keyCategory    = "forge.category."
	keyVerdict     = "forge.verdict"
	keyAction      = "forge.action"
	keyError       = "forge.error_tokens"
	keyWithinBand  = "forge.within_band"
	keyCost        = "forge.cost_usd"
	keyReason      = "forge.reason"
	keyLargest     = "forge.largest_category"
	keyUsed        = "forge.used_tokens"
	keyLimit       = "forge.limit_tokens"
	keyCheckpoint  = "forge.checkpoint"
	keyBefore      = "forge.tokens_before"
	keyAfter       = "forge.tokens_after"
	keyRequests    = "forge.requests"
	keyOver        = "forge.over_budget_requests"
	keyPeak        = "forge.peak_input_tokens"
	keyCompactions = "forge.compactions"
)
