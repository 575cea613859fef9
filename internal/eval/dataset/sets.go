package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
)

// readBEAM reads a chat with its probing questions: the instructions and the
// preferences that they test, with the turns that state them.
func readBEAM(data, questions []byte) ([]Case, error) {
	var chat any
	if err := json.Unmarshal(data, &chat); err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	var asked map[string][]struct {
		Instruction string `json:"instruction_being_tested"`
		Preference  string `json:"preference_being_tested"`
		Source      any    `json:"source_chat_ids"`
	}
	if err := json.Unmarshal(questions, &asked); err != nil {
		return nil, fmt.Errorf("probing questions: %w", err)
	}
	b := newBuilder(BEAM)
	at := map[string]int{}
	turns(chat, func(turn map[string]any) {
		role := message.RoleUser
		if turn["role"] != "user" {
			role = message.RoleAssistant
		}
		text, _ := turn["content"].(string)
		id := fmt.Sprint("turn-", turn["id"])
		if got := b.say(role, id, text); got != "" {
			at[id] = b.c.Transcript.Len() - 1
		}
	})
	users := b.userMessages()
	for _, category := range []string{"instruction_following", "preference_following"} {
		for _, q := range asked[category] {
			statement, family := q.Instruction, "instruction"
			if statement == "" {
				statement, family = q.Preference, "preference"
			}
			var from []int
			numbers(q.Source, func(n float64) {
				if i, ok := at[fmt.Sprint("turn-", n)]; ok {
					from = append(from, i)
				}
			})
			if len(from) == 0 {
				from = users
			}
			b.remember(family, statement, from)
		}
	}
	return one(b), nil
}

// turns walks a chat of any nesting and visits the objects that have a role
// and a content, in order.
func turns(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			turns(e, visit)
		}
	case map[string]any:
		if _, ok := v["role"].(string); ok && v["content"] != nil {
			visit(v)
			return
		}
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, byNumber)
		for _, k := range keys {
			turns(v[k], visit)
		}
	}
}

// byNumber orders "plan-2" before "plan-10".
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// numbers visits every number of a value.
func numbers(v any, visit func(float64)) {
	switch v := v.(type) {
	case float64:
		visit(v)
	case []any:
		for _, e := range v {
			numbers(e, visit)
		}
	case map[string]any:
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			numbers(v[k], visit)
		}
	}
}

// readLoCoMo reads chats between two people: what an answer says and where the
// chat says it.
func readLoCoMo(rows []json.RawMessage) ([]Case, error) {
	var out []Case
	for i, row := range rows {
		var sample struct {
			Conversation map[string]json.RawMessage `json:"conversation"`
			QA           []struct {
				Answer   any      `json:"answer"`
				Evidence []string `json:"evidence"`
			} `json:"qa"`
		}
		if err := json.Unmarshal(row, &sample); err != nil {
			return nil, fmt.Errorf("conversation %d: %w", i+1, err)
		}
		b := newBuilder(LoCoMo)
		var first string
		if json.Unmarshal(sample.Conversation["speaker_a"], &first) != nil {
			first = ""
		}
		at := map[string]int{}
		for n := 1; sample.Conversation[fmt.Sprint("session_", n)] != nil; n++ {
			var session []struct {
				Speaker string `json:"speaker"`
				ID      string `json:"dia_id"`
				Text    string `json:"text"`
			}
			if err := json.Unmarshal(sample.Conversation[fmt.Sprint("session_", n)], &session); err != nil {
				return nil, fmt.Errorf("session %d of conversation %d: %w", n, i+1, err)
			}
			for _, turn := range session {
				role := message.RoleAssistant
				if turn.Speaker == first {
					role = message.RoleUser
				}
				if b.say(role, turn.ID, turn.Text) != "" {
					at[turn.ID] = b.c.Transcript.Len() - 1
				}
			}
		}
		for _, q := range sample.QA {
			var from []int
			for _, id := range q.Evidence {
				if i, ok := at[id]; ok {
					from = append(from, i)
				}
			}
			b.remember("fact", fmt.Sprint(q.Answer), from)
		}
		out = append(out, one(b)...)
	}
	return out, nil
}

// readPrefEval reads preferences with questions. One conversation is made of
// a whole file: each preference, an answer, and the question.
func readPrefEval(rows []json.RawMessage) ([]Case, error) {
	b := newBuilder(PrefEval)
	type stated struct {
		text string
		at   int
	}
	var all []stated
	for i, row := range rows {
		var r struct {
			Preference string `json:"preference"`
			Question   string `json:"question"`
		}
		if err := json.Unmarshal(row, &r); err != nil {
			return nil, fmt.Errorf("preference %d: %w", i+1, err)
		}
		if b.say(message.RoleUser, "", r.Preference) == "" {
			continue
		}
		all = append(all, stated{r.Preference, b.c.Transcript.Len() - 1})
		b.say(message.RoleAssistant, "", "I see.")
		b.say(message.RoleUser, "", r.Question)
		b.say(message.RoleAssistant, "", "Here is what I found.")
	}
	for _, s := range all {
		b.remember("preference", s.text, []int{s.at})
	}
	return one(b), nil
}

// readMultiChallenge reads lines with conversations; those that test whether
// an instruction is remembered are joined to one.
func readMultiChallenge(data []byte) ([]Case, bool) {
	b := newBuilder(MultiChallenge)
	found := false
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var row struct {
			Axis         string `json:"AXIS"`
			Target       string `json:"TARGET_QUESTION"`
			Conversation []struct {
				Role    string `json:"role"`
				Content string `json:"content"`
			} `json:"CONVERSATION"`
		}
		if json.Unmarshal(s.Bytes(), &row) != nil || len(row.Conversation) == 0 || row.Axis == "" {
			if found {
				continue
			}
			return nil, false
		}
		found = true
		start := b.c.Transcript.Len()
		for _, turn := range row.Conversation {
			role := message.RoleUser
			if turn.Role != "user" {
				role = message.RoleAssistant
			}
			b.say(role, "", turn.Content)
		}
		if row.Axis == "INSTRUCTION_RETENTION" && b.c.Transcript.Len() > start {
			b.instruction(row.Target, start)
		}
	}
	return one(b), found
}

// instruction remembers the words of the first message that the judge's
// question asks about.
func (b *builder) instruction(question string, first int) {
	text := strings.ToLower(b.c.Transcript.At(first).Text())
	var asked []string
	for _, w := range Words(question) {
		if strings.Contains(text, w) {
			asked = append(asked, w)
		}
	}
	b.remember("instruction", strings.Join(asked, " "), []int{first})
}

// one returns the case, if it holds anything to remember.
func one(b *builder) []Case {
	if b.c.Transcript.Len() == 0 || len(b.c.Seeds) == 0 {
		return nil
	}
	return []Case{b.c}
}
