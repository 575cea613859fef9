package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/cli"
)

// drawn makes n characters; no secret stands in this file.
func drawn(r *rand.Rand, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	b[1], b[n/2], b[n-2] = '4', '7', '9'
	return string(b)
}

// plant returns text around a secret, and the secret.
func plant(r *rand.Rand, form int) (text, secret string) {
	s := ""
	switch form {
	case 0:
		s = "gh" + "p_" + drawn(r, 36)
	case 1:
		s = "AK" + "IA" + strings.ToUpper(drawn(r, 16))
	case 2:
		s = "sk-" + "proj-" + drawn(r, 48)
	case 3:
		s = "sk-" + "ant-api03-" + drawn(r, 90)
	case 4:
		s = "xox" + "b-1234567890-" + drawn(r, 24)
	case 5:
		s = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"someone"}`)) + "." + drawn(r, 43)
	case 6:
		s = drawn(r, 22)
		return "postgres://app:" + s + "@db.internal/x", s
	case 7:
		s = drawn(r, 40)
		return "curl -H 'Authorization: Bearer " + s + "'", s
	case 8:
		s = drawn(r, 32)
		return "export SERVICE_SECRET_KEY=" + s + "\n", s
	case 9:
		s = drawn(r, 64) + "\n" + drawn(r, 64)
		return "-----BEGIN PRIV" + "ATE KEY-----\n" + s + "\n-----END PRIV" + "ATE KEY-----\n", s
	case 10:
		s = "configured phrase " + fmt.Sprint(r.IntN(10)) // known by its value only
		return "it is " + s, s
	default:
		s = "gl" + "pat-" + drawn(r, 20)
	}
	return "use " + s + " now", s
}

// planted makes a conversation with 60 secrets: as text, split over blocks,
// in arguments as JSON in JSON, in tool output, in file contents.
func planted(r *rand.Rand) (file []byte, secrets []string, env map[string]string) {
	type m = map[string]any
	env = map[string]string{}
	list := []m{{"role": "system", "content": "be brief"}}
	for i := range 60 {
		text, secret := plant(r, i%12)
		if i%12 == 10 {
			secret += fmt.Sprint(" of place ", i)
			text = "it is " + secret
			env[[]string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY", "GITHUB_TOKEN", "XAI_API_KEY"}[i/12]] = secret
		}
		secrets = append(secrets, secret)
		switch id := fmt.Sprint("call", i); (i / 12) % 5 {
		case 0:
			list = append(list, m{"role": "user", "content": text}, m{"role": "assistant", "content": "ok"})
		case 1:
			half := len(text) / 2
			list = append(list, m{"role": "user", "content": []m{{"type": "text", "text": text[:half]}, {"type": "text", "text": text[half:]}}}, m{"role": "assistant", "content": "ok"})
		default:
			inner, _ := json.Marshal(m{"script": text, "n": i})
			arguments, output := `{"x":1}`, text
			if i%2 == 0 {
				arguments, output = string(inner), "done"
			}
			list = append(list, m{"role": "user", "content": "go on"},
				m{"role": "assistant", "content": nil, "tool_calls": []m{{"id": id, "type": "function", "function": m{"name": "run", "arguments": arguments}}}},
				m{"role": "tool", "tool_call_id": id, "content": output})
		}
	}
	file, _ = json.Marshal(list)
	return file, secrets, env
}

func run(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string { return env[name] }, WidthColumns: 100})
	if code != 0 {
		t.Fatalf("forge %v: exit %d: %s", args, code, errs.String())
	}
	return out.String()
}

// F-SEC-07, F-TST-06, F-SEC-12: after a session with 60 planted secrets was
// stored, replayed with a trace, forked, cut, searched and exported, no byte
// of FORGE_HOME holds one of them.
func TestNoSecretReachesForgeHome(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 4))
	file, secrets, env := planted(r)
	home := t.TempDir()
	env["FORGE_HOME"] = home
	input := filepath.Join(t.TempDir(), "chat.json")
	if err := os.WriteFile(input, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, s := range secrets {
		quoted, _ := json.Marshal(s)
		if !bytes.Contains(file, bytes.Trim(quoted, `"`)) && (i/12)%5 == 0 {
			t.Fatalf("secret %d is not in the file", i)
		}
	}
	var done struct{ ID string }
	if err := json.Unmarshal([]byte(run(t, env, "sessions", "import", "--json", input)), &done); err != nil {
		t.Fatal(err)
	}
	run(t, env, "replay", done.ID, "--trace", filepath.Join(home, "runs"))
	run(t, env, "sessions", "search", done.ID, "use", "now")
	run(t, env, "sessions", "fork", done.ID, "--at", "50")
	run(t, env, "sessions", "export", done.ID, "-o", filepath.Join(home, "export.jsonl"))
	run(t, env, "sessions", "truncate", done.ID, "--at", "40")
	run(t, env, "sessions", "verify")
	files := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; path != home && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		if d.IsDir() {
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, s := range secrets {
			for piece := range strings.SplitSeq(s, "\n") {
				for from := 0; from+14 <= len(piece); from += 7 {
					if bytes.Contains(data, []byte(piece[from:from+14])) && !strings.Contains("configured phrase", piece[from:from+14]) {
						t.Errorf("seed %d: %s holds a piece of secret %d (form %d, place %d)", seed, filepath.Base(path), i, i%12, (i/12)%5)
						from = len(piece)
					}
				}
			}
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("%d files: %v", files, err)
	}
}
