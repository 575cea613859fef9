package mcp

import (
	"encoding/json"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/tool"
)

// Over returns options that reach servers in another way.
func Over(o Options, transport func(Server) sdk.Transport) Options {
	o.transport = transport
	return o
}

// Names returns the names that tools get, in the order given.
func Names(pairs [][2]string) []string {
	var connections []*connection
	for _, p := range pairs {
		connections = append(connections, &connection{server: Server{Name: p[0]}, entries: []entry{{name: p[1]}}})
	}
	var out []string
	for _, r := range name(connections) {
		out = append(out, r.name)
	}
	return out
}

// Bounds and pieces for tests.
const (
	MaxSchemaBytes  = maxSchemaBytes
	MaxMessageBytes = maxMessageBytes
	MaxTools        = maxTools
)

// LongID reads a line that is too long and returns its id and length.
func LongID(text string, most int) (string, int) {
	l, err := newLineReader(strings.NewReader(text), most).next()
	if err != nil || !l.tooLong() {
		return "no long line", l.total
	}
	return string(l.id()), l.total
}

// Lines returns the lines of a text, "long" for those that are too long.
func Lines(text string, most int) []string {
	var out []string
	for r := newLineReader(strings.NewReader(text), most); ; {
		l, err := r.next()
		switch {
		case err != nil:
			return out
		case l.tooLong():
			out = append(out, "long")
		default:
			out = append(out, string(l.text))
		}
	}
}

// Events returns what is passed on of a stream that answers the call with the
// id, read in lines of at most the length.
func Events(from io.Reader, id string, most int) string {
	e := &events{lines: newLineReader(from, most), id: json.RawMessage(id), noise: func([]byte) error { return nil }}
	out, _ := io.ReadAll(e)
	return string(out)
}

func Clean(s string) string { return cleanLines(s) }

func Text(r *sdk.CallToolResult) tool.Result { return text(r) }

func ReadSchema(data []byte) (json.RawMessage, string, error) {
	var sent any
	if err := json.Unmarshal(data, &sent); err != nil {
		return nil, "", err
	}
	return readSchema(sent)
}
