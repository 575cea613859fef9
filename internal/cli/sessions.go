package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/pgstore"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/forgejsonl"
	"github.com/forge-agent/forge/sessionfile/formats"
	"github.com/forge-agent/forge/trace"
)

func newSessions(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sessions",
		Aliases: []string{"session"},
		Short:   "List, show, export, import, fork, cut, search and verify stored sessions",
		Long: "Sessions are kept in forge.db in FORGE_HOME (default ~/.forge); " +
			"FORGE_STORE=postgres://user:password@host/database keeps them in PostgreSQL instead, for several machines. An ID may be shortened to what is unique. Nothing that was said is ever deleted.",
	}
	cmd.AddCommand(newSessionsList(env), newSessionsShow(env), newSessionsExport(env), newSessionsImport(env),
		newSessionsFork(env), newSessionsTruncate(env), newSessionsSearch(env), newSessionsVerify(env))
	return cmd
}

// forgeHome is the folder of Forge's own files, empty when there is none.
func forgeHome(env *Env) string {
	if home := env.Getenv("FORGE_HOME"); home != "" {
		return home
	}
	if env.HomeDir == "" {
		return ""
	}
	return filepath.Join(env.HomeDir, ".forge")
}

// openStore opens the store of sessions: the database that FORGE_STORE names,
// else the file in FORGE_HOME. make says whether that may be made.
func openStore(ctx context.Context, env *Env, make bool) (session.Store, error) {
	if dsn := env.Getenv("FORGE_STORE"); dsn != "" {
		store, err := pgstore.Open(ctx, dsn, "")
		if err != nil {
			return nil, err // no store in the interface, not one that is nil
		}
		return store, nil
	}
	home := forgeHome(env)
	if home == "" {
		return nil, usagef("there is no home directory: set FORGE_HOME to the folder that sessions are kept in")
	}
	if _, err := os.Stat(filepath.Join(home, sqlitestore.FileName)); err != nil && !make {
		return nil, usagef("no sessions are stored in %q yet; \"forge sessions import FILE\" stores one", home)
	}
	store, err := sqlitestore.Open(ctx, home, nil)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// keyVariables are the environment variables whose values are secrets.
var keyVariables = []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY",
	"XAI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "FORGE_OPENAI_API_KEY", "FORGE_ANTHROPIC_API_KEY", "FORGE_GEMINI_API_KEY",
	"FORGE_DEEPSEEK_API_KEY", "FORGE_STORE", "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}

// sessionOptions are clock and redactor for whatever is stored.
func sessionOptions(env *Env) *session.Options {
	o := &redact.Options{}
	for _, name := range keyVariables {
		if v := env.Getenv(name); v != "" {
			o.Values = append(o.Values, redact.Value{Name: name, Text: v})
		}
	}
	return &session.Options{Now: time.Now, Redactor: redact.New(o)}
}

// withStore runs f on the store and gives its errors their exit codes.
func withStore(c *cobra.Command, env *Env, make bool, f func(context.Context, session.Store) error) error {
	store, err := openStore(c.Context(), env, make)
	if err != nil {
		return err
	}
	defer store.Close()
	return sessionError(f(c.Context(), store))
}

// sessionError marks what the caller can put right.
func sessionError(err error) error {
	for _, usage := range []error{session.ErrNotFound, session.ErrAmbiguous, session.ErrExists, session.ErrExport, session.ErrLocked, session.ErrReadOnly} {
		if errors.Is(err, usage) {
			return usageError{err}
		}
	}
	return err
}

// withSession is withStore for a command on one session.
func withSession(c *cobra.Command, env *Env, prefix string, f func(context.Context, session.Store, string) error) error {
	return withStore(c, env, false, func(ctx context.Context, store session.Store) error {
		id, err := session.Find(ctx, store, prefix)
		if err != nil {
			return err
		}
		return f(ctx, store, id)
	})
}

// tracePath returns the trace of the run that an argument names, where it
// names no file.
func tracePath(env *Env, arg string) string {
	home := forgeHome(env)
	if _, err := os.Stat(arg); err == nil || home == "" || filepath.Base(arg) != arg {
		return arg
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return arg
	}
	defer root.Close()
	if runs, err := trace.Runs(root, arg); err == nil && len(runs) == 1 {
		return filepath.Join(home, trace.RunsFolder, runs[0]+trace.RunsSuffix)
	}
	return arg
}

// openSession reads a session file, or the stored session whose id begins
// like the argument when there is no such file.
func openSession(ctx context.Context, env *Env, arg string) (*sessionfile.Session, error) {
	s, fileErr := sessionfile.Open(arg, formats.All(), nil)
	if !errors.Is(fileErr, os.ErrNotExist) || filepath.Base(arg) != arg {
		return s, fileErr
	}
	store, err := openStore(ctx, env, false)
	if err != nil {
		return nil, fileErr
	}
	defer store.Close()
	id, err := session.Find(ctx, store, arg)
	if errors.Is(err, session.ErrNotFound) {
		return nil, fileErr
	}
	if err != nil {
		return nil, sessionError(err)
	}
	return forgejsonl.FromStore(ctx, store, id)
}

func newSessionsExport(env *Env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as JSON lines: everything that is stored about it",
		Long: "Write everything that is stored about a session as JSON lines, to standard output or to a file. " +
			"\"forge sessions import\" reads it back to the same hashes, and every command that takes a session file takes it. " +
			"Of a damaged session what stands before the damage is written, the loss is named, and the exit code is 1.",
		Args: arguments(1, 1, "one session"),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(c, env, args[0], func(ctx context.Context, store session.Store, id string) error {
				s, err := session.View(ctx, store, id, nil)
				if errors.Is(err, session.ErrDamaged) {
					s, err = session.Salvage(ctx, store, id)
				}
				if err != nil {
					return err
				}
				if out == "" {
					return s.Export(ctx, env.Stdout)
				}
				return exportFile(ctx, s, out)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write to this file, which must not exist")
	return cmd
}

// exportFile writes an export that only its owner can read, under its name
// only when it is whole.
func exportFile(ctx context.Context, s *session.Session, path string) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return usagef("write export: %w", err)
	}
	err = s.Export(ctx, f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil && !errors.Is(err, session.ErrDamaged) {
		return errors.Join(err, os.Remove(path))
	}
	return err
}

func newSessionsImport(env *Env) *cobra.Command {
	var fresh, salvage, asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Store session files: exports of Forge, and sessions of other agents",
		Long: "Store session files. An export of Forge comes back with its id, statuses and checkpoints, and must be whole: " +
			"--salvage takes what stands before the damage and names the loss. Of any other file that \"forge replay\" reads, " +
			"what the other agent did to its context becomes marks. Recognised secrets are taken out on the way in.",
		Args: arguments(1, -1, "one file or more"),
		RunE: func(c *cobra.Command, args []string) error {
			return withStore(c, env, true, func(ctx context.Context, store session.Store) error {
				for _, file := range args {
					done, err := importFile(ctx, env, store, file, fresh, salvage)
					if err != nil {
						return err
					}
					if err := writeImported(env.Stdout, file, done, asJSON); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&fresh, "new", false, "store an export under a new id")
	cmd.Flags().BoolVar(&salvage, "salvage", false, "take what is whole of a damaged export")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func importFile(ctx context.Context, env *Env, store session.Store, file string, fresh, salvage bool) (session.Imported, error) {
	s, err := sessionfile.Open(file, formats.All(), nil)
	if err != nil {
		return session.Imported{}, err
	}
	if !isExport(file) {
		done, err := session.Import(ctx, store, "", forgejsonl.Content(s, filepath.Base(file)), sessionOptions(env))
		for _, l := range s.Losses {
			done.Losses = append(done.Losses, session.Loss{Line: l.Line, What: l.What})
		}
		return done, err
	}
	f, err := os.Open(file)
	if err != nil {
		return session.Imported{}, usageError{err}
	}
	defer f.Close()
	id, content, err := session.ReadExport(f, salvage)
	if err != nil {
		return session.Imported{}, fmt.Errorf("import %q: %w; --salvage takes what is whole", file, err)
	}
	if fresh {
		id = ""
	}
	done, err := session.Import(ctx, store, id, content, sessionOptions(env))
	switch {
	case errors.Is(err, session.ErrExport):
		err = fmt.Errorf("import %q: %w; --salvage takes what is whole", file, err)
	case errors.Is(err, session.ErrExists):
		err = fmt.Errorf("%w; --new stores it under another id", err)
	}
	return done, err
}

// isExport reports whether a file begins as an export does.
func isExport(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(exportHead))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == exportHead
}

const exportHead = `{"forge":"session"`

func writeImported(w io.Writer, file string, done session.Imported, asJSON bool) error {
	if asJSON {
		losses := done.Losses
		if losses == nil {
			losses = []session.Loss{}
		}
		return writeJSON(w, struct {
			File        string         `json:"file"`
			ID          string         `json:"id"`
			Messages    int            `json:"messages"`
			Checkpoints int            `json:"checkpoints"`
			Losses      []session.Loss `json:"losses"`
		}{file, done.ID, done.Messages, done.Checkpoints, losses})
	}
	if _, err := fmt.Fprintf(w, "stored %s as %s: %d messages, %d checkpoints\n", file, done.ID, done.Messages, done.Checkpoints); err != nil {
		return err
	}
	losses := make([]sessionfile.Loss, len(done.Losses))
	for i, l := range done.Losses {
		losses[i] = sessionfile.Loss{Line: l.Line, What: l.What}
	}
	return writeLosses(w, losses)
}
