package pi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// entry is one line of a file.
type entry struct {
	line   int
	number int    // in the file, the header included
	kind   string // "message", "compaction", "branch_summary", "custom_message", or one without content
	id     string // made up in version 1
	filed  string // the id in the file, if any
	parent string
	time   time.Time

	role     string // of a message, in pi's words
	blocks   []message.Block
	provider string
	model    string
	stop     string
	fault    string
	usage    *message.Usage
	hidden   bool // a command whose output the model does not see

	summary      string
	keptIndex    int // -1 for none
	keptID       string
	tokensBefore int
	hook         bool
}

// reader collects the entries of a file.
type reader struct {
	b       *sessionfile.Builder
	entries []*entry // by number, as compactions of version 1 count them
	byID    map[string][]*entry
	version int
	// provider and model are those that the file begins with or changes to.
	provider, model string
}

// entry reads one object.
func (r *reader) entry(v sessionfile.Value) {
	e := &entry{line: v.Line, number: len(r.entries), keptIndex: -1}
	for key, member := range v.Members() {
		e.common(key, member)
	}
	if r.byID == nil {
		r.byID = map[string][]*entry{}
	}
	switch e.kind {
	case "session":
		r.header(v)
		r.entries = append(r.entries, e)
		return
	case "message":
		r.message(e, v.Member("message"))
	case "custom_message":
		e.role = "custom"
		e.blocks = r.blocks(e, v.Member("content"))
	case "compaction", "branch_summary":
		e.summarized(v)
	case "model_change":
		r.provider, r.model = v.Member("provider").Text(), v.Member("modelId").Text()
	case "thinking_level_change", "custom", "label", "session_info":
		// Not part of the context.
	default:
		r.b.Losef(v.Line, "entry of the unknown type %q", e.kind)
	}
	r.place(e)
}

func (e *entry) common(key string, v sessionfile.Value) {
	switch key {
	case "type":
		e.kind = v.Text()
	case "id":
		e.filed = v.Text()
	case "parentId":
		e.parent = v.Text()
	case "timestamp":
		e.time = v.Time(time.Millisecond)
	}
}

// place puts the entry into the tree. Entries of version 1 have no ids: each
// follows the one before.
func (r *reader) place(e *entry) {
	e.id = e.filed
	if e.id == "" {
		e.id = fmt.Sprintf("#%d", e.number)
		if e.number > 0 {
			e.parent = r.entries[e.number-1].id
		}
	}
	if len(r.byID[e.id]) > 0 {
		r.b.Lose(e.line, "an entry id that is used twice; its children belong to the nearest one before them")
	}
	r.byID[e.id] = append(r.byID[e.id], e)
	r.entries = append(r.entries, e)
}

func (r *reader) header(v sessionfile.Value) {
	s := r.b.Session
	if s.ID != "" {
		r.b.Lose(v.Line, "a second header in the file")
		return
	}
	s.ID = v.Member("id").Text()
	r.version = v.Member("version").Number()
	s.Version = fmt.Sprint(max(r.version, 1))
	r.provider, r.model = v.Member("provider").Text(), v.Member("modelId").Text()
	if v.Member("parentSession").Kind() == '"' {
		r.b.Lose(v.Line, "the session continues one that is in another file")
	}
}

func (e *entry) summarized(v sessionfile.Value) {
	for key, member := range v.Members() {
		switch key {
		case "summary":
			e.summary = member.Text()
		case "firstKeptEntryIndex":
			if e.keptIndex = member.Number(); member.Kind() == 'n' {
				e.keptIndex = -1
			}
		case "firstKeptEntryId":
			e.keptID = member.Text()
		case "tokensBefore":
			e.tokensBefore = member.Number()
		case "fromHook":
			e.hook = member.Kind() == 't'
		}
	}
}

