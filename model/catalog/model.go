package catalog

import (
	"slices"
	"time"

	"github.com/forge-agent/forge/model"
)

// FallbackWindowTokens is the window assumed for a model that nobody knows
// (F-CAP-04). It is the default that the seed system gives to a route of its
// user's own.
const FallbackWindowTokens = 32768

// A Model is what the catalog knows of one model. It is a value: the caller
// owns what the catalog returns.
type Model struct {
	// ID is the model's name in the catalog, in lower case.
	ID string
	// Origin is the layer that introduced the model.
	Origin Origin
	// Provider is who made the model and, for a model with prices, whose list
	// prices these are: "anthropic", "openai", "gemini", … Empty when
	// unknown. A reseller may charge something else.
	Provider string
	// Aliases are other names of exactly this model, sorted.
	Aliases []string
	// Family is the group of models that count and frame alike. It is the
	// catalog's own grouping, so it has no source. Empty when unknown.
	Family Family
	// Vocabulary is the public vocabulary that counts the model's text:
	// "o200k_base", "cl100k_base", "qwen3", "deepseek_v3", "llama3",
	// "gemma3". Unknown when there is none.
	Vocabulary Value[string]
	// WindowTokens is the context window, input and output together.
	WindowTokens Value[int]
	// MaxInputTokens is the most that one request may weigh where the
	// provider states that apart from the window.
	MaxInputTokens Value[int]
	// MaxOutputTokens is the most that one answer may weigh.
	MaxOutputTokens Value[int]
	// Prices are the list prices for standard processing.
	Prices Prices
	// Cache are the rules of the provider's prompt cache.
	Cache CacheRules
}

// A Family is a group of models whose requests turn into tokens alike;
// tokencount fits one profile for each.
type Family string

// The families. Models of FamilyClaudeNew count about 30 % more tokens for the
// same text than those of FamilyClaude: the tokenizer of Opus 4.7, Sonnet 5
// and later (platform.claude.com, model overviews).
const (
	FamilyOpenAI    Family = "openai"
	FamilyClaude    Family = "claude"
	FamilyClaudeNew Family = "claude-new"
	FamilyGemini    Family = "gemini"
	FamilyGemma     Family = "gemma"
	FamilyDeepSeek  Family = "deepseek"
	FamilyGrok      Family = "grok"
	FamilyMistral   Family = "mistral"
	FamilyQwen      Family = "qwen"
	FamilyKimi      Family = "kimi"
	FamilyGLM       Family = "glm"
	FamilyMiniMax   Family = "minimax"
	FamilyLlama     Family = "llama"
)

func families() []Family {
	return []Family{FamilyOpenAI, FamilyClaude, FamilyClaudeNew, FamilyGemini, FamilyGemma, FamilyDeepSeek, FamilyGrok,
		FamilyMistral, FamilyQwen, FamilyKimi, FamilyGLM, FamilyMiniMax, FamilyLlama}
}

func vocabularies() []string {
	return []string{"o200k_base", "cl100k_base", "qwen3", "deepseek_v3", "llama3", "gemma3"}
}

// CacheRules are the rules of a provider's prompt cache.
type CacheRules struct {
	// Mode says who decides what is cached.
	Mode Value[CacheMode]
	// MinTokens is the shortest prefix that is cached.
	MinTokens Value[int]
	// TTL is how long an entry lives after its last use at the ordinary write
	// price.
	TTL Value[time.Duration]
	// LongTTL is the same for the dearer write, where there is one.
	LongTTL Value[time.Duration]
	// MaxBreakpoints is how many cache points one request can set.
	MaxBreakpoints Value[int]
}

// CacheMode says who decides what is cached.
type CacheMode string

// The cache modes.
const (
	// CacheAutomatic: the provider caches prefixes unasked.
	CacheAutomatic CacheMode = "automatic"
	// CacheExplicit: only what the request marks is cached.
	CacheExplicit CacheMode = "explicit"
	// CacheBoth: unasked, and also where the request marks it.
	CacheBoth CacheMode = "both"
)

func cacheModes() []CacheMode { return []CacheMode{CacheAutomatic, CacheExplicit, CacheBoth} }

// Fallback returns what is assumed of a model that nobody knows: a window of
// FallbackWindowTokens, everything else unknown (F-CAP-04, F-TST-02).
func Fallback(id string) Model {
	return Model{ID: id, Origin: OriginFallback, WindowTokens: fallbackWindow()}
}

func fallbackWindow() Value[int] {
	return known(FallbackWindowTokens, Provenance{Origin: OriginFallback, Source: "default for a model that the catalog does not know"})
}

// Capabilities returns what the catalog knows in the form that an adapter
// declares. The adapter adds what it can do itself (native compaction,
// continuation projection). A model whose window nobody stated gets the
// fallback window.
func (m Model) Capabilities() model.Capabilities {
	window := m.WindowTokens
	if !window.Known {
		window = fallbackWindow()
	}
	c := model.Capabilities{
		Provider:               m.Provider,
		Model:                  m.ID,
		WindowTokens:           window.V,
		WindowSource:           sourceOf(window.From),
		MaxInputTokens:         m.MaxInputTokens.V,
		MaxOutputTokens:        m.MaxOutputTokens.V,
		NativeCompaction:       model.NativeCompactionUnsupported,
		ContinuationProjection: model.ContinuationProjectionUnsupported,
		PromptCache: model.PromptCache{
			Breakpoints: m.Cache.MaxBreakpoints.V,
			MinTokens:   m.Cache.MinTokens.V,
			TTL:         m.Cache.TTL.V,
		},
	}
	if m.MaxOutputTokens.Known {
		c.MaxOutputSource = sourceOf(m.MaxOutputTokens.From)
	}
	if m.Cache.Mode.Known {
		c.PromptCache.Source = sourceOf(m.Cache.Mode.From)
	}
	return c
}

func sourceOf(p Provenance) model.WindowSource {
	switch p.Origin {
	case OriginUser:
		return model.WindowFromUser
	case OriginFallback:
		return model.WindowFallback
	}
	return model.WindowFromCatalog
}

func (m Model) clone() Model {
	m.Aliases = slices.Clone(m.Aliases)
	m.Prices.Tiers = slices.Clone(m.Prices.Tiers)
	return m
}
