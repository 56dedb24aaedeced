package verify

// This file checks words: those of failing tests, and those of the chapter's texts.

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/authoring/reference"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/style"
)

func messages(r *run) (string, []string) {
	if err := r.runTasks(); err != nil {
		return "", []string{err.Error()}
	}
	if problems := r.runBugs(); problems != nil {
		return "", problems
	}
	var problems []string
	seen := 0
	for _, task := range r.chapter.Tasks {
		for _, t := range r.stubRuns[task.Number].Tests {
			if t.Hole() != nil {
				seen++
				problems = append(problems, r.hasTask("the stubs", t.Failures[0])...)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.bugRuns)) {
		for test, t := range r.bugRuns[name].Tests {
			if t.Status != gotest.Failed || t.Crashed() {
				continue
			}
			seen++
			over := "the wrong version " + name
			if len(t.Failures) == 0 {
				problems = append(problems, fmt.Sprintf("%s over %s reports no failure as data:\n%s", t.Name, over, t.Text()))
				continue
			}
			for i, f := range t.Failures {
				for _, lack := range lacks(f, test == 0 && i == 0) {
					problems = append(problems, fmt.Sprintf("%s over %s does not say %s:\n%s", f.Test, over, lack, f))
				}
			}
			problems = append(problems, r.hasTask(over, t.Failures[0])...)
			problems = append(problems, onScreen(over, t.Failures[0])...)
		}
	}
	return fmt.Sprintf("%d failures read", seen), problems
}

// lacks lists what a failure should say and does not. A diff shows both what was wanted and what came. The first
// failure of a test carries the steps; the test that is named for the wrong version must have some.
func lacks(f failure.Failure, needsSteps bool) (all []string) {
	for _, needed := range []struct {
		what string
		said bool
	}{
		{"what was done", len(f.Did) > 0 || !needsSteps},
		{"what came", f.Got != "" || f.Diff != ""},
		{"what was wanted", f.Wanted != "" || f.Diff != ""},
		{"why", f.Why != ""},
		{"which value it is about", f.Value != "" || f.Kind != failure.Assertion},
	} {
		if !needed.said {
			all = append(all, needed.what)
		}
	}
	return all
}

// The smallest screen of the live view has 24 rows, of which 5 are its frame and 2 name the test.
const (
	screenWidth = 80
	screenRows  = 24 - 5 - 2
)

// onScreen checks that a failure, laid out for that screen, fits and still says what matters.
func onScreen(over string, f failure.Failure) (problems []string) {
	lines, there := style.Fit(f, screenWidth, screenRows), map[string]bool{}
	for _, l := range lines {
		there[l.Label] = true
	}
	for _, label := range []string{"wanted", "got", "why"} {
		if !there[label] && (!there["diff"] || label == "why") {
			problems = append(problems, fmt.Sprintf("%s over %s: on a screen of 24 rows there is no %q:\n%s",
				f.Test, over, label, f))
		}
	}
	if len(lines) > screenRows {
		problems = append(problems, fmt.Sprintf("%s over %s takes %d rows of a screen that has %d for it:\n%s",
			f.Test, over, len(lines), screenRows, f))
	}
	return problems
}

// hasTask checks that the place where a failure sends its reader exists.
func (r *run) hasTask(over string, f failure.Failure) (problems []string) {
	if !strings.Contains(runner.ReadLink(r.chapter, f), "#") {
		problems = append(problems, fmt.Sprintf("%s over %s sends its reader to a task that the chapter does not have:\n%s",
			f.Test, over, f))
	}
	return problems
}

func references(r *run) (string, []string) {
	files, err := glob(r.root, r.chapter.Dir+"/*.md", r.chapter.Dir+"/*_test.go",
		r.chapter.Solution()+"/*.go", r.chapter.Oracle()+"/*.go") // the solution has the same comments as the stub
	if err != nil {
		return "", []string{err.Error()}
	}
	return fmt.Sprintf("%d files", len(files)), checkReferences(r.ctx, r.root, files)
}

// texts checks the references of what belongs to no chapter.
func texts(ctx context.Context, root string) (files int, problems []string) {
	found, err := glob(root, "*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "cluster/*.md", ".github/*.md")
	if err != nil {
		return 0, []string{err.Error()}
	}
	return len(found), checkReferences(ctx, root, found)
}

// glob finds files by patterns, all relative to root.
func glob(root string, patterns ...string) (files []string, err error) {
	for _, pattern := range patterns {
		found, err := fs.Glob(os.DirFS(root), filepath.ToSlash(pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func checkReferences(ctx context.Context, root string, files []string) (problems []string) {
	found, err := reference.Check(ctx, root, files)
	if err != nil {
		return []string{err.Error()}
	}
	for _, p := range found {
		problems = append(problems, fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text))
	}
	return problems
}
