package skill

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"plain":       "---\nname: a-1\ndescription: does it\n---\nbody\n",
		"line ends":   "---\r\nname: a-1\r\ndescription: does it\r\n---\r\nbody\n",
		"mark, quote": "\uFEFF---  \nmetadata: {name: other}\nname: \"a-1\"\ndescription: 'does it'\n---\nbody\n",
		"folded":      "---\nname: a-1\ndescription: >\n  does\n  it\n---\nbody\n",
	} {
		f, body, err := parse([]byte(text))
		if err != nil || f != (front{"a-1", "does it"}) || string(body) != "body\n" {
			t.Errorf("%s: %+v, %q, %v", name, f, body, err)
		}
	}
	if f, body, err := parse([]byte("---\nname: 12\ndescription: 3\n---")); err != nil || f != (front{"12", "3"}) || len(body) != 0 {
		t.Errorf("numbers: %+v, %q, %v", f, body, err)
	}
}

// Foreign bytes never make a panic, and what passes is within the format.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "---", "---\n---\n", "---\nname: a\ndescription: b\n---\nbody", "---\nname: &x a\ndescription: *x\n---\n",
		"---\na: &a [*a]\nname: x\n---\n", "---\n? [name]\n: x\nname: |\n  a\n---\n", "---\n\xff: 1\n---\n", "---\n- name: a\n---\n", "---\n<<: *a\n---\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, body, err := parse(data)
		if err != nil {
			if got != (front{}) && got.validate() == nil {
				t.Errorf("an error with a valid result: %+v, %v", got, err)
			}
			return
		}
		if len(got.name) > MaxNameBytes || !validName.MatchString(got.name) || got.description == "" || utf8.RuneCountInString(got.description) > MaxDescriptionRunes {
			t.Errorf("passed: %+v", got)
		}
		if !bytes.HasSuffix(data, body) || strings.Contains(got.name, "..") {
			t.Errorf("body %q is no end of %q", body, data)
		}
	})
}
