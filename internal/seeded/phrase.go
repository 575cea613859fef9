package seeded

import (
	"cmp"
	"embed"
	"fmt"
	"math/rand/v2"
	"strings"
)

//go:embed *.txt
var files embed.FS

// A Phrase is a template of a rule that a user states. A correction has two
// texts, the statement that it replaces first.
type Phrase struct {
	Family, Language string
	Texts            []string
}

// Small is a template of a message that states no rule.
type Small struct{ Language, Text string }

// A Wording is a set of phrasings that are used together.
type Wording struct {
	// Name is the name of the set of rules.
	Name string
	// Phrases state rules, Chatter does not.
	Phrases []Phrase
	Chatter []Small
}

// Read returns the rules of a set among the small talk of another; an empty
// talk means the set's own. The sets are dev, which the classifier was tuned
// with, heldout, and blind1 and on.
func Read(set, talk string) (Wording, error) {
	return ReadWording(set, set+".txt", "chatter_"+cmp.Or(talk, set)+".txt")
}

// Sets lists the sets of rules by name, sorted.
func Sets() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // the files are part of the program
	}
	var out []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".txt"); !strings.HasPrefix(name, "chatter_") {
			out = append(out, name)
		}
	}
	return out
}

// ReadWording reads a set from two of the embedded files.
func ReadWording(name, phraseFile, chatterFile string) (Wording, error) {
	data, err := files.ReadFile(phraseFile)
	if err != nil {
		return Wording{Name: name}, err
	}
	return Parse(name, string(data), chatterFile)
}

// Parse reads a set from a text in the form of the embedded files, and its
// small talk from one of them.
func Parse(name, rules, chatterFile string) (Wording, error) {
	w := Wording{Name: name}
	for _, l := range textLines(rules) {
		f := strings.Split(l, "\t")
		if len(f) != 3 {
			return w, fmt.Errorf("read set %s: %q has %d fields", name, l, len(f))
		}
		w.Phrases = append(w.Phrases, Phrase{f[0], f[1], strings.Split(f[2], " || ")})
	}
	lines, err := readLines(chatterFile)
	if err != nil {
		return w, err
	}
	for _, l := range lines {
		language, text, ok := strings.Cut(l, "\t")
		if !ok {
			return w, fmt.Errorf("read %s: %q has one field", chatterFile, l)
		}
		w.Chatter = append(w.Chatter, Small{language, strings.ReplaceAll(text, `\n`, "\n")})
	}
	return w, nil
}

func readLines(name string) ([]string, error) {
	data, err := files.ReadFile(name)
	return textLines(string(data)), err
}

// textLines returns the lines of a text without comments and empty ones.
func textLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// Fill puts fresh values into a template and returns the text and the words
// that must be kept: what stands in brackets.
func Fill(r *rand.Rand, template string) (text string, keys []string) {
	return finish(fillSlots(r, template, nil))
}

// fillPair fills both texts of a correction. The name of the subject ({id}) is
// the same in both; everything else is fresh.
func fillPair(r *rand.Rand, texts []string) (first, second string, keys []string) {
	id := identifier(r)
	first, _ = finish(fillSlots(r, texts[0], map[string]string{"id": id}))
	second, keys = finish(fillSlots(r, texts[1], map[string]string{"id": id}))
	return first, second, keys
}

func fillSlots(r *rand.Rand, template string, fixed map[string]string) string {
	var b strings.Builder
	for template != "" {
		i := strings.IndexByte(template, '{')
		if i < 0 {
			b.WriteString(template)
			break
		}
		b.WriteString(template[:i])
		name, rest, _ := strings.Cut(template[i+1:], "}")
		value, ok := fixed[name]
		if !ok {
			value = slot(r, name)
		}
		b.WriteString(value)
		template = rest
	}
	return b.String()
}

func finish(text string) (string, []string) {
	var b strings.Builder
	var keys []string
	for text != "" {
		before, rest, ok := strings.Cut(text, "[")
		b.WriteString(before)
		if !ok {
			break
		}
		key, after, _ := strings.Cut(rest, "]")
		b.WriteString(key)
		keys = append(keys, key)
		text = after
	}
	return b.String(), keys
}

func slot(r *rand.Rand, name string) string {
	switch name {
	case "path":
		return pathName(r)
	case "id":
		return identifier(r)
	case "lib":
		return pick(r, libraries) + pick(r, []string{"", "kit", "-go", "js", "x", "-core", "2"})
	case "n":
		return fmt.Sprint(11 + r.IntN(88)*pick(r, []int{1, 1, 1, 10}))
	case "log":
		return pastedLog(r)
	}
	return name
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

var nouns = strings.Fields("invoice ledger widget parser harbor cobalt falcon meadow orbit payroll ticket voucher sensor gateway mirror quartz " +
	"beacon canyon drift ember fjord glacier hollow island juniper kernel lantern marble nectar onyx pebble quiver ribbon saddle timber umbra " +
	"velvet walnut xylem yonder zephyr account basket cursor digest engine filter garden handler index journal keeper loader matrix notifier")

var libraries = strings.Fields("zod pydantic sqlx gorm chi echo axum tokio rayon lodash ramda moment dayjs jest vitest mocha pytest hypothesis " +
	"celery redis nats kafka bolt badger prisma drizzle knex alembic flask quart django rails sinatra phoenix ecto plug cobra viper zap slog")

func identifier(r *rand.Rand) string {
	a, b := pick(r, nouns), pick(r, nouns)
	switch r.IntN(4) {
	case 0:
		return a + "_" + b
	case 1:
		return a + "-" + b
	case 2:
		return a + strings.ToUpper(b[:1]) + b[1:]
	}
	return strings.ToUpper(a[:1]) + a[1:] + strings.ToUpper(b[:1]) + b[1:]
}

func pathName(r *rand.Rand) string {
	dir := pick(r, []string{"src/", "pkg/", "internal/", "lib/", "app/", "", "docs/"}) + pick(r, nouns)
	return dir + "/" + pick(r, nouns) + pick(r, []string{".go", ".py", ".ts", ".rs", ".md", ".yaml", "_test.go", "", "/"})
}
