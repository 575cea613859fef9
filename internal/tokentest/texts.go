package tokentest

import (
	"encoding/base64"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"pgregory.net/rapid"
)

// A Kind makes texts of one kind, of about size bytes.
type Kind struct {
	Name string
	Make func(random *rand.Rand, size int) string
}

// Kinds returns every kind of text that the counters are compared on.
func Kinds() []Kind {
	return []Kind{
		{"code", pieces(codeWords)},
		{"json", pieces(jsonWords)},
		{"command output", pieces(outputWords)},
		{"diff", pieces(diffWords)},
		{"prose", pieces(proseWords)},
		{"contractions", pieces(contractionWords)},
		{"camel case", pieces(caseWords)},
		{"whitespace", pieces(spaceWords)},
		{"line ends", pieces(lineEndWords)},
		{"ASCII soup", randomRunes(runeRange{0, 0x7f})},
		{"printable soup", randomRunes(runeRange{' ', '~'})},
		{"Latin soup", randomRunes(runeRange{0x20, 0x24f})},
		{"Unicode soup", randomRunes(runeRange{0, 0x10ffff})},
		{"plane 0 soup", randomRunes(runeRange{0, 0xffff})},
		{"Chinese", randomRunes(runeRange{0x4e00, 0x9fff})},
		{"Japanese", randomRunes(runeRange{0x3041, 0x30ff}, runeRange{0x4e00, 0x9fa5}, runeRange{'a', 'z'})},
		{"Korean", randomRunes(runeRange{0xac00, 0xd7a3}, runeRange{' ', ' '})},
		{"jamo", randomRunes(runeRange{0x1100, 0x11ff}, runeRange{0xac00, 0xac20})},
		{"mixed scripts", pieces(scriptWords)},
		{"marks", randomRunes(runeRange{0x300, 0x36f}, runeRange{'a', 'z'}, runeRange{' ', '.'})},
		{"titles and modifiers", pieces(titleWords)},
		{"numbers", pieces(numberWords)},
		{"emoji", pieces(emojiWords)},
		{"composition", pieces(compositionWords)},
		{"bad bytes", badBytes},
		{"bad bytes in words", pieces(badWords)},
		{"base64", base64Text},
		{"hex", hexText},
		{"one letter", repeated},
		{"boundaries", pieces(boundaryWords)},
	}
}

