// Package formats lists the importers of package sessionfile.
//
// It stands apart so that a program which reads one format links only that
// importer.
package formats

import (
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/chat"
	"github.com/forge-agent/forge/sessionfile/claudecode"
	"github.com/forge-agent/forge/sessionfile/codex"
	"github.com/forge-agent/forge/sessionfile/forgejson"
	"github.com/forge-agent/forge/sessionfile/forgejsonl"
	"github.com/forge-agent/forge/sessionfile/geminicli"
	"github.com/forge-agent/forge/sessionfile/opencode"
	"github.com/forge-agent/forge/sessionfile/pi"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// All returns every format in the order in which they are tried. The formats
// exclude each other by the keys they look for; the order only matters for
// files that mix them.
func All() []sessionfile.Format {
	return []sessionfile.Format{
		claudecode.Format(),
		codex.Format(),
		pi.Format(),
		opencode.Format(),
		geminicli.Format(),
		forgejson.Format(),
		forgejsonl.Format(),
		chat.Format(),
		wirebody.Format(),
	}
}
