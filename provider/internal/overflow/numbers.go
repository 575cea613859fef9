package overflow

import "regexp"

// A pattern is a wording with numbers. Its groups are named: used or in (and
// out, which is added) for what was sent, limit for what is allowed. It may
// hold no numbers at all where the words around decide.
type pattern struct{ re *regexp.Regexp }

const (
	num = `([0-9][0-9,_]*)`
	gap = `[^0-9]{0,80}?`
)

// patterns are tried in order; the first that matches wins. They are compiled
// once and never written again.
var patterns = compile(
	// Anthropic.
	`prompt is too long:?\s*(?P<used>`+num+`) tokens?\s*>\s*(?P<limit>`+num+`)`,
	`exceed context limit:?\s*(?P<in>`+num+`)\s*\+\s*(?P<out>`+num+`)\s*>\s*(?P<limit>`+num+`)`,
	// vLLM's decoder, and the prompt of older versions.
	`prompt \((?:total )?length (?P<used>`+num+`)\) is (?:longer|too long)[^0-9]{0,120}?(?:length|of)\s*(?P<limit>`+num+`)`,
	// vLLM.
	`maximum context length is (?P<limit>`+num+`) tokens?.{0,400}?(?:contains?|prompt has)[^0-9]{0,20} (?P<used>`+num+`) input tokens`,
	`passed (?P<in>`+num+`) input tokens and requested (?P<out>`+num+`) output tokens.{0,80}?context length is only (?P<limit>`+num+`)`,
	// SGLang, Fireworks, Cloudflare, GitHub, Cohere, LM Studio, text-generation
	// servers.
	`maximum context length of (?P<limit>`+num+`) tokens.{0,80}?requested a total of (?P<used>`+num+`)`,
	`prompt is too long:?\s*(?P<used>`+num+`), model maximum context length:?\s*(?P<limit>`+num+`)`,
	`output tokens \((?P<used>`+num+`)\) exceeded this model context window limit \((?P<limit>`+num+`)`,
	`max size:?\s*(?P<limit>`+num+`) tokens`,
	`prompt cannot exceed (?P<limit>`+num+`) - received (?P<used>`+num+`)`,
	`first (?P<used>`+num+`) tokens when context the overflows.{0,80}?only (?P<limit>`+num+`)`,
	`must be <= (?P<limit>`+num+`)\. given:?\s*(?P<in>`+num+`) .inputs. tokens and (?P<out>`+num+`)`,
	`must have less than (?P<limit>`+num+`) tokens\. given:?\s*(?P<used>`+num+`)`,
	`(?:input|prompt) length \(?(?P<used>`+num+`)\)? (?:exceeds|is greater than) (?:maximum input length|max_seq_len) \(?(?P<limit>`+num+`)`,
	// OpenAI's wording and its many copies.
	`maximum context length is (?P<limit>`+num+`) tokens?[^0-9]{1,40}(?:you )?requested(?: about)? (?P<used>`+num+`)`,
	`maximum context length is (?P<limit>`+num+`) tokens?[^0-9]{1,60}(?:resulted in|contains?|has)[^0-9]{0,20} (?P<used>`+num+`)`,
	`maximum context length (?:is|of) (?P<limit>`+num+`)`,
	// xAI.
	`maximum prompt length is (?P<limit>`+num+`)`+gap+`contains (?P<used>`+num+`)`,
	// Gemini, Vertex, Copilot.
	`(?:input|prompt) token count (?:of |is )?\(?(?P<used>`+num+`)\)?`+gap+`(?:allowed|up to|limit of)`+gap+`(?P<limit>`+num+`)`,
	`input token count exceeds`+gap+`(?P<limit>`+num+`)`,
	`input token count`+gap+`only supports up to (?P<limit>`+num+`)`,
	// Cerebras.
	`current length is (?P<used>`+num+`) while limit is (?P<limit>`+num+`)`,
	// Mistral.
	`prompt contains (?P<used>`+num+`) tokens.{0,60}?model with (?P<limit>`+num+`) maximum context`,
	// llama-cpp-python, llama.cpp, LM Studio.
	`requested tokens \((?P<used>`+num+`)\) exceed context window of (?P<limit>`+num+`)`,
	`n_keep:?\s*(?P<used>`+num+`)\s*>=\s*n_ctx:?\s*(?P<limit>`+num+`)`,
	`request \((?P<used>`+num+`) tokens\) exceeds the available context size \((?P<limit>`+num+`)`,
	// Together.
	`input \((?P<used>`+num+`) tokens\) is longer than[^0-9]{0,60}\((?P<limit>`+num+`)`,
	// Kimi, DashScope.
	`exceeded model token limit:?\s*(?P<limit>`+num+`)(?:\s*\(requested:?\s*(?P<used>`+num+`)\))?`,
	`range of input length should be \[\s*[0-9]+\s*,\s*(?P<limit>`+num+`)\]`,
	// Ollama says in its own record, and to nobody else, that it cut.
	`truncating input prompt"?\s+limit=(?P<limit>`+num+`)\s+prompt=(?P<used>`+num+`)`,
	// Two counts of tokens on both sides of an excess.
	`(?P<used>`+num+`) (?:input )?tokens?[^0-9.]{0,40}(?:exceeds?|>|greater than|more than)[^0-9.]{0,60}(?:context|window)[^0-9.]{0,40}(?P<limit>`+num+`)`,
	`(?:input|prompt|context)[^0-9.]{0,40}(?P<used>`+num+`) tokens?\)?[^0-9.]{0,40}(?:exceeds?|>)[^0-9.]{0,60}(?P<limit>`+num+`) tokens`,
)

func compile(sources ...string) []pattern {
	out := make([]pattern, len(sources))
	for i, source := range sources {
		out[i] = pattern{regexp.MustCompile(`(?s)` + source)}
	}
	return out
}

// numbers finds the first wording that holds.
func numbers(text string) Verdict {
	for _, p := range patterns {
		groups := p.re.FindStringSubmatch(text)
		if groups == nil {
			continue
		}
		v := Verdict{Overflow: true}
		for i, name := range p.re.SubexpNames() {
			switch name {
			case "used", "in", "out":
				v.UsedTokens += leadingNumber(groups[i])
			case "limit":
				v.LimitTokens = leadingNumber(groups[i])
			}
		}
		if v.LimitTokens > 0 && v.UsedTokens <= v.LimitTokens {
			v.UsedTokens = 0 // a part of the request; the whole is not stated
		}
		return v
	}
	return Verdict{}
}
