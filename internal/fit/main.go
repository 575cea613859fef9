// Command fit fits the profiles of package tokencount on recorded requests and
// on sessions with real usage, and reports how far the result is off.
//
//	FORGE_CORPUS=DIR go run ./internal/fit            report, and write tokencount/fitted.go
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
	"flag"
	"fmt"
	"os"
	"path/filepath"

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
	rows, err := readRequests(corpus, models)
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
	reportRequests(os.Stdout, judgedRows, cross(fitters))
	if o.verbose {
		for _, j := range judgedRows {
			if j.err() > 0.05 {
				fmt.Printf("%-36s %-9s %-16s unseen=%-5v %-20s reported %5d estimate %5d ± %d\n", j.route.Model, j.route.Wire, j.testCase, inTest(j.testCase), j.kind, j.reported, j.estimate, j.band)
			}
		}
	}
	if o.dry {
		return nil
	}
	source, err := writeTable(entries, summary(rows, steps))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("tokencount", "fitted.go"), source, 0o644)
}

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
func summary(rows []recorded, steps []growth) string {
	unseen, learn := 0, 0
	for _, r := range rows {
		if inTest(r.testCase) {
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
