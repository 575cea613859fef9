package chat

import (
	"strings"

	"github.com/forge-agent/forge/sessionfile"
)

// miniSWEAgent reads {info, messages, trajectory_format}. Versions up to 1.x
// write actions as text, and their messages are all that the model saw;
// later ones give it a bash tool, whose definition is not in the file.
func (c *conversation) miniSWEAgent(v sessionfile.Value) {
	s := c.b.Session
	s.Format = MiniSWEAgent
	c.observes = true
	for key, member := range v.Members() {
		switch key {
		case "messages":
			c.messages(member)
		case "instance_id":
			s.ID = member.Text()
		case "trajectory_format":
			s.Version = member.Text()
		case "info":
			c.info(member)
		default:
			c.besides(key, member)
		}
	}
	if s.Complete = c.calls == 0 && !v.Cut; c.calls > 0 {
		c.b.Lose(0, "the definitions of the tools are not in the file")
	}
}

// info reads what trajectories say about the run.
func (c *conversation) info(v sessionfile.Value) {
	for key, member := range v.Members() {
		switch key {
		case "config":
			name := member.Member("model").Member("model_name").Text()
			if provider, _, ok := strings.Cut(name, "/"); ok {
				c.b.Session.Provider = provider
			}
			if c.b.Session.Model == "" && name != "" {
				c.b.Session.Model = name[strings.LastIndexByte(name, '/')+1:]
			}
		case "exception_str", "traceback":
			if member.Kind() == '"' {
				c.b.Losef(member.Line, "%s of the run is not a message", key)
			}
		}
	}
}

// sweAgent reads {history, trajectory, info}. The history is what the model
// saw; the trajectory holds the same texts by step.
func (c *conversation) sweAgent(v sessionfile.Value) {
	s := c.b.Session
	s.Format = SWEAgent
	c.observes, c.compare = true, true
	var steps sessionfile.Value
	for key, member := range v.Members() {
		switch key {
		case "history":
			c.messages(member)
		case "trajectory":
			steps = member
		case "instance_id":
			s.ID = member.Text()
		case "info":
			c.totals(member.Member("model_stats"))
		case "environment", "replay_config":
		default:
			c.besides(key, member)
		}
	}
	c.compareSteps(steps)
	if c.calls > 0 {
		c.b.Lose(0, "the definitions of the tools are not in the file")
	}
}

// totals names the usage, which is recorded for the run as a whole only.
func (c *conversation) totals(stats sessionfile.Value) {
	sent, received := stats.Member("tokens_sent"), stats.Member("tokens_received")
	if sent.Kind() == 0 && received.Kind() == 0 {
		return
	}
	c.b.Losef(stats.Line, "usage is recorded for the whole run only: %s tokens sent and %s received in %s calls",
		sent.Raw, received.Raw, stats.Member("api_calls").Raw)
}

// compareSteps names steps whose texts are not in the history, such as the
// last observation, which no model saw.
func (c *conversation) compareSteps(v sessionfile.Value) {
	i := 0
	for e := range v.Elements() {
		if e.Cut {
			break
		}
		response := strings.TrimSpace(e.Member("response").Text())
		observation := strings.TrimSpace(e.Member("observation").Text())
		var r reply
		if i < len(c.replies) {
			r = c.replies[i]
		}
		i++
		if !strings.Contains(r.text, response) {
			c.b.Lose(e.Line, "a step's response that is not in the history")
		}
		if !strings.Contains(r.next, observation) {
			c.b.Lose(e.Line, "a step's observation that is not in the history: no model saw it")
		}
	}
}
