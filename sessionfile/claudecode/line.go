package claudecode

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// line is one line of the file, as far as it is read.
type line struct {
	Type              string    `json:"type"`
	Subtype           string    `json:"subtype"`
	UUID              string    `json:"uuid"`
	ParentUUID        string    `json:"parentUuid"`
	LogicalParentUUID string    `json:"logicalParentUuid"`
	SessionID         string    `json:"sessionId"`
	Version           string    `json:"version"`
	RequestID         string    `json:"requestId"`
	Timestamp         timestamp `json:"timestamp"`
	IsSidechain       bool      `json:"isSidechain"`
	IsMeta            bool      `json:"isMeta"`
	IsCompactSummary  bool      `json:"isCompactSummary"`
	ScreenOnly        bool      `json:"isVisibleInTranscriptOnly"`
	IsAPIError        bool      `json:"isApiErrorMessage"`
	Origin            *struct {
		Kind string `json:"kind"`
	} `json:"origin"`
	Message    *wireMessage                       `json:"message"`
	Content    sessionfile.TextOrList[wireBlock]  `json:"content"` // of system lines
	Attachment json.RawMessage                    `json:"attachment"`
	Compact    *compactMetadata                   `json:"compactMetadata"`
	Micro      *microcompactMetadata              `json:"microcompactMetadata"`
	Error      sessionfile.TextOrList[errorField] `json:"error"`

	// Lines without a uuid.
	LeafUUID  string `json:"leafUuid"`
	Operation string `json:"operation"`

	number int // of the line in the file
}

type wireMessage struct {
	ID      string                            `json:"id"`
	Role    string                            `json:"role"`
	Model   string                            `json:"model"`
	Content sessionfile.TextOrList[wireBlock] `json:"content"`
	Usage   *wireUsage                        `json:"usage"`
	Context *struct {
		Edits []struct {
			Type   string `json:"type"`
			Tokens int    `json:"cleared_input_tokens"`
		} `json:"applied_edits"`
	} `json:"context_management"`
}

type wireUsage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
	// CacheCreation parts CacheWrite by lifetime.
	CacheCreation struct {
		Long int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// longCacheWrite returns what was written to live for an hour.
func (u *wireUsage) longCacheWrite() int {
	if u == nil {
		return 0
	}
	return u.CacheCreation.Long
}

// normalized brings the usage into the form where the whole contains its
// parts: here input_tokens leaves out what the cache gave or took.
func (u *wireUsage) normalized() *message.Usage {
	if u == nil {
		return nil
	}
	return &message.Usage{
		InputTokens:           u.Input + u.CacheWrite + u.CacheRead,
		CachedInputTokens:     u.CacheRead,
		CacheWriteInputTokens: u.CacheWrite,
		OutputTokens:          u.Output,
	}
}

type compactMetadata struct {
	Trigger    string `json:"trigger"`
	PreTokens  int    `json:"preTokens"`
	PostTokens int    `json:"postTokens"`
	Segment    *struct {
		Head string `json:"headUuid"`
		Tail string `json:"tailUuid"`
	} `json:"preservedSegment"`
	Messages *struct {
		UUIDs []string `json:"uuids"`
	} `json:"preservedMessages"`
}

// kept returns the uuids of the first and last message that survive, empty
// for none.
func (c *compactMetadata) kept() (head, tail string) {
	switch {
	case c == nil:
	case c.Segment != nil:
		return c.Segment.Head, c.Segment.Tail
	case c.Messages != nil && len(c.Messages.UUIDs) > 0:
		return c.Messages.UUIDs[0], c.Messages.UUIDs[len(c.Messages.UUIDs)-1]
	}
	return "", ""
}

type microcompactMetadata struct {
	Trigger            string   `json:"trigger"`
	PreTokens          int      `json:"preTokens"`
	TokensSaved        int      `json:"tokensSaved"`
	CompactedToolIDs   []string `json:"compactedToolIds"`
	ClearedAttachments []string `json:"clearedAttachmentUUIDs"`
}

type errorField struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

// timestamp reads a time and is zero for anything that is none.
type timestamp struct{ time.Time }

func (t *timestamp) UnmarshalJSON(data []byte) error {
	text := sessionfile.Value{Raw: data}.Text()
	t.Time, _ = time.Parse(time.RFC3339Nano, text)
	return nil
}

// skipped are the lines that keep the program's books.
var skipped = map[string]bool{
	"file-history-snapshot": true, "file-history-delta": true, "summary": true, "ai-title": true,
	"custom-title": true, "agent-name": true, "agent-color": true, "agent-setting": true, "tag": true,
	"mode": true, "permission-mode": true, "pr-link": true, "worktree-state": true, "bridge-session": true,
	"cost-state": true, "attribution-snapshot": true, "task-summary": true,
}

// read decodes one line and keeps it if it may be part of a conversation.
func (im *importer) read(v sessionfile.Value) {
	l := line{number: v.Line}
	if err := v.Decode(&l); err != nil {
		if mismatch := (*json.UnmarshalTypeError)(nil); !errors.As(err, &mismatch) {
			im.b.Lose(v.Line, "a line that cannot be decoded")
			return
		}
		im.b.Lose(v.Line, "a field of an unexpected type")
	}
	s := im.b.Session
	if l.SessionID != "" {
		s.ID = l.SessionID
	}
	if l.Version != "" {
		s.Version = l.Version
	}
	switch l.Type {
	case "last-prompt":
		if l.LeafUUID != "" {
			im.lastPrompt, im.lastPromptAt = l.LeafUUID, len(im.lines)
		}
		return
	case "queue-operation":
		if l.Operation == "enqueue" && l.Content.IsText {
			im.b.Expect(v.Line, l.Content.Text, "text that was queued and never sent")
		}
		return
	case "progress":
		// A link of the chain in some versions, never content.
		l = line{Type: l.Type, UUID: l.UUID, ParentUUID: l.ParentUUID, IsSidechain: l.IsSidechain, number: l.number}
	case "user", "assistant", "system", "attachment":
	default:
		if !skipped[l.Type] {
			im.b.Losef(v.Line, "lines of the unknown type %q", clip(l.Type))
		}
		l = line{Type: "", UUID: l.UUID, ParentUUID: l.ParentUUID, IsSidechain: l.IsSidechain, number: l.number}
	}
	im.keep(l)
}

// keep adds a line to the tree. A line that comes again takes the place of
// its first copy.
func (im *importer) keep(l line) {
	if l.UUID == "" {
		if l.Type == "" || l.Type == "progress" {
			return
		}
	} else if i, again := im.uuid[l.UUID]; again {
		im.b.Lose(l.number, "a line that repeats the uuid of an earlier one, the later copy counts")
		l.number = im.lines[i].number
		if l.ParentUUID == "" && l.LogicalParentUUID == "" {
			l.ParentUUID, l.LogicalParentUUID = im.lines[i].ParentUUID, im.lines[i].LogicalParentUUID
		}
		im.lines[i] = l
		return
	} else {
		im.uuid[l.UUID] = len(im.lines)
	}
	im.lines = append(im.lines, l)
}

// clip keeps a foreign word short enough for a message.
func clip(s string) string {
	const most = 40
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
