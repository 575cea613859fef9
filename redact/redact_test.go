package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/redact"
)

// draw makes n characters of an alphabet. No secret stands in this file: each
// is put together when the test runs.
func draw(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	b[n/2], b[n/3], b[n/4], b[n-1] = 'a', '7', '4', '9' // letters and digits in each
	return string(b)
}

const (
	hex     = "0123456789abcdef"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	capital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// secrets returns one secret for each form, by rule, with the text around it.
func secrets(r *rand.Rand) []struct{ rule, before, secret, after string } {
	type s = struct{ rule, before, secret, after string }
	jwtPart := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	pem := "\n" + draw(r, letters, 64) + "\n" + draw(r, letters, 64) + "\n" + draw(r, letters, 20) + "==\n"
	return []s{
		{"github-token", "", "gh" + "p_" + draw(r, letters, 36), ""},
		{"github-token", "token ", "github" + "_pat_" + draw(r, letters, 22) + "_" + draw(r, letters, 59), "."},
		{"gitlab-token", "", "gl" + "pat-" + draw(r, letters, 20), ""},
		{"aws-access-key-id", "id=", "AK" + "IA" + strings.ToUpper(draw(r, capital, 5)) + strings.Repeat("Q7", 6), " "},
		{"assignment", "aws_secret_access_key = ", draw(r, letters, 40), "\n"},
		{"assignment", `{"password": "`, draw(r, letters, 24), `"}`},
		{"assignment", "export DB_PASSWORD=", draw(r, letters, 20), "\nls"},
		{"slack-token", "", "xox" + "b-" + "123456789012-" + draw(r, letters, 24), ""},
		{"stripe-key", "key: ", "sk" + "_live_" + draw(r, letters, 24), ","},
		{"anthropic-key", "", "sk-" + "ant-api03-" + draw(r, letters, 80), ""},
		{"openrouter-key", "", "sk-" + "or-v1-" + draw(r, hex, 64), ""},
		{"openai-key", "", "sk-" + "proj-" + draw(r, letters, 48), ""},
		{"api-key", "DeepSeek ", "sk-" + draw(r, hex, 32), ""},
		{"google-api-key", "?key=", "AI" + "za" + draw(r, letters, 35), "&"},
		{"google-oauth", "", "ya" + "29." + draw(r, letters, 60), ""},
		{"huggingface-token", "", "hf" + "_" + draw(r, letters, 34), ""},
		{"npm-token", "//registry/:_authToken=", "npm" + "_" + draw(r, letters, 36), "\n"},
		{"pypi-token", "", "pypi" + "-AgEIcHlwaS5vcmc" + draw(r, letters, 60), ""},
		{"digitalocean-token", "", "dop" + "_v1_" + draw(r, hex, 64), ""},
		{"sendgrid-key", "", "S" + "G." + draw(r, letters, 22) + "." + draw(r, letters, 43), ""},
		{"vault-token", "", "hv" + "s." + draw(r, letters, 30), ""},
		{"groq-key", "", "gs" + "k_" + draw(r, letters, 52), ""},
		{"telegram-token", "bot", "123456789:" + "AA" + draw(r, letters, 33), "/getMe"},
		{"jwt", "Cookie: s=", jwtPart(`{"alg":"HS256"}`) + "." + jwtPart(`{"sub":"somebody"}`) + "." + draw(r, letters, 43), ";"},
		{"bearer", "Authorization: Bearer ", draw(r, letters, 40), "\r\n"},
		{"basic-auth", "authorization: basic ", base64.StdEncoding.EncodeToString([]byte("someone:" + draw(r, letters, 15))), "\n"},
		{"url-password", "postgres://app:", draw(r, letters, 18), "@db.internal:5432/app"},
		{"slack-webhook", "https://hooks.slack" + ".com/services/", "T0" + draw(r, letters, 9) + "/B0" + draw(r, letters, 9) + "/" + draw(r, letters, 24), ""},
		{"azure-account-key", "AccountName=a;Account" + "Key=", draw(r, letters, 86) + "==", ";"},
		{"private-key", "-----BEGIN RSA PRIV" + "ATE KEY-----", pem, "-----END RSA PRIV" + "ATE KEY-----"},
	}
}

// F-SEC-07, weak spot 17: each form is found by its rule, the text around it
// stays, and doing it again changes nothing.
func TestForms(t *testing.T) {
	r := redact.New(nil)
	for seed := range uint64(20) {
		for _, s := range secrets(rand.New(rand.NewPCG(seed, 1))) {
			text := "before\n" + s.before + s.secret + s.after + "\nafter"
			got, hits := r.Text(text)
			if want := "before\n" + s.before + "[redacted:" + s.rule + "]" + s.after + "\nafter"; got != want {
				t.Fatalf("seed %d, %s:\n got %q\nwant %q", seed, s.rule, got, want)
			}
			if len(hits) != 1 || text[hits[0].Start:hits[0].End] != s.secret {
				t.Errorf("%s: hits %v", s.rule, hits)
			}
			if again, more := r.Text(got); again != got || len(more) != 0 {
				t.Errorf("%s: a second pass gives %q", s.rule, again)
			}
		}
	}
}

// F-SEC-07: escapes of JSON do not hide a secret, in up to three layers and
// with any character escaped.
func TestEscapedForms(t *testing.T) {
	r := redact.New(nil)
	for _, s := range secrets(rand.New(rand.NewPCG(7, 7))) {
		var all strings.Builder
		for _, c := range s.before + s.secret + s.after {
			fmt.Fprintf(&all, `\u%04x`, c)
		}
		once, _ := json.Marshal(s.before + s.secret + s.after)
		twice, _ := json.Marshal(string(once))
		thrice, _ := json.Marshal(string(twice))
		for i, text := range []string{`"` + all.String() + `"`, string(once), string(twice), string(thrice)} {
			got, hits := r.Text(text)
			if len(hits) != 1 || !strings.Contains(got, "[redacted:"+s.rule+"]") || leaks(got, s.secret) {
				t.Errorf("%s, form %d: %q, hits %v", s.rule, i, got, hits)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("%s, form %d: the result is no JSON: %q", s.rule, i, got)
			}
		}
	}
}

// leaks reports whether a piece of the secret stands in text.
func leaks(text, secret string) bool {
	n := min(12, len(secret))
	for i := 0; i+n <= len(secret); i++ {
		piece := secret[i : i+n]
		if !strings.ContainsAny(piece, "\n=") && strings.Contains(text, piece) {
			return true
		}
	}
	return false
}

// F-SEC-07: a configured value is found in any text and in the usual
// encodings, whatever it looks like.
func TestConfiguredValues(t *testing.T) {
	const value = `correct horse/"battery"+staple` // no key of anything
	r := redact.New(&redact.Options{Values: []redact.Value{{Name: "DB PASSWORD", Text: value + "\n"}, {Name: "short", Text: "abc"}, {Name: "empty"}}})
	quoted, _ := json.Marshal(value)
	again, _ := json.Marshal(string(quoted))
	for _, text := range []string{value, string(quoted), string(again), url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value))} {
		got, hits := r.Text("x" + text + "y")
		if len(hits) != 1 || hits[0].Rule != "value:DBPASSWORD" || leaks(got, text) || !strings.HasPrefix(got, "x") {
			t.Errorf("%q: %q, hits %v", text, got, hits)
		}
	}
	if diff := cmp.Diff([]string{"short"}, r.Ignored()); diff != "" {
		t.Error(diff)
	}
	if got, _ := r.Text("abcdef"); got != "abcdef" {
		t.Errorf("a short value was searched for: %q", got)
	}
}

