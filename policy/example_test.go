package policy_test

import (
	"context"
	"fmt"

	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// The profile allows files of the workspace to be changed, a rule of the
// project asks all the same, and the person says yes once.
func Example() {
	p, err := policy.New(policy.WorkspaceWrite, &policy.Options{Layers: []policy.Layer{{
		Source: "project",
		Rules:  []policy.Rule{{Risk: tool.RiskWrite, Action: policy.Confirm}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := p.Begin(func(_ context.Context, q policy.Request, d policy.Decision) (policy.Answer, error) {
		fmt.Printf("%s? (%s)\n", q.Summary, d.Reason)
		return policy.ApproveOnce, nil
	})
	defer run.End()
	ctx := context.Background()
	fmt.Println(run.Authorize(ctx, policy.Request{Tool: "apply_patch", Risk: tool.RiskWrite, Summary: "edit main.go"}).Action)
	fmt.Println(run.Authorize(ctx, policy.Request{Tool: "read_file", Risk: tool.RiskRead, Summary: "read main.go"}).Action)
	// Output:
	// edit main.go? (a rule of project says confirm)
	// allow
	// allow
}
