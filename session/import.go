package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/transcript"
)

// ErrExport is wrapped by errors about an export that cannot be read.
var ErrExport = errors.New("not a whole export of a session")

// MaxLineBytes is the longest line of an export that is read.
const MaxLineBytes = 256 << 20

// Imported says what an import did.
type Imported struct {
	// ID is the session's.
	ID string
	// Messages and Checkpoints are how many came along.
	Messages, Checkpoints int
	// Losses names what did not.
	Losses []Loss
}

// Content is what an import puts into a new session.
type Content struct {
	Info Info
	// Messages yields the messages in order. They pass the redactor; a
	// message that a transcript refuses ends the import.
	Messages iter.Seq2[Said, error]
	// Records yields what stands beside them, called after Messages is
	// through.
	Records func() ([]Record, map[string][]byte, error)
}

// Said is a message with its status.
type Said struct {
	Message message.Message
	Status  Status
	// Hash is what the message must have before its secrets are out; the zero
	// Hash for any.
	Hash message.Hash
}

// Import makes a session of content, all of it or nothing. An empty id gets a
// fresh one; ErrExists when the id is taken.
func Import(ctx context.Context, store Store, id string, content Content, opts *Options) (Imported, error) {
	if id == "" {
		id = NewID()
	}
	if err := checkID(id); err != nil {
		return Imported{}, err
	}
	o := opts.withDefaults()
	w, err := store.Acquire(ctx, id)
	if err != nil {
		return Imported{}, fmt.Errorf("import session %s: %w", id, err)
	}
	im := &importer{content: content, redactor: o.Redactor, tr: &transcript.Transcript{}}
	info := redactInfo(o.Redactor, content.Info)
	if now := o.Now().UTC(); now.After(info.UpdatedAt) {
		info.UpdatedAt = now
	}
	if info.CreatedAt.IsZero() {
		info.CreatedAt = info.UpdatedAt
	}
	c := Change{Info: info, Rows: im.rows}
	err = im.apply(ctx, w, c)
	if err = errors.Join(err, w.Close()); err != nil {
		return Imported{}, fmt.Errorf("import session %s: %w", id, err)
	}
	return Imported{ID: id, Messages: im.tr.Len(), Checkpoints: im.checkpoints, Losses: im.losses}, nil
}

type importer struct {
	content     Content
	redactor    *redact.Redactor
	tr          *transcript.Transcript
	redacted    bool
	checkpoints int
	losses      []Loss
}

// apply passes over all messages and records before the first is stored: what
// is wrong with the last line undoes nothing. They are held in memory.
func (im *importer) apply(ctx context.Context, w Writer, c Change) error {
	var rows []Row
	for r, err := range im.rows {
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	records, states, err := im.content.Records()
	if err != nil {
		return err
	}
	c.Rows, c.States = rowsOf(rows), states
	if c.Records, err = im.records(records); err != nil {
		return err
	}
	return w.Apply(ctx, c)
}

// rows encodes the messages.
func (im *importer) rows(yield func(Row, error) bool) {
	for said, err := range im.content.Messages {
		if err != nil {
			yield(Row{}, err)
			return
		}
		if said.Hash != (message.Hash{}) && said.Message.Hash() != said.Hash {
			yield(Row{}, fmt.Errorf("message %q: %w: its content does not have the hash that the export states", said.Message.ID, ErrExport))
			return
		}
		m, hits := im.redactor.Message(clean(said.Message))
		im.redacted = im.redacted || len(hits) > 0
		at := im.tr.Len()
		var answers []transcript.Ref
		if err := im.tr.Append(m); err != nil {
			yield(Row{}, err)
			return
		}
		for i, b := range m.Blocks {
			if b.Kind() == message.KindToolResult {
				ref, _ := im.tr.Call(transcript.Ref{Message: at, Block: i})
				answers = append(answers, ref)
			}
		}
		status := said.Status
		if !status.valid() {
			status = Completed
		}
		r := newRow(Entry{Index: at, Status: status, Message: m, Hash: im.tr.Hash(at), Prefix: im.tr.RangeHash(0, at+1)})
		r.Answers = answers
		if !yield(r, nil) {
			return
		}
	}
}

// records redacts records; checkpoints must fit the messages as they are
// stored now.
func (im *importer) records(in []Record) ([]Record, error) {
	var out []Record
	chain := &checkpoint.Chain{}
	for _, rec := range in {
		if rec.At > im.tr.Len() {
			im.losses = append(im.losses, Loss{What: fmt.Sprintf("a %s that stands after the last message", rec.Kind)})
			continue
		}
		if rec.Kind != KindCheckpoint {
			body, hits := im.redactor.JSON(rec.Body)
			if len(hits) > 0 {
				rec.Body = body
			}
			rec.Sum = checksum(rec.Kind, fmt.Sprint(rec.At), string(rec.Body))
			out = append(out, rec)
			continue
		}
		made, why := im.checkpoint(chain, rec)
		if why != "" {
			im.losses = append(im.losses, Loss{What: "a checkpoint that does not fit: " + why})
			continue
		}
		im.checkpoints++
		out = append(out, made)
	}
	return out, nil
}

// checkpoint takes a record of the chain. One that is not valid here still
// belongs to the chain as long as it continues it.
func (im *importer) checkpoint(chain *checkpoint.Chain, rec Record) (Record, string) {
	c, err := checkpoint.Decode(rec.Body)
	if err != nil {
		return rec, err.Error()
	}
	if len(im.redactor.Find(string(rec.Body))) > 0 {
		return rec, "it holds a secret"
	}
	if im.redacted && c.Validate(im.tr) != nil {
		return rec, "secrets were taken out of its messages"
	}
	list := append([]*checkpoint.Checkpoint(nil), collect(chain)...)
	next, err := checkpoint.Load(append(list, c))
	if err != nil {
		return rec, err.Error()
	}
	*chain = *next
	rec, err = checkpointRecord(c)
	if err != nil {
		return rec, err.Error()
	}
	return rec, ""
}

func collect(c *checkpoint.Chain) []*checkpoint.Checkpoint {
	var out []*checkpoint.Checkpoint
	for r := range c.All() {
		out = append(out, r)
	}
	return out
}
