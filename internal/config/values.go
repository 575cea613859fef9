package config

import (
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// Values are the settings that hold. What each means stands in the table of
// [Keys]. A number of tokens that is "auto" is 0, which the packages that take
// it read as their default.
type Values struct {
	Version           int            `json:"version"`
	Model             string         `json:"model"`
	Provider          string         `json:"provider"`
	Endpoint          string         `json:"endpoint"`
	ReasoningEffort   string         `json:"reasoningEffort"`
	Thinking          string         `json:"thinking"`
	PermissionProfile policy.Profile `json:"permissionProfile"`
	Engine            string         `json:"engine"`
	CodexPath         string         `json:"codexPath"`

	Context      Context             `json:"context"`
	Limits       Limits              `json:"limits"`
	Policy       Policy              `json:"policy"`
	Instructions Instructions        `json:"instructions"`
	Skills       Skills              `json:"skills"`
	MCP          MCP                 `json:"mcp"`
	Plugins      Plugins             `json:"plugins"`
	Providers    map[string]Provider `json:"providers"`
	Trace        Trace               `json:"trace"`

	// Family is the family of compactions. It is no setting of the user
	// (P-FAM-04): it comes from the application or the environment.
	Family compaction.Family `json:"-"`
}

// Context are the settings of the context window.
type Context struct {
	Mode                 contextwindow.Mode `json:"mode"`
	ReservedOutputTokens int                `json:"reservedOutputTokens"`
	BufferTokens         int                `json:"bufferTokens"`
	RecentTailTokens     int                `json:"recentTailTokens"`
	SummaryTargetTokens  int                `json:"summaryTargetTokens"`
	WindowTokens         int                `json:"windowTokens"`
}

// Limits bound a run.
type Limits struct {
	MaxSteps              int     `json:"maxSteps"`
	MaxToolCalls          int     `json:"maxToolCalls"`
	MaxRunSeconds         int     `json:"maxRunSeconds"`
	CommandTimeoutSeconds int     `json:"commandTimeoutSeconds"`
	MaxToolOutputBytes    int     `json:"maxToolOutputBytes"`
	MaxStoredOutputBytes  int     `json:"maxStoredOutputBytes"`
	MaxCostUSD            float64 `json:"maxCostUSD"`
}

// Policy holds the rules by who stated them.
type Policy struct {
	Rules        []PolicyRule `json:"rules"`
	Grants       []PolicyRule `json:"grants"`
	ProjectRules []PolicyRule `json:"projectRules"`
}

// A PolicyRule is a rule or a grant.
type PolicyRule struct {
	Tool    string        `json:"tool"`
	Risk    tool.Risk     `json:"risk"`
	Command []string      `json:"command"`
	Action  policy.Action `json:"action"`
}

// Instructions bound instruction files.
type Instructions struct {
	MaxFileBytes  int `json:"maxFileBytes"`
	MaxTotalBytes int `json:"maxTotalBytes"`
}

// Skills are the settings of skills.
type Skills struct {
	Enabled  bool `json:"enabled"`
	MaxBytes int  `json:"maxBytes"`
}

// MCP holds the servers by name.
type MCP struct {
	// Servers are the user's.
	Servers map[string]MCPServer `json:"servers"`
	// Proposed are what the project would like to have. None may be started
	// before the user has agreed to exactly this server in this workspace.
	Proposed  map[string]MCPServer `json:"proposed"`
	WarnShare float64              `json:"warnShare"`
}

// An MCPServer has either a command or a URL.
type MCPServer struct {
	Command    []string  `json:"command"`
	Env        Secrets   `json:"env"`
	URL        string    `json:"url"`
	Headers    Secrets   `json:"headers"`
	Risk       tool.Risk `json:"risk"`
	DeferTools bool      `json:"deferTools"`
	Allow      []string  `json:"allow"`
}

// Plugins are the settings of plugins.
type Plugins struct {
	Enabled bool `json:"enabled"`
}

// A Provider is a provider of the user's own.
type Provider struct {
	Endpoint     string `json:"endpoint"`
	Dialect      string `json:"dialect"`
	KeyVariable  string `json:"keyVariable"`
	WindowTokens int    `json:"windowTokens"`
}

// Trace are the settings of traces.
type Trace struct {
	Enabled bool `json:"enabled"`
}
