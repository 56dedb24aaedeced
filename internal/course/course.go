// Package course knows what the workshop consists of: its root folder, its chapters, and their tasks.
//
// There is no second list to keep in step. A chapter is a numbered folder in the root that has a README.md; a lab is
// such a folder without a number (labs.go). The tasks are the headings of that README:
//
//	## Task 2: One index (25 min)
//
// followed by the command that tests just this task, in a code block of sh or console:
//
//	go test ./05-indexer -run Task2
//
// So what the tools believe is what the learner reads. What it leaves out: which tests there are (the compiler knows
// that, see verify) and how far a learner is.
package course

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Chapter is one numbered folder of the workshop, or a lab.
type Chapter struct {
	Dir    string // relative to the root, with slashes: "05-indexer", "labs/rewriting-proxy"
	Number int    // 5; a lab has none
	Topic  string // the name without the number: "indexer", "watch-stream", "rewriting-proxy"
	Title  string // the README's first heading
	Layers bool   // whether its tests run on layers of the learner's choice
	Tasks  []Task
}

// Task is one step of a chapter, and one group of its tests.
type Task struct {
	Number  int
	Title   string
	ID      string   // "indexer/one-index"; stays the same when tasks are inserted before it
	Former  []string // IDs that it had, so that a learner keeps their place when a title changes
	Minutes int
	Anchor  string // of its heading, as GitHub makes it: "task-2-one-index-25-min"
	Line    int    // of its heading in the README
	Command string // what the learner types to test just this task
	Bonus   bool   // optional, and no later task needs it
}

// Package is the name in the chapter's package clause: the topic without dashes.
func (c Chapter) Package() string { return strings.ReplaceAll(c.Topic, "-", "") }

// Solution is the folder of the reference, relative to the root.
func (c Chapter) Solution() string {
	if c.Lab() {
		return filepath.Join(LabsFolder, "solutions", c.Topic)
	}
	return filepath.Join("solutions", c.Dir)
}

// Oracle is the folder that puts client-go behind the chapter's names, relative to the root.
func (c Chapter) Oracle() string { return filepath.Join("internal", "testkit", "oracle", c.Dir) }

