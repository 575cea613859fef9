package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forge-agent/forge/internal/credential"
)

// verify checks what no single value shows.
func verify(m *merged) []Finding {
	var out []Finding
	for _, prefix := range []string{serverPrefix, proposed} {
		for _, name := range m.entries(prefix) {
			out = append(out, m.server(prefix+name)...)
		}
	}
	for _, name := range m.entries("providers.") {
		if !known(name) {
			for _, field := range []string{"endpoint", "dialect"} {
				if s := m.settings["providers."+name+"."+field]; s == nil || s.value == nil {
					out = append(out, m.missing("providers."+name, fmt.Sprintf("has no %q, and Forge knows no provider of this name", field)))
				}
			}
		}
	}
	if s := m.settings["provider"]; s.value != nil {
		own := m.entries("providers.")
		if name := text(s.value); !known(name) && !slices.Contains(own, name) {
			out = append(out, unknownProvider(s, own))
		}
	}
	return out
}

func known(name string) bool {
	return slices.ContainsFunc(credential.Routes(), func(r credential.Route) bool { return r.Name == name })
}

func unknownProvider(s *setting, own []string) Finding {
	names := own
	for _, r := range credential.Routes() {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	last := s.origins[len(s.origins)-1]
	for _, o := range s.origins {
		if o.Used {
			last = o
		}
	}
	hint := "use one of " + strings.Join(names, ", ") + ", or describe it under \"providers\""
	if near := nearest(text(s.value), names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return Finding{Severity: Fault, Layer: last.Layer, Place: last.Place, Key: "provider",
		Text: fmt.Sprintf("unknown provider %q; %s", clip(text(s.value)), hint)}
}

// entries lists the names below a prefix that have a value of their own.
func (m *merged) entries(prefix string) []string {
	names := map[string]bool{}
	for path, s := range m.settings {
		if rest, ok := strings.CutPrefix(path, prefix); ok && strings.Contains(rest, ".") && s.value != nil {
			names[rest[:strings.IndexByte(rest, '.')]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// missing is a fault of an entry as a whole; it stands where the entry begins.
func (m *merged) missing(name, text string) Finding {
	shown := strings.Replace(name, proposed, serverPrefix, 1)
	out := Finding{Severity: Fault, Key: shown, Text: fmt.Sprintf("%q %s", shown, text)}
	for path, s := range m.settings {
		for _, o := range s.origins {
			earlier := out.File == "" || o.Line < out.Line || o.Line == out.Line && o.Column < out.Column
			if strings.HasPrefix(path, name+".") && o.Layer != Default && o.Refused == "" && earlier {
				out.Layer, out.Place = o.Layer, o.Place
			}
		}
	}
	return out
}

func (m *merged) server(name string) []Finding {
	has := func(field string) bool { s := m.settings[name+"."+field]; return s != nil && s.value != nil }
	switch {
	case has("command") && has("url"):
		return []Finding{m.missing(name, `has both "command" and "url"; a server is reached by one of them`)}
	case !has("command") && !has("url"):
		return []Finding{m.missing(name, `has neither "command" nor "url"; say how it is reached`)}
	case has("env") && !has("command"):
		return []Finding{m.missing(name, `has "env", which is for a program; use "headers" with a "url"`)}
	case has("headers") && !has("url"):
		return []Finding{m.missing(name, `has "headers", which are for a "url"; use "env" with a "command"`)}
	}
	return nil
}
