package overflow

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Fields are what an error body says, in whatever shape it came.
type Fields struct {
	// Message is the text for people; the whole body where it has no field
	// for it.
	Message string
	// Code and Type are the provider's own names for the fault.
	Code, Type string
	// PromptTokens and WindowTokens are llama.cpp's fields.
	PromptTokens, WindowTokens int
	// RetryDelay is Google's wish to wait ("34s"), or what the text asks for.
	RetryDelay string
	// raw is the beginning of the body.
	raw string
}

// maxNesting bounds JSON inside strings inside JSON.
const maxNesting = 4

// Read takes the fields from a body. It accepts anything.
func Read(body []byte) Fields {
	text := string(body[:min(len(body), maxTextBytes)])
	f := Fields{raw: text}
	var v any
	if len(body) <= 4*maxTextBytes && json.Unmarshal(body, &v) == nil {
		f.collect(v, 0)
	}
	if f.Code == "" {
		f.Code = printedField(text, printedCode)
	}
	if f.Type == "" {
		f.Type = printedField(text, printedType)
	}
	if f.Message == "" {
		f.Message = printedField(text, printedMessage)
	}
	if f.Message == "" {
		f.Message = strings.TrimSpace(text)
	}
	if f.RetryDelay == "" {
		if m := tryAgain.FindStringSubmatch(text); m != nil {
			f.RetryDelay = m[1]
		}
	}
	f.Message = shorten(f.Message)
	return f
}

// collect looks through objects, lists and strings that hold JSON. The
// outermost value of each field wins, except that a message which is itself
// JSON gives way to what it holds.
func (f *Fields) collect(v any, depth int) {
	if depth > 2*maxNesting {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v[:min(len(v), 8)] {
			f.collect(e, depth+1)
		}
	case string:
		if inner := strings.TrimSpace(v); depth > 0 && (strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) {
			var parsed any
			if json.Unmarshal([]byte(inner), &parsed) == nil {
				f.collect(parsed, depth+1)
				return
			}
		}
		if f.Message == "" {
			f.Message = v
		}
	case map[string]any:
		f.object(v, depth)
	}
}

func (f *Fields) object(v map[string]any, depth int) {
	// A list of keys, not the map's order: the same body, the same fields.
	for _, key := range []string{"error", "response", "message", "errorMessage", "detail", "error_description", "details", "errors", "metadata", "raw", "fields"} {
		if inner, ok := v[key]; ok {
			if key == "details" {
				f.retryInfo(inner)
				continue
			}
			f.collect(inner, depth+1)
		}
	}
	for _, key := range []string{"code", "error_code", "status"} {
		if f.Code == "" || isNumber(f.Code) {
			if code := scalar(v[key]); code != "" && (f.Code == "" || !isNumber(code)) {
				f.Code = code
			}
		}
	}
	for _, key := range []string{"type", "errorType", "__type"} {
		if s := scalar(v[key]); s != "" && s != "error" && s != "None" && f.Type == "" {
			f.Type = s
		}
	}
	f.PromptTokens = max(f.PromptTokens, count(v["n_prompt_tokens"]))
	f.WindowTokens = max(f.WindowTokens, count(v["n_ctx"]))
}

// retryInfo reads google.rpc.RetryInfo.
func (f *Fields) retryInfo(v any) {
	list, _ := v.([]any)
	for _, e := range list {
		if o, ok := e.(map[string]any); ok {
			if delay := scalar(o["retryDelay"]); delay != "" && f.RetryDelay == "" {
				f.RetryDelay = delay
			}
		}
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

func count(v any) int {
	n, ok := v.(float64)
	if !ok || n < 0 || n > 1<<40 {
		return 0
	}
	return int(n)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// Fields of bodies that are no JSON: printed maps of other languages, or JSON
// that was cut.
var (
	printedCode    = regexp.MustCompile(`['"\\](?:code)['"\\]+\s*:\s*\\*['"]?([A-Za-z0-9_]+)`)
	printedType    = regexp.MustCompile(`['"\\](?:type|errorType)['"\\]+\s*:\s*\\*['"]([A-Za-z0-9_]+)`)
	printedMessage = regexp.MustCompile(`['"](?:message)['"]\s*:\s*["']((?:[^"'\\]|\\.|'[a-z])+)`)
	tryAgain       = regexp.MustCompile(`(?i)try again in ([0-9.]+(?:ms|s|m)(?:[0-9.]+s)?)`)
)

func printedField(text string, re *regexp.Regexp) string {
	m := re.FindStringSubmatch(text)
	if m == nil || m[1] == "None" || m[1] == "error" {
		return ""
	}
	return m[1]
}

// shorten keeps an error readable: a message is a sentence, not a page.
func shorten(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// searched is the text that the wordings are looked up in: message and body,
// in lower case.
func (f Fields) searched() string {
	text := f.raw
	if f.Message != "" && !strings.Contains(text, f.Message) {
		text = f.Message + "\n" + text
	}
	return strings.ToLower(strings.TrimSpace(text))
}
