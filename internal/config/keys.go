package config

import (
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

func modelKeys() []Key {
	return []Key{
		{Path: "$schema", Type: Ignored, Project: Free, Doc: "The address of the JSON Schema, for editors. Forge does not read it."},
		{Path: "version", Type: Integer, Default: Version, Least: Version, Most: Version, Project: Free,
			Doc: "The version of the file's form. Every file must state it."},
		{Path: "model", Type: String, Project: Never, Env: "FORGE_MODEL", Flag: "model", Doc: "The ID of the model."},
		{Path: "provider", Type: String, Project: Never, Env: "FORGE_PROVIDER", Flag: "provider",
			Doc: "The provider: one that Forge knows (`forge auth status` lists them), or one under `providers`."},
		{Path: "endpoint", Type: String, Endpoint: true, Project: Never, Flag: "endpoint",
			Doc: "The base URL to use instead of the provider's own: HTTPS, or HTTP to this machine."},
		{Path: "reasoningEffort", Type: Choice, Choices: []string{"auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, Default: "auto",
			Project: Never, Env: "FORGE_REASONING_EFFORT", Flag: "reasoning-effort",
			Doc: "How much the model thinks. `auto` leaves it to the provider. Not every model takes every value."},
		{Path: "thinking", Type: Choice, Choices: []string{"auto", "on", "off"}, Default: "auto", Project: Never, Env: "FORGE_THINKING", Flag: "thinking",
			Doc: "Whether the model thinks in the open, where the provider has a switch for it."},
		{Path: "permissionProfile", Type: Choice, Choices: []string{string(policy.WorkspaceWrite), string(policy.Safe)}, Default: string(policy.Safe),
			Project: Stricter, Flag: "permission-profile",
			Doc: "`safe` reads and asks for everything else; `workspace-write` also changes files of the workspace without asking."},
		{Path: "engine", Type: Choice, Choices: []string{"native", "codex"}, Default: "native", Project: Never, Flag: "engine",
			Doc: "What runs the loop: Forge itself, or the Codex program."},
		{Path: "codexPath", Type: String, Default: "codex", Project: Never, Env: "FORGE_CODEX_PATH",
			Doc: "The Codex program, as a path or as a name that is looked up in PATH."},
	}
}

func contextKeys() []Key {
	return []Key{
		{Path: "context.mode", Type: Choice, Choices: []string{string(contextwindow.Off), string(contextwindow.Warn), string(contextwindow.Compact)},
			Default: string(contextwindow.Warn), Project: Stricter, Flag: "context-mode",
			Doc: "What is done about a request over budget: `off` only measures, `warn` says so and sends, `compact` makes room or stops."},
		{Path: "context.reservedOutputTokens", Type: Tokens, Default: budget.DefaultReservedOutputTokens, Least: 1, Most: maxTokens, Project: Raise, Flag: "reserved-output-tokens",
			Doc: "Tokens kept free for the answer. At most half the window is kept free, whatever is set."},
		{Path: "context.bufferTokens", Type: Tokens, Default: budget.DefaultBufferTokens, Least: 1, Most: maxTokens, Project: Raise, Flag: "buffer-tokens",
			Doc: "Tokens kept free for errors of the estimate. The larger of this and the reserve for the answer counts, not the sum."},
		{Path: "context.recentTailTokens", Type: Tokens, Default: contextwindow.DefaultRecentTailTokens, Least: 1, Most: maxTokens, Project: Lower, Flag: "recent-tail-tokens",
			Doc: "The most that the newest messages weigh that a compaction leaves word for word."},
		{Path: "context.summaryTargetTokens", Type: Tokens, Default: compaction.DefaultSummaryTargetTokens, Least: minSummaryTokens, Most: maxTokens, Project: Lower, Flag: "summary-target-tokens",
			Doc: "The most that a checkpoint may weigh."},
		{Path: "context.windowTokens", Type: Tokens, Default: 0, Least: budget.MinWindowTokens, Most: maxTokens, Project: Never, Flag: "window-tokens",
			Doc: "The window of the model, input and output. `auto` takes it from the catalog or the provider."},
	}
}

// minSummaryTokens keeps room for a checkpoint's frame and a few lines, so
// that a project cannot shrink the memory of what the user said to nothing.
const minSummaryTokens = 256

func limitKeys() []Key {
	return []Key{
		{Path: "limits.maxSteps", Type: Integer, Default: 200, Least: 1, Most: 1_000_000, Project: Lower, Flag: "max-steps",
			Doc: "The most requests to the model in one run."},
		{Path: "limits.maxToolCalls", Type: Integer, Default: 400, Least: 1, Most: 1_000_000, Project: Lower, Flag: "max-tool-calls",
			Doc: "The most tool calls in one run."},
		{Path: "limits.maxRunSeconds", Type: Integer, Default: 3600, Least: 1, Most: maxSeconds, Project: Lower, Flag: "max-run-seconds",
			Doc: "The longest that one run takes, in seconds."},
		{Path: "limits.commandTimeoutSeconds", Type: Integer, Default: 60, Least: 1, Most: maxSeconds, Project: Lower, Flag: "command-timeout-seconds",
			Doc: "The longest that one program runs, in seconds."},
		{Path: "limits.maxToolOutputBytes", Type: Integer, Default: 65_536, Least: 1024, Most: maxBytes, Project: Lower, Flag: "max-tool-output-bytes",
			Doc: "How much of a tool's output the model sees at first, in bytes. The rest is reached with `recall`."},
		{Path: "limits.maxStoredOutputBytes", Type: Integer, Default: 16 << 20, Least: 1024, Most: maxBytes, Project: Lower,
			Doc: "How much of a tool's output is stored, in bytes. Of more, head and tail are kept, with a mark."},
		{Path: "limits.maxCostUSD", Type: Number, Default: 0.0, Most: 1_000_000, ZeroIsNone: true, Project: Lower, Flag: "max-cost-usd",
			Doc: "The most that one run may cost, in US dollars. 0 means no limit."},
	}
}

func risks() []string {
	var out []string
	for _, r := range tool.Risks() {
		out = append(out, string(r))
	}
	return out
}

// ruleKeys are the fields of a rule or a grant.
func ruleKeys(list, action, doc string, choices ...string) []Key {
	return []Key{
		{Path: list + "[].tool", Type: String, Doc: "The exact name of a tool."},
		{Path: list + "[].risk", Type: Choice, Choices: risks(), Doc: "The risk of a tool."},
		{Path: list + "[].command", Type: Strings, Doc: "The first words of a program's argument vector, each equal."},
		{Path: list + "[].action", Type: Choice, Choices: choices, Default: action, Doc: doc},
	}
}

const (
	rulesPath  = "policy.rules"
	grantsPath = "policy.grants"
)

func policyKeys() []Key {
	rules := Key{Path: rulesPath, Type: Objects, Project: Add,
		Doc: "Calls that are asked for or denied, whatever the profile says. A call matches when every field that is given matches. The strictest match wins."}
	grants := Key{Path: grantsPath, Type: Objects, Project: Never,
		Doc: "Calls that the profile need not ask for. A grant lifts no denial and no rule."}
	out := append([]Key{rules}, ruleKeys(rulesPath, "", "What happens. It must be given.", string(policy.Confirm), string(policy.Deny))...)
	return append(append(out, grants), ruleKeys(grantsPath, string(policy.Allow), "It can be left out.", string(policy.Allow))...)
}

func dialects() []string {
	return []string{string(credential.Responses), string(credential.Chat), string(credential.Messages), string(credential.Gemini)}
}

func extensionKeys() []Key {
	const server = "mcp.servers.*."
	return []Key{
		{Path: "instructions.maxFileBytes", Type: Integer, Default: 32 << 10, Least: 1, Most: maxBytes, Project: Never,
			Doc: "How much of one AGENTS.md is read, in bytes. A project may not change it, since it would cut the user's own."},
		{Path: "instructions.maxTotalBytes", Type: Integer, Default: 128 << 10, Least: 1, Most: maxBytes, Project: Never,
			Doc: "How much is read of all instruction files together, in bytes."},
		{Path: "skills.enabled", Type: Boolean, Default: true, Project: SwitchOff, Doc: "Whether skills are offered to the model."},
		{Path: "skills.maxBytes", Type: Integer, Default: 32 << 10, Least: 1, Most: maxBytes, Project: Lower,
			Doc: "How much of a skill the model gets, in bytes."},
		{Path: server + "command", Type: Strings, Project: Propose, Doc: "The program of a local server and its arguments."},
		{Path: server + "env", Type: Texts, Secret: true, Project: Propose,
			Doc: "Environment variables of the program. A value that is `${NAME}` is taken from Forge's own environment."},
		{Path: server + "url", Type: String, Endpoint: true, Project: Propose, Doc: "The address of a server that is reached over HTTP."},
		{Path: server + "headers", Type: Texts, Secret: true, Project: Propose,
			Doc: "Headers of every request to it. A value that is `${NAME}` is taken from Forge's environment."},
		{Path: server + "risk", Type: Choice, Choices: risks(), Default: string(tool.RiskNetwork), Project: Stricter,
			Doc: "The risk of the server's tools, for the policy."},
		{Path: server + "deferTools", Type: Boolean, Default: false, Project: Propose,
			Doc: "Whether its tools stand behind a search tool instead of in every request."},
		{Path: server + "allow", Type: Strings, Project: Narrow, Doc: "The tools to offer. Without it all are."},
		{Path: "mcp.warnShare", Type: Number, Default: 0.2, Least: 0, Most: 1, Project: Lower,
			Doc: "The share of the window above which a server's tool definitions lead to a warning."},
		{Path: "plugins.enabled", Type: Boolean, Default: true, Project: Never,
			Doc: "Whether trusted plugins run. A project may not change it: a plugin can be what watches over it."},
		{Path: "providers.*.endpoint", Type: String, Endpoint: true, Project: Never,
			Doc: "The base URL of a provider of one's own, or another one for a known name."},
		{Path: "providers.*.dialect", Type: Choice, Choices: dialects(), Project: Never, Doc: "How the endpoint is spoken to."},
		{Path: "providers.*.keyVariable", Type: String, Variable: true, Project: Never, Doc: "The environment variable with the key. The key itself has no place in this file."},
		{Path: "providers.*.windowTokens", Type: Tokens, Default: 0, Least: budget.MinWindowTokens, Most: maxTokens, Project: Never,
			Doc: "The window of the provider's models, where nobody else states one."},
	}
}

func storeKeys() []Key {
	return []Key{
		{Path: "trace.enabled", Type: Boolean, Default: true, Project: Never, Doc: "Whether each run writes a trace. Traces hold decisions and hashes, no content."},
		{Path: "compaction", Type: Ignored, Project: Free,
			Doc: "Was never a setting here, but is one in files of other agents. It is ignored with a warning (requirement P-MAN-02)."},
	}
}
