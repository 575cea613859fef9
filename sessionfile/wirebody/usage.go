package wirebody

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/forge-agent/forge/message"
)

// DecodeUsage brings a usage object of any of the dialects into one form, in
// which the parts are contained in the wholes. It tells the dialect by the
// keys, and returns nil without an error when the object reports no tokens
// (null, or nothing but zeros).
//
// Providers do not agree on what is contained in what:
//
//   - Anthropic's input_tokens leave out both cache figures.
//   - Chat: prompt_tokens contain the cached tokens and completion_tokens the
//     reasoning. Some hosts leave out the reasoning (xAI, where the total
//     tells; Vercel's gateway, where reasoning exceeds the completion), some
//     proxies the cached tokens, often without a field for them (measured on
//     GLM: then the input is total − completion).
//   - Responses: input_tokens and output_tokens contain their parts.
//   - Gemini: the cached tokens are contained, the thoughts and the tokens
//     of tool prompts are not.
func DecodeUsage(data []byte) (*message.Usage, error) {
	var u usage
	if err := UnmarshalUsage(data, &u); err != nil {
		return nil, err
	}
	for _, n := range u.all() {
		if n < 0 || n > maxTokens {
			return nil, fmt.Errorf("decode usage: impossible number of tokens %d", n)
		}
	}
	var out message.Usage
	switch {
	case u.PromptTokenCount > 0 || u.CandidatesTokenCount > 0:
		out = u.gemini()
	case u.InputTokens > 0 || u.OutputTokens > 0 || u.CacheReadInputTokens > 0 && u.PromptTokens == 0:
		out = u.messages()
	case u.PromptTokens > 0 || u.CompletionTokens > 0:
		out = u.chat()
	default:
		return nil, nil
	}
	out.CachedInputTokens = min(out.CachedInputTokens, out.InputTokens)
	out.CacheWriteInputTokens = min(out.CacheWriteInputTokens, out.InputTokens-out.CachedInputTokens)
	out.ReasoningTokens = min(out.ReasoningTokens, out.OutputTokens)
	return &out, nil
}

// UnmarshalUsage decodes a usage object as json.Unmarshal does, and also takes
// what some hosts write in place of a whole number: one with a decimal point
// (12.0), with an exponent or in quotes, and an empty text or list for none.
// into points to the zero value of a struct of whole numbers. The error names
// the figure that cannot be read.
func UnmarshalUsage(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var other *json.UnmarshalTypeError
	if !errors.As(err, &other) {
		return usageError(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var object map[string]any
	if dec.Decode(&object) != nil {
		return usageError(err)
	}
	wholeNumbers(object)
	plain, err := json.Marshal(object)
	if err != nil {
		return usageError(err)
	}
	reflect.ValueOf(into).Elem().SetZero() // of what the first try left
	return usageError(json.Unmarshal(plain, into))
}

// usageError says which figure cannot be read. Its value, a number in digits or
// the name of another type, may be long.
func usageError(err error) error {
	const most = 40
	var other *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other) && other.Field == "":
		return errors.New("decode usage: it is no object of numbers")
	case errors.As(err, &other) && other.Type.Kind() == reflect.Struct:
		return fmt.Errorf("decode usage: %s is no object", other.Field)
	case errors.As(err, &other):
		return fmt.Errorf("decode usage: %s is no whole number: %s", other.Field, other.Value[:min(len(other.Value), most)])
	}
	return fmt.Errorf("decode usage: %w", err)
}

// wholeNumbers writes numbers in other clothes as json.Unmarshal wants them,
// and leaves out what stands for no value: an empty text or list.
func wholeNumbers(object map[string]any) {
	for key, value := range object {
		var text string
		switch value := value.(type) {
		case map[string]any:
			wholeNumbers(value)
			continue
		case []any:
			if len(value) == 0 {
				delete(object, key)
			}
			continue
		case json.Number:
			text = value.String()
		case string:
			if text = strings.TrimSpace(value); text == "" {
				delete(object, key)
				continue
			}
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) && f == math.Trunc(f) && math.Abs(f) <= maxTokens {
			object[key] = int64(f)
		}
	}
}

// maxTokens is far above any request, and sums of such figures still fit.
const maxTokens = 1 << 40

