package model

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoRequestCounter is returned by CountRequest for a model whose provider
// counts nothing.
var ErrNoRequestCounter = errors.New("the provider does not count requests")

// A RequestCounter is what a Model also implements when its provider counts a
// whole request without answering it (F-CAP-02). That costs a round trip, so
// nothing uses it unasked.
type RequestCounter interface {
	// CountRequest makes one call and returns what Stream would send for the
	// same request, in the provider's own tokens. It does not retry.
	CountRequest(ctx context.Context, r Request) (Estimate, error)
}

// CountRequest asks the provider for the weight of a request and takes the
// local estimate when it gives none in time. The error says why the fallback
// was taken; it is nil for the provider's count. timeout must be positive.
func CountRequest(ctx context.Context, m Model, r Request, timeout time.Duration, fallback Estimate) (Estimate, error) {
	counter, ok := m.(RequestCounter)
	if !ok {
		return fallback, ErrNoRequestCounter
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	e, err := counter.CountRequest(ctx, r)
	if err != nil {
		return fallback, fmt.Errorf("count request: %w", err)
	}
	return e, nil
}

// ProviderCount is the estimate that a provider's count stands for.
func ProviderCount(tokens int) Estimate {
	return Estimate{Tokens: tokens, Method: MethodProviderTokenizer, Confidence: ConfidenceExact}
}
