package compaction

import "github.com/forge-agent/forge/transcript"

// nameCheck looks the lines of the ledger of names up in their messages. The
// messages are read when the first line is.
type nameCheck struct {
	x       *Index
	t       *transcript.Transcript
	through int
	held    map[heldName]bool
}

// heldName is a name in a message.
type heldName struct{ name, message int32 }

// missing returns the first name of a line that message at does not hold, or that
// is never listed; empty when all is right.
func (c *nameCheck) missing(at int, line string) string {
	n := &c.x.names
	if c.held == nil {
		n.extend(c.t, c.through)
		c.held = make(map[heldName]bool, len(n.post))
		for _, p := range n.post {
			c.held[heldName{p.name, p.message}] = true
		}
	}
	for _, name := range Names(line) {
		id, ok := n.ids[name]
		if !ok || !c.held[heldName{id, int32(at)}] || !c.x.reader.plainName(name) {
			return name
		}
	}
	return ""
}
