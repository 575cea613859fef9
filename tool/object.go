package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxNesting is how deep the values of Object may stand in each other. It is
// far beyond what a tool's parameters need.
const maxNesting = 100

// Object checks the arguments of a tool whose parameters are described by a
// schema of somebody else, and returns them as they are. They must be one JSON
// object, valid UTF-8, at most MaxArgumentBytes long, nested at most 100 deep,
// and without members that are given twice, so that whoever reads them reads
// the same. No text at all counts as an empty object. The error is an
// *ArgumentError.
func Object(arguments string) (json.RawMessage, error) {
	if len(arguments) > MaxArgumentBytes {
		return nil, Argumentf("The arguments are %d bytes long; the most is %d. Split the call into several.", len(arguments), MaxArgumentBytes)
	}
	if strings.TrimSpace(arguments) == "" {
		return json.RawMessage("{}"), nil
	}
	if !utf8.ValidString(arguments) {
		return nil, Argumentf("The arguments are not valid UTF-8. Send one JSON object as UTF-8 text.")
	}
	if at := loneSurrogate(arguments); at >= 0 {
		return nil, Argumentf("At byte %d of the arguments stands half of a surrogate pair (%s). Write the character itself, or both halves.", at, arguments[at:at+6])
	}
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.UseNumber()
	first, err := dec.Token()
	if err == nil && first != json.Delim('{') {
		return nil, Argumentf("The arguments must be one JSON object.")
	}
	if err == nil {
		err = walkObject(dec, 1)
	}
	if err == nil {
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return nil, Argumentf("There is text after the JSON object. Send one object and nothing else; for several calls, call the tool several times.")
		}
		if !json.Valid([]byte(arguments)) {
			return nil, Argumentf("The arguments are not valid JSON. Send one JSON object.")
		}
		return json.RawMessage(arguments), nil
	}
	return nil, explainSyntax(err)
}

// walkObject reads to the end of an object, walkValue to the end of any value.
func walkObject(dec *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] {
			return Argumentf("The member %q is given twice. Give it once.", clip(name))
		}
		seen[name] = true
		if err := walkValue(dec, depth); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func walkValue(dec *json.Decoder, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if depth >= maxNesting {
		return Argumentf("The arguments are nested more than %d deep. Make them flatter.", maxNesting)
	}
	switch token {
	case json.Delim('{'):
		return walkObject(dec, depth+1)
	case json.Delim('['):
		for dec.More() {
			if err := walkValue(dec, depth+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	}
	return err
}

func explainSyntax(err error) error {
	var argument *ArgumentError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &argument):
		return err
	case errors.As(err, &syntax):
		return Argumentf("The arguments are not valid JSON (byte %d: %s). Send one JSON object.", syntax.Offset, syntax.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Argumentf("The arguments end in the middle of the JSON object. Send the whole object; if it was cut because it is long, split the work into several calls.")
	}
	return Argumentf("The arguments cannot be read (%s). Send one JSON object.", clip(fmt.Sprint(err)))
}
