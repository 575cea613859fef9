package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a tool that all providers take.
const maxName = 64

// hashChars is how much of a hash is added to a name that is not unique by
// itself.
const hashChars = 8

// name gives the tools of all servers names that every provider takes and no
// two share: SERVER__TOOL, with "_" in place of what is not allowed. Where
// names are too long or meet, a hash of the server's and the tool's name is
// added, except to one that is as it was and fits. So a name depends on the
// tools that are there, and not on their order.
func name(connections []*connection) []*remote {
	var out []*remote
	taken := map[string]int{}
	exact := map[string]int{}
	for _, c := range connections {
		for _, e := range c.entries {
			r := &remote{connection: c, entry: e}
			r.name = safeName(c.server.Name) + "__" + safeName(e.name)
			if first := r.name[0] | 0x20; first < 'a' || first > 'z' {
				r.name = "s" + r.name // a letter stands first
			}
			taken[r.name]++
			if r.isExact() {
				exact[r.name]++
			}
			out = append(out, r)
		}
	}
	used := map[string]bool{}
	for _, r := range out {
		if taken[r.name] == 1 && len(r.name) <= maxName || exact[r.name] == 1 && r.isExact() {
			used[r.name] = true
			r.final = true
		}
	}
	for _, r := range out {
		for n := hashChars; !r.final; n += hashChars {
			short := r.hashed(n)
			if !used[short] {
				used[short] = true
				r.name, r.final = short, true
			}
		}
	}
	return out
}

// isExact reports whether the name is the server's and the tool's as they are.
func (r *remote) isExact() bool {
	return len(r.name) <= maxName && r.name == r.connection.server.Name+"__"+r.entry.name
}

// hashed returns the name with n characters of its hash.
func (r *remote) hashed(n int) string {
	sum := sha256.Sum256([]byte(r.connection.server.Name + "\x00" + r.entry.name))
	hash := hex.EncodeToString(sum[:])
	n = min(n, maxName-len("s_"), len(hash))
	return r.name[:min(len(r.name), maxName-n-1)] + "_" + hash[:n]
}

// safeName replaces what no name may hold.
func safeName(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}
