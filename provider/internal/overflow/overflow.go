// Package overflow tells a request that is too long for the window from every
// other way in which a provider can refuse one, and reads the numbers that the
// provider states.
//
// It looks at the status and at the body as it came, in whatever shape: nested
// or flat JSON, an array, JSON inside a string, the printed form of another
// language's map, plain text, nothing. It knows no provider by name, since
// gateways pass each other's bodies on. It decides nothing about a retry.
package overflow

import (
	"net/http"
	"strconv"
	"strings"
)

// maxTextBytes bounds how much of a body is searched: the reason stands at
// its beginning.
const maxTextBytes = 64 << 10

// A Verdict says whether a refusal is an overflow.
type Verdict struct {
	// Overflow is true when only a shorter request can succeed.
	Overflow bool
	// UsedTokens is what the request weighs by the provider's count, with the
	// output it asks for where the provider adds that; LimitTokens is what is
	// allowed. Zero when not stated, or when stated in another unit.
	UsedTokens, LimitTokens int
}

// Classify judges the body of an answer with an HTTP status; zero is an error
// inside a stream or a status that is not known.
func Classify(status int, body []byte) Verdict { return Read(body).Classify(status) }

// Classify judges fields that Read found.
func (f Fields) Classify(status int) Verdict {
	text := f.searched()
	if text == "" || text == "(no body)" {
		// Cerebras refuses without a word; a size is what 413 means.
		return Verdict{Overflow: status == http.StatusRequestEntityTooLarge || status == http.StatusBadRequest}
	}
	if f.PromptTokens > 0 && f.WindowTokens > 0 {
		return Verdict{Overflow: true, UsedTokens: f.PromptTokens, LimitTokens: f.WindowTokens}
	}
	if used, limit, found := quota(text); found {
		// More than a whole minute's quota never passes, however long one waits.
		if limit > 0 && used > limit {
			return Verdict{Overflow: true, UsedTokens: used, LimitTokens: limit}
		}
		return Verdict{}
	}
	if otherReason(text) {
		return Verdict{}
	}
	if long, found := stringTooLong(text); found {
		return Verdict{Overflow: long}
	}
	if v := numbers(text); v.Overflow {
		return v
	}
	if status == http.StatusRequestEntityTooLarge {
		return Verdict{Overflow: true}
	}
	if status == http.StatusTooManyRequests || status == http.StatusPaymentRequired {
		return Verdict{}
	}
	return Verdict{Overflow: overflowCode(f) || overflowWords(text)}
}

// overflowCode: what a provider's own field says.
func overflowCode(f Fields) bool {
	for _, code := range []string{f.Code, f.Type} {
		switch strings.ToLower(code) {
		case "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded",
			"model_max_prompt_tokens_exceeded", "exceed_context_size_error", "request_too_large", "tokens_limit_reached", "context_limit_exceeded", "max_context_length_exceeded":
			return true
		}
	}
	return false
}

// otherReason: refusals that talk of tokens, windows or sizes and that no
// shorter conversation would avoid.
func otherReason(text string) bool {
	for _, rule := range notOverflow() {
		if rule.holds(text) {
			return true
		}
	}
	return false
}

// words is a rule: all of its parts must be in the text, none of its
// exceptions.
type words struct{ all, none []string }

func (w words) holds(text string) bool {
	for _, part := range w.all {
		if !strings.Contains(text, part) {
			return false
		}
	}
	for _, part := range w.none {
		if strings.Contains(text, part) {
			return false
		}
	}
	return true
}

func notOverflow() []words {
	return []words{
		// The output cap is above what the model writes: no matter of input.
		{all: []string{"max_completion_tokens", "must be less than or equal"}},
		{all: []string{"max_tokens", "must be less than or equal"}, none: []string{"got -"}},
		{all: []string{"max_tokens", "valid range"}},
		{all: []string{"max_tokens", "too large"}, none: []string{"context length", "context window", "input"}},
		{all: []string{"max_tokens", "maximum allowed number of output tokens"}},
		{all: []string{"range of max_tokens"}},
		{all: []string{"maxoutputtokens"}, none: []string{"input token count"}},
		// Speed and money.
		{all: []string{"too many tokens", "wait"}},
		{all: []string{"throttling"}, none: []string{"input is too long", "prompt is too long"}},
		{all: []string{"rate limit"}, none: []string{"context length", "context window", "prompt is too long"}},
		{all: []string{"rate_limit_error"}},
		{all: []string{"requires more credits"}},
		{all: []string{"can only afford"}},
		{all: []string{"insufficient", "balance"}},
		{all: []string{"insufficient_quota"}},
		{all: []string{"resource exhausted"}},
		{all: []string{"quota", "exceeded"}, none: []string{"context length", "context window"}},
		// Sizes of single things.
		{all: []string{"image", "exceeds"}, none: []string{"token", "context"}},
		{all: []string{"image", "too large"}, none: []string{"context length", "context window", "prompt is too long"}},
		{all: []string{"media", "exceed"}, none: []string{"token", "context window"}},
		{all: []string{"image", "2013"}},
		{all: []string{"bytes >", "maximum"}, none: []string{"token", "request_too_large"}},
		// Malformed requests.
		{all: []string{"thought_signature"}},
		{all: []string{"tool_use", "tool_result", "ids"}, none: []string{"too long"}},
	}
}

