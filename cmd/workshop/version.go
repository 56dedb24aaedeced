package main

// This file is `workshop version`.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/usage"
)

// newVersion returns the command that prints the versions that a report of a problem needs.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the workshop, client-go and Go",
		Long: `Print the version of the workshop, which is the newest one in CHANGELOG.md, of the
client-go in go.mod, and of Go. Reports of problems ask for this output.`,
		Args: usage.AtMost(0, "argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := course.Root(".")
			if err != nil {
				return err
			}
			changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
			goMod, modErr := os.ReadFile(filepath.Join(root, "go.mod"))
			if err = cmp.Or(err, modErr); err != nil {
				return fmt.Errorf("look for the versions: %w", err)
			}
			workshop, err := newestVersion(changes)
			if err != nil {
				return err
			}
			clientGo := required.FindSubmatch(goMod)
			if clientGo == nil {
				return errors.New("go.mod does not require k8s.io/client-go")
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "workshop   %s\nclient-go  %s\ngo         %s %s/%s\n",
				workshop, clientGo[1], runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

var (
	required   = regexp.MustCompile(`(?m)^(?:require)?\s+k8s\.io/client-go\s+(v\S+)`)
	unreleased = regexp.MustCompile(`(?m)^## Unreleased[ \r]*$`)
	// released matches the heading of a version, such as "## 1.0.0 - 2026-11-24".
	released = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?) - \d{4}-\d\d-\d\d[ \r]*$`)
)

// newestVersion returns the version in the first heading of a changelog that names one. It says so if there are
// unreleased changes above.
func newestVersion(changes []byte) (string, error) {
	at := released.FindSubmatchIndex(changes)
	if at == nil {
		return "", errors.New("CHANGELOG.md has no heading with a version, such as: ## 1.0.0 - 2026-11-24")
	}
	version := string(changes[at[2]:at[3]])
	if unreleased.Match(changes[:at[0]]) {
		version += ", with unreleased changes"
	}
	return version, nil
}