// usage is the union of the dialects' fields.
type usage struct {
	PromptTokens        int           `json:"prompt_tokens"`
	CompletionTokens    int           `json:"completion_tokens"`
	TotalTokens         int           `json:"total_tokens"`
	PromptDetails       *usageDetails `json:"prompt_tokens_details"`
	CompletionDetails   *usageDetails `json:"completion_tokens_details"`
	PromptCacheHits     int           `json:"prompt_cache_hit_tokens"`
	InputTokens         int           `json:"input_tokens"`
	OutputTokens        int           `json:"output_tokens"`
	InputDetails        *usageDetails `json:"input_tokens_details"`
	OutputDetails       *usageDetails `json:"output_tokens_details"`
	CacheCreationTokens int           `json:"cache_creation_input_tokens"`

	CacheReadInputTokens int `json:"cache_read_input_tokens"`

	PromptTokenCount     int `json:"promptTokenCount"`
	CandidatesTokenCount int `json:"candidatesTokenCount"`
	ThoughtsTokenCount   int `json:"thoughtsTokenCount"`
	CachedContentTokens  int `json:"cachedContentTokenCount"`
	ToolUseTokenCount    int `json:"toolUsePromptTokenCount"`
}

type usageDetails struct {
	CachedTokens     int `json:"cached_tokens"`
	CacheWriteTokens int `json:"cache_write_tokens"`
	ReasoningTokens  int `json:"reasoning_tokens"`
}

func (d *usageDetails) orZero() usageDetails {
	if d == nil {
		return usageDetails{}
	}
	return *d
}

func (u usage) all() []int {
	out := []int{u.PromptTokens, u.CompletionTokens, u.TotalTokens, u.PromptCacheHits, u.InputTokens, u.OutputTokens,
		u.CacheCreationTokens, u.CacheReadInputTokens, u.PromptTokenCount, u.CandidatesTokenCount,
		u.ThoughtsTokenCount, u.CachedContentTokens, u.ToolUseTokenCount}
	for _, p := range []*usageDetails{u.PromptDetails, u.CompletionDetails, u.InputDetails, u.OutputDetails} {
		d := p.orZero()
		out = append(out, d.CachedTokens, d.CacheWriteTokens, d.ReasoningTokens)
	}
	return out
}

func (u usage) gemini() message.Usage {
	return message.Usage{
		InputTokens:       u.PromptTokenCount + u.ToolUseTokenCount,
		CachedInputTokens: u.CachedContentTokens,
		OutputTokens:      u.CandidatesTokenCount + u.ThoughtsTokenCount,
		ReasoningTokens:   u.ThoughtsTokenCount,
	}
}

// messages reads input_tokens as Anthropic (cache figures beside it) or
// Responses (details inside it) means it.
func (u usage) messages() message.Usage {
	// Both dialects may have details of the output; only Messages counts cache
	// parts beside the input.
	if u.InputDetails != nil || u.OutputDetails != nil && u.CacheCreationTokens+u.CacheReadInputTokens == 0 {
		return message.Usage{
			InputTokens:           u.InputTokens,
			CachedInputTokens:     u.InputDetails.orZero().CachedTokens,
			CacheWriteInputTokens: u.InputDetails.orZero().CacheWriteTokens,
			OutputTokens:          u.OutputTokens,
			ReasoningTokens:       u.OutputDetails.orZero().ReasoningTokens,
		}
	}
	return message.Usage{
		InputTokens:           u.InputTokens + u.CacheCreationTokens + u.CacheReadInputTokens,
		CachedInputTokens:     u.CacheReadInputTokens,
		CacheWriteInputTokens: u.CacheCreationTokens,
		OutputTokens:          u.OutputTokens,
		ReasoningTokens:       u.OutputDetails.orZero().ReasoningTokens,
	}
}

func (u usage) chat() message.Usage {
	details := u.PromptDetails.orZero()
	out := message.Usage{
		InputTokens:           u.PromptTokens,
		CachedInputTokens:     max(details.CachedTokens, u.PromptCacheHits, u.CacheReadInputTokens),
		CacheWriteInputTokens: max(details.CacheWriteTokens, u.CacheCreationTokens),
		OutputTokens:          u.CompletionTokens,
		ReasoningTokens:       u.CompletionDetails.orZero().ReasoningTokens,
	}
	missing := u.TotalTokens - u.PromptTokens - u.CompletionTokens
	switch {
	case out.ReasoningTokens > 0 && (missing == out.ReasoningTokens || out.ReasoningTokens > u.CompletionTokens):
		out.OutputTokens += out.ReasoningTokens
	case missing > 0:
		out.InputTokens = u.TotalTokens - u.CompletionTokens
	case out.CachedInputTokens > out.InputTokens:
		out.InputTokens += out.CachedInputTokens
	}
	return out
}