// overflowWords: phrases that say it without numbers.
func overflowWords(text string) bool {
	for _, rule := range sayings() {
		if rule.holds(text) {
			return true
		}
	}
	return false
}

func sayings() []words {
	return []words{
		{all: []string{"context_length_exceeded"}},
		{all: []string{"context_window_exceeded"}},
		{all: []string{"model_max_prompt_tokens_exceeded"}},
		{all: []string{"exceed_context_size_error"}},
		{all: []string{"request_too_large"}},
		{all: []string{"prompt is too long"}},
		{all: []string{"prompt too long"}},
		{all: []string{"input is too long"}},
		{all: []string{"request is too long"}},
		{all: []string{"input too long"}},
		{all: []string{"input length", "exceed", "context"}},
		{all: []string{"exceeds the context window"}},
		{all: []string{"exceed context window"}},
		{all: []string{"exceeds context window"}},
		{all: []string{"exceeded the context window"}},
		{all: []string{"context window exceeds limit"}},
		{all: []string{"context window", "exceeded"}},
		{all: []string{"context length", "exceed"}},
		{all: []string{"context limit", "exceed"}},
		{all: []string{"context size", "exceed"}},
		{all: []string{"maximum context length", "resulted in"}},
		{all: []string{"maximum context length", "requested"}},
		{all: []string{"maximum context length", "input tokens"}},
		{all: []string{"exceeded max context length"}},
		{all: []string{"longer than the model's context"}},
		{all: []string{"longer than the maximum model length"}},
		{all: []string{"too long to fit"}},
		{all: []string{"greater than the context length"}},
		{all: []string{"exceeded model token limit"}},
		{all: []string{"exceeds the model's maximum"}, none: []string{"output tokens", "completion tokens"}},
		{all: []string{"maximum prompt length"}},
		{all: []string{"prompt exceeds max length"}},
		{all: []string{"prompt token count", "exceeds"}},
		{all: []string{"input token count", "exceeds"}},
		{all: []string{"input token count", "only supports"}},
		{all: []string{"range of input length should be"}},
		{all: []string{"reduce the length of the messages"}},
		{all: []string{"reduce the length of the input"}},
		{all: []string{"reduce your prompt"}},
		{all: []string{"max_tokens must be at least 1, got -"}},
		{all: []string{"max_completion_tokens must be at least 1, got -"}},
		{all: []string{"too large for model with", "context length"}},
		{all: []string{"truncating input prompt"}},
		{all: []string{"input length exceeds", "context length"}},
		{all: []string{"input tokens exceeded"}},
		{all: []string{"number of input tokens exceeds"}},
		{all: []string{"context the overflows", "context length of only"}},
		{all: []string{"context window limit", "exceeded"}},
		{all: []string{"too many tokens", "prompt"}},
		{all: []string{"too many tokens", "size limit exceeded"}},
		{all: []string{"tokens + `max_new_tokens` must be"}},
		{all: []string{"`inputs` must have less than"}},
		{all: []string{"exceeds maximum input length"}},
		{all: []string{"is greater than max_seq_len"}},
		{all: []string{"maximum context length", "reduce the length"}},
		// Too many bytes or messages: less of the conversation helps as well.
		{all: []string{"payload size exceeds"}},
		{all: []string{"request body too large"}},
		{all: []string{"request entity too large"}},
		{all: []string{"body", "25000000"}},
		{all: []string{"body", "25,000,000"}},
		{all: []string{"array too long", "'messages'"}},
		{all: []string{"array too long", "'input'"}},
		{all: []string{"input tokens", "exceed", "limit"}, none: []string{"per minute", "per-minute", "per day"}},
		{all: []string{"too many tokens", "context"}},
	}
}

// longStringCharacters is the least bound on one text of a conversation;
// names and ids have far smaller ones.
const longStringCharacters = 100_000

// stringTooLong reads OpenAI's complaint about one string: a text of the
// conversation, or a name or id that no shorter conversation shortens.
func stringTooLong(text string) (long, found bool) {
	if !strings.Contains(text, "string too long") {
		return false, false
	}
	return numberAfter(text, "maximum length") >= longStringCharacters, true
}

// quota reads a limit of tokens in a span of time: what one request asks for,
// and what a whole span allows.
func quota(text string) (requested, limit int, found bool) {
	if !strings.Contains(text, "per min") && !strings.Contains(text, "per-min") && !strings.Contains(text, "per day") &&
		!strings.Contains(text, "tpm") {
		return 0, 0, false
	}
	return numberAfter(text, "requested"), numberAfter(text, "limit"), true
}

// numberAfter returns the number that follows the first mention of a word
// that has one right behind it.
func numberAfter(text, word string) int {
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return 0
		}
		rest = rest[i+len(word):]
		if n := leadingNumber(strings.TrimLeft(rest, " :=")); n > 0 {
			return n
		}
	}
}

// leadingNumber reads digits with thousands separators; zero when there are
// none or the number is no count of tokens.
func leadingNumber(text string) int {
	digits := make([]byte, 0, 12)
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c)
		case (c == ',' || c == '_') && i > 0 && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9':
		default:
			return parseTokens(string(digits))
		}
		if len(digits) > 12 {
			return 0
		}
	}
	return parseTokens(string(digits))
}

func parseTokens(digits string) int {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > 1<<40 {
		return 0
	}
	return int(n)
}
