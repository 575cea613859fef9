package codexapp

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors, wrapped with what happened and what to do.
var (
	// ErrInvalid is wrapped by errors about arguments: nothing was run.
	ErrInvalid = errors.New("invalid argument")
	// ErrNotFound: there is no program to start.
	ErrNotFound = errors.New("program codex was not found")
	// ErrStart: the program could not be started, or ended before it answered.
	ErrStart = errors.New("program codex did not start")
	// ErrVersion: the program is older than what this client can talk to.
	ErrVersion = errors.New("this version of Codex is too old")
	// ErrExited: the app server ended while it was needed.
	ErrExited = errors.New("the Codex app server ended")
	// ErrSilent: the app server does not answer any more.
	ErrSilent = errors.New("the Codex app server does not answer")
	// ErrProtocol: what the other side says is not the app-server protocol.
	ErrProtocol = errors.New("the Codex app server speaks another protocol")
)

// maxQuoted bounds a piece of foreign text in a message.
const maxQuoted = 300

// clean makes foreign text fit for one line of a message.
func clean(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "�"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(s) <= maxQuoted {
		return s
	}
	at := maxQuoted
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}
