package verify

// This file makes the stubs, and knows whether those in the chapter folders are still what was made.
//
// The difficulty is that a chapter folder changes hands: it is ours until a learner opens it, and then a file that
// differs from its stub is not stale but somebody's work. So each solution folder keeps the check sums of the stubs as
// they were last made (stub.sum). Those must match what the solution gives today, whatever the chapter folder holds;
// and a file in the chapter folder that matches them is known to be untouched.

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/course/stub"
)

func derived(r *run) (string, []string) {
	made, err := stub.Dir(filepath.Join(r.root, r.chapter.Solution()))
	if err != nil {
		return "", []string{err.Error()}
	}
	const mend = "run `go tool workshop generate`"
	known, err := checksum.Read(filepath.Join(r.root, r.chapter.Solution(), checksum.Stubs))
	if err != nil {
		return "", []string{err.Error() + "; " + mend}
	}
	var problems, worked []string
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if known[name] != checksum.Of(made[name]) {
			problems = append(problems, fmt.Sprintf("%s/%s is stale: the solution has changed since the stub was made; %s", r.chapter.Dir, name, mend))
			continue
		}
		onDisk, err := os.ReadFile(filepath.Join(r.root, r.chapter.Dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			worked = append(worked, name+" is gone")
		case err != nil:
			problems = append(problems, err.Error())
		case checksum.Of(onDisk) != known[name]:
			worked = append(worked, name+" was worked on")
		}
	}
	for name := range known {
		if _, still := made[name]; !still {
			problems = append(problems, fmt.Sprintf("%s/%s has no solution any more; %s", r.chapter.Dir, name, mend))
		}
	}
	if r.pristine {
		problems = append(problems, r.testsAsListed(mend)...)
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

// testsAsListed demands that test.sum is about the tests as they are.
func (r *run) testsAsListed(mend string) (problems []string) {
	listed, err := checksum.Read(filepath.Join(r.root, r.chapter.Solution(), checksum.Tests))
	if err != nil {
		return []string{err.Error()}
	}
	there, err := testSums(r.root, r.chapter)
	if err != nil {
		return []string{err.Error()}
	}
	if !maps.Equal(listed, there) {
		problems = append(problems, fmt.Sprintf("%s is not about the tests of %s as they are; %s", checksum.Tests, r.chapter.Dir, mend))
	}
	return problems
}

// Generate makes the stubs of a chapter from its solution, and notes their check sums. A stub that somebody has worked
// on is not overwritten: its name comes back in kept, and the stub lies beside it as NAME.stub.
func Generate(root string, c course.Chapter) (written, kept []string, err error) {
	solution := filepath.Join(root, c.Solution())
	made, err := stub.Dir(solution)
	if err != nil {
		return nil, nil, err
	}
	before, err := checksum.Read(filepath.Join(solution, checksum.Stubs))
	if err != nil {
		return nil, nil, err
	}
	now := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		now[name] = checksum.Of(made[name])
		path := filepath.Join(root, c.Dir, name)
		onDisk, err := os.ReadFile(path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return written, kept, fmt.Errorf("make the stub %s: %w", path, err)
		case err == nil && checksum.Of(onDisk) == checksum.Of(made[name]):
			continue
		case err == nil && checksum.Of(onDisk) != before[name]:
			kept = append(kept, name)
			path += ".stub"
		default:
			written = append(written, name)
		}
		if err := os.WriteFile(path, made[name], 0o644); err != nil {
			return written, kept, fmt.Errorf("make the stub %s: %w", path, err)
		}
	}
	if err := checksum.Write(filepath.Join(solution, checksum.Stubs), now); err != nil {
		return written, kept, err
	}
	tests, err := testSums(root, c)
	if err != nil {
		return written, kept, err
	}
	return written, kept, checksum.Write(filepath.Join(solution, checksum.Tests), tests)
}

// testSums are the check sums of the chapter's tests, by their path in the chapter's folder. They are how a learner is
// told that a test is not the one that everybody else has; see package workfolder.
func testSums(root string, c course.Chapter) (map[string]string, error) {
	all := map[string]string{}
	folder := filepath.Join(root, c.Dir)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		all[filepath.ToSlash(name)] = checksum.Of(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tests of %s: %w", c.Dir, err)
	}
	return all, nil
}
