package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/provider/internal/wire"
)

// A string reads back as encoding/json would read its own.
func FuzzString(f *testing.F) {
	f.Add("a\"b\\c\n\r\t\x00\x1f\x7f<&>\u2028 wörld 🌍 \xff\xf0\x9f")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := wire.NewJSON(0).String(s).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var a, b string
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Fatalf("got %q, want %q", a, b)
		}
	})
}

// What is written is one JSON text, whatever the order of the calls.
func TestNesting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := wire.NewJSON(0)
		var write func(depth int)
		write = func(depth int) {
			kind := rapid.IntRange(0, 6).Draw(t, "kind")
			if depth > 3 && kind < 2 {
				kind = 2
			}
			switch kind {
			case 0:
				j.Open('{')
				for range rapid.IntRange(0, 3).Draw(t, "members") {
					j.Key("k")
					write(depth + 1)
				}
				j.Close('}')
			case 1:
				j.Open('[')
				for range rapid.IntRange(0, 3).Draw(t, "elements") {
					write(depth + 1)
				}
				j.Close(']')
			case 2:
				j.String(rapid.StringMatching(`[\[{:,"]?[a-z\[\]{}:,"\\]*[\[{:,]?`).Draw(t, "text"))
			case 3:
				j.Int(rapid.Int().Draw(t, "number"))
			case 4:
				j.Bool(rapid.Bool().Draw(t, "truth"))
			case 5:
				j.Raw([]byte(`{"a" : [1, 2]}`), "raw")
			case 6:
				j.Base64("p", rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
			}
		}
		write(0)
		if out, err := j.Bytes(); err != nil || !json.Valid(out) {
			t.Fatalf("%s: %v", out, err)
		}
	})
}

func TestRawAndMembersRefuseWhatWouldBreakTheRequest(t *testing.T) {
	for _, bad := range []string{"", "{", `{"a":1}}`, "nope", `{"a":1},"b":2`} {
		if _, err := wire.NewJSON(0).Open('[').Raw([]byte(bad), "x").Close(']').Bytes(); err == nil {
			t.Errorf("Raw(%q) is taken", bad)
		}
	}
	for _, bad := range []string{"{", "[]", `"a"`, "null", `{"taken":1}`} {
		if _, err := wire.NewJSON(0).Open('{').Members([]byte(bad), "x", "taken").Close('}').Bytes(); err == nil {
			t.Errorf("Members(%q) is taken", bad)
		}
	}
	out, err := wire.NewJSON(0).Open('{').Field("a", "b").Members([]byte(" {\"x\": {\"y\":1} } "), "x").Members([]byte(`{ }`), "x").Key("n").Int(1).Close('}').Bytes()
	if err != nil || !json.Valid(out) {
		t.Errorf("%s: %v", out, err)
	}
}

func TestDataURL(t *testing.T) {
	data := bytes.Repeat([]byte{0, 255, 62}, 50)
	out, err := wire.NewJSON(0).DataURL(`image/"png`, data).Bytes()
	var s string
	if err != nil || json.Unmarshal(out, &s) != nil || s != `data:image/"png;base64,`+base64.StdEncoding.EncodeToString(data) {
		t.Errorf("%s, %v", out, err)
	}
}
