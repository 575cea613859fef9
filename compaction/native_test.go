package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// provider is a model whose provider compacts, unless err is set.
type provider struct {
	capabilities model.Capabilities
	item         model.NativeItem
	err          error
	calls        int
}

func (p *provider) Capabilities() model.Capabilities { return p.capabilities }

func (p *provider) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(func(model.Event, error) bool) {}
}

func (p *provider) CompactNative(context.Context, []message.Message) (model.NativeItem, error) {
	p.calls++
	return p.item, p.err
}

func acme() *provider {
	return &provider{
		capabilities: model.Capabilities{Provider: "acme", Model: "a-1", NativeCompaction: model.NativeCompactionOpaqueItem},
		item:         model.NativeItem{Provider: "acme", Model: "a-1", Data: json.RawMessage(`{"type": "compaction", "data": "<&>"}`)},
	}
}

// F-NAT-01, -02, -04, F-TST-11, -19: the opaque item is bound to its provider,
// model and source, unread, and a readable checkpoint of the same range stands
// beside it.
func TestNativePair(t *testing.T) {
	in := modelInput(t, 12)
	readable, opaque, err := compaction.Native{Model: acme()}.CompactPair(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if string(opaque.OpaqueProviderItem) != `{"type":"compaction","data":"<&>"}` || opaque.Summary != "" || opaque.SourceHash != readable.SourceHash {
		t.Errorf("opaque checkpoint %+v", opaque)
	}
	chain := &checkpoint.Chain{}
	for _, c := range []*checkpoint.Checkpoint{readable, opaque} {
		if err := chain.Add(c, in.Transcript); err != nil {
			t.Fatal(err)
		}
	}
	if found := chain.Verify(in.Transcript); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
	for _, c := range []struct {
		provider, model string
		want            *checkpoint.Checkpoint
	}{{"acme", "a-1", opaque}, {"acme", "a-2", readable}, {"other", "a-1", readable}} {
		got := chain.ActiveWhere(in.Transcript, func(r *checkpoint.Checkpoint) bool { return r.UsableBy(c.provider, c.model) })
		if got != c.want {
			t.Errorf("for %s/%s the active checkpoint is %s by %s", c.provider, c.model, got.ID, got.Method)
		}
	}
	data, err := opaque.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := checkpoint.Decode(data); err != nil || back.PayloadHash() != opaque.PayloadHash() {
		t.Errorf("the item does not survive being stored: %v", err)
	}
}

func TestNativeFailures(t *testing.T) {
	unsupported := acme()
	unsupported.capabilities.NativeCompaction = model.NativeCompactionUnsupported
	if _, _, err := (compaction.Native{Model: unsupported}).CompactPair(context.Background(), modelInput(t, 12)); !errors.Is(err, compaction.ErrUnsupported) || unsupported.calls != 0 {
		t.Errorf("error %v after %d calls, want ErrUnsupported (F-NAT-06)", err, unsupported.calls)
	}
	failing := acme()
	failing.err = errors.New("busy")
	readable, opaque, err := compaction.Native{Model: failing}.CompactPair(context.Background(), modelInput(t, 12))
	if err == nil || readable == nil || opaque != nil {
		t.Errorf("a failed call: %v, readable %v, opaque %v", err, readable != nil, opaque != nil)
	}
	stranger := acme()
	stranger.item.Model = "a-2"
	if _, opaque, err := (compaction.Native{Model: stranger}).CompactPair(context.Background(), modelInput(t, 12)); err == nil || opaque != nil {
		t.Errorf("an item of another model was taken: %v", err)
	}
	if _, err := (compaction.Native{}).Compact(context.Background(), modelInput(t, 12)); !errors.Is(err, compaction.ErrInvalid) {
		t.Errorf("error %v without a model, want ErrInvalid", err)
	}
}

// P-FAM-01, -02, -03: fixed text, no tail, no request, the same checks.
func TestFreshWindow(t *testing.T) {
	in := modelInput(t, 12)
	made, err := compaction.FreshWindow{}.Compact(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if made.Method != checkpoint.MethodFreshWindow || made.RetainedTailStartIndex != in.Transcript.Len() || !strings.HasPrefix(made.Summary, "A new window began here.") || len(made.Pins) != 0 {
		t.Errorf("%+v", made)
	}
	if found := compaction.Verify(made, in.Transcript); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
	for name, want := range map[string]compaction.Family{"": compaction.FamilySummary, "summary": compaction.FamilySummary, "fresh_window": compaction.FamilyFreshWindow} {
		if got, err := compaction.ParseFamily(name); err != nil || got != want {
			t.Errorf("family %q: %q, %v", name, got, err)
		}
	}
	if _, err := compaction.ParseFamily("none"); !errors.Is(err, compaction.ErrInvalid) {
		t.Errorf("error %v for an unknown family, want ErrInvalid", err)
	}
}

// A model can be the summarizer: no tools go along, and a cut answer is
// refused.
func TestModelSummarizer(t *testing.T) {
	s := compaction.ModelSummarizer{Model: &talker{stop: model.StopEnd}}
	text, err := s.Summarize(context.Background(), compaction.SummaryRequest{Instructions: "i", Source: "s", OutputTokens: 9})
	if err != nil || text != "answer to s" {
		t.Errorf("%q, %v", text, err)
	}
	s = compaction.ModelSummarizer{Model: &talker{stop: model.StopOutput}}
	if _, err := s.Summarize(context.Background(), compaction.SummaryRequest{Source: "s"}); !errors.Is(err, compaction.ErrBadSummary) {
		t.Errorf("error %v for a cut answer, want ErrBadSummary", err)
	}
	if _, err := (compaction.ModelSummarizer{Model: acme()}).Summarize(context.Background(), compaction.SummaryRequest{}); !errors.Is(err, model.ErrIncompleteStream) {
		t.Errorf("error %v for an empty stream, want ErrIncompleteStream", err)
	}
	if s.Describe().Model != "talker-1" {
		t.Errorf("description %+v", s.Describe())
	}
}

type talker struct{ stop model.StopReason }

func (talker) Capabilities() model.Capabilities {
	return model.Capabilities{Provider: "test", Model: "talker-1", WindowTokens: 1000}
}

func (k *talker) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if len(r.Tools) > 0 || r.OutputTokens < 0 {
			yield(nil, errors.New("unexpected request"))
			return
		}
		yield(model.Completed{Stop: k.stop, Messages: []message.Message{{ID: "a", Role: message.RoleAssistant,
			Blocks: []message.Block{message.Text{Text: "answer to " + r.Messages[0].Text()}}}}}, nil)
	}
}
