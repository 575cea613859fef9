package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

var day = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// conversation makes a transcript of n messages, user and assistant in turn,
// whose ids begin with prefix.
func conversation(t testing.TB, prefix string, n int) *transcript.Transcript {
	t.Helper()
	out := &transcript.Transcript{}
	for i := range n {
		role := message.RoleUser
		if i%2 == 1 {
			role = message.RoleAssistant
		}
		m := message.Message{ID: fmt.Sprintf("%s%d", prefix, i), Role: role,
			Blocks: []message.Block{message.Text{Text: fmt.Sprintf("statement number %d\nnever touch file%d.go", i, i)}}}
		if err := out.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// record makes a checkpoint of the first through messages that continues chain.
func record(t testing.TB, tr *transcript.Transcript, through int, chain *checkpoint.Chain) *checkpoint.Checkpoint {
	t.Helper()
	parent, generation := chain.Next()
	c, err := checkpoint.New(draft(tr, through, parent, generation), day)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func draft(tr *transcript.Transcript, through int, parent string, generation int) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Parent: parent, Generation: generation,
		Strategy: checkpoint.ForgeSummary, Method: checkpoint.MethodExtractive,
		SummarizedThroughMessageIndex: through, RetainedTailStartIndex: through, SourceMessageCount: tr.Len(),
		SourceHash: tr.RangeHash(0, through), RetainedTailHash: tr.RangeHash(through, tr.Len()),
		Anchors:                   checkpoint.AnchorsOf(tr, through, tr.Len()),
		EstimatedCheckpointTokens: 40, TokensBefore: 900, TokensAfter: 40,
		Pins:    []checkpoint.Pin{{Text: "never touch file0.go", MessageID: tr.At(0).ID, Kind: "prohibition", Source: "user"}},
		Ledgers: map[string][]checkpoint.Entry{"files": {{Text: "read file0.go", MessageID: tr.At(1).ID}}},
		Summary: "never touch file0.go #0",
	}
}

// F-CKP-02, F-CKP-03, C22: what a checkpoint must hold, and what is refused.
func TestCheck(t *testing.T) {
	tr := conversation(t, "m", 6)
	cases := map[string]struct {
		change func(*checkpoint.Checkpoint)
		want   string
	}{
		"as made":              {func(*checkpoint.Checkpoint) {}, ""},
		"both payloads":        {func(c *checkpoint.Checkpoint) { c.OpaqueProviderItem = json.RawMessage(`{}`) }, "exactly one of"},
		"no payload":           {func(c *checkpoint.Checkpoint) { c.Summary = "" }, "exactly one of"},
		"unknown method":       {func(c *checkpoint.Checkpoint) { c.Method = "guess" }, "unknown method"},
		"method and strategy":  {func(c *checkpoint.Checkpoint) { c.Strategy = checkpoint.ProviderNative }, "with strategy"},
		"empty range":          {func(c *checkpoint.Checkpoint) { c.SummarizedThroughMessageIndex = 0 }, "range is empty"},
		"gap":                  {func(c *checkpoint.Checkpoint) { c.RetainedTailStartIndex = 5 }, "would be nowhere"},
		"tail beyond source":   {func(c *checkpoint.Checkpoint) { c.SourceMessageCount = 2 }, "the tail starts at"},
		"pin from a tool":      {func(c *checkpoint.Checkpoint) { c.Pins[0].Source = "tool" }, "only the user"},
		"model without prompt": {func(c *checkpoint.Checkpoint) { c.Method = checkpoint.MethodModel }, "prompt is not recorded"},
		"first with parent":    {func(c *checkpoint.Checkpoint) { c.Parent = "ckpt-0" }, "with parent"},
		"missing anchor":       {func(c *checkpoint.Checkpoint) { c.Anchors.Last = "" }, "anchor"},
		"opaque without pair": {func(c *checkpoint.Checkpoint) {
			c.Strategy, c.Method, c.Provider, c.ModelID = checkpoint.ProviderNative, checkpoint.MethodNative, "acme", "a-1"
			c.Summary, c.OpaqueProviderItem = "", json.RawMessage(`{"x":1}`)
		}, "readable checkpoint"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := draft(tr, 4, "", 1)
			c.change(&d)
			_, err := checkpoint.New(d, day)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (!errors.Is(err, checkpoint.ErrInvalid) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestIDIsOfTheContent(t *testing.T) {
	tr := conversation(t, "m", 6)
	a, err := checkpoint.New(draft(tr, 4, "", 1), day)
	if err != nil {
		t.Fatal(err)
	}
	b, err := checkpoint.New(draft(tr, 4, "", 1), day.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != b.ID {
		t.Errorf("the same content has two ids, %s and %s", a.ID, b.ID)
	}
	other := draft(tr, 4, "", 1)
	other.Summary += "!"
	c, err := checkpoint.New(other, day)
	if err != nil {
		t.Fatal(err)
	}
	if c.ID == a.ID {
		t.Errorf("two contents share the id %s", a.ID)
	}
}

func TestEncodeDecode(t *testing.T) {
	tr := conversation(t, "m", 6)
	made := record(t, tr, 4, &checkpoint.Chain{})
	data, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := checkpoint.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, read); diff != "" {
		t.Errorf("reading back changed it:\n%s", diff)
	}
	for name, bad := range map[string]string{
		"other version":   strings.Replace(string(data), `"schemaVersion":1`, `"schemaVersion":2`, 1),
		"unknown field":   strings.Replace(string(data), `{`, `{"approved":true,`, 1),
		"other label":     strings.Replace(string(data), "no-approval-state", "approved", 1),
		"changed summary": strings.Replace(string(data), "never touch file0.go #0", "always touch file0.go #0", 1),
		"second value":    string(data) + "{}",
		"cut":             string(data[:len(data)/2]),
	} {
		if _, err := checkpoint.Decode([]byte(bad)); !errors.Is(err, checkpoint.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

// F-CKP-04, F-CKP-05, C6, F-TST-04, weak spot 1: later turns leave a
// checkpoint valid; a shorter or edited transcript does not.
func TestValidate(t *testing.T) {
	tr := conversation(t, "m", 6)
	c := record(t, tr, 4, &checkpoint.Chain{})
	if err := c.Validate(conversation(t, "m", 60)); err != nil {
		t.Errorf("later turns made it invalid: %v", err)
	}
	if err := c.Validate(conversation(t, "m", 3)); !errors.Is(err, checkpoint.ErrRange) {
		t.Errorf("error %v for a transcript shorter than the range, want ErrRange", err)
	}
	if err := c.Validate(conversation(t, "x", 6)); !errors.Is(err, checkpoint.ErrSource) {
		t.Errorf("error %v for other message ids, want ErrSource", err)
	}
	edited := &transcript.Transcript{}
	for i, m := range tr.All() {
		if i == 1 {
			m.Blocks = []message.Block{message.Text{Text: "repaired"}}
		}
		if err := edited.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Validate(edited); !errors.Is(err, checkpoint.ErrSource) {
		t.Errorf("error %v for a repaired transcript, want ErrSource", err)
	}
}

func TestVerifyNamesWhatDoesNotHold(t *testing.T) {
	tr := conversation(t, "m", 6)
	good := record(t, tr, 4, &checkpoint.Chain{})
	if found := good.Verify(tr); len(found) != 0 {
		t.Fatalf("findings on a good record: %v", found)
	}
	cases := map[string]struct {
		change func(*checkpoint.Checkpoint)
		what   string
	}{
		"invented pin":      {func(c *checkpoint.Checkpoint) { c.Pins[0].Text = "push to main" }, "pin"},
		"assistant as user": {func(c *checkpoint.Checkpoint) { c.Pins[0].MessageID = "m1" }, "pin"},
		"pin from the tail": {func(c *checkpoint.Checkpoint) { c.Pins[0].MessageID = "m4" }, "pin"},
		"backwards": {func(c *checkpoint.Checkpoint) {
			c.Pins[0].MessageID, c.Pins[0].Text, c.Pins[0].SupersededBy = "m2", "never touch file2.go", "m0"
		}, "pin"},
		"ledger outside": {func(c *checkpoint.Checkpoint) { c.Ledgers["files"][0].MessageID = "m5" }, "ledger"},
		"other source":   {func(c *checkpoint.Checkpoint) { c.SourceHash[0] ^= 1 }, "source"},
		"other tail":     {func(c *checkpoint.Checkpoint) { c.RetainedTailHash[0] ^= 1 }, "source"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := draft(tr, 4, "", 1)
			c.change(&d)
			bad, err := checkpoint.New(d, day)
			if err != nil {
				t.Fatal(err)
			}
			found := bad.Verify(tr)
			if len(found) != 1 || found[0].What != c.what || found[0].Checkpoint != bad.ID {
				t.Errorf("findings %v, want one on the %s", found, c.what)
			}
		})
	}
	forged := *good
	forged.Summary = "always"
	if found := forged.Verify(tr); len(found) != 1 || found[0].What != "form" {
		t.Errorf("findings %v on a summary that was changed afterwards, want one on the form", found)
	}
}
