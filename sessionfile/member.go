package sessionfile

// Member returns the member of an object with this name: the first one if
// there are several, the zero Value if there is none or v is no object.
func (v Value) Member(key string) Value {
	for name, member := range v.Members() {
		if name == key {
			return member
		}
	}
	return Value{}
}
