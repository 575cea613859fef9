package budget

import (
	"encoding/json"
	"fmt"
)

// A Category is one kind of content in a request. Every token of a request
// belongs to exactly one.
type Category int

// The categories in the order in which they are shown.
const (
	// Instructions: system text, instruction files, and what a harness
	// injects.
	Instructions Category = iota
	// Memory: checkpoints and summaries that stand for earlier messages.
	Memory
	// Conversation: what person and model said before the current request.
	Conversation
	// CurrentRequest: the user message that the run is about.
	CurrentRequest
	// Reasoning: thinking and opaque continuation that goes back to the
	// provider.
	Reasoning
	// ToolCalls: what the model asked tools to do.
	ToolCalls
	// ToolResults: what tools answered.
	ToolResults
	// ToolSchemas: the advertised tool definitions.
	ToolSchemas
	// Images: pictures, wherever they stand.
	Images
	// Framing: what the provider adds around messages, and rounding.
	Framing
	// Wrapper: the text that carries a conversation into another engine,
	// besides the content that it carries (F-BUD-06).
	Wrapper

	// CategoryCount is the number of categories.
	CategoryCount = int(Wrapper) + 1
)

func categoryNames() [CategoryCount]string {
	return [CategoryCount]string{"instructions", "memory", "conversation", "currentRequest", "reasoning",
		"toolCalls", "toolResults", "toolSchemas", "images", "framing", "wrapper"}
}

// String returns the name used in JSON, for example "toolResults".
func (c Category) String() string {
	if c < 0 || int(c) >= CategoryCount {
		return fmt.Sprintf("category(%d)", int(c))
	}
	return categoryNames()[c]
}

// Categories returns all categories in order.
func Categories() []Category {
	out := make([]Category, CategoryCount)
	for i := range out {
		out[i] = Category(i)
	}
	return out
}

// ParseCategory returns the category with this name.
func ParseCategory(name string) (Category, error) {
	for i, n := range categoryNames() {
		if n == name {
			return Category(i), nil
		}
	}
	return 0, fmt.Errorf("%w: unknown category %q", ErrInvalid, name)
}

// MarshalText returns the category's name; a number that is no category is an
// error, since nobody could read it back.
func (c Category) MarshalText() ([]byte, error) {
	if c < 0 || int(c) >= CategoryCount {
		return nil, fmt.Errorf("%w: %s has no name", ErrInvalid, c)
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads a category's name.
func (c *Category) UnmarshalText(text []byte) error {
	parsed, err := ParseCategory(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// A Breakdown holds tokens by category. Its total is the sum of its parts,
// by construction.
type Breakdown [CategoryCount]int

// Total returns the sum of all categories.
func (b Breakdown) Total() int {
	total := 0
	for _, n := range b {
		total += n
	}
	return total
}

// Plus returns the sum of two breakdowns, category by category.
func (b Breakdown) Plus(o Breakdown) Breakdown {
	for i := range b {
		b[i] += o[i]
	}
	return b
}

// Minus returns the difference of two breakdowns, category by category.
func (b Breakdown) Minus(o Breakdown) Breakdown {
	for i := range b {
		b[i] -= o[i]
	}
	return b
}

// MarshalJSON writes an object with every category's name, in order; the
// wrapper, which only other engines have, where there is one.
func (b Breakdown) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, n := range b {
		if Category(i) == Wrapper && n == 0 {
			continue
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%d", Category(i), n)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads the object that MarshalJSON writes. Absent categories
// are zero; unknown ones and anything but whole numbers are an error, which
// leaves b as it was.
func (b *Breakdown) UnmarshalJSON(data []byte) error {
	var m map[string]int
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%w: read breakdown: %w", ErrInvalid, err)
	}
	var out Breakdown
	for name, n := range m {
		c, err := ParseCategory(name)
		if err != nil {
			return fmt.Errorf("read breakdown: %w", err)
		}
		out[c] = n
	}
	*b = out
	return nil
}
