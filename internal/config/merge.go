package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Paths that no file can state: what a project adds to the user's.
const (
	projectRules = "policy.projectRules"
	serverPrefix = "mcp.servers."
	proposed     = "mcp.proposed."
)

// An Origin is one layer's opinion on a key.
type Origin struct {
	Layer Layer `json:"layer"`
	Place
	// Value is what the layer states: a bool, int, float64, string, []string,
	// map[string]string or a list of objects. "auto" is the number 0.
	Value any `json:"-"`
	// Used says that the value holds. More than one is used where a project
	// adds to the user's list.
	Used bool `json:"used"`
	// Refused says why a project's value is not applied; empty otherwise.
	Refused string `json:"refused,omitempty"`
}

// A setting is a key with what holds and every opinion on it, the earliest
// layer first.
type setting struct {
	key     *Key
	path    string
	value   any
	origins []Origin
}

// merged is the outcome of all layers.
type merged struct {
	table    *table
	settings map[string]*setting
	findings []Finding
}

// merge puts layers on top of each other, the lowest first. It only computes.
// A project's values are applied where their key's rule allows; all others are
// recorded as refused.
func merge(t *table, layers []layer) *merged {
	m := &merged{table: t, settings: map[string]*setting{}}
	for i := range t.keys {
		if k := &t.keys[i]; !strings.ContainsAny(k.Path, "*[") && k.Type != Ignored {
			m.at(k, k.Path)
		}
	}
	for _, l := range layers {
		m.apply(l)
	}
	m.pair()
	return m
}

// pair drops an endpoint that was stated for another provider: what goes to
// one provider must not reach the endpoint of another because a flag named
// only the provider.
func (m *merged) pair() {
	endpoint, provider := m.settings["endpoint"], m.settings["provider"]
	if endpoint.value == nil || provider.value == nil {
		return
	}
	at := &endpoint.origins[len(endpoint.origins)-1]
	for i := range endpoint.origins {
		if endpoint.origins[i].Used {
			at = &endpoint.origins[i]
		}
	}
	for _, o := range provider.origins {
		if o.Layer > at.Layer && o.Used && !slices.ContainsFunc(provider.origins, func(below Origin) bool {
			return below.Layer <= at.Layer && below.Refused == "" && below.Value == o.Value
		}) {
			endpoint.value, at.Used = nil, false
			m.findings = append(m.findings, Finding{Severity: Notice, Layer: at.Layer, Place: at.Place, Key: "endpoint",
				Text: fmt.Sprintf(`"endpoint" is not used: it was stated for another provider than %s, which %s names`, provider.key.show(o.Value), o.Place)})
		}
	}
}

func (m *merged) apply(l layer) {
	named := map[string]bool{} // servers of the user
	for path := range m.settings {
		if strings.HasPrefix(path, serverPrefix) {
			named[entity(m.table.pattern(path), path)] = true
		}
	}
	for _, e := range l.entries {
		path := e.path
		if l.layer == Project {
			name := entity(e.key.Path, path)
			switch {
			case e.key.Project == Add:
				m.add(e)
				continue
			case strings.HasPrefix(path, serverPrefix) && !named[name]:
				path = proposed + strings.TrimPrefix(path, serverPrefix)
				m.whole(e.key, path)
				if reason := e.key.lenient(e.value, m.settings[path].value); reason != "" && e.key.Project != Propose {
					m.refuse(m.settings[path], e, reason)
					continue
				}
				if text, ok := takesVariables(e.value); !ok {
					m.refuse(m.settings[path], e, fmt.Sprintf("a project may not hand out the environment variable %q", text))
					continue
				}
			default:
				s := m.settings[path]
				if s == nil { // an entry that the user has not: nothing to compare with
					m.refuse(&setting{key: e.key, path: path}, e, "a project may not set it")
					continue
				}
				if reason := e.key.lenient(e.value, s.value); reason != "" {
					m.refuse(s, e, reason)
					continue
				}
			}
		}
		m.whole(e.key, path)
		m.set(m.settings[path], l.layer, e)
	}
}