// F-SEC-07: a secret that is split over blocks is found; its parts do not stay.
func TestSplitOverBlocks(t *testing.T) {
	r := redact.New(nil)
	for _, s := range secrets(rand.New(rand.NewPCG(3, 9))) {
		whole := s.before + s.secret + s.after
		for _, pieces := range []int{2, 3, 7} {
			var blocks []message.Block
			var list []message.Block
			for i := range pieces {
				part := whole[len(whole)*i/pieces : len(whole)*(i+1)/pieces]
				blocks = append(blocks, message.Text{Text: part})
				list = append(list, message.Text{Text: part})
			}
			m := message.Message{ID: "m", Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "c", Content: list}}}
			before := m.Hash()
			for _, in := range []message.Message{{ID: "m", Role: message.RoleUser, Blocks: blocks}, m} {
				out, hits := r.Message(in)
				all := ""
				for _, b := range out.Blocks {
					switch b := b.(type) {
					case message.Text:
						all += b.Text
					case message.ToolResult:
						for _, c := range b.Content {
							all += c.(message.Text).Text
						}
					}
				}
				if len(hits) == 0 || leaks(all, s.secret) {
					t.Errorf("%s in %d pieces: %q", s.rule, pieces, all)
				}
			}
			if m.Hash() != before {
				t.Fatal("the message that was passed in was changed")
			}
		}
	}
}

