package sessionfile

// A Head is what the beginning of a file tells: enough to recognise a format
// by content.
type Head struct {
	// Single is true when the whole file is one JSON document, be it an
	// object or an array. A file of one JSON line is single too.
	Single bool
	// Array is true when that document is an array.
	Array bool
	// Objects are the file's first top-level objects, or the first elements
	// of the array that are objects: at most 64 of them, fewer when they are
	// long.
	Objects []HeadObject
}

// Limits of a Head.
const (
	headObjects = 64
	headBytes   = 4 << 20
)

// First returns the first object, the zero HeadObject when there is none.
func (h Head) First() HeadObject {
	if len(h.Objects) == 0 {
		return HeadObject{}
	}
	return h.Objects[0]
}

// A HeadObject is one object of a Head with its members by name. The zero
// HeadObject has none.
type HeadObject struct {
	members map[string]Value
}

func newHeadObject(v Value) HeadObject {
	o := HeadObject{members: map[string]Value{}}
	for key, member := range v.Members() {
		o.members[key] = member
	}
	return o
}

// Has reports whether all the keys are there.
func (o HeadObject) Has(keys ...string) bool {
	for _, key := range keys {
		if _, ok := o.members[key]; !ok {
			return false
		}
	}
	return true
}

// Kind returns the Value.Kind of a member, 0 when it is absent.
func (o HeadObject) Kind(key string) byte { return o.members[key].Kind() }

// Text returns a string member decoded, "" when it is absent or no string.
func (o HeadObject) Text(key string) string { return o.members[key].Text() }

// Object returns a member that is an object, the zero HeadObject otherwise.
func (o HeadObject) Object(key string) HeadObject { return newHeadObject(o.members[key]) }

// Elements returns the first elements of a member that is an array, those
// that are objects, at most 64.
func (o HeadObject) Elements(key string) []HeadObject { return headElements(o.members[key]) }

func headElements(v Value) []HeadObject {
	var out []HeadObject
	for e := range v.Elements() {
		if e.Kind() == '{' {
			out = append(out, newHeadObject(e))
		}
		if len(out) == headObjects {
			break
		}
	}
	return out
}
