// Package catalog knows models by name: their window, output limit, prices,
// cache rules and vocabulary, each value with its source and date.
//
// It is data and look-up, nothing else: it asks no provider, reads no file and
// no clock. A value that no source states is unknown, never zero and never
// guessed. What the catalog does not know, a user can state (ParseOverrides,
// Merge), and a model that nobody knows gets a small window that says so
// (Fallback).
//
// The data is data.json, made by internal/catalogdata from a pinned copy of
// charm.land/catwalk's tables and from hand-kept statements; "go generate"
// makes it again.
package catalog

//go:generate go run github.com/forge-agent/forge/internal/catalogdump build -out data.json
