package catalog

import (
	"slices"
	"strings"
)

// Match says how a name led to a model.
type Match string

// The ways, from the surest on.
const (
	// MatchExact: the name is the model's id.
	MatchExact Match = "exact"
	// MatchAlias: the name is one of the model's aliases.
	MatchAlias Match = "alias"
	// MatchSnapshot: the name is that of a dated snapshot of the model, and
	// the catalog has no entry for the snapshot itself.
	MatchSnapshot Match = "snapshot"
	// MatchDecorated: a host, maker, region or variant was taken off the
	// name. Window and prices are the maker's; the host's may differ.
	MatchDecorated Match = "decorated"
	// MatchNone: the catalog does not know the name.
	MatchNone Match = "none"
)

// Lookup returns the model with this name.
//
// A name is compared as a whole, without regard to case. When nothing has it,
// these are taken off, one after the other, and the rest is tried each time:
//
//   - what stands before a slash ("openrouter/", "anthropic/", "models/"),
//     unless it names a program that serves models on the user's own machine
//     ("ollama/"), whose window the catalog cannot know;
//   - a region, maker and version as Bedrock writes them ("us.anthropic.",
//     "-v1:0");
//   - "[1m]", a host's variant after a colon (":free", ":groq"), Vertex's
//     "@20250929";
//   - a snapshot's date ("-20250929", "-2025-08-07") or "-latest".
//
// Nothing else is removed and similar names are never tried: "gpt-5-turbo" is
// unknown, not a kind of gpt-5.
func (c *Catalog) Lookup(name string) (Model, bool) {
	i, match := c.find(normalize(name))
	if match == MatchNone {
		return Model{}, false
	}
	return c.models[i].clone(), true
}

// Resolve is Lookup with its match, and Fallback for a name that the catalog
// does not know (MatchNone).
func (c *Catalog) Resolve(name string) (Model, Match) {
	i, match := c.find(normalize(name))
	if match == MatchNone {
		return Fallback(name), MatchNone
	}
	return c.models[i].clone(), match
}

func (c *Catalog) find(name string) (int, Match) {
	if len(name) > maxNameBytes {
		return 0, MatchNone
	}
	match := MatchExact
	for {
		if i, ok := c.index[name]; ok {
			if match == MatchExact && c.models[i].ID != name {
				match = MatchAlias
			}
			return i, match
		}
		rest, how := undecorate(name)
		if how == MatchNone {
			return 0, MatchNone
		}
		if match != MatchDecorated {
			match = how
		}
		name = rest
	}
}

func normalize(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// undecorate takes one thing off a name, or says MatchNone.
func undecorate(name string) (string, Match) {
	if head, rest, ok := strings.Cut(name, "/"); ok {
		if slices.Contains(localServers(), head) {
			return "", MatchNone
		}
		return rest, MatchDecorated
	}
	for _, cut := range []func(string) (string, bool){cutCloud, cutVariant, cutVersion} {
		if rest, ok := cut(name); ok {
			return rest, MatchDecorated
		}
	}
	if rest, ok := cutSnapshot(name); ok {
		return rest, MatchSnapshot
	}
	return "", MatchNone
}

// Programs that serve a model with a window of their own choosing. Ollama, for
// one, cuts the input in silence.
func localServers() []string {
	return []string{"ollama", "ollama_chat", "lmstudio", "lm_studio", "lm-studio", "llamacpp", "llama.cpp", "llamafile",
		"vllm", "hosted_vllm", "local", "mlx"}
}

// cutCloud takes off "us.anthropic." or "anthropic.", and the "-v1:0" that goes
// with it.
func cutCloud(name string) (string, bool) {
	rest := name
	for _, region := range []string{"us.", "us-gov.", "eu.", "apac.", "au.", "ca.", "jp.", "sa.", "global."} {
		if after, ok := strings.CutPrefix(rest, region); ok {
			rest = after
			break
		}
	}
	for _, maker := range []string{"anthropic.", "openai.", "meta.", "mistral.", "deepseek.", "qwen.", "moonshot.", "moonshotai.",
		"minimax.", "zai.", "google."} {
		after, ok := strings.CutPrefix(rest, maker)
		if !ok {
			continue
		}
		after = strings.TrimSuffix(after, ":0")
		if base, ok := strings.CutSuffix(after, "-v1"); ok {
			after = base
		}
		return after, true
	}
	return "", false
}

// cutVariant takes off "[1m]" and the variants and hosts that OpenRouter and
// the Hugging Face router write after a colon. Ollama's tags (":8b") are not
// among them: they name another model.
func cutVariant(name string) (string, bool) {
	if rest, ok := strings.CutSuffix(name, "[1m]"); ok {
		return rest, true
	}
	i := strings.LastIndexByte(name, ':')
	if i < 0 || !slices.Contains([]string{"free", "batch", "thinking", "nitro", "floor", "exacto", "online", "fastest", "cheapest",
		"preferred", "baseten", "cerebras", "cohere", "featherless-ai", "fireworks-ai", "groq", "hyperbolic", "nebius", "novita",
		"nscale", "ovhcloud", "publicai", "sambanova", "scaleway", "together", "zai-org"}, name[i+1:]) {
		return "", false
	}
	return name[:i], true
}

// cutVersion takes off "@20250929", "@latest" and "@default".
func cutVersion(name string) (string, bool) {
	rest, version, ok := strings.Cut(name, "@")
	return rest, ok && (version == "latest" || version == "default" || len(version) == 8 && date(version))
}

// cutSnapshot takes off "-20250929", "-2025-08-07" and "-latest".
func cutSnapshot(name string) (string, bool) {
	if rest, ok := strings.CutSuffix(name, "-latest"); ok {
		return rest, true
	}
	if i := len(name) - 9; i > 0 && name[i] == '-' && date(name[i+1:]) {
		return name[:i], true
	}
	if i := len(name) - 11; i > 0 && name[i] == '-' && name[i+5] == '-' && name[i+8] == '-' &&
		date(name[i+1:i+5]+name[i+6:i+8]+name[i+9:]) {
		return name[:i], true
	}
	return "", false
}

// date reports whether text is YYYYMMDD in the time of language models.
func date(text string) bool {
	return digits(text) && text[:2] == "20" && "01" <= text[4:6] && text[4:6] <= "12" && "01" <= text[6:] && text[6:] <= "31"
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
