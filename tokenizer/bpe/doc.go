// Package bpe counts tokens with byte-pair encoding.
//
// It is the algorithm without data: pre-tokenizers that cut a text into
// pieces, and an engine that merges the bytes of a piece. Each vocabulary is a
// package of its own (o200k, cl100k, qwen3, …) or a tokenizer.json that
// package hfjson reads.
//
// # What is counted
//
// A [Counter] gives the number of tokens that the reference implementation of
// its vocabulary gives for the same text taken as ordinary text. Markers such
// as <|endoftext|> have no special meaning: they are text that somebody wrote.
// Each byte that is not part of valid UTF-8 counts as U+FFFD, as in a Go range
// loop.
//
// # Adding counts
//
// A request encodes every message on its own, between markers that no merge
// crosses, so the counts of its messages add up to the count of the request.
// Counts of two halves of one text do not: "fo" and "o" may be two tokens
// where "foo" is one. Count whole message texts, and keep each count for as
// long as the message does not change.
//
// # Cost
//
// A count takes time that grows linearly with the text, whatever the text is,
// apart from a factor that depends on the longest token. It allocates nothing
// once the counter has seen its first long piece. The tables of a vocabulary
// are immutable and shared; see [Counter] for what each counter owns.
package bpe
