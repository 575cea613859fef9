package hfjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/hfjson"
)

// The pre-tokenizers as the files of the models write them.
const (
	cl100kSplit   = `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}`
	qwen2Split    = `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]}`
	o200kSplit    = `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}`
	deepSeekSplit = "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{N}{1,3}\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[一-龥぀-ゟ゠-ヿ]+\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[!\\\"#$%&'()*+,\\\\-./:;<=>?@\\\\[\\\\\\\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\\\p{L}\\\\p{P}\\\\p{S}]?[\\\\p{L}\\\\p{M}]+| ?[\\\\p{P}\\\\p{S}]+[\\r\\n]*|\\\\s*[\\r\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false}]}"
)

// A file is a tokenizer.json in the making.
type file struct {
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	Model        fileModel       `json:"model"`
}

type fileModel struct {
	Type         string         `json:"type"`
	IgnoreMerges bool           `json:"ignore_merges"`
	ByteFallback bool           `json:"byte_fallback"`
	Dropout      *float64       `json:"dropout"`
	Suffix       string         `json:"end_of_word_suffix"`
	Vocab        map[string]int `json:"vocab"`
	Merges       []any          `json:"merges"`
}

// newFile writes a vocabulary as a tokenizer.json. Its merges are one for each
// token, or with everySplit each way in which a token is made of two others,
// as the conversion from OpenAI's format writes them.
func newFile(mergeFile []byte, split string, joined, everySplit bool) *file {
	const recordBytes = 6
	tokens := make([]string, 0, 256+len(mergeFile)/recordBytes)
	numbers := map[string]int{}
	add := func(token string) {
		numbers[token] = len(tokens)
		tokens = append(tokens, token)
	}
	for _, r := range byteRunes() {
		add(string(r))
	}
	merges := []any{}
	merge := func(left, right string) {
		if joined {
			merges = append(merges, left+" "+right)
			return
		}
		merges = append(merges, []string{left, right})
	}
	for record := mergeFile; len(record) > 0; record = record[recordBytes:] {
		left := tokens[int(record[0])|int(record[1])<<8|int(record[2])<<16]
		right := tokens[int(record[3])|int(record[4])<<8|int(record[5])<<16]
		add(left + right)
		if !everySplit {
			merge(left, right)
			continue
		}
		for i := range left + right {
			l, okLeft := numbers[(left + right)[:i]]
			r, okRight := numbers[(left + right)[i:]]
			if okLeft && okRight {
				merge(tokens[l], tokens[r])
			}
		}
	}
	return &file{
		PreTokenizer: json.RawMessage(split),
		Model:        fileModel{Type: "BPE", Vocab: numbers, Merges: merges},
	}
}

func byteRunes() []rune {
	var runes []rune
	next := rune(0x100)
	for b := range rune(256) {
		if b > ' ' && b < 0x7f || b > 0xa0 && b != 0xad {
			runes = append(runes, b)
			continue
		}
		runes = append(runes, next)
		next++
	}
	return runes
}

func (f *file) read(t tokentest.TB) (*bpe.Vocabulary, error) {
	t.Helper()
	content, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return hfjson.Read(strings.NewReader(string(content)), "test")
}

// head returns the first merges of a vocabulary: enough to count differently
// from another, and quick to write as JSON.
func head(t tokentest.TB, path string) []byte {
	const merges, recordBytes = 12_000, 6
	return tokentest.ReadFile(t, path)[:merges*recordBytes]
}

func TestRead(t *testing.T) {
	nfc := json.RawMessage(`{"type":"NFC"}`)
	tests := []struct {
		name               string
		merges             string
		split              string
		normalizer         json.RawMessage
		joined, everySplit bool
		want               bpe.Definition
	}{
		{"Qwen 3", "../qwen3/qwen3.merges", qwen2Split, nfc, false, false, bpe.Definition{Pattern: bpe.PatternQwen2, NFC: true}},
		{"Qwen 3, older form", "../qwen3/qwen3.merges", qwen2Split, json.RawMessage(`{"type":"Sequence","normalizers":[{"type":"NFC"}]}`), true, false, bpe.Definition{Pattern: bpe.PatternQwen2, NFC: true}},
		{"cl100k as Llama 3 writes it", "../cl100k/cl100k.merges", cl100kSplit, nil, false, true, bpe.Definition{Pattern: bpe.PatternCL100K}},
		{"o200k as gpt-oss writes it", "../o200k/o200k.merges", o200kSplit, nil, false, false, bpe.Definition{Pattern: bpe.PatternO200K}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			merges := head(t, test.merges)
			f := newFile(merges, test.split, test.joined, test.everySplit)
			f.Normalizer = test.normalizer
			f.Model.IgnoreMerges = test.everySplit
			v, err := f.read(t)
			if err != nil {
				t.Fatal(err)
			}
			counter := bpe.NewCounter(v)
			if counter.Name() != "test" {
				t.Errorf("name = %q", counter.Name())
			}
			test.want.MergeFile = string(merges)
			direct, err := bpe.NewVocabulary(test.want)
			if err != nil {
				t.Fatal(err)
			}
			want := bpe.NewCounter(direct)
			random := rand.New(rand.NewPCG(22, 23))
			for _, kind := range tokentest.Kinds() {
				for _, size := range []int{5, 50, 500, 30_000} {
					tokentest.Compare(t, counter, want.Count, kind.Make(random, size))
				}
			}
		})
	}
}

