package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/forge-agent/forge/internal/app"
)

// prompt reads the task.
func (f *runFlags) prompt(env *Env, args []string) (app.Prompt, error) {
	text := strings.TrimSpace(strings.Join(args, " "))
	if text == "-" {
		text = ""
	}
	piped, err := pipedInput(env)
	if err != nil {
		return app.Prompt{}, err
	}
	switch {
	case text == "":
		text = piped
	case piped != "":
		text += "\n\n" + piped
	}
	if strings.TrimSpace(text) == "" {
		return app.Prompt{}, usagef("there is no task: forge run \"what is to be done\"")
	}
	p := app.Prompt{Text: text}
	for _, path := range f.images {
		image, err := app.ReadImage(path)
		if err != nil {
			return p, usageError{err}
		}
		p.Images = append(p.Images, image)
	}
	return p, nil
}

// maxPiped is how much of standard input a task may be: more belongs into a
// file that the model can read piece by piece.
const maxPiped = 1 << 20

// pipedInput reads standard input when something is piped in.
func pipedInput(env *Env) (string, error) {
	if f, ok := env.Stdin.(*os.File); ok {
		info, err := f.Stat()
		if err != nil || info.Mode()&(os.ModeNamedPipe) == 0 && !info.Mode().IsRegular() {
			return "", nil
		}
	}
	if env.Stdin == nil {
		return "", nil
	}
	data, err := io.ReadAll(io.LimitReader(env.Stdin, maxPiped+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxPiped {
		return "", usagef("standard input is longer than %d bytes; write it to a file and name it with @path", maxPiped)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}
