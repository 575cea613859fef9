package wirebody

import (
	"bytes"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// ReadTools reads a list of tool definitions, as any dialect but Gemini
// writes it, into the session.
func ReadTools(b *sessionfile.Builder, v sessionfile.Value) { newReader(b, Chat).tools(v) }

// tools reads the list of advertised tools.
func (r *reader) tools(v sessionfile.Value) {
	for e := range v.Elements() {
		if e.Kind() != '{' || e.Cut {
			continue
		}
		if r.dialect == Gemini {
			r.geminiTools(e)
			continue
		}
		if function := e.Member("function"); function.Kind() == '{' {
			e = function // chat: the definition stands one level down
		}
		r.tool(e)
	}
}

// geminiTools reads an entry, which holds several functions or a tool that
// the provider defines.
func (r *reader) geminiTools(v sessionfile.Value) {
	for key, member := range v.Members() {
		switch key {
		case "functionDeclarations", "function_declarations":
			for e := range member.Elements() {
				if !e.Cut {
					r.tool(e)
				}
			}
		default:
			r.providerTool(member.Line, key, "")
		}
	}
}

// tool reads one definition in any dialect's words.
func (r *reader) tool(v sessionfile.Value) {
	var t message.ToolDefinition
	kind, schema := "", false
	for key, member := range v.Members() {
		switch key {
		case "name":
			t.Name = member.Text()
		case "description":
			t.Description = member.Text()
		case "parameters", "input_schema", "parametersJsonSchema", "format":
			if member.Kind() == '{' {
				t.Parameters, schema = bytes.Clone(member.Raw), true
			}
		case "type":
			kind = member.Text()
		}
	}
	if !schema && t.Description == "" && kind != "" && kind != "function" && kind != "custom" {
		r.providerTool(v.Line, kind, t.Name)
		return
	}
	r.b.Session.Tools = append(r.b.Session.Tools, t)
}

// providerTool keeps a tool whose text only the provider knows.
func (r *reader) providerTool(line int, kind, name string) {
	if name == "" {
		name = kind
	}
	r.b.Losef(line, "tool %q is defined by the provider, its text is not in the body", kind)
	r.body.Complete = false
	r.b.Session.Tools = append(r.b.Session.Tools, message.ToolDefinition{Name: name})
}
