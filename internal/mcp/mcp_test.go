package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/mcp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// over connects to scripted servers, by name.
func over(t *testing.T, scripts map[string]scripted, servers ...mcp.Server) *mcp.Servers {
	t.Helper()
	for i := range servers {
		if servers[i].URL == "" {
			servers[i].Command = []string{"unused"}
		}
	}
	return connect(t, mcp.Over(options(), func(s mcp.Server) sdk.Transport { return scripts[s.Name].transport(s) }), servers...)
}

func TestConnectRefuses(t *testing.T) {
	for name, servers := range map[string][]mcp.Server{
		"nothing":               {{Name: "a"}},
		"both":                  {{Name: "a", Command: []string{"x"}, URL: "https://x.example"}},
		"no name":               {{Command: []string{"x"}}},
		"hidden in name":        {{Name: "a\u202eb", Command: []string{"x"}}},
		"no program":            {{Name: "a", Command: []string{" "}}},
		"plain HTTP":            {{Name: "a", URL: "http://x.example"}},
		"user in URL":           {{Name: "a", URL: "https://u:sesame@x.example"}},
		"risk":                  {{Name: "a", URL: "https://x.example", Risk: "none"}},
		"env for URL":           {{Name: "a", URL: "https://x.example", Env: map[string]string{"A": "b"}}},
		"headers for a command": {{Name: "a", Command: []string{"x"}, Headers: map[string]string{"A": "b"}}},
		"line in header":        {{Name: "a", URL: "https://x.example", Headers: map[string]string{"A": "sesame\r\nB: c"}}},
		"own header":            {{Name: "a", URL: "https://x.example", Headers: map[string]string{"Content-Type": "b"}}},
		"odd variable":          {{Name: "a", Command: []string{"x"}, Env: map[string]string{"A=B": "sesame"}}},
		"relative folder":       {{Name: "a", Command: []string{"x"}, Dir: "x"}},
		"same name":             {{Name: "a", Command: []string{"x"}}, {Name: "a", Command: []string{"y"}}},
	} {
		all, err := mcp.Connect(t.Context(), servers, options())
		if err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
	all := connect(t, options())
	if len(all.Tools()) != 0 || len(all.Problems()) != 0 {
		t.Error("something came of nothing")
	}
}

// F-RUN-07: the list of a run stays when the server changes its own; the change
// is named once.
func TestListChanges(t *testing.T) {
	ours, theirs := sdk.NewInMemoryTransports()
	if _, err := testServer().Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	all := connect(t, mcp.Over(options(), func(mcp.Server) sdk.Transport { return ours }), mcp.Server{Name: "one", Command: []string{"unused"}})
	s := set(t, all)
	before := s.Names()
	if r := call(t, s, "one__change", ""); r.Text != "changed" {
		t.Fatalf("got %+v", r)
	}
	await(t, func() bool { return len(all.Problems()) > 0 })
	problem(t, all, mcp.Changed, "one", "takes effect at the next run")
	if got := set(t, all).Names(); !slices.Equal(got, before) {
		t.Errorf("the tools changed: %v", got)
	}
}

// What a server says of its tools is bounded, made safe and labelled; what
// cannot be used is named (F-RUN-07). What it claims about risk changes none
// (F-SEC-08).
func TestTools(t *testing.T) {
	object := `"inputSchema":{"type":"object"}`
	all := over(t, map[string]scripted{"srv": listing(
		`{"name":"good","description":"Reads.\r\nSafely \u202e\u0007\ud83c\udfc1 \udb40\udc41.",`+object+`,"annotations":{"readOnlyHint":true,"destructiveHint":false}}`,
		`{"name":"good","description":"Again.",`+object+`}`,
		`{"name":"no schema"}`,
		`{"name":"array","inputSchema":[]}`,
		`{"name":"text","inputSchema":"object"}`,
		`{"name":"string","inputSchema":{"type":"string"}}`,
		`{"name":"properties","inputSchema":{"type":"object","properties":[]}}`,
		`{"name":"property","inputSchema":{"type":"object","properties":{"a":7}}}`,
		`{"name":"required","inputSchema":{"type":"object","required":"a"}}`,
		`{"name":"large","inputSchema":{"type":"object","description":"`+strings.Repeat("x", mcp.MaxSchemaBytes)+`"}}`,
		`{"name":"deep","inputSchema":{"type":"object","x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}}`,
		`{"name":"header","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}`,
		`{"name":"`+strings.Repeat("n", 200)+`",`+object+`}`,
		`{"name":"",`+object+`}`,
		`null`,
		`{"name":"long",`+object+`,"description":"`+strings.Repeat("é", 8000)+`"}`,
		`{"name":"choice","inputSchema":{"anyOf":[{"required":["a"]}],"properties":{"a":{"description":"x\u202ey","enum":["\u202e"]}}}}`,
		`{"name":"Ünïcode/n\u202eame",`+object+`}`,
	)}, mcp.Server{Name: "srv"})
	s := set(t, all)
	if got := s.Names(); !slices.Equal(got, []string{"srv__choice", "srv__good", "srv__long", "srv___n_code_n_ame"}) {
		t.Fatalf("names %q; problems %v", got, all.Problems())
	}
	for _, name := range []string{"no schema", "array", "text", "string", "properties", "property", "required", "large", "deep", "header", "nnnn", "good"} {
		problem(t, all, mcp.Refused, "srv", name)
	}
	problem(t, all, mcp.Refused, "without a name")
	problem(t, all, mcp.Refused, "null")
	problem(t, all, mcp.Altered, "long", "16000 bytes")
	problem(t, all, mcp.Altered, "choice", "anyOf")
	problem(t, all, mcp.Altered, "good", "cannot be seen")
	for _, d := range s.Definitions() {
		if d.Server != "srv" || !strings.HasPrefix(d.Description, "[MCP server srv") || len(d.Description) > 9000 {
			t.Errorf("definition %+v", d)
		}
		if strings.ContainsAny(d.Description+string(d.Parameters), "\u202e\u0007\U000E0041") {
			t.Errorf("hidden characters in %q", d)
		}
	}
	definitions := s.Definitions()
	if got := definitions[1].Description; got != "[MCP server srv, in its own words] Reads.\nSafely \\u{202E}\\u{0007}🏁 \\u{E0041}." {
		t.Errorf("description %q", got)
	}
	if got := string(definitions[0].Parameters); got != `{"anyOf":[{"required":["a"]}],"properties":{"a":{"description":"x\\u{202E}y","enum":["\u202e"]}},"type":"object"}` {
		t.Errorf("parameters %s", got)
	}
	p := plan(t, s, "srv__good", `{ "a" : "x\u202ey`+"\u202e"+`" }`)
	if p.Summary != `call good of MCP server srv with {"a":"x\u202ey\u{202E}"} (the server claims: read-only, not destructive)` || p.Risk != tool.RiskProcess || p.Scope != `["mcp","srv","good"]` {
		t.Errorf("plan %+v", p)
	}
	if p := plan(t, s, "srv__good", `{"a":"`+strings.Repeat("é", 5000)+`"}`); len(p.Summary) > 500 || !strings.Contains(p.Summary, "10008 bytes") {
		t.Errorf("summary %d bytes: %s", len(p.Summary), p.Summary)
	}
	if _, err := s.Plan(t.Context(), message.ToolCall{Name: "srv__good", Arguments: `{"a":1,"a":2}`}); err == nil {
		t.Error("a member that is given twice was let through")
	}
}

// A list that does not end is bounded.
func TestEndlessList(t *testing.T) {
	endless := scripted{"tools/list": `"result":{"tools":[],"nextCursor":"again"}`}
	var many []string
	for i := range mcp.MaxTools + 10 {
		many = append(many, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
	}
	all := over(t, map[string]scripted{"endless": endless, "many": listing(many...)}, mcp.Server{Name: "endless"}, mcp.Server{Name: "many"})
	problem(t, all, mcp.Refused, "endless", "does not end")
	problem(t, all, mcp.Refused, "many", "left out")
	if len(all.Tools()) != mcp.MaxTools {
		t.Errorf("%d tools", len(all.Tools()))
	}
}

// Half a list is no list: a server whose second page fails has no tools.
func TestHalfAList(t *testing.T) {
	ours, theirs := sdk.NewInMemoryTransports()
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, &sdk.ServerOptions{PageSize: 2})
	for _, name := range []string{"a", "b", "c"} {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(anyObject)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return words(name), nil
		})
	}
	broken := false
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if list, ok := req.GetParams().(*sdk.ListToolsParams); ok && broken && list.Cursor != "" {
				return nil, errors.New("no page")
			}
			return next(ctx, method, req)
		}
	})
	if _, err := server.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	all := connect(t, mcp.Over(options(), func(mcp.Server) sdk.Transport { return ours }), mcp.Server{Name: "one", Command: []string{"unused"}})
	if got := set(t, all).Names(); !slices.Equal(got, []string{"one__a", "one__b", "one__c"}) {
		t.Errorf("pages: %v", got)
	}
	broken = true
	ours, theirs = sdk.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	all = connect(t, mcp.Over(options(), func(mcp.Server) sdk.Transport { return ours }), mcp.Server{Name: "one", Command: []string{"unused"}})
	if len(all.Tools()) != 0 {
		t.Errorf("half a list: %v", set(t, all).Names())
	}
	problem(t, all, mcp.Unreachable, "one", "list of tools could not be read", "no page")
}

