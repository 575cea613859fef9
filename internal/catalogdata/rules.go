package catalogdata

import (
	"regexp"
	"strings"
)

// A layout says what catwalk's two cached prices mean at a provider.
type layout int

const (
	// noPrices: take no price at all, because the host is not the maker or
	// its price depends on the size of the request.
	noPrices layout = iota
	// writeAndRead: "in cached" is the price of a cache write, "out cached"
	// that of a read.
	writeAndRead
	// readAndWrite: the other way round.
	readAndWrite
	// readIn: "in cached" is the price of a read, "out cached" means nothing.
	readIn
	// readOut: "out cached" is the price of a read, "in cached" means
	// nothing.
	readOut
	// readEither: one of the two, or both alike, is the price of a read.
	readEither
)

// A rule says how a provider's table becomes statements.
type rule struct {
	// table is the provider's ID in the dump.
	table string
	// provider and family are what the catalog says of its models; makers
	// finds them by ID instead where a host serves models of many.
	provider, family string
	makers           []maker
	layout           func(id string) layout
	// outputIsLimit: catwalk's default_max_tokens is the real output limit,
	// not a default of its own.
	outputIsLimit func(id string) bool
}

// A maker is who made the models with a prefix, on a host of many makers.
type maker struct {
	match            *regexp.Regexp
	provider, family string
}

func always(l layout) func(string) layout { return func(string) layout { return l } }
func never(string) bool                   { return false }
func yes(string) bool                     { return true }

// rules returns how each table is read. What the prices mean was found by
// comparing the numbers with the vendors' price pages; a price that does not
// fit its meaning (a read dearer than half the input, a write cheaper than the
// input) is left out by Build.
func rules() []rule {
	return []rule{
		{table: "anthropic", provider: "anthropic", family: "claude", layout: always(writeAndRead), outputIsLimit: yes},
		{table: "openai", provider: "openai", family: "openai", outputIsLimit: isGPT5, layout: func(id string) layout {
			switch {
			case strings.HasPrefix(id, "gpt-5.6"):
				return writeAndRead
			case strings.HasPrefix(id, "gpt-5.4"), strings.HasPrefix(id, "gpt-5.5"):
				return readIn
			}
			return readEither
		}},
		{table: "gemini", provider: "gemini", family: "gemini", layout: always(readEither), outputIsLimit: never},
		{table: "deepseek", provider: "deepseek", family: "deepseek", layout: always(readIn), outputIsLimit: yes},
		{table: "xai", provider: "xai", family: "grok", layout: always(readOut), outputIsLimit: never},
		{table: "moonshot", provider: "moonshot", family: "kimi", layout: always(readIn), outputIsLimit: never},
		{table: "zai", provider: "zai", family: "glm", layout: always(readEither), outputIsLimit: never},
		{table: "minimax", provider: "minimax", family: "minimax", layout: always(readAndWrite), outputIsLimit: never},
		{table: "groq", makers: openMakers(), layout: always(noPrices), outputIsLimit: never},
		{table: "cerebras", makers: openMakers(), layout: always(noPrices), outputIsLimit: never},
		{table: "alibaba-singapore", makers: openMakers(), layout: always(noPrices), outputIsLimit: never},
		{table: "openrouter", makers: openMakers(), layout: always(noPrices), outputIsLimit: never},
	}
}

func isGPT5(id string) bool { return strings.HasPrefix(id, "gpt-5") }

// openMakers lists the models that are taken from hosts of many makers: open
// weights, and makers that have no table of their own. A host's free variants
// are no models.
func openMakers() []maker {
	return []maker{
		{regexp.MustCompile(`^(meta-llama/)?llama-[0-9.]+-[a-z0-9-]+$`), "meta", "llama"},
		{regexp.MustCompile(`^(google/)?gemma-[0-9][a-z0-9-]+$`), "google", "gemma"},
		{regexp.MustCompile(`^(openai/)?gpt-oss-[a-z0-9-]+$`), "openai", "openai"},
		{regexp.MustCompile(`^(qwen/)?qwen[a-z0-9.-]+$`), "qwen", "qwen"},
		{regexp.MustCompile(`^mistralai/[a-z0-9.-]+$`), "mistral", "mistral"},
		{regexp.MustCompile(`^moonshotai/kimi-k2(-[a-z0-9-]+)?$`), "moonshot", "kimi"},
		{regexp.MustCompile(`^(deepseek/)?deepseek-(v3|r1|chat-v3)[a-z0-9.-]*$`), "deepseek", "deepseek"},
	}
}
