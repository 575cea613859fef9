// Package mergefile converts published vocabularies to the merge files that
// package bpe reads: the merges in the order in which they apply, each as two
// little-endian 24-bit token numbers. Tokens 0 to 255 are the bytes by value;
// merge n makes token 256+n.
//
// It serves the generator and the tests; no program that counts links it.
package mergefile

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	byteTokens = 256
	mergeBytes = 6
)

// Head returns the first merges of a merge file.
func Head(file []byte, merges int) ([]byte, error) {
	if merges <= 0 || merges*mergeBytes > len(file) {
		return nil, fmt.Errorf("a head of %d merges is not within the %d of the file", merges, len(file)/mergeBytes)
	}
	return file[:merges*mergeBytes], nil
}

// FromTiktoken converts a .tiktoken file: one base64 token and its rank a line.
//
// A rank orders the merges, and a token is always made by the merge that its
// own bytes end in when only lower ranks exist, so one merge a token is enough.
// A token that its own merges do not make is refused.
func FromTiktoken(source []byte) ([]byte, error) {
	tokens, ranks, err := parseTiktoken(string(source))
	if err != nil {
		return nil, err
	}
	numbers := make(map[string]uint32, len(tokens))
	for rank, text := range tokens {
		numbers[text] = uint32(rank)
		if rank < byteTokens {
			numbers[text] = uint32(text[0])
		}
	}
	file := make([]byte, 0, mergeBytes*len(tokens))
	for rank := byteTokens; rank < len(tokens); rank++ {
		text := tokens[rank]
		parts := mergeBelow(ranks, text, rank)
		if len(parts) != 2 {
			return nil, fmt.Errorf("token %d %q ends in %d parts, want 2: its merges do not make it", rank, text, len(parts))
		}
		file = appendMerge(file, numbers[parts[0]], numbers[parts[1]])
	}
	return file, nil
}

func parseTiktoken(source string) (tokens []string, ranks map[string]int, err error) {
	ranks = make(map[string]int)
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		encoded, number, _ := strings.Cut(line, " ")
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, nil, fmt.Errorf("decode token %d: %w", len(tokens), err)
		}
		rank, err := strconv.Atoi(number)
		if err != nil {
			return nil, nil, fmt.Errorf("parse rank of token %d: %w", len(tokens), err)
		}
		if rank != len(tokens) {
			return nil, nil, fmt.Errorf("rank %d stands where %d is due", rank, len(tokens))
		}
		if (rank < byteTokens) != (len(text) == 1) {
			return nil, nil, fmt.Errorf("token %d has %d bytes: the first 256 must be the bytes", rank, len(text))
		}
		if _, twice := ranks[string(text)]; twice {
			return nil, nil, fmt.Errorf("token %d %q stands twice", rank, text)
		}
		ranks[string(text)] = rank
		tokens = append(tokens, string(text))
	}
	if len(tokens) < byteTokens {
		return nil, nil, errors.New("the vocabulary has fewer than 256 tokens")
	}
	return tokens, ranks, nil
}

// mergeBelow merges the bytes of a token with all ranks below a bound.
func mergeBelow(ranks map[string]int, text string, bound int) []string {
	parts := make([]string, 0, len(text))
	for i := range len(text) {
		parts = append(parts, text[i:i+1])
	}
	for {
		best, at := bound, -1
		for i := range len(parts) - 1 {
			if rank, ok := ranks[parts[i]+parts[i+1]]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return parts
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

func appendMerge(file []byte, left, right uint32) []byte {
	return append(file,
		byte(left), byte(left>>8), byte(left>>16),
		byte(right), byte(right>>8), byte(right>>16))
}