// The user's allow list is the server's names; what is not there is named.
func TestAllow(t *testing.T) {
	tools := listing(`{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`)
	all := over(t, map[string]scripted{"some": tools, "none": tools},
		mcp.Server{Name: "some", Allow: []string{"b", "c"}, Risk: tool.RiskRead}, mcp.Server{Name: "none", Allow: []string{}})
	if got := set(t, all).Names(); !slices.Equal(got, []string{"some__b"}) {
		t.Errorf("names %v", got)
	}
	problem(t, all, mcp.Refused, "some", "tool c", "allow list")
	infos := all.Infos()
	if infos[0].Excluded != 1 || infos[1].Excluded != 2 || infos[0].Tools != 1 {
		t.Errorf("infos %+v", infos)
	}
	if p := plan(t, set(t, all), "some__b", ""); p.Risk != tool.RiskRead {
		t.Errorf("risk %s", p.Risk)
	}
}

// Names are unique, usable with every provider, and depend on what is there,
// not on its order.
func TestNames(t *testing.T) {
	got := mcp.Names([][2]string{{"a", "b__c"}, {"a__b", "c"}, {"x", "d.e"}, {"x", "d_e"}, {"x", "d/e"}, {"1st", "t"}, {"long", strings.Repeat("n", 100)}})
	want := []string{"a__b__c_", "a__b__c_", "x__d_e_", "x__d_e", "x__d_e_", "s1st__t", "long__nnn"}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) || len(got[i]) > 64 {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	if got[3] != "x__d_e" || got[5] != "s1st__t" {
		t.Errorf("got %q", got)
	}
	valid := regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringOfN(rapid.RuneFrom([]rune("ab_.é-1")), 1, 3, -1)
		pairs := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) [2]string {
			return [2]string{piece.Draw(t, "server"), piece.Draw(t, "tool") + strings.Repeat("z", rapid.SampledFrom([]int{0, 0, 70}).Draw(t, "length"))}
		}), 1, 40, func(p [2]string) [2]string { return p }).Draw(t, "pairs")
		names := mcp.Names(pairs)
		byPair := map[[2]string]string{}
		for i, n := range names {
			if !valid.MatchString(n) || slices.Contains(names[:i], n) {
				t.Fatalf("name %q of %q", n, pairs[i])
			}
			byPair[pairs[i]] = n
		}
		shuffled := rapid.Permutation(pairs).Draw(t, "shuffled")
		for i, n := range mcp.Names(shuffled) {
			if byPair[shuffled[i]] != n {
				t.Fatalf("%q is %q in one order and %q in another", shuffled[i], byPair[shuffled[i]], n)
			}
		}
	})
}

