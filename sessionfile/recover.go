package sessionfile

import "bytes"

// skipNoise moves from bytes that begin no object to the next object: on the
// same line if a whole one follows there (a crash can leave NUL bytes before
// what is written next), otherwise at the start of a later line.
func (s *Source) skipNoise() error {
	line := s.line
	if s.buf[s.at] == '[' {
		if sp := s.scanner.scan(s.buf, s.at, s.strict); sp.verdict == whole {
			s.lose(line, "a JSON array where an object was expected")
			s.move(sp.end)
			return nil
		}
	}
	s.lose(line, "text that is no JSON object")
	end, err := s.lineEnd()
	if err != nil {
		return err
	}
	const tries = 16
	from := s.at
	for range tries {
		k := bytes.IndexByte(s.buf[from:end], '{')
		if k < 0 {
			break
		}
		from += k
		if sp := s.scanner.scan(s.buf[:end], from, s.strict); sp.verdict == whole {
			s.move(from)
			return nil
		}
		from++
	}
	return s.skipLines(end)
}

// skipBroken moves from an object that was cut off to the next one.
func (s *Source) skipBroken(sp span) error {
	s.lose(s.line, "an object is cut off or broken; reading goes on with the next one")
	stop := sp.end - s.at
	next := sp.line - s.at // negative when there is none
	end, err := s.lineEnd()
	if err != nil {
		return err
	}
	if from := s.glued(end); from > 0 {
		s.move(from)
		return nil
	}
	s.strict = max(s.strict, s.at+stop)
	if sp.line >= 0 {
		s.move(s.at + next)
		return nil
	}
	return s.skipLines(s.at + stop)
}

// glued looks for a whole object in the rest of the line that begins with the
// same key as the broken one at s.at: the writer was stopped in the middle of
// the first, and went on later without a line break. It returns 0 for none.
func (s *Source) glued(end int) int {
	line := s.buf[s.at:end]
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return 0
	}
	k := bytes.Index(line[1:], line[:colon+1])
	if k < 0 {
		return 0
	}
	from := s.at + 1 + k
	if sp := s.scanner.scan(s.buf[:end], from, s.strict); sp.verdict != whole {
		return 0
	}
	return from
}

// lineEnd returns the offset of the next line break, reading as far as an
// object may be long.
func (s *Source) lineEnd() (int, error) {
	from := 0
	for {
		if k := bytes.IndexByte(s.buf[s.at+from:], '\n'); k >= 0 {
			return s.at + from + k, nil
		}
		from = len(s.buf) - s.at
		if from > s.limits.ObjectBytes {
			return len(s.buf), nil
		}
		if more, err := s.fill(); err != nil || !more {
			return len(s.buf), err
		}
	}
}

// skipLines moves to the next line, from the offset on, that starts with an
// opening brace, or to the end of the file.
func (s *Source) skipLines(from int) error {
	s.move(from)
	for {
		if k := bytes.Index(s.buf[s.at:], []byte("\n{")); k >= 0 {
			s.move(s.at + k + 1)
			return nil
		}
		if s.hold && len(s.buf) > s.limits.DocumentBytes {
			return s.refuseUnreadable()
		}
		// The last byte may be the line break before a brace.
		s.move(max(s.at, len(s.buf)-1))
		more, err := s.fill()
		if err != nil {
			return err
		}
		if !more {
			s.move(len(s.buf))
			return nil
		}
	}
}
