package codexapp

import "io"

// Connect replaces the start of the program.
func (o *Options) Connect(connect func() (in io.WriteCloser, out io.Reader, stop func(), told func() (string, string), err error)) {
	o.connect = func() (conn, error) {
		in, out, stop, told, err := connect()
		return conn{in: in, out: out, stop: stop, told: told}, err
	}
}

// Wrap writes messages as the wrapper does.
var Wrap = wrap

// CommandsOf reads a command line.
var CommandsOf = commandsOf

// CheckVersion reads a version.
var CheckVersion = checkVersion

// ReadLine reads a bounded line.
var ReadLine = readLine

// Parse reads a message of the server.
func Parse(line []byte) bool {
	_, ok := parse(line)
	return ok
}

// WireTypes are the structs of the protocol by the schema file that has them.
func WireTypes() map[string]any {
	return map[string]any{
		"v1/InitializeParams.json":                      initializeParams{},
		"v1/InitializeResponse.json":                    initializeResponse{},
		"v2/GetAccountResponse.json":                    accountResponse{},
		"v2/ThreadStartParams.json":                     threadStartParams{},
		"v2/ThreadStartResponse.json":                   threadResponse{},
		"v2/ThreadResumeParams.json":                    threadResumeParams{},
		"v2/ThreadResumeResponse.json":                  threadResponse{},
		"v2/ThreadCompactStartParams.json":              threadParams{},
		"v2/ThreadUnsubscribeParams.json":               threadParams{},
		"v2/ThreadTurnsListParams.json":                 turnsParams{},
		"v2/ThreadTurnsListResponse.json":               turnsResponse{},
		"v2/ThreadInjectItemsParams.json":               injectParams{},
		"v2/TurnStartParams.json":                       turnStartParams{},
		"v2/TurnStartResponse.json":                     turnResponse{},
		"v2/TurnInterruptParams.json":                   interruptParams{},
		"v2/TurnStartedNotification.json":               turnNote{},
		"v2/TurnCompletedNotification.json":             turnNote{},
		"v2/ItemStartedNotification.json":               itemNote{},
		"v2/ItemCompletedNotification.json":             itemNote{},
		"v2/AgentMessageDeltaNotification.json":         deltaNote{},
		"v2/ReasoningSummaryTextDeltaNotification.json": deltaNote{},
		"v2/ThreadTokenUsageUpdatedNotification.json":   usageNote{},
		"v2/ThreadStatusChangedNotification.json":       statusNote{},
		"v2/ErrorNotification.json":                     errorNote{},
		"v2/WarningNotification.json":                   warningNote{},
		"v2/ConfigWarningNotification.json":             configWarningNote{},
		"v2/ServerRequestResolvedNotification.json":     resolvedNote{},
		"CommandExecutionRequestApprovalParams.json":    commandQuestion{},
		"CommandExecutionRequestApprovalResponse.json":  decisionReply{},
		"FileChangeRequestApprovalParams.json":          fileQuestion{},
		"FileChangeRequestApprovalResponse.json":        decisionReply{},
		"PermissionsRequestApprovalParams.json":         permissionsQuestion{},
		"PermissionsRequestApprovalResponse.json":       permissionsReply{},
		"ToolRequestUserInputResponse.json":             userInputReply{},
		"McpServerElicitationRequestResponse.json":      elicitationReply{},
		"DynamicToolCallResponse.json":                  dynamicToolReply{},
	}
}

// Methods are those that are used, by the schema file that lists them.
func Methods() map[string][]string {
	return map[string][]string{
		"ClientRequest.json": {methodInitialize, methodAccountRead, methodThreadStart, methodThreadResume, methodUnsubscribe, methodInject, methodCompact, methodLoaded,
			methodTurns, methodTurnStart, methodInterrupt},
		"ClientNotification.json": {methodInitialized},
		"ServerNotification.json": append(unwanted(), noteTurnStarted, noteTurnCompleted, noteItemStarted, noteItemCompleted, noteTextDelta, noteThinkingDelta, noteUsage, noteError,
			noteWarning, noteConfigWarning, noteResolved, noteStatus),
		"ServerRequest.json": {askCommand, askFileChange, askPermissions, askUserInput, askElicitation, askDynamicTool},
	}
}
