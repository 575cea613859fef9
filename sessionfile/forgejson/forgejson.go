// Package forgejson reads the sessions of Forge's TypeScript version: one
// JSON object with the messages of the person and of the assistant, and from
// schema version 2 on the reasoning and a checkpoint.
//
// These files hold no tool calls and no usage. The checkpoint is kept as a
// compaction mark. Unknown keys, which that version refuses, are named as
// losses.
package forgejson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// Name is the format's name.
const Name = "forge-json"

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Name }

func (format) Match(h sessionfile.Head) bool {
	o := h.First()
	return h.Single && !h.Array && o.Has("schemaVersion") && o.Kind("messages") == '[' &&
		(o.Has("runIds") || o.Has("workspaceRoot") || o.Has("workingDirectory"))
}

func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	doc, err := src.Document()
	if err != nil {
		return nil, err
	}
	x := &importer{b: sessionfile.NewBuilder(src, Name)}
	x.document(doc)
	return x.b.Finish(), nil
}

// importer reads one session.
type importer struct {
	b *sessionfile.Builder
	// starts is the number of transcript messages before each message of the
	// file; they differ when a message holds nothing.
	starts []int
	// reasoning is what belongs in front of each assistant message.
	reasoning map[int][]thought
}

type thought struct {
	line int
	text string
}

func (x *importer) document(doc sessionfile.Value) {
	s := x.b.Session
	var messages, checkpoint, status sessionfile.Value
	for key, member := range doc.Members() {
		switch key {
		case "schemaVersion":
			s.Version = string(bytes.Clone(member.Raw))
			if v := s.Version; v != "1" && v != "2" {
				x.b.Losef(member.Line, "schema version %s is not known, read as version 2", v)
			}
		case "id":
			s.ID = member.Text()
		case "messages":
			messages = member
		case "reasoning":
			x.thoughts(member)
		case "contextCheckpoint":
			checkpoint = member
		case "lastRunStatus":
			status = member
		case "createdAt", "updatedAt", "workspaceRoot", "workingDirectory", "runIds":
			// Facts about the session, no content.
		default:
			x.b.Losef(member.Line, "unknown key %q of the session", key)
		}
	}
	for e := range messages.Elements() {
		x.message(e)
	}
	for _, index := range slices.Sorted(maps.Keys(x.reasoning)) {
		for _, t := range x.reasoning[index] {
			x.b.Lose(t.line, "reasoning that belongs to no assistant message")
		}
	}
	if checkpoint.Kind() == '{' {
		x.checkpoint(checkpoint)
	}
	if text := status.Text(); text != "" && text != "completed" {
		x.b.Mark(sessionfile.Mark{At: x.b.Len(), Kind: sessionfile.MarkInterrupted, Line: status.Line,
			Detail: "the last run ended with the status " + text})
	}
}

func (x *importer) thoughts(v sessionfile.Value) {
	x.reasoning = map[int][]thought{}
	for e := range v.Elements() {
		var t struct {
			AssistantMessageIndex *int
			Content               string
		}
		if err := e.Decode(&t); err != nil || t.AssistantMessageIndex == nil {
			if !e.Cut {
				x.b.Lose(e.Line, "reasoning that cannot be read")
			}
			continue
		}
		x.named(e, "reasoning", "assistantMessageIndex", "content")
		i := *t.AssistantMessageIndex
		x.reasoning[i] = append(x.reasoning[i], thought{line: e.Line, text: t.Content})
	}
}

// named names the keys that an object should not have.
func (x *importer) named(v sessionfile.Value, what string, known ...string) {
	for key, member := range v.Members() {
		if !slices.Contains(known, key) {
			x.b.Losef(member.Line, "unknown key %q of %s", key, what)
		}
	}
}

