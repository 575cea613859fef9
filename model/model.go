// Package model is the seam to a language model: one request in, a stream of
// events out, with typed errors and declared capabilities.
//
// It holds no provider's wire format. Adapters under provider/ implement
// Model; package modeltest is the suite that each of them passes.
package model

import (
	"context"
	"iter"
	"time"

	"github.com/forge-agent/forge/message"
)

// A Model makes exactly one provider turn for a request.
//
// Stream yields events in order and ends with one Completed event, or with a
// non-nil error as the last pair. It never retries after the first event and
// never yields both. Stopping the iteration early, or cancelling ctx, ends
// the request.
type Model interface {
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
	// Capabilities describes the window and what the adapter can do.
	Capabilities() Capabilities
}

// A Request is one model request in the order in which the provider reads it:
// instructions, memory, messages, tools (F-CLS-10).
type Request struct {
	// Instructions are the fresh system instructions of this run.
	Instructions []message.Message
	// Messages is the active view: memory, retained turns, current request
	// and what the run added since.
	Messages []message.Message
	// Tools are the advertised tools.
	Tools []message.ToolDefinition
	// Reminder is text for this request only, never part of the transcript
	// (resolution C8). Every dialect puts it behind the messages, so that the
	// provider's cache still covers what stands before it. Empty for none.
	Reminder string
	// OutputTokens is the cap on the answer that goes to the provider; zero
	// leaves it to the provider.
	OutputTokens int
}

// An Event is one piece of a streamed answer. The implementations are
// TextDelta, ReasoningDelta and Completed.
type Event interface{ event() }

// TextDelta is a piece of the answer's text.
type TextDelta struct{ Text string }

// ReasoningDelta is a piece of visible reasoning.
type ReasoningDelta struct{ Text string }

// Completed ends a stream.
type Completed struct {
	// Messages is the whole answer. Most providers give one message; a
	// recorded session can hold several for one request.
	Messages []message.Message
	// Usage is what the provider reported, nil when it reported nothing or
	// something that cannot be read.
	Usage *message.Usage
	// UsageProblem says why a usage that was reported cannot be read, empty
	// where that is not so. The answer is whole all the same.
	UsageProblem string
	// Stop says why the model stopped.
	Stop StopReason
}

func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (Completed) event()      {}

// StopReason is why a model stopped writing.
type StopReason string

// The stop reasons.
const (
	StopEnd      StopReason = "end"       // the answer is complete
	StopToolCall StopReason = "tool-call" // the model waits for tools
	StopOutput   StopReason = "output"    // the output cap was reached
	StopWindow   StopReason = "window"    // the context window was full
	StopRefusal  StopReason = "refusal"   // the provider or model declined
	StopUnknown  StopReason = ""          // not reported
)

// Capabilities is what an adapter declares about a model (F-CAP-01). Each
// value comes from a tested table or the provider (F-CAP-03).
type Capabilities struct {
	// Provider and Model identify what answers.
	Provider, Model string
	// WindowTokens is the context window, input and output together.
	WindowTokens int
	// WindowSource says where WindowTokens comes from.
	WindowSource WindowSource
	// MaxInputTokens is the most that one request may weigh where the provider
	// states that apart from the window (OpenAI: window less output limit),
	// zero when it does not.
	MaxInputTokens int
	// MaxOutputTokens is the model's output limit, zero when unknown.
	MaxOutputTokens int
	// MaxOutputSource says where MaxOutputTokens comes from, empty when it is
	// unknown.
	MaxOutputSource WindowSource
	// Wire names the protocol that carries a request, one of package
	// tokencount's: the same request weighs differently on different ones.
	// Empty when unknown.
	Wire string
	// PromptCache says how the provider's cache covers the beginning of a
	// request.
	PromptCache PromptCache
	// CountsRequests says that the provider counts a whole request on demand:
	// the adapter implements RequestCounter.
	CountsRequests bool
	// NativeCompaction says whether the provider compacts on request.
	NativeCompaction NativeCompaction
	// ContinuationProjection says whether the adapter can replace old tool
	// output inside its own continuation.
	ContinuationProjection ContinuationProjection
}

// PromptCache are the rules of a provider's prompt cache. The zero value
// means that they are unknown.
type PromptCache struct {
	// Breakpoints is how many cache points a request may set, zero when the
	// provider takes none or the number is unknown.
	Breakpoints int
	// MinTokens is the shortest prefix that is cached, zero when unknown.
	MinTokens int
	// TTL is how long an entry lives after its last use, zero when unknown.
	TTL time.Duration
	// Source says where the values come from, empty when they are unknown.
	Source WindowSource
}

// WindowSource says where a window comes from. A smaller source never
// silently overrides a stated one; "learned" only ever lowers.
type WindowSource string

// The sources.
const (
	WindowFromUser     WindowSource = "user"     // flag or configuration
	WindowFromFile     WindowSource = "file"     // recorded in the session file
	WindowFromCatalog  WindowSource = "catalog"  // model/catalog
	WindowFromProvider WindowSource = "provider" // asked at run time
	WindowLearned      WindowSource = "learned"  // taken from a rejection
	WindowFallback     WindowSource = "fallback" // unknown model, conservative
)

// NativeCompaction is the seed's capability value (F-CAP-01).
type NativeCompaction string

// The values of NativeCompaction.
const (
	NativeCompactionUnsupported NativeCompaction = "unsupported"
	NativeCompactionOpaqueItem  NativeCompaction = "opaque-provider-item"
)

// ContinuationProjection is the seed's capability value (F-CAP-01).
type ContinuationProjection string

// The values of ContinuationProjection.
const (
	ContinuationProjectionUnsupported  ContinuationProjection = "unsupported"
	ContinuationProjectionAdapterOwned ContinuationProjection = "adapter-owned"
)

// Method says how tokens were counted (F-CAP-02, resolution C21).
type Method string

const (
	// MethodProviderTokenizer: the provider's count endpoint or its public
	// vocabulary.
	MethodProviderTokenizer Method = "provider-tokenizer"
	// MethodSDK: a ratio and framing fitted for the model family.
	MethodSDK Method = "sdk"
	// MethodConservativeFallback: bytes, for a model nothing is known of.
	MethodConservativeFallback Method = "conservative-fallback"
)

// Confidence says how far an estimate can be trusted (F-CAP-02).
type Confidence string

const (
	// ConfidenceExact: a count endpoint, or plain text in a public
	// vocabulary.
	ConfidenceExact Confidence = "exact"
	// ConfidenceEstimated: anything else; the band says how far off it may
	// be.
	ConfidenceEstimated Confidence = "estimated"
)

// An Estimate is a token count with its provenance.
type Estimate struct {
	// Tokens is the count.
	Tokens int `json:"tokens"`
	// BandTokens is the half-width of the error band: the true count lies in
	// Tokens ± BandTokens in all but about 2 % of requests. Zero when exact.
	BandTokens int `json:"bandTokens"`
	// Method and Confidence say how it was made.
	Method     Method     `json:"method"`
	Confidence Confidence `json:"confidence"`
}
