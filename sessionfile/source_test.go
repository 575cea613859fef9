package sessionfile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/sessionfile"
)

// lister is a format that takes every file and lists what the Source gives.
type lister struct {
	objects  []sessionfile.Value // cloned
	document *sessionfile.Value
	head     sessionfile.Head
	wholly   bool // read a single document with Document
}

func (l *lister) Name() string                { return "lister" }
func (l *lister) Match(sessionfile.Head) bool { return true }

func (l *lister) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	l.head = src.Head()
	if l.wholly && l.head.Single {
		v, err := src.Document()
		if err != nil {
			return nil, err
		}
		l.document = &v
	} else {
		for v, err := range src.Objects() {
			if err != nil {
				return nil, err
			}
			v.Raw = []byte(string(v.Raw))
			l.objects = append(l.objects, v)
		}
	}
	return sessionfile.NewBuilder(src, "lister").Finish(), nil
}

func (l *lister) strings() []string {
	var out []string
	for _, v := range l.objects {
		out = append(out, fmt.Sprintf("%d %s", v.Line, v.Raw))
	}
	return out
}

func list(t testing.TB, text string) (*lister, *sessionfile.Session) {
	t.Helper()
	l := &lister{}
	s, err := sessionfile.Read("in", []byte(text), []sessionfile.Format{l}, nil)
	if err != nil {
		t.Fatalf("%.100q: %v", text, err)
	}
	return l, s
}

func losses(s *sessionfile.Session) []string {
	var out []string
	for _, l := range s.Losses {
		out = append(out, fmt.Sprintf("%d %s", l.Line, l.What))
	}
	return out
}

const (
	lossCut   = "an object is cut off or broken; reading goes on with the next one"
	lossTail  = "the last object is cut off: the file ends inside it"
	lossNoise = "text that is no JSON object"
)

