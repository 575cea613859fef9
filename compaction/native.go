package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// ErrUnsupported: the model's provider makes no opaque items that can be stored
// and sent back (F-NAT-06).
var ErrUnsupported = errors.New("native compaction is not supported")

// Native lets the provider make an opaque item, and always an extractive
// checkpoint of the same range beside it, so that a change of provider or model
// has something to go on with at once (F-NAT-04).
type Native struct {
	// Model must implement model.NativeCompactor. Required.
	Model model.Model
}

// Compact returns the readable checkpoint of the pair and drops the other. A
// caller that can keep both calls CompactPair.
func (n Native) Compact(ctx context.Context, in Input) (*checkpoint.Checkpoint, error) {
	readable, _, err := n.CompactPair(ctx, in)
	return readable, err
}

// CompactPair makes both checkpoints. The readable one comes first in the
// chain; the opaque one names it, as parent and as its pair. One provider call
// is made, after the readable one is there; when it fails, the readable one is
// returned with the error.
func (n Native) CompactPair(ctx context.Context, in Input) (readable, opaque *checkpoint.Checkpoint, err error) {
	in, err = in.resolve()
	if err != nil {
		return nil, nil, err
	}
	if n.Model == nil {
		return nil, nil, fmt.Errorf("compact natively: %w: there is no model", ErrInvalid)
	}
	capabilities := n.Model.Capabilities()
	native, ok := n.Model.(model.NativeCompactor)
	if !ok || capabilities.NativeCompaction != model.NativeCompactionOpaqueItem {
		return nil, nil, fmt.Errorf("compact natively with %s: %w", capabilities.Model, ErrUnsupported)
	}
	if readable, err = (Extractive{}).Compact(ctx, in); err != nil {
		return nil, nil, err
	}
	messages := make([]message.Message, 0, in.Through)
	for i, m := range in.Transcript.All() {
		if i == in.Through {
			break
		}
		messages = append(messages, m)
	}
	item, err := native.CompactNative(ctx, messages)
	if err != nil {
		return readable, nil, fmt.Errorf("compact natively with %s: %w", capabilities.Model, err)
	}
	if item.Provider != capabilities.Provider || item.Model != capabilities.Model {
		return readable, nil, fmt.Errorf("compact natively with %s: the item says it is of %s/%s, not of %s/%s",
			capabilities.Model, item.Provider, item.Model, capabilities.Provider, capabilities.Model)
	}
	weight := item.EstimatedTokens
	if weight == 0 {
		weight = len(item.Data) * 3 / 4 / 4 // as package tokencount weighs opaque items
	}
	if weight >= in.RangeTokens {
		return readable, nil, noGain(weight, in.RangeTokens)
	}
	in.Parent, in.Generation = readable.ID, readable.Generation+1
	c := in.record(checkpoint.MethodNative)
	c.Strategy = checkpoint.ProviderNative
	c.Provider, c.ModelID, c.PairedWith = item.Provider, item.Model, readable.ID
	c.OpaqueProviderItem = item.Data
	c.EstimatedCheckpointTokens, c.TokensAfter = weight, weight
	opaque, err = checkpoint.New(c, in.Now)
	if err != nil {
		return readable, nil, err
	}
	return readable, opaque, nil
}
