package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxArgumentBytes is the longest text of arguments that is read. A model's
// output is far shorter; what is longer is a fault.
const MaxArgumentBytes = 8 << 20

// An ArgumentError says what is wrong with the arguments of a call and what to
// change. Its text is written for the model that made them.
type ArgumentError struct {
	// Text is one or two sentences.
	Text string
}

// Error returns the text.
func (e *ArgumentError) Error() string { return e.Text }

// Argumentf makes an ArgumentError.
func Argumentf(format string, args ...any) error {
	return &ArgumentError{Text: fmt.Sprintf(format, args...)}
}

// Decode reads a call's arguments, one JSON object, into a pointer to a struct.
// It is strict: unknown members, members given twice, null, text after the
// object, numbers that are not whole or too large, NUL and broken Unicode are
// an *ArgumentError. No text at all counts as an empty object, which is how
// some models call a tool without parameters. Members that are missing leave
// the struct as it is.
func Decode(arguments string, into any) error {
	if len(arguments) > MaxArgumentBytes {
		return Argumentf("The arguments are %d bytes long; the most is %d. Split the call into several.", len(arguments), MaxArgumentBytes)
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if !utf8.ValidString(arguments) {
		return Argumentf("The arguments are not valid UTF-8. Send one JSON object as UTF-8 text.")
	}
	if at := loneSurrogate(arguments); at >= 0 {
		return Argumentf("At byte %d of the arguments stands half of a surrogate pair (%s). Write the character itself, or both halves.", at, arguments[at:at+6])
	}
	if err := checkMembers(arguments, into); err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return explain(err, into)
	}
	return checkStrings(reflect.ValueOf(into).Elem(), "")
}

// checkMembers looks at the outer object as written: the decoder would take
// the last of two equal members, and let null pass for anything.
func checkMembers(arguments string, into any) error {
	dec := json.NewDecoder(strings.NewReader(arguments))
	first, err := dec.Token()
	if err != nil {
		return explain(err, into)
	}
	if first != json.Delim('{') {
		return Argumentf("The arguments must be one JSON object with these members: %s.", members(into))
	}
	var seen []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return explain(err, into)
		}
		name, _ := token.(string)
		if slices.Contains(seen, name) {
			return Argumentf("The member %q is given twice. Give it once.", name)
		}
		if !slices.Contains(names(into), name) {
			return Argumentf("There is no member %q. The members are: %s.", clip(name), members(into))
		}
		seen = append(seen, name)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return explain(err, into)
		}
		if bytes.Equal(value, []byte("null")) {
			return Argumentf("%q is null. Leave the member out or give it a value.", name)
		}
	}
	if _, err := dec.Token(); err != nil {
		return explain(err, into)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Argumentf("There is text after the JSON object. Send one object and nothing else; for several calls, call the tool several times.")
	}
	return nil
}

// explain turns an error of the decoder into one that a model can act on.
func explain(err error, into any) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		if strings.HasPrefix(kind.Value, "number") && isWhole(kind.Type) {
			return Argumentf("%q must be a whole number that fits %d bits, not %s.", kind.Field, kind.Type.Bits(), clip(kind.Value))
		}
		return Argumentf("%q must be %s, not %s.", kind.Field, inWords(kind.Type), clip(kind.Value))
	case errors.As(err, &kind):
		return Argumentf("The arguments must be one JSON object with these members: %s.", members(into))
	case errors.As(err, &syntax):
		return Argumentf("The arguments are not valid JSON (byte %d: %s). Send one JSON object.", syntax.Offset, syntax.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Argumentf("The arguments end in the middle of the JSON object. Send the whole object; if it was cut because it is long, split the work into several calls.")
	}
	return Argumentf("The arguments cannot be read (%s). Send one JSON object with these members: %s.", clip(err.Error()), members(into))
}

func isWhole(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

func inWords(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case isWhole(t):
		return "a whole number"
	case t.Kind() == reflect.Slice:
		return "a list, each entry " + inWords(t.Elem())
	case t.Kind() == reflect.Pointer:
		return inWords(t.Elem())
	}
	return "a value of another kind"
}

// names returns the members of the struct that a pointer points to.
func names(into any) []string {
	t := reflect.TypeOf(into).Elem()
	var out []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

func members(into any) string {
	list := names(into)
	if len(list) == 0 {
		return "none; send {}"
	}
	return strings.Join(list, ", ")
}

// checkStrings refuses NUL, which no path, pattern, text or argument may hold.
func checkStrings(v reflect.Value, name string) error {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if err := checkStrings(v.Field(i), field); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil // a json.RawMessage, which whoever reads it checks
		}
		for i := range v.Len() {
			if err := checkStrings(v.Index(i), name+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	case reflect.String:
		if strings.ContainsRune(v.String(), 0) {
			return Argumentf("%q holds a NUL character, which is not allowed. Leave it out.", name)
		}
	}
	return nil
}

// loneSurrogate returns where an escaped half of a surrogate pair stands
// alone, or -1. The decoder would put U+FFFD there in silence.
func loneSurrogate(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		code := escaped(s[i:])
		switch {
		case code < 0:
			i++ // the escaped character, which may be a backslash
		case code >= 0xD800 && code < 0xDC00:
			if next := escaped(s[i+6:]); next < 0xDC00 || next > 0xDFFF {
				return i
			}
			i += 11
		case code >= 0xDC00 && code <= 0xDFFF:
			return i
		default:
			i += 5
		}
	}
	return -1
}

// escaped returns the code of an escape \uXXXX at the start of s, or -1.
func escaped(s string) int {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// clip bounds a piece of foreign text in a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	for i := most; i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i] + "…"
		}
	}
	return "…"
}

// Whole returns a number that a model gave, or the default for none, and
// refuses what is outside the range. most may be math.MaxInt.
func Whole(name string, given *int, otherwise, least, most int) (int, error) {
	switch {
	case given == nil:
		return otherwise, nil
	case *given < least && most == math.MaxInt:
		return 0, Argumentf("%q must be at least %d, not %d.", name, least, *given)
	case *given < least || *given > most:
		return 0, Argumentf("%q must be from %d to %d, not %d.", name, least, most, *given)
	}
	return *given, nil
}
