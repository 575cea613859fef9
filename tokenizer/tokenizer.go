// Package tokenizer counts the tokens of a text.
//
// It holds the one interface that the rest of Forge counts through. Exact
// counters live one vocabulary to a package below it (o200k, cl100k, qwen3, …),
// so that a program links only the vocabularies it names; package bpe is the
// algorithm they share. Package conservative counts for models whose
// vocabulary is not public: an upper bound of the others.
//
// Counts add up over texts that are encoded apart, as the messages of a
// request are, and not over two halves of one text.
//
// It does not know about messages, roles or requests: package tokencount does.
package tokenizer

// A Counter counts the tokens of a text.
//
// Count treats its argument as ordinary text: markers such as
// <|endoftext|> get no special meaning. Every byte that is not part of valid
// UTF-8 counts as U+FFFD. Count is deterministic, allocates nothing in the
// steady state and never fails.
//
// A Counter may keep a private cache and is then not safe for concurrent use;
// each implementation says so. Give each goroutine its own.
type Counter interface {
	// Count returns the number of tokens of text, zero for the empty text.
	Count(text string) int
	// Name identifies the vocabulary, for example "o200k_base" or
	// "conservative".
	Name() string
}