// IsGo reports whether the go command takes a file of that name for Go. An editor's lock file, such as .#store.go, is
// none.
func IsGo(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// IsCode reports whether a file of that name is Go and not a test.
func IsCode(name string) bool { return IsGo(name) && !strings.HasSuffix(name, "_test.go") }

// Code reads the files in dir for which IsCode is true, by name. One that ReadFile does not read is an error.
func Code(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() || !IsCode(e.Name()) {
			continue
		}
		if files[e.Name()], err = ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Task finds a task by its number. The numbers count from 1, see read.
func (c Chapter) Task(number int) (Task, bool) {
	if number < 1 || number > len(c.Tasks) {
		return Task{}, false
	}
	return c.Tasks[number-1], true
}

// Minutes is how long the tasks take that everybody does.
func (c Chapter) Minutes() (sum int) {
	for _, t := range c.Tasks {
		if !t.Bonus {
			sum += t.Minutes
		}
	}
	return sum
}

// Pattern is what selects the task's tests: the -run of its command, without quotes.
func (t Task) Pattern() string {
	m := runFlag.FindStringSubmatch(t.Command)
	if m == nil {
		return "."
	}
	return strings.Trim(m[1], `'"`)
}

var runFlag = regexp.MustCompile(`-run[ =]('[^']*'|"[^"]*"|\S+)`)

var folder = regexp.MustCompile(`^(\d\d)-([a-z][a-z0-9-]*)$`)

// All reads the chapters below root, in order, and then the labs. A numbered folder without a README or without tasks
// is an error: a chapter whose tasks learners cannot find. So is a lab that labs/README.md does not link.
func All(root string) ([]Chapter, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("read the workshop's folder: %w", err)
	}
	var all []Chapter
	for _, e := range entries {
		m := folder.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		c := Chapter{Dir: m[0], Topic: m[2]}
		c.Number, _ = strconv.Atoi(m[1]) // two digits, says the pattern
		if err := c.read(root); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	after, err := labs(root)
	if err != nil {
		return nil, err
	}
	all = append(all, after...)
	topics := map[string]string{} // progress is kept by topic
	for _, c := range all {
		if other := topics[c.Topic]; other != "" {
			return nil, fmt.Errorf("%s and %s have the same name", other, c.Dir)
		}
		topics[c.Topic] = c.Dir
	}
	return all, nil
}

// Find returns the one chapter that name means: its folder ("05-indexer", also "./05-indexer/"), its number ("5",
// "05") or its topic ("indexer"). A lab is found by its folder ("labs/rewriting-proxy"), its name ("rewriting-proxy"),
// and a word of its name that no other lab has ("proxy").
func Find(root, name string) (Chapter, error) {
	all, err := All(root)
	if err != nil {
		return Chapter{}, err
	}
	wanted := filepath.Base(name)
	onlyLabs := filepath.Base(filepath.Dir(filepath.Clean(name))) == LabsFolder
	number, notNumber := strconv.Atoi(wanted)
	known := map[bool][]string{} // those that are labs, and those that are not
	for _, c := range all {
		is := c.Topic == wanted || !c.Lab() && (c.Dir == wanted || notNumber == nil && c.Number == number)
		if is && (c.Lab() || !onlyLabs) {
			return c, nil
		}
		known[c.Lab()] = append(known[c.Lab()], c.Dir)
	}
	found := byWord(all, wanted)
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return Chapter{}, fmt.Errorf("%q is in the names of two labs: %s and %s", name, found[0].Dir, found[1].Dir)
	}
	message := fmt.Sprintf("there is no chapter %q; the chapters are %s", name, strings.Join(known[false], ", "))
	if len(known[true]) > 0 {
		message += "; the labs are " + strings.Join(known[true], ", ")
	}
	return Chapter{}, errors.New(message)
}

// FindTask returns the task that name means: a chapter as for Find, a slash, and the task's number ("5/2",
// "labs/rewriting-proxy/2") or the end of its ID ("indexer/one-index"), today's or a former one. Without a task's name,
// task is zero: the whole chapter is meant.
func FindTask(root, name string) (Chapter, Task, error) {
	clean := strings.Trim(strings.TrimPrefix(filepath.ToSlash(name), "./"), "/")
	rest, isLab := strings.CutPrefix(clean, LabsFolder+"/")
	chapterName, taskName, both := strings.Cut(rest, "/")
	if isLab {
		chapterName = LabsFolder + "/" + chapterName
	}
	c, err := Find(root, chapterName)
	if err != nil || !both {
		return c, Task{}, err
	}
	number, notNumber := strconv.Atoi(strings.TrimPrefix(strings.ToLower(taskName), "task"))
	var known []string
	for _, t := range c.Tasks {
		id := c.Topic + "/" + taskName
		if t.ID == id || slices.Contains(t.Former, id) || (notNumber == nil && t.Number == number) {
			return c, t, nil
		}
		known = append(known, strconv.Itoa(t.Number))
	}
	return c, Task{}, fmt.Errorf("chapter %s has no task %q; its tasks are %s", c.Dir, taskName, strings.Join(known, ", "))
}

// read reads the chapter's title and tasks from its README.
func (c *Chapter) read(root string) error {
	dir := filepath.Join(root, c.Dir)
	c.Layers = runsOnLayers(dir)
	readme := filepath.Join(dir, "README.md")
	doc, err := Text(readme)
	if err != nil {
		return fmt.Errorf("chapter %s has no readable README: %w", c.Dir, err)
	}
	c.Title, c.Tasks = doc.Title(), tasks(doc, c.Topic)
	if len(c.Tasks) == 0 {
		return fmt.Errorf("%s: no heading like \"## Task 1: A map (20 min)\", so the chapter has no tasks", readme)
	}
	for i, t := range c.Tasks {
		if t.Number != i+1 {
			return fmt.Errorf("%s:%d: this is task %d, but %d would come next", readme, t.Line, t.Number, i+1)
		}
		if t.Command == "" {
			return fmt.Errorf("%s:%d: task %d shows no \"go test ./%s -run …\"", readme, t.Line, t.Number, c.Dir)
		}
	}
	return nil
}

// ours matches the go.mod of the workshop.
var ours = regexp.MustCompile(`(?m)^module client-go-workshop\s*$`)

// Root finds the workshop that dir lies in: the nearest folder upwards whose go.mod declares this module.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		mod, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for the workshop's go.mod: %w", err)
		}
		if ours.Match(mod) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not inside the workshop: no go.mod upwards says \"module client-go-workshop\"; "+
				"change into your clone", dir)
		}
	}
}
