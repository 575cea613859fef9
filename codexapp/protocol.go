package codexapp

import (
	"encoding/json"
	"fmt"
)

// The methods that this client calls or answers. A test compares them, and the
// structs below, with the schema that the binary prints.
const (
	methodInitialize   = "initialize"
	methodInitialized  = "initialized"
	methodAccountRead  = "account/read"
	methodThreadStart  = "thread/start"
	methodThreadResume = "thread/resume"
	methodUnsubscribe  = "thread/unsubscribe"
	methodInject       = "thread/inject_items"
	methodCompact      = "thread/compact/start"
	methodLoaded       = "thread/loaded/list"
	methodTurns        = "thread/turns/list"
	methodTurnStart    = "turn/start"
	methodInterrupt    = "turn/interrupt"

	noteTurnStarted   = "turn/started"
	noteTurnCompleted = "turn/completed"
	noteItemStarted   = "item/started"
	noteItemCompleted = "item/completed"
	noteTextDelta     = "item/agentMessage/delta"
	noteThinkingDelta = "item/reasoning/summaryTextDelta"
	noteUsage         = "thread/tokenUsage/updated"
	noteError         = "error"
	noteWarning       = "warning"
	noteConfigWarning = "configWarning"
	noteResolved      = "serverRequest/resolved"
	noteStatus        = "thread/status/changed"

	askCommand     = "item/commandExecution/requestApproval"
	askFileChange  = "item/fileChange/requestApproval"
	askPermissions = "item/permissions/requestApproval"
	askUserInput   = "item/tool/requestUserInput"
	askElicitation = "mcpServer/elicitation/request"
	askDynamicTool = "item/tool/call"
)

// inbound is one line of the server: a reply (ID), a request (ID and Method)
// or a notification (Method).
type inbound struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

type wireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// A ReplyError is the server's refusal of a request.
type ReplyError struct {
	// Method was refused, with the server's own code and text.
	Method  string
	Code    int
	Message string
}

// Error says what was refused and why.
func (e *ReplyError) Error() string {
	return fmt.Sprintf("the Codex app server refused %s: %s (code %d)", e.Method, clean(e.Message), e.Code)
}

type initializeParams struct {
	ClientInfo   clientInfo   `json:"clientInfo"`
	Capabilities capabilities `json:"capabilities"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type capabilities struct {
	OptOut []string `json:"optOutNotificationMethods,omitempty"`
}

type initializeResponse struct {
	UserAgent string `json:"userAgent"`
	CodexHome string `json:"codexHome"`
}

type accountResponse struct {
	Account            *account `json:"account"`
	RequiresOpenAIAuth bool     `json:"requiresOpenaiAuth"`
}

type account struct {
	Type string `json:"type"`
}

type threadStartParams struct {
	Cwd                   string         `json:"cwd,omitempty"`
	Model                 string         `json:"model,omitempty"`
	ModelProvider         string         `json:"modelProvider,omitempty"`
	ApprovalPolicy        string         `json:"approvalPolicy,omitempty"`
	Sandbox               string         `json:"sandbox,omitempty"`
	Config                map[string]any `json:"config,omitempty"`
	DeveloperInstructions string         `json:"developerInstructions,omitempty"`
	Ephemeral             bool           `json:"ephemeral,omitempty"`
}

type threadResumeParams struct {
	ThreadID              string         `json:"threadId"`
	Cwd                   string         `json:"cwd,omitempty"`
	Model                 string         `json:"model,omitempty"`
	ModelProvider         string         `json:"modelProvider,omitempty"`
	ApprovalPolicy        string         `json:"approvalPolicy,omitempty"`
	Sandbox               string         `json:"sandbox,omitempty"`
	Config                map[string]any `json:"config,omitempty"`
	DeveloperInstructions string         `json:"developerInstructions,omitempty"`
	ExcludeTurns          bool           `json:"excludeTurns"`
}

// threadResponse is the reply to thread/start and thread/resume.
type threadResponse struct {
	Thread thread `json:"thread"`
	Model  string `json:"model"`
}

type thread struct {
	ID   string `json:"id"`
	Path string `json:"path"`
}

type threadParams struct {
	ThreadID string `json:"threadId"`
}

type turnsParams struct {
	ThreadID      string `json:"threadId"`
	Limit         int    `json:"limit"`
	ItemsView     string `json:"itemsView"`
	SortDirection string `json:"sortDirection"`
}

type turnsResponse struct {
	Data []turn `json:"data"`
}

type injectParams struct {
	ThreadID string       `json:"threadId"`
	Items    []injectItem `json:"items"`
}

// injectItem is a raw item of the Responses dialect, which the schema leaves
// open.
type injectItem struct {
	Type    string        `json:"type"`
	Role    string        `json:"role"`
	Content []contentPart `json:"content"`
}

type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type turnStartParams struct {
	ThreadID       string         `json:"threadId"`
	Input          []userInput    `json:"input"`
	Cwd            string         `json:"cwd,omitempty"`
	ApprovalPolicy string         `json:"approvalPolicy,omitempty"`
	SandboxPolicy  *sandboxPolicy `json:"sandboxPolicy,omitempty"`
}

type userInput struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	URL  string `json:"url,omitempty"`
}

type sandboxPolicy struct {
	Type          string   `json:"type"`
	WritableRoots []string `json:"writableRoots,omitempty"`
}

type turnResponse struct {
	Turn turn `json:"turn"`
}

type turn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"`
	Error  *turnError `json:"error"`
}

type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
	Details string          `json:"additionalDetails"`
}

// kind is the name in codexErrorInfo, which is a string or an object with one
// member.
func (e *turnError) kind() string {
	if e == nil {
		return ""
	}
	var name string
	if json.Unmarshal(e.Info, &name) == nil {
		return name
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(e.Info, &object) == nil {
		for name = range object {
			return name
		}
	}
	return ""
}

type interruptParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

type turnNote struct {
	ThreadID string `json:"threadId"`
	Turn     turn   `json:"turn"`
}

type itemNote struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	Item     item   `json:"item"`
}

type deltaNote struct {
	ThreadID string `json:"threadId"`
	ItemID   string `json:"itemId"`
	Delta    string `json:"delta"`
}

type errorNote struct {
	Error     turnError `json:"error"`
	WillRetry bool      `json:"willRetry"`
	ThreadID  string    `json:"threadId"`
}

type warningNote struct {
	Message string `json:"message"`
}

type configWarningNote struct {
	Summary string `json:"summary"`
}

type statusNote struct {
	ThreadID string       `json:"threadId"`
	Status   threadStatus `json:"status"`
}

type threadStatus struct {
	Type string `json:"type"`
}

type resolvedNote struct {
	RequestID json.RawMessage `json:"requestId"`
}

type usageNote struct {
	ThreadID   string     `json:"threadId"`
	TurnID     string     `json:"turnId"`
	TokenUsage tokenUsage `json:"tokenUsage"`
}

type tokenUsage struct {
	Last   tokens `json:"last"`
	Total  tokens `json:"total"`
	Window int    `json:"modelContextWindow"`
}

type tokens struct {
	Total       int `json:"totalTokens"`
	Input       int `json:"inputTokens"`
	CachedInput int `json:"cachedInputTokens"`
	CacheWrite  int `json:"cacheWriteInputTokens"`
	Output      int `json:"outputTokens"`
	Reasoning   int `json:"reasoningOutputTokens"`
}
