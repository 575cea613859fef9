package codexapp

import "encoding/json"

// item has the members of all the kinds of items that are read. The whole item
// is kept beside it, for kinds that are not.
type item struct {
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Phase   string   `json:"phase"`
	Summary []string `json:"summary"`
	// Content is a list of strings for reasoning, of objects for others.
	Content json.RawMessage `json:"content"`

	Command          string          `json:"command"`
	Cwd              string          `json:"cwd"`
	Status           string          `json:"status"`
	ExitCode         *int            `json:"exitCode"`
	AggregatedOutput string          `json:"aggregatedOutput"`
	DurationMS       int64           `json:"durationMs"`
	Changes          []fileChange    `json:"changes"`
	Server           string          `json:"server"`
	Namespace        string          `json:"namespace"`
	Tool             string          `json:"tool"`
	Arguments        json.RawMessage `json:"arguments"`
	Result           json.RawMessage `json:"result"`
	Failure          *itemError      `json:"error"`
	ContentItems     json.RawMessage `json:"contentItems"`
	Success          *bool           `json:"success"`
	Query            string          `json:"query"`
	Results          json.RawMessage `json:"results"`
	Path             string          `json:"path"`

	raw json.RawMessage
}

func (it *item) UnmarshalJSON(data []byte) error {
	type plain item
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		// A member that has changed its type must not lose the item.
		p = plain{}
		var head struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		if err := json.Unmarshal(data, &head); err != nil {
			return err
		}
		p.Type, p.ID = head.Type+"?", head.ID
	}
	*it = item(p)
	if !it.known() {
		it.raw = append(json.RawMessage(nil), data...)
	}
	return nil
}

type itemError struct {
	Message string `json:"message"`
}

type fileChange struct {
	Path string         `json:"path"`
	Kind fileChangeKind `json:"kind"`
	Diff string         `json:"diff"`
}

type fileChangeKind struct {
	Type     string `json:"type"`
	MovePath string `json:"move_path,omitempty"`
}

// What Codex asks, and the answers.

type commandQuestion struct {
	ThreadID string          `json:"threadId"`
	TurnID   string          `json:"turnId"`
	ItemID   string          `json:"itemId"`
	Command  string          `json:"command"`
	Cwd      string          `json:"cwd"`
	Reason   string          `json:"reason"`
	Kind     string          `json:"kind"`
	Network  json.RawMessage `json:"networkApprovalContext"`
}

type fileQuestion struct {
	ThreadID  string `json:"threadId"`
	ItemID    string `json:"itemId"`
	Reason    string `json:"reason"`
	GrantRoot string `json:"grantRoot"`
}

type permissionsQuestion struct {
	ThreadID    string          `json:"threadId"`
	ItemID      string          `json:"itemId"`
	Cwd         string          `json:"cwd"`
	Reason      string          `json:"reason"`
	Permissions json.RawMessage `json:"permissions"`
}

type decisionReply struct {
	Decision string `json:"decision"`
}

type permissionsReply struct {
	Permissions json.RawMessage `json:"permissions"`
	Scope       string          `json:"scope"`
}

type userInputReply struct {
	Answers map[string]any `json:"answers"`
}

type elicitationReply struct {
	Action string `json:"action"`
}

type dynamicToolReply struct {
	ContentItems []contentPart `json:"contentItems"`
	Success      bool          `json:"success"`
}
