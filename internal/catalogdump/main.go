// Command catalogdump keeps the data of model/catalog.
//
//	catalogdump build -out FILE          the data file, from checked-in inputs (go generate)
//	catalogdump fetch -out FILE [-version V]   a new copy of catwalk's tables, over the network
//
// It is not part of the product.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/forge-agent/forge/internal/catalogdata"
)

const (
	module         = "charm.land/catwalk"
	defaultVersion = "v0.52.1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "catalogdump:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: build or fetch")
	}
	flags := flag.NewFlagSet("catalogdump "+args[0], flag.ContinueOnError)
	out := flags.String("out", "", "file to write")
	version := flags.String("version", defaultVersion, "version of "+module+" to fetch")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("name the file to write with -out")
	}
	var data []byte
	var err error
	switch args[0] {
	case "build":
		data, err = catalogdata.Build()
	case "fetch":
		data, err = fetch(*version)
	default:
		return fmt.Errorf("unknown verb %q: use build or fetch", args[0])
	}
	if err != nil {
		return err
	}
	return os.WriteFile(*out, data, 0o644)
}

// fetch asks the go command for catwalk's source, which does not make it a
// dependency of this module, and reduces its tables.
func fetch(version string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	cmd.Stderr = &stderr
	report, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("download %s@%s: %w\n%s%s", module, version, err, report, stderr.Bytes())
	}
	var where struct{ Dir, Info, Version string }
	if err := json.Unmarshal(report, &where); err != nil {
		return nil, fmt.Errorf("read the go command's report: %w", err)
	}
	info, err := os.ReadFile(where.Info)
	if err != nil {
		return nil, fmt.Errorf("read version information: %w", err)
	}
	var made struct{ Time time.Time }
	if err := json.Unmarshal(info, &made); err != nil {
		return nil, fmt.Errorf("read version information: %w", err)
	}
	dump, err := catalogdata.Reduce(os.DirFS(where.Dir), module, where.Version, made.Time.UTC().Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	return dump.Encode()
}
