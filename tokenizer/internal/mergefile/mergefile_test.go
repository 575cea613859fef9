package mergefile_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/internal/mergefile"
)

// The embedded vocabularies of OpenAI are the published ones.
func TestEmbeddedFiles(t *testing.T) {
	for folder, name := range map[string]string{"o200k": "o200k_base", "cl100k": "cl100k_base"} {
		t.Run(name, func(t *testing.T) {
			source := tokentest.TiktokenFile(t, name)
			recorded := tokentest.Checksum(t, "../../"+folder+"/SOURCE.md", "the source")
			if got := fmt.Sprintf("%x", sha256.Sum256(source)); got != recorded {
				t.Errorf("SHA-256 of the source = %s, SOURCE.md says %s", got, recorded)
			}
			converted, err := mergefile.FromTiktoken(source)
			if err != nil {
				t.Fatal(err)
			}
			if string(converted) != string(tokentest.ReadFile(t, "../../"+folder+"/"+folder+".merges")) {
				t.Errorf("%s.merges is not what the source converts to", folder)
			}
		})
	}
}

// tiktokenLines writes a vocabulary file of the 256 bytes and more tokens.
func tiktokenLines(tokens ...string) string {
	var b strings.Builder
	rank := 0
	line := func(token string) {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), rank)
		rank++
	}
	for v := range 256 {
		line(string([]byte{byte(v)}))
	}
	for _, token := range tokens {
		line(token)
	}
	return b.String()
}

func TestFromTiktoken(t *testing.T) {
	got, err := mergefile.FromTiktoken([]byte(tiktokenLines("ab", "bc", "abc")))
	if err != nil {
		t.Fatal(err)
	}
	want := []byte{'a', 0, 0, 'b', 0, 0, 'b', 0, 0, 'c', 0, 0, 0, 1, 0, 'c', 0, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merges differ (-want +got):\n%s", diff)
	}
}

func TestFromTiktokenRefuses(t *testing.T) {
	full := tiktokenLines()
	tests := []struct{ name, source, want string }{
		{"empty", "", "fewer than 256"},
		{"cut", full[:100], "rank"},
		{"not base64", "!!! 0\n", "decode token 0"},
		{"rank missing", "IQ==\n", "parse rank"},
		{"rank skipped", full + "YWI= 300\n", "rank 300 stands where 256 is due"},
		{"short token late", full + "YQ== 256\n", "has 1 bytes"},
		{"twice", tiktokenLines("ab", "ab"), "stands twice"},
		{"not reachable", tiktokenLines("abc"), "ends in 3 parts"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := mergefile.FromTiktoken([]byte(test.source))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestFromTokenizerJSON(t *testing.T) {
	for name, merges := range map[string]string{
		"pairs":  `[["a","b"],["Ġ","ab"]]`,
		"joined": `["a b","Ġ ab"]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := mergefile.FromTokenizerJSON([]byte(`{"model":{"type":"BPE","vocab":{"ab":256,"Ġab":257},"merges":` + merges + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			want := []byte{'a', 0, 0, 'b', 0, 0, ' ', 0, 0, 0, 1, 0}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("merges differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromTokenizerJSONRefuses(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"not JSON", "{", "parse"},
		{"not BPE", `{"model":{"type":"Unigram"}}`, `"Unigram", want BPE`},
		{"unknown part", `{"model":{"type":"BPE","merges":["ab c"]}}`, "no earlier merge makes"},
		{"twice", `{"model":{"type":"BPE","vocab":{"ab":1},"merges":["a b","a b"]}}`, "which an earlier merge makes"},
		{"not in the vocabulary", `{"model":{"type":"BPE","merges":["a b"]}}`, "not in the vocabulary"},
		{"no pair", `{"model":{"type":"BPE","merges":["ab"]}}`, "no space"},
		{"number", `{"model":{"type":"BPE","merges":[1]}}`, "merge 0: parse"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := mergefile.FromTokenizerJSON([]byte(test.source))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}
