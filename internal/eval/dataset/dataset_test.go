package dataset_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/forge-agent/forge/internal/eval/dataset"
)

// The files below are made up in the shape of each set.
var files = map[string]string{
	"beam/chats/100K/1/chat.json": `[{"batch_number":1,"turns":[[
		{"role":"user","id":1,"content":"Always format code examples with syntax highlighting when I ask about Flask routes."},
		{"role":"assistant","id":2,"content":"Understood."}],[
		{"role":"user","id":3,"content":"I like lightweight dependencies better than heavy frameworks, such as sqlite over postgres."},
		{"role":"assistant","id":4,"content":"Noted."}]]}]`,
	"beam/chats/100K/1/probing_questions/probing_questions.json": `{
		"instruction_following":[{"question":"?","instruction_being_tested":"Always format code examples with syntax highlighting for Flask routes","source_chat_ids":[1]}],
		"preference_following":[{"question":"?","preference_being_tested":"lightweight dependencies over heavy frameworks","source_chat_ids":[3]},
			{"question":"?","preference_being_tested":"enjoys quiet mountain villages","source_chat_ids":[3]}]}`,
	"locomo10.json": `[{"sample_id":"c1","conversation":{"speaker_a":"Ann","speaker_b":"Bo","session_1":[
		{"speaker":"Ann","dia_id":"D1:1","text":"My sister painted a large sunrise mural in Lisbon."},
		{"speaker":"Bo","dia_id":"D1:2","text":"Wonderful!"}]},
		"qa":[{"question":"What did she paint?","answer":"a sunrise mural","evidence":["D1:1"],"category":1},
			{"question":"When?","answer":2022,"evidence":["D1:2"],"category":2}]}]`,
	"prefeval/explicit_preference/food.json": `[{"preference":"I have a strong dislike for spicy peppers in noodle soups.","question":"Which soup?","explanation":""},
		{"preference":"My shellfish allergy means no shrimp dishes.","question":"Dinner?","explanation":""}]`,
	"benchmark_questions.jsonl": `{"QUESTION_ID":"q1","AXIS":"INSTRUCTION_RETENTION","CONVERSATION":[{"role":"user","content":"End all answers with a haiku about rivers."},{"role":"assistant","content":"Yes."},{"role":"user","content":"Next?"}],"TARGET_QUESTION":"Does the answer end with a haiku about rivers?","PASS_CRITERIA":"YES"}
{"QUESTION_ID":"q2","AXIS":"SELF_COHERENCE","CONVERSATION":[{"role":"user","content":"Hello"}],"TARGET_QUESTION":"?","PASS_CRITERIA":"YES"}
`,
	"other/package.json": `{"name":"x"}`,
}

// Issue behaviour 2: the readers find the statements, the messages that make
// them and the words that tell them apart, and count what no message states.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := dataset.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[dataset.Kind]struct{ messages, seeds, leftOut int }{
		dataset.BEAM: {4, 2, 1}, dataset.LoCoMo: {2, 1, 1}, dataset.PrefEval: {8, 2, 0}, dataset.MultiChallenge: {4, 1, 0},
	}
	for _, c := range cases {
		w := want[c.Kind]
		if c.Transcript.Len() != w.messages || len(c.Seeds) != w.seeds || c.LeftOut != w.leftOut {
			t.Errorf("%s: %d messages, %d statements, %d left out; want %+v", c.Kind, c.Transcript.Len(), len(c.Seeds), c.LeftOut, w)
		}
		delete(want, c.Kind)
		for _, s := range c.Seeds {
			at, ok := c.Transcript.Index(s.MessageID)
			if !ok || !s.Kept(map[string][]string{s.MessageID: {c.Transcript.At(at).Text()}}) {
				t.Errorf("%s: %q is not kept by its own message", c.Kind, s.Text)
			}
			if s.Kept(map[string][]string{s.MessageID: {"something else"}}) {
				t.Errorf("%s: %q is kept by other words", c.Kind, s.Text)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// A folder without any such file says so.
func TestLoadNothing(t *testing.T) {
	if _, err := dataset.Load(t.TempDir()); !errors.Is(err, dataset.ErrNoData) {
		t.Errorf("error %v", err)
	}
}

// Bad files are errors or nothing, never a panic.
func FuzzRead(f *testing.F) {
	for _, text := range files {
		f.Add([]byte(text), []byte(nil))
		f.Add([]byte(text), []byte(files["beam/chats/100K/1/probing_questions/probing_questions.json"]))
	}
	f.Fuzz(func(t *testing.T, data, questions []byte) {
		if len(questions) == 0 {
			questions = nil
		}
		cases, err := dataset.Read(data, questions)
		if err != nil {
			return
		}
		for _, c := range cases {
			for _, s := range c.Seeds {
				if _, ok := c.Transcript.Index(s.MessageID); !ok || len(s.Keys) == 0 {
					t.Fatalf("statement %q has no message or no words", s.Text)
				}
			}
		}
	})
}