// F-SEC-12: what a provider gets back stays JSON; every kind of block is
// searched, and a message without a secret is the same one.
func TestEveryBlock(t *testing.T) {
	r := redact.New(nil)
	secret := "gh" + "p_" + draw(rand.New(rand.NewPCG(1, 1)), letters, 36)
	raw := json.RawMessage(`{"a":"` + secret + `"}`)
	m := message.Message{ID: "m", Role: message.RoleAssistant, Blocks: []message.Block{
		message.Text{Text: secret}, message.Reasoning{Text: secret, Opaque: raw}, message.ToolCall{ID: "c", Name: "run", Arguments: string(raw)},
		message.Image{URL: "https://x/" + "?t=" + secret}, message.Image{MediaType: "image/svg+xml", Data: []byte("<t>" + secret + "</t>")},
		message.ToolResult{CallID: "c", Content: []message.Block{message.Text{Text: secret}}}, message.Opaque{Provider: "p", Data: raw}}}
	out, hits := r.Message(m)
	if len(hits) < 7 { // two that touch are one
		t.Errorf("%d hits, want at least 7", len(hits))
	}
	data, err := json.Marshal(out)
	if err != nil || strings.Contains(string(data), secret) {
		t.Errorf("%v: %s", err, data)
	}
	if image := out.Blocks[4].(message.Image); strings.Contains(string(image.Data), secret) {
		t.Error("the drawing still holds it")
	}
	clean := message.Message{ID: "m", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "nothing here"}}}
	if got, hits := r.Message(clean); len(hits) != 0 || got.Hash() != clean.Hash() {
		t.Error("a clean message was changed")
	}
}

// What stands for a secret is none.
func TestPlaceholders(t *testing.T) {
	r := redact.New(nil)
	for _, text := range []string{
		"gh" + "p_" + strings.Repeat("x", 36), `password = "${DB_PASSWORD_FROM_VAULT_1}"`, "https://user:$PASS@host", "https://user:<password>@host",
		"Authorization: Bearer YOUR_TOKEN_HERE_12345", "skipping-the-line-and-more-words-than-that", "task-0123456789abcdef0123456789abcdef",
		`token := lexer.nextTokenAfter(position1, position2)`, "-----BEGIN RSA PRIV" + "ATE KEY-----", `"secret": "the-quick-brown-fox-jumps"`,
		"sha256:" + strings.Repeat("0a1b", 16), "2001:db8::1", "http://localhost:8080/a@b",
	} {
		if got, hits := r.Text(text); len(hits) > 0 {
			t.Errorf("%q became %q by %v", text, got, hits)
		}
	}
}

// At most 5 hits in a megabyte of ordinary source code: the Go tree, tests
// with their test keys included.
func TestOrdinarySource(t *testing.T) {
	budget := 12 << 20
	if os.Getenv("FORGE_SOAK") != "" {
		budget = 1 << 40
	}
	r := redact.New(nil)
	bytes, hits, byRule := 0, 0, map[string]int{}
	err := filepath.WalkDir(filepath.Join(build.Default.GOROOT, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || bytes > budget {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		bytes += len(data)
		for _, h := range r.Find(string(data)) {
			hits++
			byRule[h.Rule]++
			if testing.Verbose() {
				t.Logf("%s %s: %.60q", h.Rule, filepath.Base(path), data[h.Start:h.End])
			}
		}
		return nil
	})
	if err != nil || bytes < 1<<20 {
		t.Fatalf("%d bytes of source: %v", bytes, err)
	}
	perMB := float64(hits) / (float64(bytes) / (1 << 20))
	t.Logf("%d hits in %.1f MB: %.2f a megabyte, %v", hits, float64(bytes)/(1<<20), perMB, byRule)
	if perMB > 5 {
		t.Errorf("%.2f hits a megabyte, at most 5 are allowed", perMB)
	}
}

// Marks of their own length keep every offset; whatever the text, nothing
// panics, UTF-8 stays UTF-8, and a second pass changes nothing.
func TestProperties(t *testing.T) {
	keep, same := redact.New(nil), redact.New(&redact.Options{SameLength: true})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		list := secrets(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)))
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "secret") {
				s := list[rapid.IntRange(0, len(list)-1).Draw(t, "form")]
				text.WriteString("\n" + s.before + s.secret + s.after + "\n")
			} else {
				text.WriteString(rapid.StringN(0, 12, -1).Draw(t, "text"))
			}
		}
		check(t, keep, same, text.String())
	})
}