// The id of a message that is too long is found before or after the long part,
// and never inside it.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, tt := range []struct{ text, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"id":1,"a":"` + long + `"}}`, "7"},
		{`{"result":{"id":1,"a":"` + long + `"},"id":"b-7"}`, `"b-7"`},
		{`{"result":{"a":"` + long + `"},"id": -3 , "jsonrpc": "2.0" } ` + "\r", "-3"},
		{`{"result":{"a":"` + long + `","id":1}}`, ""},
		{`{"result":{"a":"` + long + `\",\"id\":1}"}}`, ""},
		{long, ""},
	} {
		if got, total := mcp.LongID(tt.text+"\nnext", 5000); got != tt.want || total != len(tt.text) {
			t.Errorf("%.30s…: got %s, %d bytes of %d", tt.text, got, total, len(tt.text))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("aé")), 0, 200_000, -1)).Draw(t, "lines")
		most := rapid.IntRange(1, 200_000).Draw(t, "most")
		var want []string
		text := ""
		for _, l := range lines {
			if l += "!"; len(l) > most {
				want = append(want, "long")
			} else {
				want = append(want, l)
			}
			text += l + "\n"
		}
		if got := mcp.Lines(text, most); !slices.Equal(got, want) {
			t.Fatalf("got %d lines, want %d", len(got), len(want))
		}
	})
}

