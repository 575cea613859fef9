package journey

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
)

const schemas = budget.ToolSchemas

// fixtures are the stories that can be played here.
func fixtures() []fixture {
	out := []fixture{constraint(), freshInstructions(), oldAccess(), oldTest(), repeatedReads(), restart(), manyTools(), refusedOnce()}
	if _, err := os.Stat(shell); err == nil {
		out = append(out, wrapped())
	}
	return out
}

// source is a file of about 2,000 tokens that differs with k.
func source(k int) string {
	var b strings.Builder
	for i := range 90 {
		fmt.Fprintf(&b, "func part%dStep%d(in Item) (Item, error) { return in.With(%d), nil }\n", k, i, k*100+i)
	}
	return b.String()
}

func sources(n int) map[string]string {
	out := map[string]string{}
	for k := range n {
		out[fmt.Sprintf("pkg/part%d.go", k)] = source(k)
	}
	return out
}

// A teller is a scripted model that knows where in its story it is: not by
// what it sees, since a checkpoint may stand for that, but by what it did.
type teller struct {
	task string
	step int // requests since the task began
	next int // the next file to read
}

// at takes the next step of the task that the person gave last.
func (t *teller) at(r *request) (task string, step int) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		text := contentText(r.Messages[i].Content)
		if r.Messages[i].Role == "user" && strings.HasPrefix(text, taskMark) {
			if text != t.task {
				t.task, t.step = text, -1
			}
			break
		}
	}
	t.step++
	return t.task, t.step
}

// read reads the next file, until so many steps of the task are done.
func (t *teller) read(step, files int) reply {
	if step >= files {
		return reply{text: "That is what these files do. " + strings.Repeat("Each step passes its item on and adds a number to it; nothing else stood out. ", 25)}
	}
	t.next++
	return reply{call: &call{"read_file", fmt.Sprintf(`{"path":"pkg/part%d.go"}`, t.next%12)}}
}

// taskMark begins every task, and nothing else that a user message holds.
const taskMark = "Task: "

// reading answers each task by reading files, one after the other, and then
// with a text.
func reading(files int) script {
	t := &teller{}
	return func(_ int, r *request) reply {
		_, step := t.at(r)
		return t.read(step, files)
	}
}

// constraint: what was said early holds beyond the verbatim turns.
func constraint() fixture {
	return fixture{id: "F-E2E-01", long: true, files: sources(12), model: func() script { return reading(9) },
		tasks: []task{
			{prompt: taskMark + "Never edit gen/api.go by hand. The gateway must listen on port 8147. Have a look at the first files."},
			{prompt: taskMark + "Every error in pkg/ledger has to be wrapped. No calls to fmt.Println in the importer, please. Next files."},
			{prompt: taskMark + "If you change the schema, bump schema-31 too. 请始终用中文写提交说明。 Next files."},
			{prompt: taskMark + "Für invoiceParser gilt eine Zeilenlänge von 96 Zeichen. Use the zapkit library for logs of payrollQueue. Next files."},
			{prompt: taskMark + "And the next ones."}, {prompt: taskMark + "The rest, then tell me what they do."},
		},
		seeds: [][]string{{"gen/api.go"}, {"8147"}, {"pkg/ledger", "wrapped"}, {"fmt.Println", "importer"}, {"schema-31"}, {"中文", "提交"}, {"invoiceParser", "96"}, {"zapkit", "payrollQueue"}},
	}
}

// freshInstructions: AGENTS.md of today decides after a resume.
func freshInstructions() fixture {
	return fixture{id: "F-E2E-02", files: map[string]string{"AGENTS.md": "Answer with the code word ALPHA-11.\n"},
		model: func() script { return func(int, *request) reply { return reply{text: "Fine."} } },
		tasks: []task{{prompt: taskMark + "What is this folder?"},
			{prompt: taskMark + "And now?", before: func(p *play) error {
				return p.write(p.workspace(), "AGENTS.md", "Answer with the code word BRAVO-22.\n")
			}}},
		check: func(p *play, j *gate.Journey) {
			last := strings.Join(p.last().texts(), "\n")
			if !strings.Contains(last, "BRAVO-22") || strings.Contains(last, "ALPHA-11") {
				j.SafetyFailures = append(j.SafetyFailures, "old instructions are in force after a resume")
			}
		}}
}

