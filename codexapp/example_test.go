package codexapp_test

import (
	"context"
	"fmt"
	"os"

	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// A prompt goes to Codex, behind what the session holds.
func Example() {
	ask := func(ctx context.Context, s *session.Session, prompt string) error {
		program, err := codexapp.Find(os.Getenv("FORGE_CODEX_PATH"), os.Environ())
		if err != nil {
			return err
		}
		engine, err := codexapp.New(ctx, codexapp.Options{
			Path: program, Environ: os.Environ(), Dir: "/work", Session: s,
			Capabilities: model.Capabilities{Model: "gpt-6.2-sol", WindowTokens: 272_000, WindowSource: model.WindowFromUser},
			Counter:      tokencount.New(o200k.New(), tokencount.Profile{}),
		})
		if err != nil {
			return err
		}
		defer engine.Close()
		rules, err := policy.New(policy.Safe, nil)
		if err != nil {
			return err
		}
		result, err := engine.Run(ctx, codexapp.Request{Prompt: []message.Block{message.Text{Text: prompt}}, Policy: rules})
		if err != nil {
			return err
		}
		fmt.Println(result.Status, result.Text)
		return nil
	}
	_ = ask
}
