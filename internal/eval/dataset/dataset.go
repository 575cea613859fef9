// Package dataset reads public sets of long conversations that a user has as
// files: BEAM, LoCoMo, PrefEval and MultiChallenge. Their licences keep them
// out of this repository.
//
// Of each it takes the conversations and what must be remembered of them: a
// statement with the message that makes it and the words that tell it apart.
// What a set asks for that no message states in such words is left out and
// counted.
package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/internal/seeded"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// Kind names a data set.
type Kind string

// The data sets.
const (
	BEAM           Kind = "BEAM"
	LoCoMo         Kind = "LoCoMo"
	PrefEval       Kind = "PrefEval"
	MultiChallenge Kind = "MultiChallenge"
)

// maxFileBytes is the largest file that is read.
const maxFileBytes = 1 << 30

// ErrNoData: no file of a known set was found.
var ErrNoData = errors.New("no files of BEAM, LoCoMo, PrefEval or MultiChallenge")

// A Case is one conversation with what must be remembered of it.
type Case struct {
	Kind       Kind
	Transcript *transcript.Transcript
	// Seeds are the statements, with message and words.
	Seeds []seeded.Seed
	// LeftOut counts what is asked for and not stated in so many words.
	LeftOut int
}

// Load reads every file of a known set below dir, in the order of the paths.
func Load(dir string) ([]Case, error) {
	var out []Case
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") && !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxFileBytes {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var questions []byte
		if filepath.Base(path) == "chat.json" {
			if questions, err = os.ReadFile(filepath.Join(filepath.Dir(path), "probing_questions", "probing_questions.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		cases, err := Read(data, questions)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		out = append(out, cases...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w in %s", ErrNoData, dir)
	}
	return out, nil
}

// Read reads one file; questions are the probing questions that belong to a
// chat of BEAM, nil for any other. A file of another kind gives no cases.
func Read(data, questions []byte) ([]Case, error) {
	if questions != nil {
		return readBEAM(data, questions)
	}
	if cases, ok := readMultiChallenge(data); ok {
		return cases, nil
	}
	var rows []json.RawMessage
	if json.Unmarshal(data, &rows) != nil || len(rows) == 0 {
		return nil, nil
	}
	var first map[string]json.RawMessage
	if json.Unmarshal(rows[0], &first) != nil {
		return nil, nil
	}
	switch {
	case first["conversation"] != nil && first["qa"] != nil:
		return readLoCoMo(rows)
	case first["preference"] != nil && first["question"] != nil:
		return readPrefEval(rows)
	}
	return nil, nil
}

// builder makes a case.
type builder struct {
	c Case
}

func newBuilder(k Kind) *builder {
	return &builder{Case{Kind: k, Transcript: &transcript.Transcript{}}}
}

// say appends a message, if it has text, and returns its id.
func (b *builder) say(role message.Role, id, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if id == "" {
		id = fmt.Sprintf("m%d", b.c.Transcript.Len()+1)
	}
	if _, taken := b.c.Transcript.Index(id); taken {
		id = fmt.Sprintf("%s+%d", id, b.c.Transcript.Len())
	}
	if b.c.Transcript.Append(message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: text}}}) != nil {
		return ""
	}
	return id
}

// leastOverlap is the share of a statement's words that the message has to
// have (the pilot's 0.7).
const leastOverlap = 0.7

// remember adds a statement that one of the messages makes; the one that
// shares the most words is taken.
func (b *builder) remember(family, statement string, messages []int) {
	want := Words(statement)
	best, keys := -1, []string(nil)
	for _, i := range messages {
		if i < 0 || i >= b.c.Transcript.Len() {
			continue
		}
		text := strings.ToLower(b.c.Transcript.At(i).Text())
		var shared []string
		for _, w := range want {
			if strings.Contains(text, w) {
				shared = append(shared, w)
			}
		}
		if len(shared) > len(keys) {
			best, keys = i, shared
		}
	}
	if best < 0 || len(keys) < 2 || float64(len(keys)) < leastOverlap*float64(len(want)) {
		b.c.LeftOut++
		return
	}
	b.c.Seeds = append(b.c.Seeds, seeded.Seed{Family: family, Language: "en", Text: statement, MessageID: b.c.Transcript.At(best).ID, Keys: keys,
		Position: float64(best) / float64(b.c.Transcript.Len())})
}

// Words returns the words of a text that tell it apart: four letters and more,
// or with a digit, each once, without the commonest.
func Words(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		if seen[w] || common(w) || len([]rune(w)) < 4 && !strings.ContainsAny(w, "0123456789") {
			continue
		}
		seen[w] = true
		out = append(out, w)
	}
	return out
}

// common reports whether a word says nothing about what a statement is about.
func common(w string) bool {
	switch w {
	case "that", "this", "with", "from", "have", "when", "what", "your", "they", "them", "then", "than", "will", "would", "should", "could", "about", "which", "there",
		"their", "were", "been", "being", "into", "also", "more", "some", "such", "these", "those", "does", "user", "response", "model", "please", "include", "llm",
		"always", "asked", "asks", "ask", "whenever", "prefer", "prefers", "every", "only", "where", "while", "make", "used", "using":
		return true
	}
	return false
}

// userMessages lists the messages that a person wrote.
func (b *builder) userMessages() []int {
	var out []int
	for i, m := range b.c.Transcript.All() {
		if m.Role == message.RoleUser {
			out = append(out, i)
		}
	}
	return out
}
