package verify

// This file makes the stubs, and knows whether those in the chapter folders are still what was made.
//
// The difficulty is that a chapter folder changes hands: it is ours until a learner opens it, and then a file that
// differs from its stub is not stale but somebody's work. So each solution folder keeps the check sums of the stubs as
// they were last made (stub.sum). Those must match what the solution gives today, whatever the chapter folder holds;
// and a file in the chapter folder that matches them is known to be untouched.

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"client-go-workshop/internal/chapter"
	"client-go-workshop/internal/stub"
)

// Sums is the file, in a solution's folder, with the check sums of the stubs made from it.
const Sums = "stub.sum"

func derived(r *run) (string, []string) {
	made, err := stub.Dir(filepath.Join(r.root, r.chapter.Solution()))
	if err != nil {
		return "", []string{err.Error()}
	}
	const mend = "run `go tool workshop generate`"
	known, err := readSums(filepath.Join(r.root, r.chapter.Solution(), Sums))
	if err != nil {
		return "", []string{err.Error() + "; " + mend}
	}
	var problems, worked []string
	for _, name := range sortedKeys(made) {
		if known[name] != sum(made[name]) {
			problems = append(problems, fmt.Sprintf("%s/%s is stale: the solution has changed since the stub was made; %s", r.chapter.Dir, name, mend))
			continue
		}
		onDisk, err := os.ReadFile(filepath.Join(r.root, r.chapter.Dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			worked = append(worked, name+" is gone")
		case err != nil:
			problems = append(problems, err.Error())
		case sum(onDisk) != known[name]:
			worked = append(worked, name+" was worked on")
		}
	}
	for name := range known {
		if _, still := made[name]; !still {
			problems = append(problems, fmt.Sprintf("%s/%s has no solution any more; %s", r.chapter.Dir, name, mend))
		}
	}
	detail := fmt.Sprintf("%d stubs", len(made))
	if len(worked) > 0 {
		detail += ", of which " + strings.Join(worked, ", ")
	}
	if r.pristine {
		for _, w := range worked {
			problems = append(problems, fmt.Sprintf("%s/%s since the stub was made, and it has to be as made; %s", r.chapter.Dir, w, mend))
		}
	}
	return detail, problems
}

func sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

func readSums(path string) (map[string]string, error) {
	lines, err := readLines(path)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, line := range lines {
		hash, name, ok := strings.Cut(line, "  ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not a check sum and a name", path, line)
		}
		sums[name] = hash
	}
	return sums, nil
}

// Generate makes the stubs of a chapter from its solution, and notes their check sums. A stub that somebody has worked
// on is not overwritten: its name comes back in kept, and the stub lies beside it as NAME.stub.
func Generate(root string, c chapter.Chapter) (written, kept []string, err error) {
	solution := filepath.Join(root, c.Solution())
	made, err := stub.Dir(solution)
	if err != nil {
		return nil, nil, err
	}
	before, err := readSums(filepath.Join(solution, Sums))
	if err != nil {
		return nil, nil, err
	}
	var sums strings.Builder
	for _, name := range sortedKeys(made) {
		fmt.Fprintf(&sums, "%s  %s\n", sum(made[name]), name)
		path := filepath.Join(root, c.Dir, name)
		onDisk, err := os.ReadFile(path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return written, kept, fmt.Errorf("make the stub %s: %w", path, err)
		case err == nil && sum(onDisk) == sum(made[name]):
			continue
		case err == nil && sum(onDisk) != before[name]:
			kept = append(kept, name)
			path += ".stub"
		default:
			written = append(written, name)
		}
		if err := os.WriteFile(path, made[name], 0o644); err != nil {
			return written, kept, fmt.Errorf("make the stub %s: %w", path, err)
		}
	}
	if err := os.WriteFile(filepath.Join(solution, Sums), []byte(sums.String()), 0o644); err != nil {
		return written, kept, fmt.Errorf("note the check sums of the stubs: %w", err)
	}
	return written, kept, nil
}