func check(t interface{ Fatalf(string, ...any) }, keep, same *redact.Redactor, text string) {
	for _, r := range []*redact.Redactor{keep, same} {
		got, hits := r.Text(text)
		if len(hits) == 0 && got != text {
			t.Fatalf("no hit, but %q became %q", text, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q became no UTF-8: %q", text, got)
		}
		if again, _ := r.Text(got); again != got {
			t.Fatalf("a second pass changes %q to %q", got, again)
		}
		if r == same && len(got) != len(text) {
			t.Fatalf("%d bytes became %d: %q", len(text), len(got), got)
		}
	}
}

func FuzzText(f *testing.F) {
	keep, same := redact.New(nil), redact.New(&redact.Options{SameLength: true})
	f.Add("https://a:b@c \\u0041\\n password=\"1a2b3c4d5e6f7g8h\"")
	f.Add(`-----BEGIN X PRIVATE KEY-----\nAAAA`)
	f.Fuzz(func(t *testing.T, text string) { check(t, keep, same, text) })
}

func TestRulesNameTheirSource(t *testing.T) {
	for name, source := range redact.Rules() {
		if name == "" || len(source) < 10 {
			t.Errorf("rule %q has the source %q", name, source)
		}
	}
}

func BenchmarkText(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(build.Default.GOROOT, "src", "net", "http", "server.go"))
	if err != nil {
		b.Fatal(err)
	}
	r := redact.New(nil)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r.Find(string(data))
	}
}

// Text made to be slow is not: the benchmark's time a byte is that of ordinary
// text.
func BenchmarkHostile(b *testing.B) {
	r := redact.New(nil)
	for name, unit := range map[string]string{"jwt": "-eyJ", "prefix": "xoxb-", "assignment": "\ntoken=", "url": "a://b:", "escapes": `\\\\`, "pem": "-----BEGIN PRIVATE KEY-----"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Find(text)
			}
		})
	}
}

// A key in which x comes up by chance is one all the same.
func TestKeyWithCrosses(t *testing.T) {
	for _, body := range []string{"R43x98oRlB7xCWXXxX98", "04kxxxxbLH7jOxmxsW9p", "yourNbLH7jOxmx8sW9pA"} {
		if _, hits := redact.New(nil).Text("use gl" + "pat-" + body + " now"); len(hits) != 1 {
			t.Errorf("%s is taken for an example", body)
		}
	}
	for _, body := range []string{"xxxxxxxxxxxxxxxxxxxx", "XXXXXXXXXXXXabcdefgh", "your-token-goes-here-please"} {
		if _, hits := redact.New(nil).Text("use gl" + "pat-" + body + " now"); len(hits) != 0 {
			t.Errorf("%s is taken for a key", body)
		}
	}
}

// A mark is one that was put in, not the word in source code.
func TestMarked(t *testing.T) {
	for text, want := range map[string]bool{
		"key=[redacted:github-token]": true, "[redacted:" + "x": false, `if strings.Contains(s, "[redacted:") {`: false, "[redacted:] [redacted:env-KEY_1]": true,
		"[redacted:aws***]": true, "": false, "[redacted: nothing]": false,
	} {
		if redact.Marked(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	if got, hits := redact.New(nil).Text("ghp_" + strings.Repeat("A1b2", 9)); len(hits) != 1 || !redact.Marked(got) {
		t.Errorf("%q is not marked", got)
	}
}