// What broken lines look like in reality and could look like after a crash.
func TestObjects(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		want, losses []string
	}{
		{"one on a line", `{"a":1}` + "\n" + `{"b":2}` + "\n", []string{`1 {"a":1}`, `2 {"b":2}`}, nil},
		{"without a last line break", `{"a":1}`, []string{`1 {"a":1}`}, nil},
		{"line breaks of Windows and empty lines", "{\"a\":1}\r\n\r\n{\"b\":2}\r\n", []string{`1 {"a":1}`, `3 {"b":2}`}, nil},
		{"byte order mark", "\xef\xbb\xbf{\"a\":1}\n", []string{`1 {"a":1}`}, nil},
		{"two glued on a line", `{"a":1}{"b":2} {"c":3}` + "\n" + `{"d":4}`,
			[]string{`1 {"a":1}`, `1 {"b":2}`, `1 {"c":3}`, `2 {"d":4}`}, nil},
		{"over many lines", "{\n  \"a\": [\n    1\n  ]\n}\n{\n  \"b\": {}\n}\n",
			[]string{"1 {\n  \"a\": [\n    1\n  ]\n}", "6 {\n  \"b\": {}\n}"}, nil},
		{"nested objects at column 0", "{\"a\":[\n{\"b\":1},\n{\"c\":2}\n]}\n{\"d\":3}\n",
			[]string{"1 {\"a\":[\n{\"b\":1},\n{\"c\":2}\n]}", `5 {"d":3}`}, nil},
		{"a cut tail", `{"a":1}` + "\n" + `{"b":"x`, []string{`1 {"a":1}`}, []string{"2 " + lossTail}},
		{"cut inside a string", `{"a":"x` + "\n" + `{"b":2}` + "\n", []string{`2 {"b":2}`}, []string{"1 " + lossCut}},
		{"cut before a value", `{"a":` + "\n" + `{"b":2}` + "\n" + `{"c":3}`, []string{`2 {"b":2}`, `3 {"c":3}`}, []string{"1 " + lossCut}},
		{"cut before a value, then the end", `{"a":` + "\n" + `{"b":2}`, []string{`2 {"b":2}`}, []string{"1 " + lossCut}},
		{"cut after a comma", `{"a":1,` + "\n" + `{"b":2}` + "\n", []string{`2 {"b":2}`}, []string{"1 " + lossCut}},
		{"cut in a list of objects", `{"a":[{"x":1},` + "\n" + `{"b":2}` + "\n" + `{"c":3}` + "\n",
			[]string{`2 {"b":2}`, `3 {"c":3}`}, []string{"1 " + lossCut}},
		{"cut over many lines", "{\n  \"a\": {\n    \"b\": 1\n{\"c\":2}\n", []string{`4 {"c":2}`}, []string{"1 " + lossCut}},
		{"three cut in a row", "{\"a\":\n{\"b\":\n{\"c\":\n{\"d\":4}\n{\"e\":5}", []string{`4 {"d":4}`, `5 {"e":5}`},
			[]string{"1 " + lossCut + " (3 times, here first)"}},
		{"cut, and the next one glued to it", `{"type":"x","a":"cut{"type":"y"}` + "\n" + `{"type":"z"}`,
			[]string{`1 {"type":"y"}`, `2 {"type":"z"}`}, []string{"1 " + lossCut}},
		{"NUL bytes of a crash", `{"a":1}` + "\n" + strings.Repeat("\x00", 9000) + `{"b":2}` + "\n",
			[]string{`1 {"a":1}`, `2 {"b":2}`}, []string{"2 " + lossNoise}},
		{"other text between", "{\"a\":1}\nWARN {not json}\n{\"b\":2} trailing\n{\"c\":3}\n",
			[]string{`1 {"a":1}`, `3 {"b":2}`, `4 {"c":3}`}, []string{"2 " + lossNoise + " (2 times, here first)"}},
		{"text before", "log line\nand another\n{\"a\":1}\n", []string{`3 {"a":1}`}, []string{"1 " + lossNoise}},
		{"a bracket that is text", "[INFO] start\n{\"a\":1}\n", []string{`2 {"a":1}`}, []string{"1 " + lossNoise}},
		{"an array between", "{\"a\":1}\n[{\"x\":1}]\n{\"b\":2}\n", []string{`1 {"a":1}`, `3 {"b":2}`},
			[]string{"2 a JSON array where an object was expected"}},
		{"bytes that are no UTF-8", "{\"a\":\"\xff\"}\n", []string{"1 {\"a\":\"\xff\"}"}, []string{"1 bytes that are no UTF-8, read as U+FFFD"}},
		{"a number that ends in nothing", `{"a":1e}` + "\n" + `{"b":2}` + "\n", []string{`2 {"b":2}`}, []string{"1 " + lossCut}},
		{"a closing bracket of the wrong kind", `{"a":[1}}` + "\n" + `{"b":2}` + "\n", []string{`2 {"b":2}`}, []string{"1 " + lossCut}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, s := list(t, c.text)
			if diff := cmp.Diff(c.want, l.strings()); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.losses, losses(s)); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}

// The scanner takes exactly what encoding/json takes.
func TestObjectsAgreeWithEncodingJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"a":[]}`, `{"a":[[],{}]}`, `{"a":-0.5e+7}`, `{"a":0}`, `{"a":"\u00e9\"\\\/\b\f\n\r\t"}`, `{"a":true,"b":false,"c":null}`,
		`{"a":01}`, `{"a":-}`, `{"a":.5}`, `{"a":1.}`, `{"a":+1}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\t\"}", `{"a":tru}`,
		`{"a" 1}`, `{"a":1,}`, `{,}`, `{"a":[1,]}`, `{a:1}`, `{"a":1]`, `{"a":nul}`, `{"a":}`, `{"a":1 "b":2}`, `{"a":"\`, `{"a":"\u12`,
		"{\"a\":\"\u2028\"}", "{\"a\":\"\x7f\"}", `{"a":1.5E-3}`, `{"":0}`, `{"a":{"a":{"a":[1,2,{"b":[]}]}}}`,
	} {
		l := &lister{}
		_, err := sessionfile.Read("in", []byte(text), []sessionfile.Format{l}, nil)
		taken := err == nil && len(l.objects) == 1 && string(l.objects[0].Raw) == text
		if want := json.Valid([]byte(text)); taken != want {
			t.Errorf("%s: taken %t, valid %t", text, taken, want)
		}
	}
}

