package config

import (
	"slices"
	"strings"
	"sync"

	"github.com/forge-agent/forge/redact"
)

// Version is the version of the configuration's form.
const Version = 1

// Type is what the value of a key must be.
type Type string

// The types.
const (
	String  Type = "string"  // text without control characters, not empty
	Boolean Type = "boolean" // true or false
	Integer Type = "integer" // a whole number
	Number  Type = "number"  // a number
	Tokens  Type = "tokens"  // a whole number of tokens, or "auto"
	Choice  Type = "choice"  // one of Choices
	Strings Type = "strings" // a list of texts, not empty
	Texts   Type = "texts"   // names with texts
	Objects Type = "objects" // a list of objects; their keys have "[]" in their path
	Ignored Type = "ignored" // anything; it has no effect
)

// Rule is what a project's file may do with a key.
type Rule string

// The rules. What none of them allows is not applied, and is reported.
const (
	Never     Rule = "never"    // a project may not set it
	Raise     Rule = "raise"    // only to a larger number
	Lower     Rule = "lower"    // only to a smaller number
	Stricter  Rule = "stricter" // only to a choice further back in Choices
	SwitchOff Rule = "off"      // only to false
	Add       Rule = "add"      // entries are added to the user's
	Narrow    Rule = "narrow"   // only to a part of the user's list
	Propose   Rule = "propose"  // only for a server that the user has not named, as a proposal
	Free      Rule = "free"     // it says something about the file itself
)

// A Key is one setting: the table of keys is what files are checked against,
// layers are merged by, and the schema and the page are made from.
type Key struct {
	// Path is the key with dots between the objects; "*" stands for a name
	// that the user chooses, "[]" for the entries of a list.
	Path string
	Type Type
	// Default is the value without any layer; nil for none.
	Default any
	// Choices are the values of a Choice. For the rule Stricter they go from
	// the most lenient to the strictest.
	Choices []string
	// Least and Most bound a number, both included. Most 0 means no bound.
	Least, Most float64
	// ZeroIsNone says that 0 is no limit at all, and so the largest.
	ZeroIsNone bool
	// Project is what a project's file may do.
	Project Rule
	// Env and Flag are the environment variable and the flag that set the key;
	// empty for none.
	Env, Flag string
	// Secret values are never shown.
	Secret bool
	// Endpoint says that the text must be the base URL of an endpoint,
	// Variable that it must be the name of an environment variable.
	Endpoint, Variable bool
	// Doc says what the key means: sentences, with unit and range.
	Doc string

	// hide makes the redactor that values are shown through; all keys of a
	// table share one, since making it takes longer than using it.
	hide func() *redact.Redactor
}

const (
	maxTokens  = 100_000_000
	maxBytes   = 1 << 30
	maxSeconds = 7 * 24 * 3600
)

// Keys returns the table of keys, in the order in which they are shown. The
// result is the caller's.
func Keys() []Key {
	return slices.Concat(modelKeys(), contextKeys(), limitKeys(), policyKeys(), extensionKeys(), storeKeys())
}

// table finds keys by their path.
type table struct {
	keys   []Key
	byPath map[string]*Key
	inside map[string][]string // names below a path, in order
}

func newTable(keys []Key) *table {
	t := &table{keys: keys, byPath: map[string]*Key{}, inside: map[string][]string{}}
	hide := sync.OnceValue(func() *redact.Redactor { return redact.New(nil) })
	for i := range keys {
		keys[i].hide = hide
		t.byPath[keys[i].Path] = &keys[i]
		at := ""
		for _, name := range segments(keys[i].Path) {
			if !slices.Contains(t.inside[at], name) {
				t.inside[at] = append(t.inside[at], name)
			}
			at = join(at, name)
		}
	}
	return t
}

// segments cuts a path; the entries of a list are a level of their own.
func segments(path string) []string {
	return strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")
}

func join(path, name string) string {
	switch {
	case path == "":
		return name
	case name == "[]":
		return path + "[]"
	}
	return path + "." + name
}

// pattern is the path in the table that a path in a file stands for.
func (t *table) pattern(path string) string {
	at := ""
	for _, name := range strings.Split(path, ".") {
		switch below := t.inside[at]; {
		case slices.Contains(below, name):
			at = join(at, name)
		case slices.Contains(below, "*"):
			at = join(at, "*")
		default:
			return ""
		}
	}
	return at
}

// entity returns the part of a path up to the name that the user chose, empty
// when there is none in it.
func entity(pattern, path string) string {
	parts := strings.Split(pattern, ".")
	if i := slices.Index(parts, "*"); i >= 0 {
		return strings.Join(strings.Split(path, ".")[:i+1], ".")
	}
	return ""
}
