package tokencount

import (
	"encoding/json"
	"strings"
)

// members calls yield with the name and the text of each member of a JSON
// object, in order. A string's text is what it says, any other value's its
// JSON. It reports false when raw is not one whole JSON object; yield has then
// been called for what came before the fault.
func members(raw string, yield func(name, text string)) bool {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		name, ok := key.(string)
		if !ok {
			return false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
		text := string(value)
		if len(value) > 0 && value[0] == '"' {
			if json.Unmarshal(value, &text) != nil {
				return false
			}
		}
		yield(name, text)
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return false
	}
	return strings.TrimSpace(raw[d.InputOffset():]) == ""
}

// longestString returns the length in bytes of the longest JSON string in
// raw: the sealed payload of an item that only its provider can read, whatever
// the field is called. Escapes are counted as written.
func longestString(raw []byte) int {
	longest := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		start := i + 1
		for i = start; i < len(raw) && raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		longest = max(longest, min(i, len(raw))-start)
	}
	return longest
}
