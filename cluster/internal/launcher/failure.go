// Failures, said so that the reader knows what happened and what to do.

package launcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"client-go-workshop/cluster/internal/workspace"
)

// lastWords is how many lines of a log a failure quotes.
const lastWords = 6

// ErrPortTaken is in the error of a Start that has lost a race: between our
// finding a port free and a component's listening on it, somebody took it (it
// may have been a mere client's end of a connection). Another try is worth it.
var ErrPortTaken = errors.New("another program took its port; try again")

// died says that a component ended although it should not have.
func died(w workspace.Workspace, name string, how error) error {
	reason := "with exit code 0"
	if how != nil {
		reason = "with " + how.Error()
	}
	text := quote(w, name)
	if strings.Contains(text, "address already in use") ||
		strings.Contains(text, "Only one usage of each socket address") {
		return fmt.Errorf("%s ended %s while the cluster was starting: %w%s", name, reason, ErrPortTaken, text)
	}
	return fmt.Errorf("%s ended %s while the cluster was starting%s", name, reason, text)
}

// late says that a component runs but has not become ready.
func late(w workspace.Workspace, name string, answer error) error {
	return fmt.Errorf("%s was not ready within %s: %w%s", name, startTimeout, answer, quote(w, name))
}

// quote adds what the log of a component ends with and, if it tells of a full
// disk, says that in plain words.
func quote(w workspace.Workspace, name string) string {
	lines := withoutStackTrace(tail(w.Log(name), 300))
	if len(lines) == 0 {
		return ""
	}
	lines = lines[max(0, len(lines)-lastWords):]
	text := strings.Join(lines, "\n")
	var cause string
	if strings.Contains(text, "no space left on device") || strings.Contains(text, "not enough space on the disk") {
		cause = ": the disk that holds " + w.Cluster() + " is full; free some space and try again"
	}
	return fmt.Sprintf("%s\nThe last lines of its log (%s):\n    %s", cause, w.Log(name), strings.Join(lines, "\n    "))
}

// withoutStackTrace cuts off what the Go runtime writes after the reason of a
// crash: it can be longer than all that one wants to read.
func withoutStackTrace(lines []string) []string {
	crashed := false
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			crashed = true
		}
		if crashed && strings.HasPrefix(line, "goroutine ") {
			return slices.DeleteFunc(lines[:i], func(line string) bool { return strings.TrimSpace(line) == "" })
		}
	}
	return lines
}