// message reads what stands under "message".
func (r *reader) message(e *entry, v sessionfile.Value) {
	var content, details sessionfile.Value
	var result message.ToolResult
	var command shell
	for key, member := range v.Members() {
		switch key {
		case "role":
			e.role = member.Text()
		case "content":
			content = member
		case "provider":
			e.provider = member.Text()
		case "model":
			e.model = member.Text()
		case "stopReason":
			e.stop = member.Text()
		case "errorMessage":
			e.fault = member.Text()
		case "usage":
			e.usage = r.usage(member)
		case "timestamp":
			if t := member.Time(time.Millisecond); !t.IsZero() {
				e.time = t
			}
		case "toolCallId":
			result.CallID = member.Text()
		case "toolName":
			result.Name = member.Text()
		case "isError":
			result.Outcome = message.OutcomeSuccess
			if member.Kind() == 't' {
				result.Outcome = message.OutcomeFailure
			}
		case "details":
			details = member
		case "summary":
			e.summary = member.Text()
		case "excludeFromContext":
			e.hidden = member.Kind() == 't'
		default:
			command.read(key, member)
		}
	}
	switch e.role {
	case "toolResult":
		result.Content = r.blocks(e, content)
		if cut := details.Member("truncation"); cut.Member("truncated").Kind() == 't' {
			result.Truncated, result.OriginalBytes = true, cut.Member("totalBytes").Number()
		}
		e.blocks = []message.Block{result}
	case "bashExecution":
		e.blocks = []message.Block{message.Text{Text: command.text()}}
	default:
		e.blocks = r.blocks(e, content)
	}
}

// shell is a command that the person ran, with its output.
type shell struct {
	command, output string
	exitCode        string
	cancelled       bool
}

func (s *shell) read(key string, v sessionfile.Value) {
	switch key {
	case "command":
		s.command = v.Text()
	case "output":
		s.output = v.Text()
	case "exitCode":
		s.exitCode = string(v.Raw)
	case "cancelled":
		s.cancelled = v.Kind() == 't'
	}
}

func (s *shell) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "$ %s\n%s", s.command, s.output)
	switch {
	case s.cancelled:
		out.WriteString("\n(cancelled)")
	case s.exitCode != "" && s.exitCode != "0" && s.exitCode != "null":
		fmt.Fprintf(&out, "\n(exit code %s)", s.exitCode)
	}
	return out.String()
}

// blocks reads a content value.
func (r *reader) blocks(e *entry, v sessionfile.Value) []message.Block {
	if v.Kind() == '"' {
		return []message.Block{message.Text{Text: v.Text()}}
	}
	var out []message.Block
	for part := range v.Elements() {
		out = append(out, r.part(e, part))
	}
	return out
}

type part struct {
	Type              string
	Text              string
	Thinking          string
	ThinkingSignature string
	Data              string
	MimeType          string
	ID                string
	Name              string
	Arguments         json.RawMessage
	ThoughtSignature  string
}

func (r *reader) part(e *entry, v sessionfile.Value) message.Block {
	var p part
	if err := v.Decode(&p); err == nil {
		switch p.Type {
		case "text":
			return message.Text{Text: p.Text}
		case "thinking":
			return reasoning(e.provider, p)
		case "toolCall":
			return message.ToolCall{ID: p.ID, Name: p.Name, Arguments: sessionfile.CompactJSON(p.Arguments)}
		case "image":
			img, ok := sessionfile.ImageFromBase64(p.MimeType, p.Data)
			if ok {
				return img
			}
			r.b.Lose(v.Line, "an image whose data is no base64, kept unread")
		default:
			r.b.Losef(v.Line, "content of the unknown type %q, kept unread", p.Type)
		}
	} else {
		r.b.Lose(v.Line, "a content part that cannot be read, kept unread")
	}
	return message.Opaque{Provider: e.provider, Type: p.Type, Data: bytes.Clone(v.Raw)}
}

func reasoning(provider string, p part) message.Reasoning {
	out := message.Reasoning{Text: p.Thinking}
	if p.ThinkingSignature != "" {
		out.Provider = provider
		out.Opaque, _ = json.Marshal(p.ThinkingSignature) // a string always encodes
	}
	return out
}

// usage reads pi's figures: input leaves out both cache figures, and the
// total is the sum of all four.
func (r *reader) usage(v sessionfile.Value) *message.Usage {
	var u struct{ Input, Output, CacheRead, CacheWrite, TotalTokens float64 }
	if v.Kind() != '{' {
		return nil
	}
	if v.Decode(&u) != nil || min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0 ||
		max(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.TotalTokens) > maxNumber {
		r.b.Lose(v.Line, "a usage that cannot be read")
		return nil
	}
	sum := u.Input + u.Output + u.CacheRead + u.CacheWrite
	if sum == 0 {
		return nil
	}
	if u.TotalTokens > 0 && u.TotalTokens != sum {
		r.b.Lose(v.Line, "a usage whose total is not the sum of its parts; the parts are believed")
	}
	return &message.Usage{
		InputTokens:           int(u.Input + u.CacheRead + u.CacheWrite),
		CachedInputTokens:     int(u.CacheRead),
		CacheWriteInputTokens: int(u.CacheWrite),
		OutputTokens:          int(u.Output),
	}
}

// maxNumber is far above any count in a file.
const maxNumber = 1 << 40