// What a result holds becomes text, bounded.
func TestText(t *testing.T) {
	content := func(c ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: c} }
	for _, tt := range []struct {
		name   string
		result *sdk.CallToolResult
		want   string
	}{
		{"nothing", content(), "[the server returned nothing]"},
		{"texts", content(&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"}), "a\nb"},
		{"image", content(&sdk.ImageContent{MIMEType: "image/png", Data: []byte("1234")}), "[image, image/png, 4 bytes, not shown: results are text]"},
		{"sound", content(&sdk.AudioContent{Data: []byte("1")}), "[sound, unknown type, 1 bytes, not shown: results are text]"},
		{"link", content(&sdk.ResourceLink{URI: "file:///a\u202e", Name: "n", MIMEType: "text/plain"}), "[link to a resource of the server: file:///a\\u{202E}, n, text/plain]"},
		{"resource", content(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "u", Text: "t"}}), "[resource u]\nt"},
		{"bytes", content(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "u", Blob: []byte{1}}}), "[resource u, unknown type, 1 bytes, not shown: results are text]"},
		{"structured", &sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}}, `{"a":1}`},
		{"structured and text", &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a"}}, StructuredContent: 1.0}, "a"},
		{"structured and image", &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "i"}}, StructuredContent: []any{true}}, "[image, i, 0 bytes, not shown: results are text]\n[true]"},
		{"large number", &sdk.CallToolResult{StructuredContent: []any{1e300}}, "[1e+300]\n[whole numbers beyond 2^53 may have lost digits]"},
	} {
		if r := mcp.Text(tt.result); r.Text != tt.want || r.Outcome != message.OutcomeSuccess {
			t.Errorf("%s: got %q, want %q", tt.name, r.Text, tt.want)
		}
	}
	// F-RUN-01
	r := mcp.Text(&sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("é", tool.MaxOutputBytes)}}})
	if r.Outcome != message.OutcomeFailure || len(r.Text) > tool.MaxOutputBytes || !r.Truncated || r.OriginalBytes != 2*tool.MaxOutputBytes {
		t.Errorf("%d bytes, %+v", len(r.Text), r.OriginalBytes)
	}
}