// oldAccess: what was allowed in the past is not allowed now.
func oldAccess() fixture {
	model := func() script {
		t := &teller{}
		return func(_ int, r *request) reply {
			task, step := t.at(r)
			if strings.Contains(task, "note of today") && step == 0 {
				return reply{call: &call{"create_file", `{"path":"notes/today.txt","content":"written\n"}`}}
			}
			return t.read(step, 8)
		}
	}
	return fixture{id: "F-E2E-03", long: true, files: sources(12), model: model,
		tasks: []task{
			{prompt: taskMark + "You may write to notes/ for this task, I approve. Have a look at the files.", flags: []string{"--permission-profile", "workspace-write"}},
			{prompt: taskMark + "More of them."}, {prompt: taskMark + "And more."},
			{prompt: taskMark + "Write the note of today.", flags: []string{"--permission-profile", "safe"}},
		},
		check: func(p *play, j *gate.Journey) {
			if _, err := os.Stat(filepath.Join(p.workspace(), "notes", "today.txt")); err == nil {
				j.SafetyFailures = append(j.SafetyFailures, "an approval of an earlier run let a write pass")
			}
			if last := p.runs[len(p.runs)-1]; last.Totals.Denied == 0 {
				j.Problems = append(j.Problems, "the write of today was not denied")
			}
		}}
}

// passed is what the test of oldTest prints.
const passed = "all 42 checks of the suite succeeded"

// oldTest: a test that passed before an edit is no evidence after it.
func oldTest() fixture {
	model := func() script {
		t := &teller{}
		return func(_ int, r *request) reply {
			task, step := t.at(r)
			first := strings.Contains(task, "Run the suite")
			switch {
			case first && step == 0:
				return reply{call: &call{"run_command", fmt.Sprintf(`{"command":["echo",%q]}`, passed)}}
			case first && step == 1:
				return reply{call: &call{"create_file", `{"path":"pkg/fresh.go","content":"package pkg\n"}`}}
			}
			return t.read(step, 8)
		}
	}
	return fixture{id: "F-E2E-04", long: true, files: sources(12), model: model,
		config: map[string]any{"permissionProfile": "workspace-write", "policy": map[string]any{"grants": []map[string]any{{"command": []string{"echo"}}}}},
		tasks:  []task{{prompt: taskMark + "Run the suite, then make pkg/fresh.go."}, {prompt: taskMark + "Look at the files."}, {prompt: taskMark + "More of them."}, {prompt: taskMark + "Is it ready?"}},
		check: func(p *play, j *gate.Journey) {
			for _, text := range p.last().texts() {
				if memory(text) && strings.Contains(text, passed) {
					j.SafetyFailures = append(j.SafetyFailures, "a checkpoint shows an old test as a result")
				}
			}
		}}
}

// memory reports whether a message holds a checkpoint.
func memory(text string) bool { return strings.Contains(text, "Memory of messages #0 to #") }

// repeatedReads: a model that reads the same file for ever is stopped.
func repeatedReads() fixture {
	return fixture{id: "F-E2E-05", files: sources(1), model: func() script {
		return func(int, *request) reply { return reply{call: &call{"read_file", `{"path":"pkg/part0.go"}`}} }
	},
		tasks: []task{{prompt: taskMark + "What does this file do?", flags: []string{"--max-steps", "60"}}},
		check: func(p *play, j *gate.Journey) {
			if p.runs[0].exit != 3 || len(p.server.requests()) > 61 {
				j.Problems = append(j.Problems, fmt.Sprintf("%d requests, exit code %d", len(p.server.requests()), p.runs[0].exit))
			}
			j.NoProgressStops++
		}}
}

// restart: a process that is killed leaves everything, and the next one goes
// on.
func restart() fixture {
	model := func() script {
		t := &teller{}
		return func(_ int, r *request) reply {
			task, step := t.at(r)
			if strings.Contains(task, "until it stops") && step == 3 {
				return reply{hang: true}
			}
			return t.read(step, 9)
		}
	}
	return fixture{id: "F-E2E-06", long: true, files: sources(12), model: model,
		tasks: []task{{prompt: taskMark + "Never touch vendor/lock.json. Look at the files."}, {prompt: taskMark + "More of them."}, {prompt: taskMark + "Go on until it stops.", kill: true}, {prompt: taskMark + "Go on where you were."}, {prompt: taskMark + "And the rest."}},
		seeds: [][]string{{"vendor/lock.json"}},
		check: func(p *play, j *gate.Journey) {
			if last := p.runs[len(p.runs)-1]; last.Status != "completed" {
				j.Corruptions = append(j.Corruptions, "the run after a killed one does not complete")
			}
			j.Corruptions = append(j.Corruptions, parted(p)...)
		}}
}

