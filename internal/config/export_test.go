package config

// Merge reads a user's and a project's file; nil for none.
func Merge(user, project []byte) *Config {
	t := newTable(Keys())
	var layers []layer
	var findings []Finding
	for l, data := range map[Layer][]byte{User: user, Project: project} {
		if data != nil {
			read, fs := readLayer(t, l, l.String()+".json", data)
			layers, findings = append(layers, read), append(findings, fs...)
		}
	}
	if len(layers) == 2 && layers[0].layer == Project {
		layers[0], layers[1] = layers[1], layers[0]
	}
	return build(t, layers, findings)
}
