package claudecode

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// wireAttachment is what the program attached to the conversation: files,
// hook output, reminders, lists of skills and tools, prompts typed while the
// model worked.
type wireAttachment struct {
	Type        string                            `json:"type"`
	Prompt      sessionfile.TextOrList[wireBlock] `json:"prompt"`
	CommandMode string                            `json:"commandMode"`
	IsMeta      bool                              `json:"isMeta"`
	Origin      *struct {
		Kind string `json:"kind"`
	} `json:"origin"`
}

// carriers are the fields of an attachment that hold what the model reads, in
// the order in which they are looked for; the first with text counts.
var carriers = []string{
	"content", "prompt", "text", "snippet", "addedBlocks", "addedLines", "context", "message", "planContent",
	"files", "diagnostics", "memories", "skills", "messages", "blockingError", "response", "description",
}

// attachment adds an attachment as a user message. A prompt that a person
// typed while the model worked is theirs; the rest is injected.
func (bu *builder) attachment(l *line) {
	var a wireAttachment
	if len(l.Attachment) == 0 || json.Unmarshal(l.Attachment, &a) != nil && a.Type == "" {
		bu.b.Lose(l.number, "an attachment that cannot be decoded")
		return
	}
	m := message.Message{Role: message.RoleUser, Origin: message.OriginInjected, Time: l.Timestamp.Time}
	if a.Type == "queued_command" {
		m.Blocks = bu.convert(l.number, a.Prompt)
		human := a.Origin == nil || a.Origin.Kind == "" || a.Origin.Kind == "human"
		if human && !a.IsMeta && (a.CommandMode == "" || a.CommandMode == "prompt") {
			m.Origin = message.OriginAuthored
			for _, block := range m.Blocks {
				if t, ok := block.(message.Text); ok {
					m.Origin = originOf(t.Text)
					break
				}
			}
		}
	} else if text := attachedText(l.Attachment); text != "" {
		m.Blocks = []message.Block{message.Text{Text: text}}
		bu.b.Lose(l.number, "attachments are kept as their bare text, without the words that the program put around them")
	}
	if len(m.Blocks) == 0 {
		bu.b.Losef(l.number, "attachments of the type %q, without text", clip(a.Type))
		return
	}
	m.ID = l.id(bu.b)
	bu.b.Append(l.number, m)
}

// attachedText returns the strings inside the first carrier that holds any.
func attachedText(raw json.RawMessage) string {
	fields := map[string]sessionfile.Value{}
	for key, v := range (sessionfile.Value{Raw: raw}).Members() {
		if slices.Contains(carriers, key) {
			fields[key] = v
		}
	}
	for _, key := range carriers {
		var texts []string
		collect(fields[key], &texts, maxAttachedDepth)
		if len(texts) > 0 {
			return strings.Join(texts, "\n")
		}
	}
	return ""
}

// labels are the fields inside a carrier that say what it is.
var labels = []string{"type", "id", "uuid", "media_type", "mediaType", "mimeType", "data", "base64"}

// maxAttachedDepth is how deep texts are looked for.
const maxAttachedDepth = 8

// collect gathers the strings of a value, leaving out labels.
func collect(v sessionfile.Value, texts *[]string, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case '"':
		if t := v.Text(); strings.TrimSpace(t) != "" {
			*texts = append(*texts, t)
		}
	case '[':
		for e := range v.Elements() {
			collect(e, texts, depth-1)
		}
	case '{':
		for key, e := range v.Members() {
			if !slices.Contains(labels, key) {
				collect(e, texts, depth-1)
			}
		}
	}
}
