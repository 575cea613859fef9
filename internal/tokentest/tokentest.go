// Package tokentest holds what the tests and benchmarks of the token counters
// share: reference implementations, texts of many kinds, and the suite that
// compares a counter with its reference.
//
// Only tests and benchmarks import it, so that the foreign modules it uses
// stay out of the library.
package tokentest

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/tokenizer"
)

// TB is what the functions here use of testing.TB, so that a program can stand
// in for a test.
type TB interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}

// A Reference counts tokens slowly and surely.
type Reference func(text string) int

// referenceBytes bounds the texts for a Reference: it is quadratic in a piece.
const referenceBytes = 1 << 12

// effort multiplies the amount of text that a suite compares: FORGE_SOAK=1
// asks for a long run.
func effort() int {
	if os.Getenv("FORGE_SOAK") != "" {
		return 50
	}
	return 1
}

// Suite compares a counter with its reference on texts of every kind, on the
// tokens of its vocabulary in random order, on property-generated text, on Go
// source, and on the shared session files if FORGE_CORPUS names them: on all
// of them, or with -short on an eighth.
func Suite(t *testing.T, counter tokenizer.Counter, reference Reference, mergeFile []byte) {
	t.Run("kinds", func(t *testing.T) { compareKinds(t, counter, reference) })
	t.Run("tokens", func(t *testing.T) { compareTokens(t, counter, reference, mergeFile) })
	t.Run("property", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			Compare(rt, counter, reference, Text().Draw(rt, "text"))
		})
	})
	t.Run("go source", func(t *testing.T) {
		for _, text := range GoSource(t, effort()<<16) {
			Compare(t, counter, reference, text)
		}
	})
	t.Run("corpus", func(t *testing.T) {
		part := 0
		for path, text := range Corpus(t) {
			if part++; testing.Short() && part%8 != 0 {
				continue // an eighth, for runs under the race detector
			}
			compareParts(t, counter, reference, path, text)
		}
	})
}

func compareKinds(t *testing.T, counter tokenizer.Counter, reference Reference) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			for range 60 * effort() {
				Compare(t, counter, reference, kind.Make(random, random.IntN(60)))
			}
			for range effort() {
				Compare(t, counter, reference, kind.Make(random, referenceBytes))
			}
		})
	}
}

// compareTokens compares texts made of tokens, where every merge competes with
// others, first those of one alphabet and then all.
func compareTokens(t *testing.T, counter tokenizer.Counter, reference Reference, mergeFile []byte) {
	tokens := slices.Sorted(maps.Keys(Ranks(string(mergeFile))))
	random := rand.New(rand.NewPCG(16, 17))
	for _, token := range tokens {
		if random.IntN(20) == 0 {
			Compare(t, counter, reference, token)
		}
	}
	for range 1000 * effort() {
		var text strings.Builder
		start := random.IntN(len(tokens)) // neighbours in the list look alike
		for range 1 + random.IntN(12) {
			text.WriteString(tokens[min(start+random.IntN(2000), len(tokens)-1)])
		}
		text.WriteString(tokens[random.IntN(len(tokens))])
		text.WriteString(tokens[random.IntN(len(tokens))])
		Compare(t, counter, reference, text.String())
	}
}

// compareParts compares a file whole and, where its count is wrong, by line,
// so that the message names a place in the file.
func compareParts(t *testing.T, counter tokenizer.Counter, reference Reference, path, text string) {
	if got, want := counter.Count(text), reference(text); got != want {
		t.Errorf("%s: counted %d tokens, want %d", path, got, want)
		lineNumber := 0
		for line := range strings.Lines(text) {
			lineNumber++
			if got, want := counter.Count(line), reference(line); got != want {
				t.Fatalf("%s:%d: counted %d tokens, want %d", path, lineNumber, got, want)
			}
		}
	}
}

// An errorer is the part of testing.TB and rapid.T that Compare uses.
type errorer interface {
	Helper()
	Errorf(format string, args ...any)
}

