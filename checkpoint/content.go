package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
)

// ErrInvalid is wrapped by every refusal of a checkpoint that is wrong in
// itself, whatever the transcript.
var ErrInvalid = errors.New("invalid checkpoint")

// Bounds on what Decode takes. They are far above what a compaction makes and
// keep a foreign file from filling memory.
const (
	// MaxBytes is the largest JSON form.
	MaxBytes = 16 << 20
	// maxLines bounds the pins and the ledger entries.
	maxLines = 100_000
)

// New completes a checkpoint: schema version, labels, time and id. It
// refuses one that Check refuses. The argument is taken over.
func New(c Checkpoint, createdAt time.Time) (*Checkpoint, error) {
	c.SchemaVersion, c.SafetyLabels = SchemaVersion, Labels()
	c.CreatedAt = createdAt.UTC().Round(0)
	if len(c.OpaqueProviderItem) > 0 {
		var item bytes.Buffer
		if err := json.Compact(&item, c.OpaqueProviderItem); err != nil {
			return nil, fmt.Errorf("make checkpoint: %w: the opaque item is not JSON: %w", ErrInvalid, err)
		}
		c.OpaqueProviderItem = item.Bytes()
	}
	id, err := c.ContentID()
	if err != nil {
		return nil, err
	}
	c.ID = id
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &c, nil
}

// ContentID derives the id: "ckpt-" and the first 32 hex digits of the SHA-256
// of the JSON form without id and time. Making the same checkpoint again
// gives the same id.
func (c Checkpoint) ContentID() (string, error) {
	c.ID, c.CreatedAt = "", time.Time{}
	data, err := marshal(&c)
	if err != nil {
		return "", fmt.Errorf("derive checkpoint id: %w", err)
	}
	sum := sha256.Sum256(data)
	return "ckpt-" + hex.EncodeToString(sum[:16]), nil
}

// PayloadHash is the SHA-256 of the summary or of the opaque item: what a
// trace may carry of it (F-NAT-03).
func (c *Checkpoint) PayloadHash() message.Hash {
	if c.Strategy == ProviderNative {
		return sha256.Sum256(c.OpaqueProviderItem)
	}
	return sha256.Sum256([]byte(c.Summary))
}

// Check says whether the checkpoint is well formed in itself: version, known
// names, exactly one payload, ordered indexes, labels, id. Whether it fits a
// transcript is Validate's question.
func (c *Checkpoint) Check() error {
	if c == nil {
		return fmt.Errorf("check checkpoint: %w: it is nil", ErrInvalid)
	}
	for _, reason := range []string{c.checkNames(), c.checkPayload(), c.checkRange(), c.checkLines()} {
		if reason != "" {
			return fmt.Errorf("check checkpoint %q: %w: %s", c.ID, ErrInvalid, reason)
		}
	}
	id, err := c.ContentID()
	if err != nil {
		return err
	}
	if id != c.ID {
		return fmt.Errorf("check checkpoint %q: %w: its content has the id %s", c.ID, ErrInvalid, id)
	}
	return nil
}

func (c *Checkpoint) checkNames() string {
	switch {
	case c.SchemaVersion != SchemaVersion:
		return fmt.Sprintf("schema version %d, this program knows %d", c.SchemaVersion, SchemaVersion)
	case c.SafetyLabels != Labels():
		return fmt.Sprintf("safety labels %q, want %q", c.SafetyLabels, Labels())
	case c.Generation < 1:
		return fmt.Sprintf("generation %d, the first is 1", c.Generation)
	case (c.Generation == 1) != (c.Parent == ""):
		return fmt.Sprintf("generation %d with parent %q", c.Generation, c.Parent)
	}
	switch c.Method {
	case MethodExtractive, MethodModel, MethodFreshWindow:
		if c.Strategy != ForgeSummary {
			return fmt.Sprintf("method %q with strategy %q", c.Method, c.Strategy)
		}
	case MethodNative:
		if c.Strategy != ProviderNative {
			return fmt.Sprintf("method %q with strategy %q", c.Method, c.Strategy)
		}
	default:
		return fmt.Sprintf("unknown method %q", c.Method)
	}
	return ""
}

func (c *Checkpoint) checkPayload() string {
	summary, opaque := c.Summary != "", len(c.OpaqueProviderItem) > 0
	switch {
	case summary == opaque:
		return "exactly one of summary and opaque item must be present"
	case opaque != (c.Strategy == ProviderNative):
		return fmt.Sprintf("strategy %q with the other kind of payload", c.Strategy)
	case opaque && (c.Provider == "" || c.ModelID == ""):
		return "an opaque item must name its provider and model"
	case opaque && c.PairedWith == "":
		return "an opaque item needs a readable checkpoint of the same range beside it"
	case opaque && !json.Valid(c.OpaqueProviderItem):
		return "the opaque item is not JSON"
	case summary && !utf8.ValidString(c.Summary):
		return "the summary is not UTF-8"
	case c.Method == MethodModel && c.Prompt == nil:
		return "a model wrote it, but the prompt is not recorded"
	case c.EstimatedCheckpointTokens < 0 || c.TokensBefore < 0 || c.TokensAfter < 0:
		return "negative tokens"
	}
	return ""
}

func (c *Checkpoint) checkRange() string {
	through, tail, count := c.SummarizedThroughMessageIndex, c.RetainedTailStartIndex, c.SourceMessageCount
	switch {
	case through < 1:
		return "the range is empty"
	case tail != through:
		return fmt.Sprintf("the range ends at %d and the tail starts at %d: messages between them would be nowhere", through, tail)
	case tail > count:
		return fmt.Sprintf("the tail starts at %d of %d messages", tail, count)
	case c.Anchors.First == "" || c.Anchors.Last == "":
		return "an anchor is missing"
	case (c.Anchors.TailStart == "") != (tail == count):
		return "the anchor of the tail does not go with its length"
	}
	return ""
}

func (c *Checkpoint) checkLines() string {
	lines := len(c.Pins)
	for _, p := range c.Pins {
		if p.Text == "" || p.MessageID == "" {
			return "a pin without text or message"
		}
		if p.Source != "user" && p.Source != "system" {
			return fmt.Sprintf("a pin whose source is %q: only the user can be pinned", p.Source)
		}
	}
	for name, entries := range c.Ledgers {
		lines += len(entries)
		for _, e := range entries {
			if e.Text == "" || e.MessageID == "" {
				return fmt.Sprintf("an entry of ledger %q without text or message", name)
			}
		}
	}
	if lines > maxLines {
		return fmt.Sprintf("%d pins and ledger entries", lines)
	}
	return ""
}

// Encode writes the JSON form.
func (c *Checkpoint) Encode() ([]byte, error) {
	data, err := marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write checkpoint %q: %w", c.ID, err)
	}
	return data, nil
}

// marshal leaves the bytes of an opaque item as they are, which json.Marshal
// would escape for HTML.
func marshal(c *Checkpoint) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Decode reads the JSON form. Unknown fields, a second value, another schema
// version and everything that Check refuses are errors.
func Decode(data []byte) (*Checkpoint, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("read checkpoint: %w: %d bytes, at most %d", ErrInvalid, len(data), MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var c Checkpoint
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("read checkpoint: %w: %w", ErrInvalid, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read checkpoint: %w: something follows it", ErrInvalid)
	}
	if len(c.Pins) == 0 {
		c.Pins = nil
	}
	if len(c.Ledgers) == 0 {
		c.Ledgers = nil
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return &c, nil
}
