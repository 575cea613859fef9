package session

import "context"

// Redact takes secrets out of a text that is shown and not kept, as admission
// does with what is kept.
func (s *Session) Redact(text string) string {
	text, _ = s.opts.Redactor.Text(text)
	return text
}

// AddMark stores what an engine did to its own context while the session was
// in use.
func (s *Session) AddMark(ctx context.Context, m Mark) error {
	m.Detail, _ = s.opts.Redactor.Text(m.Detail)
	return s.addRecord(ctx, KindMark, m.At, m)
}