var (
	codeWords = []string{"func ", "if err != nil {\n", "\treturn ", "}\n", "x := ", "foo", "Bar", "HTTPServer", "getURL", "(", ")", "();", " == ", "// ", "/* ", "*/\n",
		"\"string\"", "'c'", "\n\n", "\n\t\t", "    ", "1234", "0xFF", "[]", "{}", "_name", "__init__", ".method", "->", "=>", "::", "&&", "//\n//\n", "#!/bin/sh\n"}
	jsonWords    = []string{"{", "}", "[", "]", "\"key\":", "\"value\"", ",", ":", "\\n", "\\\"", "\\u00e9", "true", "null", "-12.5e3", "0", " ", "\n  ", "\"\"", "[[", "}}", "\":{\""}
	outputWords  = []string{"2026-11-30T12:00:00Z ", "INFO ", "[main] ", "/usr/lib/go", "--- PASS: ", "(0.00s)\n", "ok  \t", "0x7ffd", "\x1b[31m", "\x1b[0m", "\r\n", "\r", "....", "=====", "|", "+---+", "12%", "\t", "key=value ", "10.0.0.1:80", "-rw-r--r-- 1 root root 4096 "}
	diffWords    = []string{"@@ -1,3 +1,4 @@\n", "+", "-", " ", "+\n", "-\n", " \n", "\n \n", "+\tfoo()\n", "-\tbar()\n", "diff --git a/x b/x\n", "index 0123abc..89ef\n"}
	proseWords   = []string{"the ", "The ", "quick ", "brown ", "fox", ", ", ". ", "It's ", "don't ", "\n\n", "– ", "“quoted” ", "naïve ", "café ", "e.g. ", "U.S.A. ", "# Title\n", "- item\n", "* ", "**bold** ", "`code` "}
	contractions = []string{"'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'lL", "'d", "'", "'x", "'\u017f", "''"}
	// A contraction after every kind of character and before every kind.
	contractionWords = append([]string{"a", "A", "b", " ", "1", ".", "\n", "é", "中", "\u0301", "ʰ"}, contractions...)
	caseWords        = []string{"a", "B", "c", "D", "é", "É", "ß", "Ǆ", "ǅ", "ʰ", "中", "\u0301", "ab", "CD", " ", "_", "1", "'s", "."}
	spaceWords       = []string{" ", "  ", "    ", "\t", "\n", "\r\n", "\r", "\v", "\f", "\u00a0", "\u0085", "\u2028", "\u3000", "\u200b", "\ufeff", "a", "1", ".", "中"}
	lineEndWords     = []string{"\n", "\r", "\r\n", " \n", "\n ", "/\n", "/", "//", ".\n", ".", "a", " ", "\t", "\n/"}
	scriptWords      = []string{"hello", "привет", "ПРИВЕТ", "Привет", "γειά", "Γειά", "שלום", "مرحبا", "สวัสดี", "नमस्ते", "வணக்கம்", "こんにちは", "カタカナ", "你好", "안녕", "ქართული", "ﬁ", "Ａｂｃ", "𝒳𝓎", "𐐀𐐨", " ", "1", "٣", "४", "."}
	titleWords       = []string{"ǅ", "ǈ", "ᾈ", "ʰ", "ʲ", "ˈ", "ª", "º", "中", "ー", "々", "\u0301", "\u0900", "\u20dd", "A", "a", " ", ".", "'s"}
	numberWords      = []string{"0", "1", "12", "123", "1234", "1234567890", "½", "Ⅷ", "²", "٣", "४", "一", " ", ".", ",", "a", "-", "१२३४"}
	emojiWords       = []string{"😀", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "✅", "❌", "⚠️", "☃", "\ufe0f", "\u200d", " ", "a", "\n", "→", "…", "█", "│", "╭"}
	compositionWords = []string{"e\u0301", "é", "a\u0323\u0307", "a\u0307\u0323", "\u0344", "\u0958", "\u1100\u1161\u11a8", "가\u11a8", "\u212b", "\uf900", "\U0001d15e", "\U0002f800", "\u0340", "\ufb1d", "\u2126", "\u1e9b\u0323", "a", " ", "\u0301", "\u0f73"}
	badWords         = []string{"\xff", "\x80", "\xc3", "\xe4\xb8", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\ufffd", "a", "word", " ", "\n", "1", "é", "中", "."}
	boundaryWords    = []string{"a", "B", "1", " ", "\n", "\r", "\t", "/", ".", "'", "'s", "é", "É", "中", "\u0301", "²", "\u00a0", "\x7f", "\x00", "ſ", "ʰ", "ǅ", "😀", "\xff", "\u0085", "(", "<|endoftext|>"}
)

// pieces joins random members of a list.
func pieces(list []string) func(*rand.Rand, int) string {
	return func(random *rand.Rand, size int) string {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(list[random.IntN(len(list))])
		}
		return b.String()
	}
}

type runeRange struct{ first, last rune }

func randomRunes(ranges ...runeRange) func(*rand.Rand, int) string {
	return func(random *rand.Rand, size int) string {
		var b strings.Builder
		for b.Len() < size {
			r := ranges[random.IntN(len(ranges))]
			b.WriteRune(r.first + rune(random.IntN(int(r.last-r.first+1))))
		}
		return b.String()
	}
}

func randomBytes(random *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(random.UintN(256))
	}
	return b
}

func badBytes(random *rand.Rand, size int) string { return string(randomBytes(random, size)) }

func base64Text(random *rand.Rand, size int) string {
	return base64.StdEncoding.EncodeToString(randomBytes(random, size*3/4))
}

func hexText(random *rand.Rand, size int) string {
	return fmt.Sprintf("%x", randomBytes(random, size/2))
}

