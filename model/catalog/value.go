package catalog

// Origin says which layer a value comes from.
type Origin string

// The origins.
const (
	// OriginCatalog: the embedded data.
	OriginCatalog Origin = "catalog"
	// OriginUser: stated by the user in their configuration.
	OriginUser Origin = "user"
	// OriginFallback: a conservative default for what nobody stated.
	OriginFallback Origin = "fallback"
)

// Provenance says where a value comes from.
type Provenance struct {
	// Origin is the layer; empty for an unknown value.
	Origin Origin
	// Source names what stated the value, for example a vendor's page. Empty
	// when a user gave none.
	Source string
	// Date is the day (YYYY-MM-DD) for which the source stated it. Empty when
	// the origin is not the catalog and no date was given.
	Date string
}

// A Value is one fact about a model and where it comes from. The zero Value is
// unknown, which is different from a known zero.
type Value[T any] struct {
	// V is the value; the zero T when not Known.
	V T
	// Known says whether anybody stated the value.
	Known bool
	// From says who did.
	From Provenance
}

// Get returns the value and whether it is known.
func (v Value[T]) Get() (T, bool) { return v.V, v.Known }

func known[T any](v T, from Provenance) Value[T] { return Value[T]{V: v, Known: true, From: from} }
