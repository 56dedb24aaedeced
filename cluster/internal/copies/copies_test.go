// Package copies checks the copies of Kubernetes' code in the workshop's module.
package copies

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const copied = "../../../internal/testkit/oracle/labs/own-writes/upstream"

// read returns a file without the lines up to a mark, and without everything from an end.
func read(t *testing.T, path, mark, end string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	_, text, found := strings.Cut(string(data), mark)
	require.True(t, found, "%s has no %q", path, mark)
	text, _, _ = strings.Cut(text, end)
	return strings.TrimSpace(text)
}

func TestCopies_of_the_lab_own_writes(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	require.NoError(t, err)
	controller := filepath.Join(strings.TrimSpace(string(out)), "pkg", "controller")
	require.Equal(t,
		read(t, filepath.Join(controller, "util", "consistency", "consistency.go"), "package consistency\n", "\x00"),
		read(t, filepath.Join(copied, "consistency.go"), "package upstream\n", "\x00"),
		"consistency.go has changed: copy it again")
	const mark, end = "// Expectations are a way for controllers", "// Reasons for pod events"
	require.Equal(t, read(t, filepath.Join(controller, "controller_utils.go"), mark, end),
		read(t, filepath.Join(copied, "expectations.go"), mark, end), "the expectations have changed: copy them again")
}