// parted finds requests in which a call has no result, or a result no call.
func parted(p *play) []string {
	var out []string
	for i, one := range p.server.requests() {
		open := map[string]bool{}
		for _, m := range one.Messages {
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
			if m.Role == "tool" {
				if !open[m.ToolCallID] {
					out = append(out, fmt.Sprintf("request %d: a result without its call", i+1))
				}
				delete(open, m.ToolCallID)
			}
		}
		if len(open) > 0 {
			out = append(out, fmt.Sprintf("request %d: %d calls without results", i+1, len(open)))
		}
	}
	return out
}

// manyTools: a large list of tools is measured, and does not push out what has
// to be there.
func manyTools() fixture {
	f := fixture{id: "F-E2E-07", files: sources(12), model: func() script { return reading(9) },
		tasks: []task{{prompt: taskMark + "Task with the word OMEGA-5: look at the files."}, {prompt: taskMark + "More of them, word OMEGA-6."}, {prompt: taskMark + "The rest, word OMEGA-7."}}}
	f.files["AGENTS.md"] = "Mind the code word SIERRA-4.\n"
	for i := range 90 {
		f.tools = append(f.tools, json.RawMessage(fmt.Sprintf(`{"name":"lookup_%d","description":"Looks entry %d up in the register of the %dth office, by number, name or the date on which it was filed, and returns it as a table.","inputSchema":{"type":"object","properties":{"number":{"type":"integer","description":"Number of the entry."},"name":{"type":"string","description":"Name on the entry."}}}}`, i, i, i)))
	}
	f.check = func(p *play, j *gate.Journey) {
		if j.SchemaTokens < 5_000 {
			j.Problems = append(j.Problems, fmt.Sprintf("tools weigh %d tokens as measured", j.SchemaTokens))
		}
		for i, one := range p.server.requests() {
			all := strings.Join(one.texts(), "\n")
			if !strings.Contains(all, "SIERRA-4") || !strings.Contains(all, "OMEGA-") {
				j.SafetyFailures = append(j.SafetyFailures, fmt.Sprintf("request %d lacks instructions or the current request", i+1))
			}
		}
	}
	return f
}

// refusedOnce: a clean refusal as too long leads to one more try, in which
// nothing happens twice. Without compaction the run ends with it.
func refusedOnce() fixture {
	model := func() script {
		t := &teller{}
		return func(_ int, r *request) reply {
			task, step := t.at(r)
			switch {
			case strings.Contains(task, "make the file") && step == 0:
				return reply{call: &call{"create_file", `{"path":"pkg/once.go","content":"package pkg\n"}`}}
			case strings.Contains(task, "make the file") && step == 1:
				return reply{tooLong: true}
			}
			return t.read(step, 4)
		}
	}
	return fixture{id: "F-E2E-08", files: sources(12), model: model, config: map[string]any{"permissionProfile": "workspace-write"},
		tasks: []task{{prompt: taskMark + "Look at the files."}, {prompt: taskMark + "Now make the file pkg/once.go, and go on."}},
		check: func(p *play, j *gate.Journey) {
			created := map[string]bool{}
			for _, one := range p.server.requests() {
				for _, m := range one.Messages {
					for _, c := range m.ToolCalls {
						if c.Function.Name == "create_file" {
							created[c.ID] = true
						}
					}
				}
			}
			j.Duplicates = max(0, len(created)-1)
			last := p.runs[len(p.runs)-1]
			recovered := last.Status == "completed" && last.Totals.Recoveries == 1
			if recovered != (p.mode == contextwindow.Compact) {
				j.Problems = append(j.Problems, fmt.Sprintf("the run ended as %s with %d recoveries, exit code %d", last.Status, last.Totals.Recoveries, last.exit))
			}
		}}
}
