package gemini

import (
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// placeholderSignature is what Google's documentation names for a call that
// another model made: Gemini 3 refuses a call without a signature
// (ai.google.dev, thought signatures).
const placeholderSignature = "skip_thought_signature_validator"

// Encode returns the body that Stream sends: settings, tools, system text and
// then the contents, so that a longer conversation only adds at the end. The
// same request gives the same bytes.
func (m *Model) Encode(r model.Request) ([]byte, error) { return m.encode(r, false) }

func (m *Model) encode(r model.Request, count bool) ([]byte, error) {
	if err := dialect.Check(r.Messages, m.options.Provider, false); err != nil {
		return nil, err
	}
	j := wire.NewJSON(wire.SizeHint(r))
	j.Open('{')
	if count {
		j.Key("generateContentRequest").Open('{').Field("model", "models/"+m.name)
	}
	m.writeSettings(j, r)
	writeTools(j, r.Tools)
	writeSystem(j, r)
	w := contents{Model: m, j: j, names: dialect.CallNames(r.Messages)}
	j.Key("contents").Open('[')
	for _, msg := range r.Messages {
		w.message(msg)
	}
	w.role("")
	if r.Reminder != "" {
		// Behind the conversation, of which the provider's cache holds the
		// beginning, and not among results, whose number is checked.
		j.Open('{').Field("role", "user").Key("parts").Open('[').Open('{').Field("text", r.Reminder).Close('}').Close(']').Close('}')
	}
	j.Close(']').Close('}')
	if count {
		j.Close('}')
	}
	return j.Bytes()
}

func (m *Model) writeSettings(j *wire.JSON, r model.Request) {
	o := &m.options
	thinking := o.Thoughts || o.ThinkingTokens > 0 || o.ThinkingLevel != ""
	if r.OutputTokens > 0 || thinking {
		j.Key("generationConfig").Open('{')
		if r.OutputTokens > 0 {
			j.Key("maxOutputTokens").Int(r.OutputTokens)
		}
		if thinking {
			j.Key("thinkingConfig").Open('{')
			if o.Thoughts {
				j.Key("includeThoughts").Bool(true)
			}
			if o.ThinkingTokens > 0 {
				j.Key("thinkingBudget").Int(o.ThinkingTokens)
			}
			if o.ThinkingLevel != "" {
				j.Field("thinkingLevel", o.ThinkingLevel)
			}
			j.Close('}')
		}
		j.Close('}')
	}
	j.Members(o.Extra, "Options.Extra", "generationConfig", "tools", "systemInstruction", "contents")
}

func writeTools(j *wire.JSON, tools []message.ToolDefinition) {
	if len(tools) == 0 {
		return
	}
	j.Key("tools").Open('[').Open('{').Key("functionDeclarations").Open('[')
	for _, t := range tools {
		j.Open('{').Field("name", t.Name)
		if t.Description != "" {
			j.Field("description", t.Description)
		}
		if len(t.Parameters) > 0 {
			j.Key("parametersJsonSchema").Raw(t.Parameters, "the schema of "+t.Name)
		}
		j.Close('}')
	}
	j.Close(']').Close('}').Close(']')
}

func writeSystem(j *wire.JSON, r model.Request) {
	var texts []string
	for _, msg := range r.Instructions {
		if text := msg.Text(); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return
	}
	j.Key("systemInstruction").Open('{').Field("role", "user").Key("parts").Open('[') // the role is genai's
	for _, text := range texts {
		j.Open('{').Field("text", text).Close('}')
	}
	j.Close(']').Close('}')
}

// contents writes the conversation: one content for everything between two
// changes of the role, since all results of a turn must stand together.
type contents struct {
	*Model
	j     *wire.JSON
	names map[string]string
	open  string
	// signature waits for the part that it came with; called says that the
	// content has a call.
	signature string
	called    bool
	// images of results follow once all results are there.
	images []message.Image
}

// role begins a content of a role, if it is not open.
func (w *contents) role(role string) {
	if w.open == role {
		return
	}
	if w.open != "" {
		if w.signature != "" {
			w.part().Field("text", "")
			w.close()
		}
		w.flushImages()
		w.j.Close(']').Close('}')
	}
	if w.open = role; role != "" {
		w.called = false
		w.j.Open('{').Field("role", role).Key("parts").Open('[')
	}
}

func (w *contents) part() *wire.JSON { return w.j.Open('{') }

// close ends a part, with the signature that waits.
func (w *contents) close() {
	if w.signature != "" {
		w.j.Field("thoughtSignature", w.signature)
		w.signature = ""
	}
	w.j.Close('}')
}

func (w *contents) flushImages() {
	for _, img := range w.images {
		w.image(img)
	}
	w.images = nil
}

func (w *contents) message(msg message.Message) {
	role := "user"
	if msg.Role == message.RoleAssistant {
		role = "model"
	}
	for _, b := range msg.Blocks {
		if !w.sends(b) {
			continue
		}
		w.role(role)
		if b.Kind() != message.KindToolResult {
			w.flushImages()
		}
		switch b := b.(type) {
		case message.Text:
			w.part().Field("text", b.Text)
			w.close()
		case message.Image:
			w.image(b)
		case message.Reasoning:
			w.reasoning(b)
		case message.ToolCall:
			w.call(b)
		case message.ToolResult:
			w.result(b)
		case message.Opaque:
			w.j.Raw(b.Data, "an item of the provider")
		}
	}
}

func (w *contents) sends(b message.Block) bool {
	switch b := b.(type) {
	case message.Text:
		return b.Text != ""
	case message.Reasoning:
		return b.Provider == w.options.Provider && (b.Text != "" || len(b.Opaque) > 0)
	case message.Opaque:
		return b.Provider == w.options.Provider
	}
	return true
}

// reasoning: a block without text is the signature of the part that follows.
func (w *contents) reasoning(b message.Reasoning) {
	var signature string
	if len(b.Opaque) > 0 {
		if err := json.Unmarshal(b.Opaque, &signature); err != nil {
			w.j.Fail("encode request: a thought signature is no text")
		}
	}
	if b.Text == "" {
		if w.signature != "" { // two in a row: the first stood alone
			w.part().Field("text", "")
			w.close()
		}
		w.signature = signature
		return
	}
	w.part().Field("text", b.Text).Key("thought").Bool(true)
	if signature != "" {
		w.signature = signature
	}
	w.close()
}

func (w *contents) call(b message.ToolCall) {
	w.part().Key("functionCall").Open('{')
	w.id(b.ID)
	w.j.Field("name", b.Name).Key("args")
	text := strings.TrimSpace(b.Arguments)
	switch {
	case text == "":
		w.j.Raw([]byte("{}"), "")
	case text[0] == '{' && json.Valid([]byte(text)):
		w.j.Raw([]byte(text), "")
	default: // an object is asked for; the model wrote something else
		w.j.Open('{').Field("arguments", b.Arguments).Close('}')
	}
	w.j.Close('}')
	if w.signature == "" && !w.called && strings.Contains(w.name, "gemini-3") {
		w.signature = placeholderSignature
	}
	w.called = true
	w.close()
}

// id writes an id that the provider gave.
func (w *contents) id(id string) {
	if !strings.HasPrefix(id, dialect.GeneratedID) {
		w.j.Field("id", id)
	}
}

func (w *contents) result(b message.ToolResult) {
	name := b.Name
	if name == "" {
		name = w.names[b.CallID]
	}
	w.part().Key("functionResponse").Open('{')
	w.id(b.CallID)
	key := "output"
	if b.Outcome == message.OutcomeFailure {
		key = "error"
	}
	w.j.Field("name", name).Key("response").Open('{').Field(key, b.Text()).Close('}').Close('}')
	w.close()
	for _, inner := range b.Content {
		if img, ok := inner.(message.Image); ok {
			w.images = append(w.images, img)
		}
	}
}

func (w *contents) image(b message.Image) {
	w.part()
	switch {
	case len(b.Data) > 0:
		w.j.Key("inlineData").Open('{').Field("mimeType", dialect.MediaType(b)).Key("data").Base64("", b.Data).Close('}')
	case b.URL != "":
		w.j.Key("fileData").Open('{').Field("mimeType", dialect.MediaType(b)).Field("fileUri", b.URL).Close('}')
	default:
		w.j.Field("text", dialect.MissingImage)
	}
	w.close()
}
