package config

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed page.md
var page string

//go:embed example.jsonc
var example string

//go:generate go test -run ^TestPage$ . -update

// Example returns a user's configuration with comments that sets every group
// of keys. It has no findings.
func Example() string { return example }

// Page returns docs/CONFIGURATION.md, made from the table of keys.
func Page() string {
	return strings.NewReplacer("{{keys}}\n", keyTable(), "{{outside}}\n", outsideTable(), "{{example}}\n", example).Replace(page)
}

func keyTable() string {
	var b strings.Builder
	b.WriteString("| Key | Value | Default | Project |\n|---|---|---|---|\n")
	for _, k := range documented() {
		value := ""
		if k.Default != nil && k.Default != "" {
			value = "`" + strings.Trim(k.show(k.Default), `"`) + "`"
		}
		rule := k.Project.short()
		fmt.Fprintf(&b, "| `%s`<br>%s | %s | %s | %s |\n", k.Path, k.Doc, k.kind(), value, rule)
	}
	return b.String()
}

func outsideTable() string {
	var b strings.Builder
	b.WriteString("| Key | Variable | Flag |\n|---|---|---|\n")
	for _, k := range documented() {
		if k.Env == "" && k.Flag == "" {
			continue
		}
		env, flag := "", ""
		if k.Env != "" {
			env = "`" + k.Env + "`"
		}
		if k.Flag != "" {
			flag = "`--" + k.Flag + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Path, env, flag)
	}
	return b.String()
}
