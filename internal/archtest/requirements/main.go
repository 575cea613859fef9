// Command requirements prints which requirements of docs/REQUIREMENTS.md a
// test names, which a decision page closes, and which are open. It reads the
// repository in the working directory and changes nothing.
package main

import (
	"fmt"
	"os"

	"github.com/forge-agent/forge/internal/archtest"
)

func main() {
	report, err := archtest.Report(os.DirFS("."))
	if err != nil {
		fmt.Fprintf(os.Stderr, "requirements: %v; run it from the root of the repository\n", err)
		os.Exit(1)
	}
	fmt.Print(report)
}
