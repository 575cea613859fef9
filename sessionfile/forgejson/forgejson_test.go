package forgejson_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/forgejson"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{forgejson.Format()}

// F-CKP-01: messages stay canonical, the checkpoint is derived.
func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

// A document that is cut keeps the messages that stand whole before the cut.
func TestCutAnywhere(t *testing.T) {
	importertest.CutDocument(t, importertest.Input(t, "v1.txtar"), formats)
}

// F-CKP-02, F-CKP-03: a checkpoint that breaks a rule is named and not used.
func TestInvalidCheckpoints(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	valid := map[string]string{"strategy": `"forge-summary"`, "provider": `"p"`, "summarizedThroughMessageIndex": "1",
		"retainedTailStartIndex": "1", "sourceMessageCount": "2", "summary": `"s"`, "sourceHash": `"` + hash + `"`}
	for _, test := range []struct {
		name   string
		change map[string]string
		valid  bool
	}{
		{"valid", nil, true},
		{"everything summarized", map[string]string{"summarizedThroughMessageIndex": "2", "retainedTailStartIndex": "2"}, true},
		{"no index", map[string]string{"retainedTailStartIndex": "null"}, false},
		{"hole", map[string]string{"retainedTailStartIndex": "2"}, false},
		{"negative", map[string]string{"summarizedThroughMessageIndex": "-1", "retainedTailStartIndex": "-1"}, false},
		{"beyond", map[string]string{"sourceMessageCount": "3"}, false},
		{"tail beyond its source", map[string]string{"sourceMessageCount": "0"}, false},
		{"both payloads", map[string]string{"opaqueProviderItem": "{}"}, false},
		{"no payload", map[string]string{"summary": "null"}, false},
		{"wrong payload", map[string]string{"strategy": `"provider-native"`}, false},
		{"unknown strategy", map[string]string{"strategy": `"magic"`}, false},
		{"bad hash", map[string]string{"sourceHash": `"12"`}, false},
		{"wrong type", map[string]string{"sourceMessageCount": `"2"`}, false},
	} {
		var members []string
		for key, value := range valid {
			if changed, ok := test.change[key]; ok {
				value = changed
			}
			members = append(members, fmt.Sprintf("%q:%s", key, value))
		}
		for key, value := range test.change {
			if _, known := valid[key]; !known {
				members = append(members, fmt.Sprintf("%q:%s", key, value))
			}
		}
		doc := `{"schemaVersion":2,"runIds":[],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"contextCheckpoint":{` +
			strings.Join(members, ",") + `}}`
		s, err := sessionfile.Read("in", []byte(doc), formats, nil)
		if err != nil {
			t.Fatal(err)
		}
		importertest.Check(t, s)
		if used := len(s.Marks) == 1; used != test.valid || used == (len(s.Losses) == 1) {
			t.Errorf("%s: used %v, losses %v", test.name, used, s.Losses)
		}
	}
}

func FuzzImport(f *testing.F) { importertest.Fuzz(f, formats) }