// Compare reports a text that a counter and its reference count differently.
func Compare(t errorer, counter tokenizer.Counter, reference Reference, text string) {
	t.Helper()
	if got, want := counter.Count(text), reference(text); got != want {
		t.Errorf("Count of %d bytes = %d, want %d: %s", len(text), got, want, shorten(text))
	}
}

func shorten(text string) string {
	quoted := strconv.Quote(text)
	if len(quoted) > 400 {
		return quoted[:400] + "…"
	}
	return quoted
}

// MixedTexts returns mixed agent text of about size bytes: half of it strings
// of 64 bytes and more from the shared session files, if FORGE_CORPUS names
// them, and the rest Go source. Equal strings are taken once.
func MixedTexts(tb TB, size int) []string {
	tb.Helper()
	var texts []string
	left := size
	if os.Getenv("FORGE_CORPUS") != "" {
		left = size / 2
		for text := range CorpusTexts(tb) {
			if len(text) < 64 || len(text) >= 1<<19 {
				continue // the files themselves, and what is mostly call overhead
			}
			if left -= len(text); left < 0 {
				break
			}
			texts = append(texts, text)
		}
		left = max(left, 0) + size/2
	}
	return append(texts, GoSource(tb, left)...)
}

// Corpus yields the shared session files by path, those above 1 MB in parts
// that end at a line. It skips the test if FORGE_CORPUS is unset.
func Corpus(t TB) func(yield func(path, text string) bool) {
	dir := os.Getenv("FORGE_CORPUS")
	if dir == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	return func(yield func(path, text string) bool) {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for part := range Parts(string(content), 1<<20) {
				if !yield(path, part) {
					return fs.SkipAll
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Parts yields a text in parts of about size bytes that end at a line end, or
// at a rune if a line is longer.
func Parts(text string, size int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > size {
			end := strings.LastIndexByte(text[:size], '\n') + 1
			if end == 0 {
				for end = size; end > size-utf8.UTFMax && !utf8.RuneStart(text[end]); end-- {
				}
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
		if text != "" {
			yield(text)
		}
	}
}

// Fuzz compares a counter with its reference on fuzzed text.
func Fuzz(f *testing.F, counter tokenizer.Counter, reference Reference) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, kind := range Kinds() {
		f.Add(kind.Make(random, 40))
	}
	f.Fuzz(func(t *testing.T, text string) {
		Compare(t, counter, reference, text[:min(len(text), referenceBytes)])
	})
}

// CorpusTexts yields every different string inside the shared session files,
// which is what a counter is given in practice, and the files themselves. It
// skips the test if FORGE_CORPUS is unset.
func CorpusTexts(t TB) func(yield func(string) bool) {
	files := Corpus(t)
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		next := func(text string) bool {
			if text == "" || seen[text] {
				return true
			}
			seen[text] = true
			return yield(text)
		}
		for _, file := range files {
			if !next(file) {
				return
			}
			decoder := json.NewDecoder(strings.NewReader(file))
			for {
				var value any
				if decoder.Decode(&value) != nil {
					break // the end, or a part that begins or ends inside a value
				}
				if !eachString(value, next) {
					return
				}
			}
		}
	}
}

func eachString(value any, next func(string) bool) bool {
	switch value := value.(type) {
	case string:
		return next(value)
	case []any:
		for _, element := range value {
			if !eachString(element, next) {
				return false
			}
		}
	case map[string]any:
		for _, element := range value {
			if !eachString(element, next) {
				return false
			}
		}
	}
	return true
}

// CheckAllocations checks that a counter allocates nothing for a text of a
// length and a kind that it has met.
func CheckAllocations(t *testing.T, counter tokenizer.Counter) {
	t.Helper()
	random := rand.New(rand.NewPCG(18, 19))
	for _, kind := range slices.Concat(Kinds(), Hostile()) {
		text := kind.Make(random, 20_000)
		counter.Count(text)
		if allocations := testing.AllocsPerRun(2, func() { counter.Count(text) }); allocations != 0 {
			t.Errorf("%s: %v allocations per count, want none", kind.Name, allocations)
		}
	}
}
