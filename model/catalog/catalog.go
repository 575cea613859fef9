package catalog

import (
	_ "embed" // data.json
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
)

//go:embed data.json
var embedded string

// A Catalog holds models by name. It never changes; Merge makes another one.
// It may be used by several goroutines. The zero Catalog knows no model.
type Catalog struct {
	models []Model        // sorted by ID
	index  map[string]int // id or alias → position in models
}

// Default returns the catalog that is built into the program. It is read on
// the first call.
func Default() *Catalog { return readEmbedded() }

var readEmbedded = sync.OnceValue(func() *Catalog {
	entries, err := parse([]byte(embedded))
	if err != nil {
		panic(fmt.Sprintf("catalog: data.json: %v", err)) // the file is part of the program; a test reads it
	}
	c, err := new(Catalog).with(entries, OriginCatalog)
	if err != nil {
		panic(fmt.Sprintf("catalog: data.json: %v", err))
	}
	return c
})

// Load returns the built-in catalog with a user's overrides on top. The format
// is that of ParseOverrides; empty data changes nothing.
func Load(data []byte) (*Catalog, error) {
	if len(data) == 0 {
		return Default(), nil
	}
	o, err := ParseOverrides(data)
	if err != nil {
		return nil, err
	}
	return Default().Merge(o)
}

// Merge returns a catalog in which the user's statements win. Only what is
// stated changes, and it has OriginUser.
//
// A statement about a name that the catalog does not hold makes a new model.
// When Resolve would find a model for that name by taking something off
// (MatchDecorated, MatchSnapshot), the new one starts as a copy of it, so that
// a reseller's name keeps the window and gets its own price. A rate is for
// requests of every size; stated tiers replace all tiers. An alias that
// another model has moves; one that is another model's id is an error that
// wraps ErrInvalid.
func (c *Catalog) Merge(o Overrides) (*Catalog, error) {
	return c.with(o.entries, OriginUser)
}

// All yields every model, sorted by ID.
func (c *Catalog) All() iter.Seq[Model] {
	return func(yield func(Model) bool) {
		for _, m := range c.models {
			if !yield(m.clone()) {
				return
			}
		}
	}
}

// Len returns the number of models.
func (c *Catalog) Len() int { return len(c.models) }

func (c *Catalog) with(entries []entry, origin Origin) (*Catalog, error) {
	next := &Catalog{models: make([]Model, 0, len(c.models)+len(entries)), index: make(map[string]int, len(c.index)+len(entries))}
	for _, m := range c.models {
		next.models = append(next.models, m.clone())
	}
	for name, i := range c.index {
		next.index[name] = i
	}
	for _, e := range entries {
		for _, id := range e.IDs {
			m := &next.models[next.position(id, origin)]
			e.apply(m, origin)
			for _, alias := range e.Aliases {
				if err := next.name(m, alias); err != nil {
					return nil, err
				}
			}
		}
	}
	next.sort()
	return next, nil
}

// position returns where the model with this name is, adding it when needed.
func (c *Catalog) position(id string, origin Origin) int {
	if i, ok := c.index[id]; ok {
		return i
	}
	m := Model{}
	if origin == OriginUser {
		if i, match := c.find(id); match != MatchNone {
			m = c.models[i].clone()
		}
	}
	m.ID, m.Origin, m.Aliases = id, origin, nil
	c.models = append(c.models, m)
	c.index[id] = len(c.models) - 1
	return len(c.models) - 1
}

// name makes alias a name of m.
func (c *Catalog) name(m *Model, alias string) error {
	if alias == m.ID || slices.Contains(m.Aliases, alias) {
		return nil
	}
	if i, ok := c.index[alias]; ok {
		other := &c.models[i]
		if other.ID == alias {
			return fmt.Errorf("%w: alias %q of %s is the id of another model, state it there", ErrInvalid, shorten(alias), shorten(m.ID))
		}
		other.Aliases = slices.DeleteFunc(other.Aliases, func(a string) bool { return a == alias })
	}
	m.Aliases = append(m.Aliases, alias)
	c.index[alias] = c.index[m.ID]
	return nil
}

func (c *Catalog) sort() {
	slices.SortFunc(c.models, func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
	clear(c.index)
	for i := range c.models {
		m := &c.models[i]
		slices.Sort(m.Aliases)
		c.index[m.ID] = i
		for _, alias := range m.Aliases {
			c.index[alias] = i
		}
	}
}
