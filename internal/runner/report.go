package runner

// This file is a verdict as a list of problems with their places, for editors and scripts: workshop test --json.

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/testkit/failure"
)

// Report is one problem of a verdict. Every field but Kind and Message may be empty. Fields are added, never renamed.
type Report struct {
	File    string   `json:"file,omitempty"` // relative to the workshop's root, with slashes
	Line    int      `json:"line,omitempty"`
	Column  int      `json:"column,omitempty"`
	Kind    string   `json:"kind"` // a failure.Kind, "build", "vet" or "stopped"
	Task    int      `json:"task,omitempty"`
	Test    string   `json:"test,omitempty"`
	Message string   `json:"message"` // one line
	Did     []string `json:"did,omitempty"`
	Wanted  string   `json:"wanted,omitempty"`
	Got     string   `json:"got,omitempty"`
	Diff    string   `json:"diff,omitempty"`
	Why     string   `json:"why,omitempty"`
	Read    string   `json:"read,omitempty"` // a file relative to the workshop's root, and a heading
	Rest    []string `json:"rest,omitempty"` // more lines of the message
}

// messagePattern is a message of the compiler or of vet.
var messagePattern = regexp.MustCompile(`^(?:\./)?(\S+\.go):(\d+)(?::(\d+))?: (.*)$`)

// Reports returns every problem of the verdict, in the order of the compiler or of the tests. A green verdict has none,
// although a bonus test may fail. The file of each report is in the workshop at root.
func (v Verdict) Reports(root string) (all []Report) {
	if len(v.Build) > 0 {
		return v.BuildReports()
	}
	if v.Stopped != "" {
		f, _ := v.AtTheStop()
		r := reportOf(root, v.Chapter, f)
		r.Kind, r.Message, r.Rest = "stopped", "stopped: "+v.Stopped, append([]string{f.Problem}, f.Rest...)
		return []Report{r}
	}
	for _, t := range v.Tasks {
		for _, f := range t.Failures() {
			if !v.Green() {
				r := reportOf(root, v.Chapter, f)
				r.Task = t.Number
				all = append(all, r)
			}
		}
	}
	if len(all) == 0 && v.Crash != "" {
		first, rest, _ := strings.Cut(v.Crash, "\n")
		all = append(all, Report{Kind: string(failure.Panic), Message: first, Rest: strings.Split(rest, "\n")})
	}
	return all
}

// BuildReports returns the messages of the compiler, the go command or vet, one report for each.
func (v Verdict) BuildReports() (all []Report) {
	kind := "build"
	if v.Vetted {
		kind = "vet"
	}
	for _, line := range v.Build {
		m := messagePattern.FindStringSubmatch(line)
		switch {
		case m != nil:
			number, _ := strconv.Atoi(m[2]) // digits, says the pattern
			column, _ := strconv.Atoi(m[3]) // or none
			all = append(all, Report{File: filepath.ToSlash(m[1]), Line: number, Column: column, Kind: kind, Message: m[4]})
		case len(all) > 0:
			all[len(all)-1].Rest = append(all[len(all)-1].Rest, line)
		default:
			all = append(all, Report{Kind: kind, Message: line})
		}
	}
	return all
}

func reportOf(root string, c course.Chapter, f failure.Failure) Report {
	f = FromRoot(root, c, f)
	r := Report{File: f.At.File, Line: f.At.Line, Kind: string(f.Kind), Test: f.Test, Message: f.Headline(), Did: f.Did,
		Wanted: f.Wanted, Got: f.Got, Diff: f.Diff, Why: f.Why, Read: f.Read, Rest: f.Rest}
	if h := f.Todo; h != nil {
		r.File, r.Line, r.Message = h.At.File, h.At.Line, h.Symbol+" is not written yet"
	}
	return r
}

// FromRoot returns f with positions relative to the workshop at root, with slashes. A position of a file that is not in
// the chapter becomes the zero Position: a test reports only the base name of its file.
func FromRoot(root string, c course.Chapter, f failure.Failure) failure.Failure {
	f.At = fromRoot(root, c.Dir, f.At)
	if f.Todo != nil {
		h := *f.Todo
		h.At = fromRoot(root, cmp.Or(h.Chapter, c.Dir), h.At)
		f.Todo = &h
	}
	return f
}

func fromRoot(root, dir string, at failure.Position) failure.Position {
	file := path.Join(dir, filepath.Base(at.File))
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); at.File == "" || err != nil {
		return failure.Position{}
	}
	return failure.Position{File: file, Line: at.Line}
}