// Cutting a file at any byte never loses an object that stood whole before
// the cut, and never makes one up.
func TestCutNeverLosesAWholeObject(t *testing.T) {
	object := rapid.Custom(func(t *rapid.T) string {
		value := rapid.SampledFrom([]any{
			"text", "a \"quoted\" { brace", `back\slash`, 12.5, true, nil, []any{1, "x", map[string]any{"k": "v"}},
			map[string]any{"type": "inner", "text": "Привет, мир 🌍"}, []any{},
		})
		m := map[string]any{}
		for _, key := range []string{"type", "id", "content"}[:rapid.IntRange(1, 3).Draw(t, "keys")] {
			m[key] = value.Draw(t, key)
		}
		data, err := json.Marshal(m)
		if rapid.Bool().Draw(t, "indented") {
			data, err = json.MarshalIndent(m, "", " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	})
	rapid.Check(t, func(t *rapid.T) {
		objects := rapid.SliceOfN(object, 1, 6).Draw(t, "objects")
		text := ""
		ends := []int{}
		for _, o := range objects {
			text += o
			ends = append(ends, len(text))
			text += rapid.SampledFrom([]string{"\n", "\n", "\r\n", "", " ", "\n\n"}).Draw(t, "break")
		}
		cut := rapid.IntRange(1, len(text)).Draw(t, "cut")
		l := &lister{}
		if _, err := sessionfile.Read("in", []byte(text[:cut]), []sessionfile.Format{l}, nil); err != nil && cut >= ends[0] {
			t.Fatal(err)
		}
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		if len(l.objects) != whole {
			t.Fatalf("%d objects of %d before the cut:\n%s", len(l.objects), whole, text[:cut])
		}
		for i, v := range l.objects {
			if string(v.Raw) != objects[i] || v.Line != 1+strings.Count(text[:ends[i]-len(objects[i])], "\n") {
				t.Fatalf("object %d is %q on line %d, want %q", i, v.Raw, v.Line, objects[i])
			}
		}
	})
}

// A document is found as such, with its members and elements and their lines,
// also when it is cut.
func TestDocument(t *testing.T) {
	read := func(text string) (*lister, *sessionfile.Session) {
		l := &lister{wholly: true}
		s, err := sessionfile.Read("in", []byte(text), []sessionfile.Format{l}, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return l, s
	}
	text := "\n{\n  \"a\\u0062\": [ {\"x\":1},\n {\"x\":2} ,3],\n  \"s\": \"é\"\n}\n"
	l, s := read(text)
	if !l.head.Single || l.head.Array || l.document == nil || l.document.Line != 2 || len(s.Losses) != 0 {
		t.Fatalf("head %+v, losses %v", l.head, s.Losses)
	}
	var got []string
	for key, v := range l.document.Members() {
		got = append(got, fmt.Sprintf("%s %d %c %s", key, v.Line, v.Kind(), v.Text()))
		for e := range v.Elements() {
			got = append(got, fmt.Sprintf("%d %s", e.Line, e.Raw))
		}
	}
	want := []string{"ab 3 [ ", `3 {"x":1}`, `4 {"x":2}`, "4 3", `s 5 " é`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if v := l.document.Member("s"); v.Text() != "é" || l.document.Member("t").Kind() != 0 {
		t.Errorf("member: %s", v.Raw)
	}
	first := l.head.First()
	if !first.Has("ab", "s") || first.Has("ab", "t") || first.Kind("ab") != '[' || first.Text("s") != "é" || len(first.Elements("ab")) != 2 {
		t.Errorf("head: %+v", first)
	}

	for cut, elements := range map[string]int{
		`[{"x":1},{"x":2},{"x":`:    3,
		`[{"x":1},{"x":2}`:          2,
		`[{"x":1},{"x":2}, oh no`:   2,
		`[{"x":1}` + "\n{\"y\":2}]": 1,
	} {
		l, s := read(cut)
		if !l.head.Single || !l.head.Array || !l.document.Cut || len(s.Losses) != 1 {
			t.Errorf("%s: head %+v, losses %v", cut, l.head, s.Losses)
		}
		n := 0
		for e := range l.document.Elements() {
			n++
			var into map[string]int
			if err := e.Decode(&into); (err != nil) != e.Cut {
				t.Errorf("%s: element %s cut %t, decode %v", cut, e.Raw, e.Cut, err)
			}
		}
		if n != elements {
			t.Errorf("%s: %d elements", cut, n)
		}
	}

	l, s = read(`{"messages":[{"role":"user"},{"role":"as`)
	if got := l.head.First().Elements("messages"); len(got) != 2 || got[0].Text("role") != "user" || !l.document.Member("messages").Cut {
		t.Errorf("cut object: %+v, losses %v", got, s.Losses)
	}
}

// Asking for a document where there are several objects is an error, not a
// wrong answer.
func TestDocumentOfSeveralObjects(t *testing.T) {
	f := documentOnly{}
	_, err := sessionfile.Read("in", []byte(`{"a":1}`+"\n"+`{"b":2}`), []sessionfile.Format{f}, nil)
	if err == nil || !strings.Contains(err.Error(), "several JSON objects") {
		t.Errorf("error: %v", err)
	}
}

type documentOnly struct{}

func (documentOnly) Name() string                { return "document" }
func (documentOnly) Match(sessionfile.Head) bool { return true }
func (documentOnly) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	_, err := src.Document()
	return nil, err
}

// A Head holds the first objects, up to a number, whatever their length.
func TestHeadIsBounded(t *testing.T) {
	l, _ := list(t, strings.Repeat(`{"a":1}`+"\n", 200))
	if len(l.head.Objects) != 64 || l.head.Single || len(l.objects) != 200 {
		t.Errorf("%d head objects, single %t, %d objects", len(l.head.Objects), l.head.Single, len(l.objects))
	}
	long := `{"a":"` + strings.Repeat("x", 3<<20) + `"}` + "\n"
	l, _ = list(t, strings.Repeat(long, 3))
	if len(l.head.Objects) != 2 || len(l.objects) != 3 {
		t.Errorf("%d head objects, %d objects", len(l.head.Objects), len(l.objects))
	}
}

func FuzzObjects(f *testing.F) {
	for _, text := range []string{
		`{"a":1}`, "{\"a\":\n{\"b\":1}\n{\"c\":2}", `{"t":"x{"t":"y"}`, "[1,{\"a\":2}]\n{}", "{\"a\":[\n{},\n{}\n]}{", "x\n{\"a\":\"\\u00\n{}", "\xef\xbb\xbf[{}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &lister{}
		limits := sessionfile.Limits{FileBytes: 1 << 20, ObjectBytes: 1 << 12, DocumentBytes: 1 << 14}
		_, err := sessionfile.Read("in", data, []sessionfile.Format{l}, &sessionfile.Options{Limits: limits})
		if err != nil {
			return
		}
		line := 1
		for _, v := range l.objects {
			if !json.Valid(v.Raw) || v.Raw[0] != '{' {
				t.Fatalf("no valid object: %q", v.Raw)
			}
			if v.Line < line || v.Line > 1+strings.Count(string(data), "\n") {
				t.Fatalf("line %d after line %d", v.Line, line)
			}
			line = v.Line
			n := 0
			for key, member := range v.Members() {
				n++
				if !json.Valid(member.Raw) || member.Cut {
					t.Fatalf("member %q of a whole object is %q", key, member.Raw)
				}
			}
			var into map[string]json.RawMessage
			if err := json.Unmarshal(v.Raw, &into); err != nil || n < len(into) {
				t.Fatalf("%d members of %q: %v", n, v.Raw, err)
			}
		}
		if trimmed := strings.TrimSpace(string(data)); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) && len(l.objects) != 1 {
			t.Fatalf("%d objects of the one in %q", len(l.objects), data)
		}
	})
}
