package verify

// This file checks words: those of failing tests, and those of the chapter's texts.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"

	"client-go-workshop/internal/authoring/reference"
	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
)

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

const whatWasDone = "what was done"

// parts are what a failure must say. A diff shows both what was wanted and what came.
var parts = []struct {
	name string
	line *regexp.Regexp
}{
	{whatWasDone, regexp.MustCompile(`(?m)^\s+did\s+\S`)},
	{"what came", regexp.MustCompile(`(?m)^\s+(got|diff)\s+\S`)},
	{"what was wanted", regexp.MustCompile(`(?m)^\s+(wanted|diff)\s+\S`)},
	{"why", regexp.MustCompile(`(?m)^\s+why\s+\S`)},
	{"where to read", readLine},
}

var (
	readLine = regexp.MustCompile(`(?m)^\s+read\s+(\S+)#(\S+)`)
	holeRead = regexp.MustCompile(`read (\S+)#(\S+)`)
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
			if t.Status == gotest.Failed && hole.MatchString(t.Output) {
				seen++
				problems = append(problems, r.anchor("the stubs", t, holeRead)...)
			}
		}
	}
	for _, name := range sortedKeys(r.bugRuns) {
		for i, t := range r.bugRuns[name].Tests {
			if t.Status != gotest.Failed || t.Crashed() {
				continue
			}
			seen++
			for _, p := range parts {
				if i > 0 && p.name == whatWasDone { // a test that hung early has done nothing
					continue
				}
				if !p.line.MatchString(t.Output) {
					problems = append(problems, fmt.Sprintf("%s over the wrong version %s does not say %s:\n%s", t.Name, name, p.name, t.Output))
				}
			}
			problems = append(problems, r.anchor("the wrong version "+name, t, readLine)...)
			problems = append(problems, onScreen(name, t)...)
		}
	}
	return fmt.Sprintf("%d failures read", seen), problems
}

// The live view on the smallest screen that it is made for: 24 rows, of which 5 are its frame and 2 say which test it is.
const (
	screenWidth = 80
	screenRows  = 24 - 5 - 2
)

// onScreen checks that a failure, laid out for that screen, fits and still says what matters.
func onScreen(name string, t gotest.Test) (problems []string) {
	for _, f := range failure.Parse(t.Name, t.Output) {
		if f.Hole != nil {
			continue
		}
		lines, there := f.Fit(screenWidth, screenRows), map[string]bool{}
		for _, l := range lines {
			there[l.Label] = true
		}
		for _, label := range []string{"wanted", "got", "why"} {
			if !there[label] && !(there["diff"] && label != "why") && len(f.Part("why")) > 0 {
				problems = append(problems, fmt.Sprintf("%s over the wrong version %s: on a screen of 24 rows there is no %q:\n%s", t.Name, name, label, t.Output))
			}
		}
		if len(lines) > screenRows {
			problems = append(problems, fmt.Sprintf("%s over the wrong version %s takes %d rows of a screen that has %d for it:\n%s", t.Name, name, len(lines), screenRows, t.Output))
		}
	}
	return problems
}

// anchor checks that the place where a failure sends its reader exists.
func (r *run) anchor(over string, t gotest.Test, where *regexp.Regexp) (problems []string) {
	m := where.FindStringSubmatch(t.Output)
	if m == nil {
		return []string{fmt.Sprintf("%s over %s does not say where to read:\n%s", t.Name, over, t.Output)}
	}
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(m[1])))
	if err != nil {
		return []string{fmt.Sprintf("%s over %s sends its reader to %s: %v", t.Name, over, m[1], err)}
	}
	for _, h := range course.Headings(string(text)) {
		if h.Anchor == m[2] {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s over %s sends its reader to %s#%s, and there is no such heading", t.Name, over, m[1], m[2])}
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
	found, err := glob(root, "*.md", "docs/*.md", "docs/*/*.md", "cluster/*.md")
	if err != nil {
		return 0, []string{err.Error()}
	}
	return len(found), checkReferences(ctx, root, found)
}

// glob finds files by patterns, all relative to root.
func glob(root string, patterns ...string) (files []string, err error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			relative, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			files = append(files, relative)
		}
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
