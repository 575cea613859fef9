package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// A Step is one line of a script.
type Step struct {
	// When must be found in the last message, Holds in the whole request,
	// Lacks must not be in it. All are regular expressions; empty ones hold.
	When  string `json:"when"`
	Holds string `json:"holds"`
	Lacks string `json:"lacks"`
	// Times is how often the step serves: 0 means once, -1 always.
	Times int `json:"times"`
	// Reasoning, Text and Calls are the answer. In them, {n} is how often the
	// step has served, from 1.
	Reasoning string     `json:"reasoning"`
	Text      string     `json:"text"`
	Calls     []StepCall `json:"calls"`
	Truncated bool       `json:"truncated"`
	// Fault is what goes wrong.
	Fault      Fault  `json:"fault"`
	RetryAfter string `json:"retryAfter"`
}

// A StepCall is a call of a step: arguments as an object, or as raw text.
type StepCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Raw       string          `json:"raw"`
}

type step struct {
	Step
	when, holds, lacks *regexp.Regexp
	used               int
}

// ParseScript reads a script: JSON objects of the form of Step, one after the
// other. The function that it returns answers a request with the first step
// that fits and still serves; without one it refuses the request. unused lists
// the steps that have not served so often as they say.
func ParseScript(r io.Reader) (script func(Request) Reply, unused func() []string, err error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var steps []*step
	for {
		s := &step{}
		if err := d.Decode(&s.Step); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("read step %d of the script: %w", len(steps)+1, err)
		}
		if err := s.compile(); err != nil {
			return nil, nil, fmt.Errorf("read step %d of the script: %w", len(steps)+1, err)
		}
		steps = append(steps, s)
	}
	script = func(r Request) Reply {
		for _, s := range steps {
			if s.fits(r) {
				s.used++
				return s.reply()
			}
		}
		return Reply{Fault: Unscripted}
	}
	unused = func() []string {
		var out []string
		for i, s := range steps {
			if s.used == 0 || s.Times > 0 && s.used < s.Times {
				out = append(out, fmt.Sprintf("step %d served %d times", i+1, s.used))
			}
		}
		return out
	}
	return script, unused, nil
}

func (s *step) compile() error {
	for _, p := range []struct {
		text string
		to   **regexp.Regexp
	}{{s.When, &s.when}, {s.Holds, &s.holds}, {s.Lacks, &s.lacks}} {
		if p.text == "" {
			continue
		}
		re, err := regexp.Compile("(?s)" + p.text)
		if err != nil {
			return err
		}
		*p.to = re
	}
	return nil
}

func (s *step) fits(r Request) bool {
	if s.Times >= 0 && s.used >= max(1, s.Times) {
		return false
	}
	if s.when != nil && !s.when.MatchString(r.Last()) {
		return false
	}
	if s.holds == nil && s.lacks == nil {
		return true
	}
	text := r.Text()
	return (s.holds == nil || s.holds.MatchString(text)) && (s.lacks == nil || !s.lacks.MatchString(text))
}

func (s *step) reply() Reply {
	fill := func(text string) string { return strings.ReplaceAll(text, "{n}", strconv.Itoa(s.used)) }
	r := Reply{Reasoning: fill(s.Reasoning), Text: fill(s.Text), Truncated: s.Truncated, Fault: s.Fault, RetryAfter: s.RetryAfter}
	for _, c := range s.Calls {
		arguments := c.Raw
		if len(c.Arguments) > 0 {
			arguments = string(c.Arguments)
		}
		r.Calls = append(r.Calls, Call{Name: c.Name, Arguments: fill(arguments)})
	}
	return r
}
