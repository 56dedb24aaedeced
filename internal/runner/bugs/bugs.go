// Package bugs reads a chapter's set of wrong code, solutions/NN-topic/bugs.txtar.
//
// Each entry is the solution with a few declarations changed: a bug that client-go had, or one that learners write. The
// chapter's tests must catch each of them, in the test that the entry names; package verify proves that.
//
//	-- stale-read/about --
//	test: TestTask1_Get_returns_the_newest
//	rule: a cache keeps the newest state
//	symptom: The controller never sees a change.
//	-- stale-read/store.go store.Update --
//	 func (s *store) Update(obj any) {
//	-	s.items[key(obj)] = obj
//	+	s.add(key(obj), obj)
//	 }
//	-- stale-read/store.go imports --
//	"sync/atomic"
//
// A part is named for a file and a symbol and holds the whole declaration as a diff, without its doc comment. The minus
// side is the declaration the wrong version was made from, the plus side takes its place. A part without diff marks is
// a declaration that the solution does not have, or one that `author generate` has not turned into a diff yet.
//
// This file reads and writes sets; apply.go makes the wrong version of a solution.
package bugs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/overlay"
)

// File is the name of a set, in a chapter's solution folder.
const File = "bugs.txtar"

// Imports is the symbol of a part that lists imports to add, one on each line.
const Imports = "imports"

// Bug is one wrong version of a chapter.
type Bug struct {
	Name     string
	Test     string // the test that must catch it
	Rule     string // the rule it breaks, in one line
	Symptom  string // the effect in the field
	Issue    string // the issues where it happened, such as "#84959"; or empty
	RaceOnly bool   // only the race detector can see it
	After    int    // for a state between two tasks: the number of the task that has just been finished
	State    string // what the code does in that state
	Changes  []Change
}

// Change is one declaration of a wrong version.
type Change struct {
	File   string
	Symbol string // "NewStore", "store.Update", "config", or Imports
	Right  string // the declaration that Wrong was made from; empty if Wrong is an addition or its origin is unknown
	Wrong  string // the declaration that takes its place; empty if it is removed
}

// Set is a set of wrong versions, and the code that they are made from.
type Set struct {
	Dir  string        // the folder with the set's file
	File string        // the name of that file
	Code overlay.Layer // the right code: the solution, or another correct design
	Bugs []Bug
	// Stated is how many wrong versions the file says that it has, so that a deletion is noticed. It is 0 if it does not.
	Stated int
}

// Designs is the folder, in a solution's folder, with other correct designs of the chapter. Each design is a folder
// with the files that differ from the solution, and a set of its own. The go command ignores files in it.
const Designs = "testdata/designs"