// DeepSeek V3 is read from its own file; what cuts its text is the pattern.
func TestReadDeepSeek(t *testing.T) {
	merges := head(t, "../qwen3/qwen3.merges")
	f := newFile(merges, deepSeekSplit, true, false)
	f.Normalizer = json.RawMessage(`{"type":"Sequence","normalizers":[]}`)
	v, err := f.read(t)
	if err != nil {
		t.Fatal(err)
	}
	counter, reference := bpe.NewCounter(v), tokentest.DeepSeek(t, string(merges))
	random := rand.New(rand.NewPCG(24, 25))
	for _, kind := range tokentest.Kinds() {
		for range 20 {
			tokentest.Compare(t, counter, reference, kind.Make(random, 80))
		}
	}
}

// With ignore_merges a piece that is a token is one, whatever its merges give.
func TestIgnoreMerges(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		f := newFile(nil, cl100kSplit, false, false)
		f.Model.Vocab["Ġlong"] = 256
		f.Model.Vocab["ï¿½"] = 257 // U+FFFD
		f.Model.IgnoreMerges = ignore
		v, err := f.read(t)
		if err != nil {
			t.Fatal(err)
		}
		for text, bytes := range map[string]int{" long": 5, "\ufffd": 3, "\xff": 3} {
			want := bytes
			if ignore {
				want = 1
			}
			if got := bpe.NewCounter(v).Count(text); got != want {
				t.Errorf("ignore_merges %v: Count(%q) = %d, want %d", ignore, text, got, want)
			}
		}
	}
}

