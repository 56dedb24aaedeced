package verify

// This file generates the stubs, and checks whether those in the chapter folders are up to date.
//
// A file in a chapter folder that differs from its stub is either out of date or a learner's work. So each solution
// folder keeps the checksums of the stubs that were generated last (package checksum). They must match what the
// solution gives today, whatever the chapter folder contains; a file there that matches them is an untouched stub.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/authoring/anchor"
	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/workspace"
)

func derived(r *run) (string, []string) {
	const generate = "run `go tool author generate`"
	solution := filepath.Join(r.root, r.chapter.Solution())
	made, now := generated(r.root, r.chapter)
	listed, err := checksum.Read(solution)
	if err != nil {
		return "", []string{err.Error() + "; " + generate}
	}
	var p problems
	var worked []string
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if listed.Stubs[name] != now.Stubs[name] {
			p.add("%s/%s is stale: the solution has changed since the stub was made; %s", r.chapter.Dir, name, generate)
			continue
		}
		onDisk, err := os.ReadFile(filepath.Join(r.root, r.chapter.Dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			worked = append(worked, name+" is gone")
		case err != nil:
			p.add("%v", err)
		case !bytes.Equal(onDisk, made[name]):
			worked = append(worked, name+" was worked on")
		}
	}
	for name := range listed.Stubs {
		if _, still := made[name]; !still {
			p.add("%s/%s has no solution any more; %s", r.chapter.Dir, name, generate)
		}
	}
	for _, set := range append(slices.Clone(r.sets), r.states) {
		p = append(p, anchor.Check(set)...)
	}
	p = append(p, bugs.GameProblems(solution, bugs.WithoutBonus(r.chapter, r.sets[0].Bugs))...)
	for _, name := range must(workspace.EditedTests(r.root, r.chapter)) {
		p.add("%s/%s does not match %s; %s, or restore the test", r.chapter.Dir, name, checksum.Name, generate)
	}
	detail := fmt.Sprintf("%d stubs", len(made))
	if len(worked) > 0 {
		detail += ", of which " + strings.Join(worked, ", ")
	}
	if !r.pristine {
		return detail, p
	}
	for _, w := range worked {
		p.add("%s/%s since the stub was made, and it has to be as made; %s", r.chapter.Dir, w, generate)
	}
	if !maps.Equal(listed.Tests, now.Tests) {
		p.add("%s does not match the tests of %s; %s", checksum.Name, r.chapter.Dir, generate)
	}
	return detail, p
}

// Generate makes the stubs of a chapter from its solution, and writes the list of checksums. It does not overwrite a
// file that a learner has changed: it returns its name in kept, and writes the stub beside it as NAME.stub.
func Generate(root string, c course.Chapter) (written, kept []string, err error) {
	defer ended(&err)
	solution := filepath.Join(root, c.Solution())
	made, now := generated(root, c)
	before := must(checksum.Read(solution))
	for _, name := range slices.Sorted(maps.Keys(made)) {
		path := filepath.Join(root, c.Dir, name)
		onDisk, err := os.ReadFile(path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return written, kept, fmt.Errorf("make the stub %s: %w", path, err)
		case err == nil && bytes.Equal(onDisk, made[name]):
			continue
		case err == nil && checksum.Of(onDisk) != before.Stubs[name]:
			kept = append(kept, name)
			path += ".stub"
		default:
			written = append(written, name)
		}
		if err := os.WriteFile(path, made[name], 0o644); err != nil {
			return written, kept, fmt.Errorf("make the stub %s: %w", path, err)
		}
	}
	return written, kept, now.Write(solution)
}

// generated returns the stubs as a chapter's solution gives them today, and the checksums of them and of the tests,
// by their path in the chapter's folder. Package workspace finds with these the files that a learner has changed.
func generated(root string, c course.Chapter) (made map[string][]byte, sums checksum.List) {
	made, sums = must(stub.Dir(filepath.Join(root, c.Solution()))), checksum.New()
	for name, content := range made {
		sums.Add(name, checksum.Of(content))
	}
	folder := os.DirFS(filepath.Join(root, c.Dir))
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		sums.Add(name, checksum.Of(content))
		return err
	})
	return must(made, err), sums
}
