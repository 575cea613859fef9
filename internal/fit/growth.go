package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
	"github.com/forge-agent/forge/tokencount"
)

// A growth is what came into a session between two successive requests of one
// model whose usage is known. The system prompt and the tools, which most
// session files do not hold, fall out of the difference.
type growth struct {
	file, format string
	route        tokencount.Route
	messages     []message.Message
	// before and after are the reported input tokens of the two requests.
	before, after int
	// learn says that the step is shown to the fit.
	learn bool
}

func (g growth) reported() int { return g.after - g.before }

// sessionFolders are the folders of the corpus whose usage a provider
// reported.
func sessionFolders() []string {
	return []string{"claude-code", "codex", "gemini-cli", "openai-chat", "pi"}
}

// A loaded is a session with its name.
type loaded struct {
	file    string
	session *sessionfile.Session
}

func readSessions(corpus string) ([]loaded, error) {
	var out []loaded
	for _, folder := range sessionFolders() {
		err := filepath.WalkDir(filepath.Join(corpus, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			s, err := sessionfile.Open(path, formats.All(), nil)
			if err != nil {
				fmt.Fprintf(os.Stderr, "fit: skip %s: %v\n", path, err)
				return nil
			}
			if s.UsageSynthetic == "" {
				out = append(out, loaded{file: folder + "/" + filepath.Base(path), session: s})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
	}
	return out, nil
}

// growths takes a session apart. A step is left out when the agent changed
// its view in between, when the model changed, and when the context shrank.
func growths(l loaded, models *catalog.Catalog) []growth {
	var out []growth
	s := l.session
	last := -1
	for i, r := range s.Requests {
		if r.Usage == nil || r.Usage.InputTokens <= 0 || r.Failed != "" {
			continue
		}
		if last >= 0 {
			p := s.Requests[last]
			g := growth{file: l.file, format: s.Format, before: p.Usage.InputTokens, after: r.Usage.InputTokens,
				route: tokencount.Route{Family: estimate.FamilyOf(modelOf(s, r), models), Model: modelOf(s, r)}}
			g.messages = messages(s, p.At, r.At)
			if modelOf(s, p) == modelOf(s, r) && g.reported() > 0 && r.At > p.At && !changed(s, p.At, r.At) {
				out = append(out, g)
			}
		}
		last = i
	}
	for i := range out {
		out[i].learn = learnsFrom(s.Format) && i < len(out)/2
	}
	return out
}

// learnsFrom says whether the fit sees sessions of a format: the first half of
// each whose files hold all that the agent adds to a conversation. Claude Code
// injects reminders that its files do not hold; those sessions only show how
// far the result carries.
func learnsFrom(format string) bool { return format == "pi" || format == "mini-swe-agent" }

func modelOf(s *sessionfile.Session, r sessionfile.Request) string {
	if r.Model != "" {
		return r.Model
	}
	return s.Model
}

func messages(s *sessionfile.Session, from, to int) []message.Message {
	var out []message.Message
	for i := from; i < to; i++ {
		out = append(out, s.Transcript.At(i))
	}
	return out
}

func changed(s *sessionfile.Session, from, to int) bool {
	return slices.ContainsFunc(s.Marks, func(m sessionfile.Mark) bool {
		return m.Change != nil && m.At > from && m.At <= to
	})
}