func TestReadRefuses(t *testing.T) {
	half := 0.5
	edit := func(change func(f *file)) string {
		f := newFile([]byte("a\x00\x00b\x00\x00"), cl100kSplit, false, false)
		change(f)
		content, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	split := func(s string) string {
		return edit(func(f *file) { f.PreTokenizer = json.RawMessage(s) })
	}
	many := `{"model":{"type":"BPE","vocab":{` + strings.Repeat(`"a":1,`, 1<<10) + `"b":1},"merges":[`
	tests := []struct{ name, content, want string }{
		{"empty", "", "unexpected end"},
		{"cut", edit(func(*file) {})[:2000], "unexpected end"},
		{"not JSON", "merges", "invalid character"},
		{"null", "null", "no BPE model"},
		{"another file", `{"name":"x"}`, "no BPE model"},
		{"model is a list", `{"model":[]}`, "cannot unmarshal"},
		{"deep", `{"normalizer":` + strings.Repeat(`{"type":"Sequence","normalizers":[`, 20_000), "exceeded max depth"},
		{"Unigram", `{"model":{"type":"Unigram","vocab":[["a",-1.5]]}}`, "list with scores"},
		{"WordPiece", `{"model":{"type":"WordPiece","vocab":{"a":1}}}`, "the model is WordPiece"},
		{"vocabulary is a string", `{"model":{"type":"BPE","vocab":"a"}}`, "not an object"},
		{"token without a number", `{"model":{"type":"BPE","vocab":{"a":"b"}}}`, "no number"},
		{"token with a list", `{"model":{"type":"BPE","vocab":{"a":[1]}}}`, "no number"},
		{"merges are a number", `{"model":{"type":"BPE","merges":1}}`, "not a list"},
		{"merge is a number", many + `1]}}`, "merge 0: it is neither"},
		{"merge of one", many + `["a"]]}}`, "not a pair"},
		{"merge of three", many + `["a","b","c"]]}}`, "not a pair"},
		{"merge of numbers", many + `[1,2]]}}`, "not a pair"},
		{"merge without a space", many + `"ab"]}}`, "not two tokens"},
		{"merge with two spaces", many + `"a b c"]}}`, "not two tokens"},
		{"too many merges", many + strings.Repeat(`"a b",`, 1<<20) + `"a b"]}}`, "more than 1048576 merges"},
		{"byte missing", edit(func(f *file) { delete(f.Model.Vocab, "z") }), "no token for byte 0x7a"},
		{"no vocabulary", edit(func(f *file) { f.Model.Vocab = map[string]int{} }), "vocabulary is empty"},
		{"byte fallback with bytes", edit(func(f *file) { f.Model.ByteFallback = true }), "others are not known"},
		{"dropout", edit(func(f *file) { f.Model.Dropout = &half }), "at random"},
		{"suffix", edit(func(f *file) { f.Model.Suffix = "</w>" }), "parts of words"},
		{"result not a token", edit(func(f *file) { delete(f.Model.Vocab, "ab") }), "not in the vocabulary"},
		{"unknown part", edit(func(f *file) {
			f.Model.Vocab["aXY"] = 300
			f.Model.Merges = append(f.Model.Merges, "a XY")
		}), "which the text cannot be made of"},
		{"merge makes a byte", edit(func(f *file) { f.Model.Merges = append(f.Model.Merges, []string{"a", ""}) }), "which is a byte"},
		{"normalizer", edit(func(f *file) { f.Normalizer = json.RawMessage(`{"type":"Lowercase"}`) }), `normalizer "Lowercase"`},
		{"normalizer in a sequence", edit(func(f *file) {
			f.Normalizer = json.RawMessage(`{"type":"Sequence","normalizers":[{"type":"NFKC"}]}`)
		}), `normalizer "NFKC"`},
		{"no pre-tokenizer", split(`null`), "no pre-tokenizer"},
		{"other pre-tokenizer", split(`{"type":"Metaspace"}`), `"Metaspace" is not known`},
		{"no byte level", split(`{"type":"Sequence","pretokenizers":[]}`), "no ByteLevel"},
		{"GPT-2", split(`{"type":"ByteLevel","add_prefix_space":false}`), "pattern of GPT-2"},
		{"prefix space", split(`{"type":"ByteLevel","add_prefix_space":true,"use_regex":false}`), "adds a space"},
		{"no split", split(`{"type":"ByteLevel","use_regex":false}`), "pattern that is not known"},
		{"unknown split", split(strings.Replace(cl100kSplit, "{1,3}", "{1,4}", 1)), "pattern that is not known"},
		{"inverted split", split(strings.Replace(cl100kSplit, `"invert":false`, `"invert":true`, 1)), "not isolated"},
		{"removing split", split(strings.Replace(cl100kSplit, "Isolated", "Removed", 1)), "not isolated"},
		{"after byte level", split(strings.Replace(cl100kSplit, "]}", `,{"type":"Digits"}]}`, 1)), `"Digits" after ByteLevel`},
		{"string split", split(strings.Replace(cl100kSplit, `"Regex"`, `"String"`, 1)), "not isolated"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v, err := hfjson.Read(strings.NewReader(test.content), "test")
			if err == nil {
				t.Fatalf("no error, vocabulary %v", v)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
				t.Errorf("error is not one short line: %v", err)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	if _, err := hfjson.Read(iotest.ErrReader(broken), "test"); !errors.Is(err, broken) {
		t.Errorf("error = %v, want %v", err, broken)
	}
	endless := io.MultiReader(strings.NewReader(`{"model":"`), endlessReader{})
	if _, err := hfjson.Read(endless, "test"); err == nil || !strings.Contains(err.Error(), "larger than 64 MB") {
		t.Errorf("error = %v, want one about the size", err)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// What is read can count any text, whatever the file says.
func FuzzRead(f *testing.F) {
	small := newFile([]byte("a\x00\x00b\x00\x00\x00\x01\x00c\x00\x00"), cl100kSplit, false, false)
	small.Model.IgnoreMerges = true
	content, err := json.Marshal(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(content), "abc ab 中文 \xff")
	f.Add(`{"model":{"type":"BPE","vocab":{"a":1},"merges":["a b",["c","d"]]}}`, "x")
	content, err = json.Marshal(gemmaFile([]string{"a", "b"}, [][2]string{{"a", "b"}}, "\n\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(content), "ab a\n\n\nb")
	f.Fuzz(func(t *testing.T, content, text string) {
		v, err := hfjson.Read(strings.NewReader(content), "fuzz")
		if err != nil {
			return
		}
		counter := bpe.NewCounter(v)
		n := counter.Count(text)
		if bound := 12 * len(text); n < 0 || n > bound || n == 0 && text != "" {
			t.Errorf("Count of %d bytes = %d", len(text), n)
		}
		if again := counter.Count(text); again != n {
			t.Errorf("Count = %d, then %d", n, again)
		}
	})
}

func ExampleRead() {
	// A vocabulary of the bytes and one merge; a real one is a file.
	tokens := []string{`"ab":256`}
	for b, r := range byteRunes() {
		tokens = append(tokens, fmt.Sprintf("%q:%d", string(r), b))
	}
	slices.Sort(tokens)
	content := `{"model":{"type":"BPE","vocab":{` + strings.Join(tokens, ",") + `},"merges":["a b"]},
		"pre_tokenizer":` + cl100kSplit + `}`

	vocabulary, err := hfjson.Read(strings.NewReader(content), "tiny")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bpe.NewCounter(vocabulary).Count("abba"))
	// Output: 3
}
