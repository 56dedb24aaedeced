// Finding processes whose PIDs were lost with the file that they were in.

package process

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Find returns the processes whose command line matches: the program and its
// arguments, joined by spaces. It does not return the calling process. The
// error is errors.ErrUnsupported where the system does not show command lines.
func Find(matches func(commandLine string) bool) ([]Process, error) {
	before, err := commandLines()
	if err != nil {
		return nil, fmt.Errorf("looking for processes: %w", err)
	}
	var found []Process
	for _, pid := range slices.Sorted(maps.Keys(before)) {
		if pid == os.Getpid() || !matches(before[pid]) {
			continue
		}
		if started, err := startIdentity(pid); err == nil {
			found = append(found, Process{PID: pid, Started: started})
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	// Between the two looks the system can have given a PID to a stranger. Its
	// command line does not match.
	after, err := commandLines()
	if err != nil {
		return nil, fmt.Errorf("looking for processes: %w", err)
	}
	return slices.DeleteFunc(found, func(p Process) bool { return !matches(after[p.PID]) }), nil
}

// parsePS reads lines of a PID and a command line.
func parsePS(text string) map[int]string {
	lines := map[int]string{}
	for line := range strings.Lines(text) {
		number, commandLine, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil {
			lines[pid] = strings.TrimSpace(commandLine)
		}
	}
	return lines
}