func repeated(random *rand.Rand, size int) string {
	unit := []string{"a", "A", "=", " ", "\n", "ab", "é", "中", "\xff", "\u0301", "_", "-", "0", "\t", "aB"}
	return strings.Repeat(unit[random.IntN(len(unit))], size)
}

// Text generates texts for property tests: words of any kind above, single
// characters that the patterns treat specially, any rune and any byte.
func Text() *rapid.Generator[string] {
	var words []string
	for _, list := range [][]string{codeWords, jsonWords, outputWords, diffWords, proseWords, contractionWords, caseWords, spaceWords, lineEndWords, scriptWords, titleWords, numberWords, emojiWords, compositionWords, badWords, boundaryWords} {
		words = append(words, list...)
	}
	part := rapid.OneOf(
		rapid.SampledFrom(words),
		rapid.SampledFrom(boundaryWords),
		rapid.StringN(0, 6, -1),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")) }),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), "")
	})
}

// GoSource returns Go source files of the standard library, whole, up to a
// number of bytes. They are there wherever Go is.
func GoSource(tb TB, size int) []string {
	tb.Helper()
	var texts []string
	for _, folder := range []string{"net/http", "go/types", "unicode", "encoding/json", "strconv", "testing", "fmt", "os", "crypto/x509", "html", "runtime", "cmd/go/internal/*", "cmd/compile/internal/*"} {
		paths, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(folder), "*.go"))
		if err != nil {
			tb.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			if size -= len(content); size < 0 {
				return texts
			}
			texts = append(texts, string(content))
		}
	}
	return texts
}

// Hostile returns kinds of text that counters have been slow on, and those of
// [Kinds] that have long pieces.
func Hostile() []Kind {
	one := func(unit string) func(*rand.Rand, int) string {
		return func(_ *rand.Rand, size int) string { return strings.Repeat(unit, size/len(unit)) }
	}
	lower := runeRange{'a', 'z'}
	return []Kind{
		{"one letter", one("a")},
		{"one capital", one("A")},
		{"two letters", one("ab")},
		{"spaces", one(" ")},
		{"tabs", one("\t")},
		{"newlines", one("\n")},
		{"line ends with spaces", one("\n ")},
		{"equals", one("=")},
		{"dashes", one("-")},
		{"underscores", one("_")},
		{"slashes and newlines", one("/\n")},
		{"apostrophes", one("'")},
		{"contractions", one("'s")},
		{"one digit", one("0")},
		{"random digits", randomRunes(runeRange{'0', '9'})},
		{"random letters", randomRunes(lower)},
		{"random capitals", randomRunes(runeRange{'A', 'Z'})},
		{"random case", randomRunes(lower, runeRange{'A', 'Z'})},
		{"random symbols", randomRunes(runeRange{'!', '/'}, runeRange{':', '@'})},
		{"random ASCII", randomRunes(runeRange{0, 0x7f})},
		{"random printable", randomRunes(runeRange{' ', '~'})},
		{"one Han", one("中")},
		{"random Han", randomRunes(runeRange{0x4e00, 0x9fff})},
		{"random Hangul", randomRunes(runeRange{0xac00, 0xd7a3})},
		{"random Thai", randomRunes(runeRange{0xe01, 0xe3a})},
		{"random Cyrillic", randomRunes(runeRange{0x430, 0x44f})},
		{"random Latin", randomRunes(runeRange{0xc0, 0x24f})},
		{"random marks", randomRunes(runeRange{0x300, 0x36f})},
		{"random Unicode", randomRunes(runeRange{0, 0x10ffff})},
		{"random plane 0", randomRunes(runeRange{0x80, 0xffff})},
		{"one emoji", one("😀")},
		{"random emoji", randomRunes(runeRange{0x1f300, 0x1f64f})},
		{"alternating scripts", one("aЖ中ب한ก")},
		{"alternating case", one("aB")},
		{"one bad byte", one("\xff")},
		{"random bytes", badBytes},
		{"cut runes", one("\xe4\xb8")},
		{"combining", one("e\u0301\u0323")},
		{"base64", base64Text},
		{"hex", hexText},
		{"modifier letters", one("ʰA")},
	}
}
