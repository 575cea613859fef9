package session

import "context"

// AddMark stores what an engine did to its own context while the session was
// in use.
func (s *Session) AddMark(ctx context.Context, m Mark) error {
	m.Detail, _ = s.opts.Redactor.Text(m.Detail)
	return s.addRecord(ctx, KindMark, m.At, m)
}
