package course

// This file reads the programs of a chapter whose output the reader predicts: solutions/NN-topic/testdata/predict.

import (
	"cmp"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Program is a short program whose output the reader predicts. The comment of its package describes it:
//
//	// Two Deployments run nginx, and one moves to caddy.
//	//
//	// Question: Which keys does the last line print?
//	//
//	// Wrong: forgets-the-old-entry
//	//
//	// Story: A cache that forgets old entries …
//	package main
type Program struct {
	Name     string // of its folder: "2a-moves"
	Task     int    // the number of its task: 2
	Dir      string // relative to the root, with slashes: "solutions/05-indexer/testdata/predict/2a-moves"
	Title    string // without the period
	Question string
	Wrong    string // the name of a wrong version, over which the program prints something else
	Story    string // Markdown: what the mistake did
	Source   string // main.go from its package clause on
}

var (
	programFolder = regexp.MustCompile(`^(\d+)[a-z]?-[a-z0-9]+(?:-[a-z0-9]+)*$`)
	programPart   = regexp.MustCompile(`^(Question|Wrong|Story): (.*)$`)
)

// PredictionsPage is the text, in a chapter's folder, that shows its programs with their answers.
const PredictionsPage = "predictions.md"

// Programs returns the programs of a chapter, by task, and those of a task by the names of their folders. A chapter
// without the folder has none.
func Programs(root string, c Chapter) (all []Program, err error) {
	dir := path.Join(filepath.ToSlash(c.Solution()), "testdata", "predict")
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the programs of %s: %w", c.Dir, err)
	}
	for _, e := range entries {
		p, err := readProgram(root, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if _, ok := c.Task(p.Task); !ok {
			return nil, fmt.Errorf("%s belongs to task %d, which %s does not have", p.Dir, p.Task, c.Dir)
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b Program) int { return cmp.Compare(a.Task, b.Task) }) // ReadDir sorts by name
	return all, nil
}

// readProgram reads the program in a folder.
func readProgram(root, dir string) (Program, error) {
	p := Program{Name: path.Base(dir), Dir: dir}
	m := programFolder.FindStringSubmatch(p.Name)
	if m == nil {
		return p, fmt.Errorf("%s is not named for a task, its place and its subject, as 2a-moves is", dir)
	}
	p.Task, _ = strconv.Atoi(m[1]) // digits
	file := path.Join(dir, "main.go")
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return p, fmt.Errorf("read the program %s: %w", p.Name, err)
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, src, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return p, fmt.Errorf("read the program %s: %w", p.Name, err)
	}
	p.Source = string(src[set.PositionFor(tree.Package, false).Offset:])
	if err := p.describe(tree.Doc.Text()); err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// describe reads the comment of the program's package.
func (p *Program) describe(comment string) error {
	parts := map[string]string{}
	key := "title"
	for _, paragraph := range strings.Split(strings.TrimSpace(comment), "\n\n") {
		text := strings.Join(strings.Fields(paragraph), " ")
		if m := programPart.FindStringSubmatch(text); m != nil {
			key, text = m[1], m[2]
		} else if parts[key] != "" { // another paragraph of the same part
			text = "\n\n" + text
		}
		parts[key] += text
	}
	p.Title, p.Question = strings.TrimSuffix(parts["title"], "."), parts["Question"]
	p.Wrong, p.Story = parts["Wrong"], parts["Story"]
	if p.Title == "" || p.Question == "" || p.Wrong == "" || p.Story == "" {
		return errors.New("the comment above the package clause needs a title, and paragraphs that begin " +
			`with "Question: ", "Wrong: " and "Story: "`)
	}
	return nil
}