// whole makes the settings of the entry that a path belongs to, so that its
// defaults hold.
func (m *merged) whole(k *Key, path string) {
	name := entity(k.Path, path)
	if name == "" || m.settings[path] != nil {
		return
	}
	prefix := k.Path[:strings.Index(k.Path, "*")+1]
	for i := range m.table.keys {
		if other := &m.table.keys[i]; strings.HasPrefix(other.Path, prefix+".") {
			m.at(other, name+strings.TrimPrefix(other.Path, prefix))
		}
	}
}

// at returns the setting of a path, with the default for a new one.
func (m *merged) at(k *Key, path string) *setting {
	s := m.settings[path]
	if s == nil {
		s = &setting{key: k, path: path, value: k.Default}
		if k.Default != nil {
			s.origins = []Origin{{Layer: Default, Value: k.Default, Used: true}}
		}
		m.settings[path] = s
	}
	return s
}

func (m *merged) set(s *setting, l Layer, e entry) {
	if s.key.Project != Free { // what a file says about itself beats nothing
		for i := range s.origins {
			s.origins[i].Used = false
		}
	}
	s.value = e.value
	s.origins = append(s.origins, Origin{Layer: l, Place: e.place, Value: e.value, Used: true})
}

// add keeps what a project adds beside the user's.
func (m *merged) add(e entry) {
	s := m.at(e.key, e.path)
	s.origins = append(s.origins, Origin{Layer: Project, Place: e.place, Value: e.value, Used: true})
	m.settings[projectRules] = &setting{key: e.key, path: projectRules, value: e.value}
}

func (m *merged) refuse(s *setting, e entry, reason string) {
	s.origins = append(s.origins, Origin{Layer: Project, Place: e.place, Value: e.value, Refused: reason})
	m.settings[s.path] = s
	text := fmt.Sprintf("%q is not applied: %s", e.path, reason)
	if s.value != nil && !s.key.Secret {
		text += fmt.Sprintf("; it stays %s", s.key.show(s.value))
	}
	m.findings = append(m.findings, Finding{Severity: Refused, Layer: Project, Place: e.place, Key: e.path, Text: text})
}

// takesVariables reports whether a value names no variable of Forge's
// environment, and else which.
func takesVariables(value any) (string, bool) {
	texts, _ := value.(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if name, ok := reference(texts[key]); ok {
			return name, false
		}
	}
	return "", true
}

// lenient says why a project may not replace one value by another; empty when
// it may. It is the whole of F-CFG-02: whatever it does not know is refused.
func (k *Key) lenient(value, current any) string {
	switch k.Project {
	case Free:
		return ""
	case Raise:
		if k.amount(value) >= k.amount(current) {
			return ""
		}
		return "a project may only raise it, and " + k.weight(value) + " is less"
	case Lower:
		if k.amount(value) <= k.amount(current) {
			return ""
		}
		return "a project may only lower it, and " + k.weight(value) + " is more"
	case Stricter:
		from, to := slices.Index(k.Choices, text(current)), slices.Index(k.Choices, text(value))
		if from >= 0 && to >= from {
			return ""
		}
		return "a project may only make it stricter, and " + k.show(value) + " is not"
	case SwitchOff:
		if value == false || value == current {
			return ""
		}
		return "a project may only switch it off"
	case Narrow:
		wider, _ := current.([]string)
		narrower, _ := value.([]string)
		for _, name := range narrower {
			if wider != nil && !slices.Contains(wider, name) {
				return fmt.Sprintf("a project may only take entries away, and %q is new", clip(name))
			}
		}
		if len(narrower) > 0 {
			return ""
		}
		return "a project may only take entries away"
	case Propose:
		return "a project may not change a server of the user"
	}
	return "a project may not set it"
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// weight is a number as it is compared.
func (k *Key) weight(value any) string {
	switch n := k.amount(value); {
	case k.ZeroIsNone && value == 0.0:
		return "0, no limit,"
	case k.Type == Tokens && value == 0:
		return fmt.Sprintf("%q, which stands for %s,", auto, digits(n))
	}
	return k.show(value)
}

// amount makes numbers comparable: "auto" weighs what it stands for without
// any setting, and no limit is more than every limit.
func (k *Key) amount(value any) float64 {
	var f float64
	switch v := value.(type) {
	case int:
		f = float64(v)
	case float64:
		f = v
	}
	switch {
	case k.Type == Tokens && f == 0:
		f = float64(k.Default.(int))
	case k.ZeroIsNone && f == 0:
		f = k.Most + 1
	}
	return f
}
