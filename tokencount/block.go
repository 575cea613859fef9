package tokencount

import (
	"github.com/forge-agent/forge/message"
)

// weigh counts a text in tokens of the family, before rounding.
func (c *Counter) weigh(text string) float64 {
	if text == "" {
		return 0
	}
	tokens := c.text.Count(text)
	if c.weighted {
		return c.ratio * c.profile.TextWeights.weigh(text, tokens)
	}
	return c.ratio * float64(tokens)
}

// block counts the content of one block; what the provider adds around it is
// framing, except what depends on the content itself.
func (c *Counter) block(b message.Block) int {
	switch b := b.(type) {
	case message.Text:
		return c.Text(b.Text)
	case message.Reasoning:
		return c.reasoning(b)
	case message.Image:
		return c.profile.Image.tokens(b)
	case message.ToolCall:
		return c.call(b)
	case message.ToolResult:
		total := 0
		for _, inner := range b.Content {
			total += c.block(inner)
		}
		return total
	case message.Opaque:
		return unread.tokens(len(b.Data))
	}
	return 0
}

func (c *Counter) call(b message.ToolCall) int {
	n := c.weigh(b.Name)
	if c.profile.Arguments == ArgumentsValues {
		values := 0.0
		if members(b.Arguments, func(name, text string) {
			values += c.weigh(name) + c.weigh(text) + c.profile.ArgumentTokens
		}) {
			return round(n + values)
		}
	}
	return round(n + c.weigh(b.Arguments))
}

// reasoning counts visible reasoning by its text and sealed reasoning by its
// size. A summary beside a sealed part is for people: the model reads the
// sealed part.
func (c *Counter) reasoning(b message.Reasoning) int {
	rule := c.profile.Sealed
	if rule.BytesPerToken > 0 && len(b.Opaque) > 0 && (b.Text == "" || rule.Replaces) {
		return rule.tokens(longestString(b.Opaque)) + round(c.profile.ReasoningTokens)
	}
	if b.Text == "" || c.profile.DropsReasoning {
		return 0
	}
	return round(c.weigh(b.Text) + c.profile.ReasoningTokens)
}

// schema counts one tool definition.
func (c *Counter) schema(d message.ToolDefinition) int {
	p := &c.profile
	if d.Description == "" && len(d.Parameters) == 0 && p.ProviderToolTokens > 0 {
		return round(c.weigh(d.Name) + p.ProviderToolTokens)
	}
	ratio := p.SchemaRatio
	if ratio == 0 {
		ratio = 1
	}
	schema, err := parseSchema(d.Parameters)
	if p.Schema == SchemaParts || err != nil && len(d.Parameters) > 0 {
		return round(ratio*(c.weigh(d.Name)+c.weigh(d.Description)+c.weigh(string(d.Parameters))) + p.ToolTokens)
	}
	return round(ratio*c.definition(d, schema) + p.ToolTokens + p.PropertyTokens*float64(schema.properties()))
}

// definition counts the text of a definition in the form that the model reads.
func (c *Counter) definition(d message.ToolDefinition, schema node) float64 {
	switch c.profile.Schema {
	case SchemaTypeScript:
		c.scratch = appendTypeScript(c.scratch[:0], d, schema)
		return c.weigh(string(c.scratch))
	case SchemaWords:
		n := c.weigh(d.Name) + c.weigh(d.Description)
		schema.words(func(text string) { n += c.weigh(text) })
		return n
	}
	c.scratch = append(c.scratch[:0], `{"name": `...)
	c.scratch = appendQuoted(c.scratch, d.Name)
	c.scratch = append(c.scratch, `, "description": `...)
	c.scratch = appendQuoted(c.scratch, d.Description)
	c.scratch = append(c.scratch, `, "parameters": `...)
	if schema.kind == 0 {
		schema.kind = '{'
	}
	c.scratch = append(appendJSON(c.scratch, schema), '}')
	return c.weigh(string(c.scratch))
}
