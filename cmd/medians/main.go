// Command medians reads the output of `go test -bench` and prints its rows (compare.Row) as JSON, with benchstat's
// statistics. It is the program behind `workshop compare`, so that the workshop's command line compiles without them.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"client-go-workshop/internal/runner/compare/medians"
)

func main() {
	rows, err := medians.Read(os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "medians:", err)
		os.Exit(1)
	}
}
