// Package bugs reads a chapter's bank of wrong code, solutions/NN-topic/bugs.txtar.
//
// Each entry is the solution with one text changed: a bug that client-go had, or one that learners write. The chapter's
// tests must catch every one of them, in the test that is named for it; package verify proves that. The file's own
// preamble describes its format, and Load refuses whatever departs from it.
package bugs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"

	"client-go-workshop/internal/runner/overlay"
)

// File is the name of a bank, in a chapter's solution folder.
const File = "bugs.txtar"

// Bug is one wrong version of a chapter.
type Bug struct {
	Name     string
	Test     string // the test that must catch it
	Rule     string // what it breaks, in one line
	Symptom  string // how that shows to somebody who runs it
	Issue    string // where it happened for real: "#84959", or several, or nothing
	RaceOnly bool   // only the race detector can see it
	changes  []change
}

type change struct{ right, wrong string }

// Load reads the bank in a solution's folder. A folder without one has no bugs.
func Load(solution string) ([]Bug, error) {
	path := filepath.Join(solution, File)
	archive, err := txtar.ParseFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the wrong versions: %w", err)
	}
	all, err := parse(archive)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

var part = regexp.MustCompile(`^([a-z0-9-]+)/(about|right|wrong)(\.\d+)?$`)

func parse(archive *txtar.Archive) ([]Bug, error) {
	var all []Bug
	for i, f := range archive.Files {
		m := part.FindStringSubmatch(f.Name)
		if m == nil {
			return nil, fmt.Errorf("part %q is not called NAME/about, NAME/right or NAME/wrong", f.Name)
		}
		name, kind, text := m[1], m[2], strings.TrimRight(string(f.Data), "\n")
		if kind == "about" {
			b, err := about(name, text)
			if err != nil {
				return nil, err
			}
			for _, other := range all {
				if other.Name == name {
					return nil, fmt.Errorf("two wrong versions are called %s", name)
				}
			}
			all = append(all, b)
			continue
		}
		if len(all) == 0 || all[len(all)-1].Name != name {
			return nil, fmt.Errorf("%s stands before %s/about", f.Name, name)
		}
		b := &all[len(all)-1]
		switch {
		case kind == "right" && text == "":
			return nil, fmt.Errorf("%s is empty", f.Name)
		case kind == "right":
			b.changes = append(b.changes, change{right: text})
		case i == 0 || archive.Files[i-1].Name != name+"/right"+m[3]:
			return nil, fmt.Errorf("%s does not follow %s/right%s", f.Name, name, m[3])
		default:
			b.changes[len(b.changes)-1].wrong = text
		}
	}
	for _, b := range all {
		if len(b.changes) == 0 {
			return nil, fmt.Errorf("%s changes nothing: it has no right and wrong", b.Name)
		}
		for _, c := range b.changes {
			if c.right == c.wrong {
				return nil, fmt.Errorf("%s changes nothing: right and wrong are the same", b.Name)
			}
		}
	}
	return all, nil
}

func about(name, text string) (Bug, error) {
	b := Bug{Name: name}
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return Bug{}, fmt.Errorf("%s/about: %q is not \"key: value\"", name, line)
		}
		switch key {
		case "test":
			b.Test = value
		case "rule":
			b.Rule = value
		case "symptom":
			b.Symptom = value
		case "issue":
			b.Issue = value
		case "race":
			if b.RaceOnly = value == "only"; !b.RaceOnly {
				return Bug{}, fmt.Errorf("%s/about: race can be \"only\", not %q", name, value)
			}
		default:
			return Bug{}, fmt.Errorf("%s/about: there is no key %q", name, key)
		}
	}
	if b.Test == "" || b.Rule == "" || b.Symptom == "" {
		return Bug{}, fmt.Errorf("%s/about needs a test, a rule and a symptom", name)
	}
	return b, nil
}

// Apply makes the wrong version of the solution: a layer in which each "right" text of the bug, which must stand in
// the files exactly once, is its "wrong" one.
func (b Bug) Apply(solution overlay.Layer) (overlay.Layer, error) {
	layer := overlay.Layer{Chapter: solution.Chapter, Name: "bug " + b.Name}
	for _, f := range solution.Files {
		f.Content = append([]byte(nil), f.Content...)
		layer.Files = append(layer.Files, f)
	}
	for _, c := range b.changes {
		found, at := 0, 0
		for i, f := range layer.Files {
			if n := strings.Count(string(f.Content), c.right); n > 0 {
				found, at = found+n, i
			}
		}
		if found != 1 {
			return overlay.Layer{}, fmt.Errorf("wrong version %s: its text stands in the solution %d times, not once:\n%s", b.Name, found, c.right)
		}
		f := &layer.Files[at]
		f.Content = []byte(strings.Replace(string(f.Content), c.right, c.wrong, 1))
	}
	return layer, nil
}
