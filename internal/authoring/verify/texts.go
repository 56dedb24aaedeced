package verify

// This file checks words: those of failing tests, and those of the chapter's texts.

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/authoring/reference"
	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/style"
)

func messages(r *run) (string, []string) {
	ran, runs := must(r.bugs()), r.stubRuns()
	var p problems
	seen := 0
	for _, task := range r.chapter.Tasks {
		for _, t := range runs[task.Number].Tests {
			if t.Todo() != nil {
				seen++
				p.hasTask(r.chapter, "the stubs", t.Failures[0])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ran.runs)) {
		over := "the wrong version " + name
		for test, t := range ran.runs[name].Tests {
			if t.Status != gotest.Failed || t.Crashed() {
				continue
			}
			seen++
			if len(t.Failures) == 0 {
				p.add("%s over %s reports no failure as data:\n%s", t.Name, over, t.Text())
				continue
			}
			for i, f := range t.Failures {
				p.isComplete(over, f, test == 0 && i == 0)
			}
			p.hasTask(r.chapter, over, t.Failures[0])
			p.onScreen(over, t.Failures[0])
		}
	}
	return fmt.Sprintf("%d failures read", seen), p
}

// isComplete checks that a failure says all that it should. A diff shows both what was wanted and what came. The first
// failure of a test carries the steps; the test that is named for the wrong version must have some.
func (p *problems) isComplete(over string, f failure.Failure, needsSteps bool) {
	demand := func(said bool, what string) {
		if !said {
			p.add("%s over %s does not say %s:\n%s", f.Test, over, what, f)
		}
	}
	demand(len(f.Did) > 0 || !needsSteps, "what was done")
	demand(f.Got != "" || f.Diff != "", "what came")
	demand(f.Wanted != "" || f.Diff != "", "what was wanted")
	demand(f.Why != "", "why")
	demand(f.Value != "" || f.Kind != failure.Assertion, "which value it is about")
}

// The smallest screen of the live view has 24 rows, of which 5 are its frame and 2 name the test.
const (
	screenWidth = 80
	screenRows  = 24 - 5 - 2
)

// onScreen checks that a failure, laid out for that screen, fits and still says what matters.
func (p *problems) onScreen(over string, f failure.Failure) {
	lines, there := style.Fit(f, screenWidth, screenRows), map[string]bool{}
	for _, l := range lines {
		there[l.Label] = true
	}
	for _, label := range []string{"wanted", "got", "why"} {
		if !there[label] && (!there["diff"] || label == "why") {
			p.add("%s over %s: on a screen of 24 rows there is no %q:\n%s", f.Test, over, label, f)
		}
	}
	if len(lines) > screenRows {
		p.add("%s over %s takes %d rows of a screen that has %d for it:\n%s", f.Test, over, len(lines), screenRows, f)
	}
}

// hasTask checks that the place where a failure sends its reader exists.
func (p *problems) hasTask(c course.Chapter, over string, f failure.Failure) {
	if !strings.Contains(runner.ReadLink(c, f), "#") {
		p.add("%s over %s sends its reader to a task that the chapter does not have:\n%s", f.Test, over, f)
	}
}

// sentence is two words or more that end in a full stop, a question mark or an exclamation mark.
var sentence = regexp.MustCompile(`\S\s+\S[^.!?]*[.!?]`)

// references checks the references of the chapter, and that every question has an answer of at least one sentence.
func references(r *run) (string, []string) {
	dir := r.chapter.Dir
	detail, p := checkReferences(r.ctx, r.root, dir+"/*.md", dir+"/*_test.go",
		r.chapter.Solution()+"/*.go", r.chapter.Oracle()+"/*.go") // the solution has the same comments as the stub
	for _, q := range must(course.Questions(r.root, r.chapter)) {
		if !sentence.MatchString(q.Answer) {
			p.add("%s/README.md:%d: the question has no answer; below it belongs an indented "+
				"<details><summary>Answer</summary> … </details> with a sentence or more", dir, q.Line)
		}
	}
	return detail, p
}

// checkReferences checks the references of the files below root that match one of the patterns.
func checkReferences(ctx context.Context, root string, patterns ...string) (detail string, p problems) {
	files := textsIn(root, patterns...)
	for _, f := range must(reference.Check(ctx, root, files)) {
		p.add("%s:%d: %s", f.File, f.Line, f.Text)
	}
	return fmt.Sprintf("%d files", len(files)), p
}

// textsIn returns the files below root that match one of the patterns, relative to it.
func textsIn(root string, patterns ...string) (files []string) {
	for _, pattern := range patterns {
		files = append(files, must(fs.Glob(os.DirFS(root), filepath.ToSlash(pattern)))...)
	}
	return files
}