// Sets returns the set of a chapter's solution, and then those of its other designs in the order of their names. A
// folder without a set has no wrong versions.
func Sets(root string, c course.Chapter) ([]Set, error) {
	dir := filepath.Join(root, c.Solution())
	solution, err := overlay.ReadDir(c.Dir, "solution", dir)
	if err != nil {
		return nil, err
	}
	sets := []Set{{Dir: dir, File: File, Code: solution}}
	designs, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(Designs), "*")) // the pattern is right
	for _, design := range designs {
		files, err := overlay.ReadDir(c.Dir, "design "+filepath.Base(design), design)
		if err != nil {
			return nil, err
		}
		sets = append(sets, Set{Dir: design, File: File, Code: files.Over(solution)})
	}
	for i := range sets {
		if sets[i].Bugs, sets[i].Stated, err = read(filepath.Join(sets[i].Dir, File)); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// Load reads the set in a folder. A folder without a set has no wrong versions.
func Load(dir string) ([]Bug, error) {
	all, _, err := read(filepath.Join(dir, File))
	return all, err
}

// StatesFile has the states between two tasks, in a chapter's solution folder, in the format of wrong versions. Each is
// the code of a learner who has finished some tasks, and has only begun the next ones:
//
//	-- list-only/about --
//	after: 1
//	state: ListAndWatch lists and returns; nothing watches yet.
//	-- list-only/reflector.go Reflector.ListAndWatch --
//	…
const StatesFile = "between.txtar"

// States returns the states between two tasks of a chapter. They are made from the solution.
func States(root string, c course.Chapter) (Set, error) {
	dir := filepath.Join(root, c.Solution())
	solution, err := overlay.ReadDir(c.Dir, "solution", dir)
	if err != nil {
		return Set{}, err
	}
	all, _, err := read(filepath.Join(dir, StatesFile))
	return Set{Dir: dir, File: StatesFile, Code: solution, Bugs: all}, err
}

var stated = regexp.MustCompile(`^(\d+) wrong versions`)

func read(path string) (all []Bug, number int, err error) {
	archive, err := txtar.ParseFile(path)
	if os.IsNotExist(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the wrong versions: %w", err)
	}
	if all, err = parse(archive); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	if m := stated.FindSubmatch(archive.Comment); m != nil {
		number, _ = strconv.Atoi(string(m[1])) // digits, says the pattern
	}
	return all, number, nil
}

var part = regexp.MustCompile(`^([a-z0-9-]+)/(?:(about)|([\w.]+\.go) ([\w.]+))$`)

var importLine = regexp.MustCompile(`^(\w+ )?"[^"]+"\s*$`)

func parse(archive *txtar.Archive) ([]Bug, error) {
	var all []Bug
	for _, f := range archive.Files {
		m := part.FindStringSubmatch(f.Name)
		if m == nil {
			return nil, fmt.Errorf("part %q is not called NAME/about or NAME/FILE.go SYMBOL", f.Name)
		}
		name, text := m[1], strings.Trim(string(f.Data), "\n")
		if m[2] != "" {
			b, err := about(name, text)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(all, func(other Bug) bool { return other.Name == name }) {
				return nil, fmt.Errorf("two wrong versions are called %s", name)
			}
			all = append(all, b)
			continue
		}
		if len(all) == 0 || all[len(all)-1].Name != name {
			return nil, fmt.Errorf("%s has no %s/about before it", f.Name, name)
		}
		right, wrong := sides(text)
		if right == wrong {
			return nil, fmt.Errorf("%s changes nothing", f.Name)
		}
		for line := range strings.Lines(wrong) {
			if m[4] == Imports && !importLine.MatchString(line) {
				return nil, fmt.Errorf("%s: %q is not an import; write \"path\", or a name and \"path\"",
					f.Name, strings.TrimSpace(line))
			}
		}
		b := &all[len(all)-1]
		b.Changes = append(b.Changes, Change{File: m[3], Symbol: m[4], Right: right, Wrong: wrong})
	}
	for _, b := range all {
		if len(b.Changes) == 0 {
			return nil, fmt.Errorf("%s changes nothing: it has no declaration", b.Name)
		}
	}
	return all, nil
}

// text is a line of an about part: "key: value".
type text struct {
	key   string
	value *string
}

// texts are the lines that are texts, in the order in which Format writes them.
func (b *Bug) texts() []text {
	return []text{{"test", &b.Test}, {"rule", &b.Rule}, {"symptom", &b.Symptom}, {"state", &b.State}, {"issue", &b.Issue}}
}

func about(name, lines string) (Bug, error) {
	b, after, race := Bug{Name: name}, "", ""
	fields := append(b.texts(), text{"after", &after}, text{"race", &race})
	for line := range strings.SplitSeq(lines, "\n") {
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return Bug{}, fmt.Errorf("%s/about: %q is not \"key: value\"", name, line)
		}
		i := slices.IndexFunc(fields, func(t text) bool { return t.key == key })
		if i < 0 {
			return Bug{}, fmt.Errorf("%s/about: there is no key %q", name, key)
		}
		*fields[i].value = value
	}
	b.After, _ = strconv.Atoi(after)
	b.RaceOnly = race == "only"
	switch {
	case race != "" && !b.RaceOnly:
		return Bug{}, fmt.Errorf("%s/about: race can be \"only\", not %q", name, race)
	case after != "" && b.After < 1:
		return Bug{}, fmt.Errorf("%s/about: after is the number of a task, not %q", name, after)
	case b.After > 0 && b.State != "" && b.Test+b.Rule+b.Symptom == "":
	case b.Test == "" || b.Rule == "" || b.Symptom == "" || b.After > 0 || b.State != "":
		return Bug{}, fmt.Errorf("%s/about needs a test, a rule and a symptom; a state needs after and state", name)
	}
	return b, nil
}

// Format returns the text of a set: a preamble and its wrong versions.
func Format(preamble string, all []Bug) []byte {
	archive := &txtar.Archive{}
	if preamble = strings.TrimSpace(preamble); preamble != "" {
		archive.Comment = []byte(preamble + "\n\n")
	}
	add := func(name, text string) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	for i, b := range all {
		lines := ""
		if b.After > 0 {
			lines = fmt.Sprintf("after: %d\n", b.After)
		}
		for _, t := range b.texts() {
			if *t.value != "" {
				lines += t.key + ": " + *t.value + "\n"
			}
		}
		if b.RaceOnly {
			lines += "race: only\n"
		}
		add(b.Name+"/about", lines)
		for j, c := range b.Changes {
			text := c.Wrong + "\n"
			if c.Right != "" {
				text = diff(c.Right, c.Wrong)
			}
			if i < len(all)-1 && j == len(b.Changes)-1 {
				text += "\n"
			}
			add(fmt.Sprintf("%s/%s %s", b.Name, c.File, c.Symbol), text)
		}
	}
	return txtar.Format(archive)
}

// sides returns both sides of a diff. The right side of a text without diff marks is empty.
func sides(text string) (right, wrong string) {
	if text != "" && !strings.ContainsRune(" +-", rune(text[0])) {
		return "", text
	}
	var rights, wrongs []string
	for line := range strings.SplitSeq(text, "\n") {
		mark, rest := byte(' '), ""
		if line != "" { // an editor may have removed the trailing space of an empty line
			mark, rest = line[0], line[1:]
		}
		if mark != '+' {
			rights = append(rights, rest)
		}
		if mark != '-' {
			wrongs = append(wrongs, rest)
		}
	}
	return strings.Join(rights, "\n"), strings.Join(wrongs, "\n")
}

// diff returns the shortest diff of two texts by lines, with all of their lines. An empty wrong side has no line.
func diff(right, wrong string) string {
	a, b := strings.Split(right, "\n"), strings.Split(wrong, "\n")
	if wrong == "" {
		b = nil
	}
	common := make([][]int, len(a)+1) // the number of lines that a[i:] and b[j:] have in common
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out.WriteString(strings.TrimRight(" "+a[i], " ") + "\n")
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out.WriteString("-" + a[i] + "\n")
			i++
		default:
			out.WriteString("+" + b[j] + "\n")
			j++
		}
	}
	return out.String()
}