// catalogue is a server with many tools.
func catalogue(n int) scripted {
	var tools []string
	for i := range n {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%03d","description":"Handles case %d of the catalogue.%s","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`,
			i, i, strings.Repeat(" More words about it.", 10)))
	}
	return listing(tools...)
}

// F-E2E-07: a catalogue of 300 tools is weighed, named and, where the
// configuration says so, deferred: then two schemas stand for all.
func TestLargeCatalogue(t *testing.T) {
	scripts := map[string]scripted{"large": catalogue(300), "small": catalogue(3)}
	count := func(d message.ToolDefinition) int { return (len(d.Name) + len(d.Description) + len(d.Parameters)) / 4 }
	all := over(t, scripts, mcp.Server{Name: "large"}, mcp.Server{Name: "small"})
	weights := all.Weigh(count)
	if len(weights) != 2 || weights[0].Tools != 300 || weights[0].Tokens < 20_000 || weights[1].Tools != 3 {
		t.Fatalf("weights %+v", weights)
	}
	warnings := mcp.Warnings(weights, 100_000, 0)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "large (300 tools)") || !strings.Contains(warnings[0], "deferTools") || !strings.Contains(warnings[0], strconv.Itoa(weights[0].Tokens)) {
		t.Errorf("warnings %q", warnings)
	}
	if got := mcp.Warnings(weights, 0, 0); len(got) != 0 {
		t.Errorf("without a window: %q", got)
	}
	if got := mcp.Warnings([]mcp.Weight{{Server: "a", Tools: 1, Tokens: 15}, {Server: "b", Tools: 1, Tokens: 15}}, 100, 0.2); len(got) != 1 || !strings.Contains(got[0], "together weigh 30") {
		t.Errorf("together: %q", got)
	}

	deferred := over(t, scripts, mcp.Server{Name: "large", DeferTools: true}, mcp.Server{Name: "small"})
	s := set(t, deferred)
	if got := s.Names(); !slices.Equal(got, []string{"small__tool_000", "small__tool_001", "small__tool_002", "search_tools", "call_tool"}) {
		t.Errorf("names %v", got)
	}
	total := 0
	for _, d := range s.Definitions() {
		total += count(d)
	}
	if total > 1000 {
		t.Errorf("%d tokens in all", total)
	}
	if got := mcp.Warnings(deferred.Weigh(count), 100_000, 0); len(got) != 0 {
		t.Errorf("warnings %q", got)
	}
	if d := s.Definitions()[3].Description; !strings.Contains(d, "large (300 tools)") {
		t.Errorf("what is deferred is hidden: %s", d)
	}
}

// Deferred tools are found and run, under the policy of the tool itself.
func TestDeferred(t *testing.T) {
	scripts := map[string]scripted{"large": catalogue(300), "web": listing(`{"name":"send","description":"Sends mail.","inputSchema":{"type":"object"}}`)}
	for _, s := range scripts {
		s["tools/call"] = `"result":{"content":[{"type":"text","text":"done"}]}`
	}
	all := over(t, scripts, mcp.Server{Name: "large", DeferTools: true, Risk: tool.RiskRead}, mcp.Server{Name: "web", URL: "https://x.example", DeferTools: true})
	s := set(t, all)
	for _, tt := range []struct{ arguments, want string }{
		{`{"query":"mail"}`, "web__send (risk network)\n[MCP server web, in its own words] Sends mail.\nparameters: {\"type\":\"object\"}"},
		{`{"query":"send","server":"large"}`, "None of 300 deferred tools matches"},
		{`{"query":"tool_007"}`, "1 of 301 deferred tools."},
		{`{"query":"large__tool_299"}`, "case 299"},
		{`{"query":"catalogue"}`, "300 of 301 deferred tools."},
		{`{"query":"catalogue"}`, "and 190 more."},
		{`{"query":""}`, "301 of 301"},
	} {
		if r := call(t, s, "search_tools", tt.arguments); !strings.Contains(r.Text, tt.want) || r.Outcome != message.OutcomeSuccess || len(r.Text) > 64<<10 {
			t.Errorf("%s: %d bytes: %.600s", tt.arguments, len(r.Text), r.Text)
		}
	}
	if _, err := s.Plan(t.Context(), message.ToolCall{Name: "search_tools", Arguments: `{"query":"x","server":"none"}`}); err == nil {
		t.Error("an unknown server was let through")
	}

	p := plan(t, s, "call_tool", `{"name":"web__send","arguments":{"to":"a"}}`)
	direct := `call send of MCP server web with {"to":"a"}`
	if p.Tool != "web__send" || p.Via != "call_tool" || p.Risk != tool.RiskNetwork || p.Summary != direct || p.Scope != `["mcp","web","send"]` {
		t.Errorf("plan %+v", p)
	}
	if r := p.Run(t.Context()); r.Text != "done" {
		t.Errorf("got %+v", r)
	}
	if p := plan(t, s, "call_tool", `{"name":"large__tool_001"}`); p.Risk != tool.RiskRead || p.Tool != "large__tool_001" {
		t.Errorf("plan %+v", p)
	}
	var broken *tool.CallError
	for _, c := range []message.ToolCall{
		{Name: "web__send", Arguments: "{}"},
		{Name: "call_tool", Arguments: `{"name":"search_tools","arguments":{}}`},
		{Name: "call_tool", Arguments: `{"name":"call_tool","arguments":{}}`},
		{Name: "call_tool", Arguments: `{"name":"nothing","arguments":{}}`},
		{Name: "call_tool", Arguments: `{"arguments":{}}`},
		{Name: "call_tool", Arguments: `{"name":"web__send","arguments":"{}"}`},
		{Name: "call_tool", Arguments: `{"name":"web__send","arguments":{"a":1,"a":2}}`},
	} {
		if _, err := s.Plan(t.Context(), c); !errors.As(err, &broken) {
			t.Errorf("%+v: %v", c, err)
		}
	}

	deny, err := policy.New(policy.Safe, &policy.Options{
		Grants: []policy.Rule{{Tool: "call_tool", Action: policy.Allow}},
		Layers: []policy.Layer{{Source: "user", Rules: []policy.Rule{{Tool: "large__tool_001", Action: policy.Deny}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := deny.Decide(policy.Ask(plan(t, s, "call_tool", `{"name":"large__tool_001"}`))); d.Allowed() {
		t.Errorf("a denied tool ran through call_tool: %+v", d)
	}
	if d := deny.Decide(policy.Ask(p)); d.Action != policy.Confirm {
		t.Errorf("a grant for call_tool let a network tool through: %+v", d)
	}
}

// FuzzServer feeds the answer to the list and to a call to a session: nothing
// panics or hangs, and what comes out is safe.
func FuzzServer(f *testing.F) {
	f.Add(`"result":{"tools":[{"name":"a","description":"b","inputSchema":{"type":"object"}}]}`, `"result":{"content":[{"type":"text","text":"a"}]}`)
	f.Add(`"result":{"tools":[null,{"name":7}]}`, `"error":{"code":1,"message":"\u202e"}`)
	f.Add(`"result":{"tools":{},"nextCursor":"a"}`, `"result":{"content":[{"type":"resource","resource":null},null]}`)
	f.Add(`"result":{"tools":[{"name":"a","inputSchema":{}}]}`, `"result":{"structuredContent":{"a":[1e308]},"isError":true,"resultType":"input_required"}`)
	f.Add(`"result":null`, `"result":{"content":[{"type":"image","data":"!"}]}`)
	f.Fuzz(func(t *testing.T, list, answer string) {
		o := options()
		o.ConnectTimeout, o.CallTimeout, o.Grace = time.Second, time.Second, 100*time.Millisecond
		script := scripted{"tools/list": strings.ReplaceAll(list, "\n", " "), "tools/call": strings.ReplaceAll(answer, "\n", " ")}
		all, err := mcp.Connect(t.Context(), []mcp.Server{{Name: "a", Command: []string{"unused"}}}, mcp.Over(o, script.transport))
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		s, err := tool.NewSet(all.Tools()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range s.Definitions() {
			if !json.Valid(d.Parameters) || strings.ContainsFunc(d.Description, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) {
				t.Fatalf("definition %q", d)
			}
			call(t, s, d.Name, "{}")
		}
	})
}
