package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/provider/internal/wire"
)

type sse struct{ Name, Data string }

func readAll(in io.Reader, max int) ([]sse, error) {
	r := wire.NewReader(in, max)
	var out []sse
	for {
		e, err := r.Next()
		if err != nil {
			return out, err
		}
		out = append(out, sse{e.Name, string(e.Data)})
	}
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, in string
		want     []sse
		err      error
	}{
		{"one", "data: a\n\n", []sse{{"", "a"}}, io.EOF},
		{"named", "event: n\ndata: a\n\n", []sse{{"n", "a"}}, io.EOF},
		{"name does not carry over", "event: n\ndata: a\n\ndata: b\n\n", []sse{{"n", "a"}, {"", "b"}}, io.EOF},
		{"name without data", "event: n\n\ndata: b\n\n", []sse{{"", "b"}}, io.EOF},
		{"lines", "data: a\ndata: b\ndata:\n\n", []sse{{"", "a\nb\n"}}, io.EOF},
		{"one space is taken", "data:  a\n\ndata:b\n\n", []sse{{"", " a"}, {"", "b"}}, io.EOF},
		{"comments and fields", ": c\n\nid: 1\nretry: 2\nfoo\ndata: a\n\n", []sse{{"", "a"}}, io.EOF},
		{"ends of lines", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", []sse{{"", "a"}, {"", "b"}, {"", "c"}}, io.EOF},
		{"mark", "\xEF\xBB\xBFdata: a\n\n", []sse{{"", "a"}}, io.EOF},
		{"colon in data", "data: {\"a\":1}\n\n", []sse{{"", `{"a":1}`}}, io.EOF},
		{"cut in a line", "data: a\n\ndata: b", []sse{{"", "a"}}, io.ErrUnexpectedEOF},
		{"cut behind a line", "data: a\n\ndata: b\n", []sse{{"", "a"}}, io.ErrUnexpectedEOF},
		{"nothing", "", nil, io.EOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in))} {
				got, err := readAll(in, 0)
				if diff := cmp.Diff(test.want, got); diff != "" || err != test.err {
					t.Errorf("error %v, want %v; events (-want +got):\n%s", err, test.err, diff)
				}
			}
		})
	}
}

func TestEventIsBounded(t *testing.T) {
	for _, in := range []string{strings.Repeat("x", 2000), strings.Repeat("data: x\n", 500)} {
		_, err := readAll(strings.NewReader(in), 1000)
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v, want an error about the length", err)
		}
	}
	got, err := readAll(strings.NewReader(strings.Repeat("data: x\n\n", 500)), 1000)
	if len(got) != 500 || err != io.EOF {
		t.Errorf("%d events, %v: the bound is for one event", len(got), err)
	}
}

// reference reads a whole stream at once, the slow and simple way.
func reference(text string) []sse {
	text = strings.TrimPrefix(text, "\xEF\xBB\xBF")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var out []sse
	var name string
	var data []string
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] { // what has no end is no line
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				out = append(out, sse{name, strings.Join(data, "\n")})
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return out
}

func FuzzReader(f *testing.F) {
	f.Add("event: a\r\ndata: b\r\n\r\n: c\n\ndata\n\n")
	f.Add("\xEF\xBB\xBFdata: \xff\n\rdata: x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readAll(iotest.HalfReader(strings.NewReader(text)), 0)
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		if diff := cmp.Diff(reference(text), got); diff != "" {
			t.Errorf("%q (-reference +got):\n%s", text, diff)
		}
	})
}
