package instruction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/excerpt"
	"github.com/forge-agent/forge/message"
)

// leastBytes is the room below which a file is left out and not cut.
const leastBytes = 512

// maxNoted is how many losses the note to the model names.
const maxNoted = 20

// snapshot makes the messages out of what was read.
func (l *loader) snapshot() *Snapshot {
	texts := l.texts()
	s := &Snapshot{}
	s.add(Source{Kind: KindBase, OriginalBytes: int64(len(l.options.Base))}, l.options.Base)
	for _, a := range l.options.Additions {
		if strings.TrimSpace(a.Text) != "" {
			s.add(Source{Kind: KindAddition, Path: a.Path, OriginalBytes: int64(len(a.Text))}, excerpt.Line(a.Label, 300)+"\n\n"+a.Text)
		}
	}
	for i, f := range l.files {
		if texts[i] != "" {
			s.add(Source{Kind: f.folder.kind, Path: f.path, OriginalBytes: f.total}, texts[i])
		}
	}
	s.losses = l.losses
	if text := note(l.losses); text != "" {
		s.add(Source{Kind: KindNote}, text)
	}
	s.hash = contextwindow.HashInstructions(s.messages)
	return s
}

func (s *Snapshot) add(source Source, text string) {
	source.Bytes = len(text)
	s.sources = append(s.sources, source)
	s.messages = append(s.messages, message.Message{
		ID:     fmt.Sprintf("instruction-%d", len(s.messages)+1),
		Role:   message.RoleSystem,
		Blocks: []message.Block{message.Text{Text: text}},
	})
}

// texts shares the total among the files: the user's first, then the innermost
// ones, which have the last word. The result is in the order of the files; an
// empty text means that there was no room.
func (l *loader) texts() []string {
	order := make([]int, 0, len(l.files))
	for i, f := range l.files {
		if f.folder.kind == KindUser {
			order = append(order, i)
		}
	}
	for i, f := range slices.Backward(l.files) {
		if f.folder.kind != KindUser {
			order = append(order, i)
		}
	}
	texts := make([]string, len(l.files))
	losses := make([][]Loss, len(l.files))
	left := l.options.TotalBytes
	for _, i := range order {
		texts[i], losses[i] = l.text(l.files[i], left)
		left -= len(texts[i])
	}
	l.losses = append(slices.Concat(losses...), l.losses...)
	return texts
}

// text is the message of one file in at most so many bytes.
func (l *loader) text(f found, left int) (string, []Loss) {
	head := fmt.Sprintf("Instructions of the %s, from the file %s. %s", f.folder.kind, excerpt.Line(f.path, 1000), f.folder.about)
	room := min(l.options.FileBytes, left-len(head)-leastBytes/2)
	if room < min(leastBytes, int(f.total)) || room < leastBytes/4 {
		return "", []Loss{{f.path, fmt.Sprintf("left out: the instruction files together are longer than %d bytes", l.options.TotalBytes)}}
	}
	e := excerpt.Make(f.data, f.total, room, l.options.Redactor)
	if strings.TrimSpace(e.Text) == "" {
		return "", nil
	}
	var losses []Loss
	for _, n := range e.Notes() {
		losses = append(losses, Loss{f.path, n})
		head += " [" + n + "]"
	}
	return head + "\n\n" + e.Text, losses
}

// note tells the model what it does not see.
func note(losses []Loss) string {
	if len(losses) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Of the instruction files not everything is above. Tell the user when it matters for the task:")
	for i, l := range losses {
		if i == maxNoted {
			fmt.Fprintf(&b, "\n- and %d more", len(losses)-i)
			break
		}
		b.WriteString("\n- " + excerpt.Line(l.String(), 300))
	}
	return b.String()
}