func (x *importer) message(v sessionfile.Value) {
	index := len(x.starts)
	x.starts = append(x.starts, x.b.Len())
	var m struct {
		Role    string
		Content string
	}
	if err := v.Decode(&m); err != nil {
		if !v.Cut {
			x.b.Lose(v.Line, "a message that cannot be read")
		}
		return
	}
	x.named(v, "a message", "role", "content")
	out := message.Message{ID: x.b.NextID(), Role: message.Role(m.Role)}
	if out.Role == message.RoleAssistant {
		for _, t := range x.reasoning[index] {
			out.Blocks = append(out.Blocks, message.Reasoning{Text: t.text})
		}
		delete(x.reasoning, index)
	}
	out.Blocks = append(out.Blocks, message.Text{Text: m.Content})
	first, end := x.b.Append(v.Line, out)
	if out.Role == message.RoleAssistant {
		x.b.Request(sessionfile.Request{At: first, End: end, Line: v.Line})
	}
}

// start returns where message i of the file begins in the transcript.
func (x *importer) start(i int) int {
	if i < len(x.starts) {
		return x.starts[i]
	}
	return x.b.Len()
}

// checkpoint is the derived memory of version 2.
type checkpoint struct {
	SchemaVersion                 int
	Strategy                      string
	Provider                      string
	SummarizedThroughMessageIndex *int
	SourceHash                    message.Hash
	RetainedTailStartIndex        *int
	RetainedTailHash              message.Hash
	Summary                       string
	OpaqueProviderItem            json.RawMessage
	CompactionModelID             string
	EstimatedCheckpointTokens     float64
	SourceMessageCount            *int
	CreatedAt                     time.Time
	SafetyLabels                  []string
}

// check returns why a checkpoint is not valid, "" when it is.
func (c *checkpoint) check(messages int) string {
	opaque := len(c.OpaqueProviderItem) > 0 && string(c.OpaqueProviderItem) != "null"
	switch {
	case c.SummarizedThroughMessageIndex == nil || c.RetainedTailStartIndex == nil || c.SourceMessageCount == nil:
		return "an index is missing"
	case *c.SummarizedThroughMessageIndex != *c.RetainedTailStartIndex:
		return "the retained tail does not begin where the summary ends"
	case *c.RetainedTailStartIndex < 0 || *c.RetainedTailStartIndex > *c.SourceMessageCount || *c.SourceMessageCount > messages:
		return "a range is beyond the messages"
	case opaque == (c.Summary != ""):
		return "it needs either a summary or a provider's item"
	case c.Strategy == "forge-summary" && opaque || c.Strategy == "provider-native" && !opaque:
		return "the strategy does not fit the payload"
	case c.Strategy != "forge-summary" && c.Strategy != "provider-native":
		return "the strategy is not known"
	}
	return ""
}

func (x *importer) checkpoint(v sessionfile.Value) {
	var c checkpoint
	err := v.Decode(&c)
	x.named(v, "the checkpoint", "schemaVersion", "strategy", "provider", "summarizedThroughMessageIndex", "sourceHash",
		"retainedTailStartIndex", "retainedTailHash", "summary", "opaqueProviderItem", "compactionModelId",
		"estimatedCheckpointTokens", "sourceMessageCount", "createdAt", "safetyLabels")
	reason := c.check(len(x.starts))
	if err != nil {
		reason = "a value cannot be read"
	}
	if reason != "" {
		x.b.Losef(v.Line, "a checkpoint that is not valid and not used: %s", reason)
		return
	}
	memory := message.Message{ID: "checkpoint", Role: message.RoleUser, Origin: message.OriginSummary, Time: c.CreatedAt}
	if c.Summary != "" {
		memory.Blocks = []message.Block{message.Text{Text: c.Summary}}
	} else {
		memory.Blocks = []message.Block{message.Opaque{Provider: c.Provider, Type: "compaction",
			Data: bytes.Clone(c.OpaqueProviderItem)}}
	}
	x.b.Mark(sessionfile.Mark{
		At: x.start(*c.SourceMessageCount), Kind: sessionfile.MarkCompaction, Line: v.Line,
		Detail: fmt.Sprintf("%s checkpoint by %s, estimated at %.0f tokens", c.Strategy, c.CompactionModelID, c.EstimatedCheckpointTokens),
		Change: &activeview.Change{Kind: activeview.ChangeCompaction, Replacement: []message.Message{memory},
			KeepFrom: x.start(*c.RetainedTailStartIndex), Opaque: c.Summary == ""},
	})
}
