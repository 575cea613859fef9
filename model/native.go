package model

import (
	"context"
	"encoding/json"

	"github.com/forge-agent/forge/message"
)

// NativeCompactor is what a Model also implements when its provider can turn
// the beginning of a conversation into an opaque item that stands for it
// (F-CAP-01, F-NAT). A model whose item would not survive being stored and
// sent back declares NativeCompactionUnsupported and does not implement this
// (F-NAT-06).
type NativeCompactor interface {
	// CompactNative makes one provider call and returns the item. It neither
	// retries nor changes the messages.
	CompactNative(ctx context.Context, messages []message.Message) (NativeItem, error)
}

// A NativeItem is a provider's opaque stand-in for a range of messages. It goes
// back, unchanged, only to the provider and model that made it (F-NAT-02).
type NativeItem struct {
	// Provider and Model made the item.
	Provider, Model string
	// Data is the item's JSON, never interpreted.
	Data json.RawMessage
	// EstimatedTokens is what it weighs in a request, zero when unknown.
	EstimatedTokens int
	// Usage is what making it cost, nil when not reported or unreadable.
	Usage *message.Usage
}
