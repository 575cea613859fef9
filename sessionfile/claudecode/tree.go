package claudecode

import "fmt"

// noParent is the parent of a root.
const noParent = -1

// tree finds out which lines are part of the context that the last message
// stands in.
type tree struct {
	lines  []line
	parent []int
	in     []bool
}

// conversation returns for each line whether it belongs to the context.
func (im *importer) conversation() []bool {
	im.chooseChain()
	t := &tree{lines: im.lines, parent: make([]int, len(im.lines)), in: make([]bool, len(im.lines))}
	im.link(t)
	leaf := im.leaf(t)
	for i := leaf; i != noParent && !t.in[i]; i = t.parent[i] {
		t.in[i] = true
	}
	t.addParallel()
	t.addHanging()
	im.nameBranches(t)
	return t.in
}

// chooseChain drops sub-agents' lines from the tree, unless the file holds
// nothing else: then it is a sub-agent's own file.
func (im *importer) chooseChain() {
	main, side, first := 0, 0, 0
	for i := range im.lines {
		l := &im.lines[i]
		if l.Type != "user" && l.Type != "assistant" {
			continue
		}
		if !l.IsSidechain {
			main++
		} else if side++; side == 1 {
			first = l.number
		}
	}
	if side == 0 || main == 0 {
		for i := range im.lines {
			im.lines[i].IsSidechain = false
		}
		return
	}
	im.b.Losef(first, "not part of this context: %s of sub-agent conversations", messages(side))
}

// link sets the parent of each line. A compaction boundary has none and names
// the line before it as its logical parent. A line whose parent is missing
// follows the one before it in the file: nothing tells better.
func (im *importer) link(t *tree) {
	previous := noParent
	for i := range t.lines {
		l := &t.lines[i]
		t.parent[i] = noParent
		if l.IsSidechain {
			continue
		}
		id := l.ParentUUID
		if id == "" {
			id = l.LogicalParentUUID
		}
		at, found := im.uuid[id]
		switch {
		case id != "" && found && at != i:
			t.parent[i] = at
		case id != "" && previous != noParent:
			im.b.Lose(l.number, "a parent message that is not in the file; the message before it is taken")
			t.parent[i] = previous
		case id != "":
			im.b.Lose(l.number, "the session begins in the middle: its first message follows one that is not in the file")
		case l.IsCompactSummary || l.Subtype == "compact_boundary" || l.UUID == "":
			t.parent[i] = previous
		}
		previous = i
	}
}

// leaf returns the last message of the session: the last in the file, or the
// one under the leaf that the agent recorded after it, when the user went
// back without saying anything.
func (im *importer) leaf(t *tree) int {
	leaf := noParent
	for i := range t.lines {
		l := &t.lines[i]
		if !l.IsSidechain && (l.Type == "user" || l.Type == "assistant") {
			leaf = i
		}
	}
	recorded, found := im.uuid[im.lastPrompt]
	if !found || leaf == noParent || im.lastPromptAt <= leaf || t.lines[recorded].IsSidechain {
		return leaf
	}
	below := make([]bool, len(t.lines))
	last := recorded
	for i := recorded; i < len(t.lines); i++ {
		p := t.parent[i]
		if i == recorded || p != noParent && p < i && below[p] {
			below[i] = true
			if l := &t.lines[i]; l.Type == "user" || l.Type == "assistant" {
				last = i
			}
		}
	}
	return last
}

// addParallel adds what the path passes by when a response made several
// calls: its other lines, and the results of all its calls.
func (t *tree) addParallel() {
	responses := map[string]bool{}
	for i := range t.lines {
		if t.in[i] && t.lines[i].Type == "assistant" {
			responses[t.lines[i].response()] = true
		}
	}
	calls := map[string]bool{}
	for i := range t.lines {
		l := &t.lines[i]
		if l.IsSidechain || l.Type != "assistant" || !responses[l.response()] {
			continue
		}
		t.in[i] = true
		for _, b := range l.blocks() {
			if b.Type == "tool_use" {
				calls[b.ID] = true
			}
		}
	}
	for i := range t.lines {
		l := &t.lines[i]
		if l.IsSidechain || l.Type != "user" || t.in[i] {
			continue
		}
		for _, b := range l.blocks() {
			if b.Type == "tool_result" && calls[b.ToolUseID] {
				t.in[i] = true
			}
		}
	}
}

// addHanging adds injected lines, boundaries, summaries, and lines without a
// uuid, to which no other can link, that hang on a line of the context. The
// prompts and replies of other branches hang there too.
func (t *tree) addHanging() {
	for i := range t.lines {
		l := &t.lines[i]
		if t.in[i] || l.IsSidechain || t.parent[i] == noParent || !t.in[t.parent[i]] {
			continue
		}
		switch l.Type {
		case "user":
			t.in[i] = l.IsCompactSummary || l.IsMeta || l.UUID == ""
		case "assistant":
			t.in[i] = l.UUID == ""
		default:
			t.in[i] = true
		}
	}
}

// nameBranches names what is left out.
func (im *importer) nameBranches(t *tree) {
	n, first := 0, 0
	for i := range t.lines {
		l := &t.lines[i]
		if !t.in[i] && !l.IsSidechain && (l.Type == "user" || l.Type == "assistant") {
			if n++; n == 1 {
				first = l.number
			}
		}
	}
	if n > 0 {
		im.b.Losef(first, "not part of this context: %s on other branches, edited or rewound", messages(n))
	}
}

// response returns what the lines of one response share.
func (l *line) response() string {
	switch {
	case l.Message != nil && l.Message.ID != "":
		return l.Message.ID
	case l.RequestID != "":
		return l.RequestID
	}
	return l.UUID
}

func (l *line) blocks() []wireBlock {
	if l.Message == nil {
		return nil
	}
	return l.Message.Content.List
}

func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}
