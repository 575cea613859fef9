// Command fit fits the profiles of package tokencount on recorded requests and
// on sessions with real usage, and reports how far the result is off.
//
//	FORGE_CORPUS=DIR go run ./internal/fit            report, and write tokencount/fitted.go and docs/ESTIMATES.md
//	FORGE_CORPUS=DIR go run ./internal/fit -n         report only
//	FORGE_CORPUS=DIR go run ./internal/fit -v         and name each request that is off by more than 5 %
//	FORGE_CORPUS=DIR go run ./internal/fit -sessions  report the growth errors of the sessions
//	go run ./internal/fit -teach COUNTS               write teachers.go, see counts.mjs
//
// A part of the recorded requests, drawn by test case across all models, is
// never shown to the fit; the report names its errors apart. The same corpus
// gives the same table, byte for byte.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

func main() {
	var o options
	flag.BoolVar(&o.sessions, "sessions", false, "report the growth errors of the sessions")
	flag.BoolVar(&o.dry, "n", false, "report only, write nothing")
	flag.BoolVar(&o.verbose, "v", false, "name each request that is off by more than 5 %")
	flag.BoolVar(&o.texts, "texts", false, "write the texts of the sessions for counts.mjs")
	flag.StringVar(&o.teach, "teach", "", "write teachers.go from the output of counts.mjs")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

type options struct {
	sessions, dry, verbose, texts bool
	teach                         string
}

func run(o options) error {
	if o.teach != "" {
		lessons, err := readLessons(o.teach)
		if err != nil {
			return err
		}
		if len(lessons) == 0 {
			return fmt.Errorf("%s holds no texts", o.teach)
		}
		return writeTeachers(teach(lessons), lessons)
	}
	corpus := os.Getenv("FORGE_CORPUS")
	if corpus == "" {
		return fmt.Errorf("FORGE_CORPUS is unset: it names the folder with the recorded requests and sessions")
	}
	models := catalog.Default()
	sessions, err := readSessions(corpus)
	switch {
	case err != nil:
		return err
	case o.texts:
		return writeTexts(os.Stdout, sessions)
	case o.sessions:
		return reportSessions(os.Stdout, sessions, models)
	}
	rows, err := estimate.ReadRequests(corpus, models)
	if err != nil {
		return err
	}
	var steps []growth
	for _, l := range sessions {
		steps = append(steps, growths(l, models)...)
	}
	text := newMemo(o200k.New())
	var fitters []*fitter
	var entries []entry
	for _, g := range groups() {
		f := newFitter(text, g, rows, steps)
		fitters = append(fitters, f)
		entries = append(entries, f.entries()...)
	}
	judgedRows := judgeRequests(text, rows, func(r tokencount.Route) tokencount.Profile { return find(entries, r) })
	var report bytes.Buffer
	reportRequests(&report, judgedRows, cross(fitters))
	fmt.Print(report.String())
	if o.verbose {
		for _, j := range judgedRows {
			if j.err() > 0.05 {
				fmt.Printf("%-36s %-9s %-16s unseen=%-5v %-20s reported %5d estimate %5d ± %d\n", j.Route.Model, j.Route.Wire, j.TestCase, estimate.InTest(j.TestCase), j.Kind, j.Reported, j.estimate, j.band)
			}
		}
	}
	if o.dry {
		return nil
	}
	said := summary(rows, steps)
	source, err := writeTable(entries, said)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("tokencount", "fitted.go"), source, 0o644); err != nil {
		return err
	}
	return writePage(said, report.String(), sessions, models)
}

// writePage writes the page of the documentation that holds both reports.
func writePage(said, requests string, sessions []loaded, models *catalog.Catalog) error {
	var growth bytes.Buffer
	if err := reportSessions(&growth, sessions, models); err != nil {
		return err
	}
	text := fmt.Sprintf(page, said, requests, growth.String(), freeTokens)
	return os.WriteFile(filepath.Join("docs", "ESTIMATES.md"), []byte(text), 0o644)
}

// page is the text around the two reports.
const page = `# How far the estimates are off

Made by ` + "`FORGE_CORPUS=DIR go run ./internal/fit`" + `, together with the table of
profiles in tokencount/fitted.go. Do not edit.

%[1]s

## Whole requests

One line pools the requests of a family. The error is the difference beyond
%[4]d tokens as a share of what the provider reported: many of these requests are
so small that one token is several percent. "Unseen by the fit" are the cases
that were left out; in the last two columns every request is judged by profiles
that were fitted without its whole scenario. "Short beyond the band" counts
reports above estimate plus band.

%[2]s
## Growth between the requests of a session

Each session is played through the gate that live runs use. The error of growth
is that of what came in since the request before, as a share of it, as a median;
the error of the request is a share of the whole, where what was sent before is
known from its usage. bytes/4 counts the same growth by its bytes.

%[3]s`

// find is tokencount.ProfileOf on a table that is not yet written.
func find(entries []entry, r tokencount.Route) tokencount.Profile {
	var out tokencount.Profile
	for _, e := range entries {
		if e.profile.Family == r.Family && e.match.Covers(r) {
			out = e.profile
		}
	}
	return out
}

// summary says what the table was fitted on.
func summary(rows []estimate.Recorded, steps []growth) string {
	unseen, learn := 0, 0
	for _, r := range rows {
		if estimate.InTest(r.TestCase) {
			unseen++
		}
	}
	for _, s := range steps {
		if s.learn {
			learn++
		}
	}
	return fmt.Sprintf(`The table was fitted on %d of %d recorded requests (recorded from 2025 to
2026; whole test cases are left out, across all models, and a request with an
image, an answer schema or content that its report does not count teaches
nothing), and on %d of %d steps of growth in sessions.`, len(rows)-unseen, len(rows), learn, len(steps))
}
