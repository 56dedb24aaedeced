// Package progress stores how far a learner is.
//
// The result of a task's tests holds for exactly the files that they ran over. So results are stored with a checksum
// of those files, and count only as long as it matches. The package also stores the current task and the number of
// hints taken. All of it is one readable file, .workshop/progress.json. Deleting that file loses only the place, the
// hints and the bugs found: the tests bring the results back.
package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/rogpeppe/go-internal/robustio"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/workspace"
)

// File is the content of progress.json.
type File struct {
	At       string             `json:"at,omitempty"`       // the ID of the current task
	Hints    map[string]int     `json:"hints,omitempty"`    // the number of hints taken, by the task's ID
	Bugs     map[string]string  `json:"bugs,omitempty"`     // by "indexer/name": "begun", "found" or "shown"
	Verdicts map[string]Verdict `json:"verdicts,omitempty"` // by the chapter's topic
	// Green has the IDs of the tasks that have passed over some version of the files, and were not begun again since.
	Green map[string]bool `json:"green,omitempty"`
}

// Verdict is the result of a chapter's tests over certain files.
type Verdict struct {
	Content string          `json:"content"` // see Content
	Tasks   map[string]Task `json:"tasks"`   // by the task's ID
}

// Task is one task in a Verdict.
type Task struct {
	State  runner.State `json:"state"`
	Passed int          `json:"passed"`
	Tests  int          `json:"tests"`
}

func path(root string) string { return filepath.Join(root, ".workshop", "progress.json") }

// Load reads the file. If there is none, it returns an empty File. If the file is broken, it returns an empty File and
// an error that says what to do, and does not change the file.
func Load(root string) (File, error) {
	var text []byte
	err := course.CheckFile(path(root))
	if err == nil {
		text, err = robustio.ReadFile(path(root))
	}
	if err = existing(err); err != nil {
		return empty(), fmt.Errorf("read the progress: %w", err)
	}
	f := empty()
	if len(text) > 0 {
		err = json.Unmarshal(text, &f)
	}
	if err == nil && (f.Hints == nil || f.Bugs == nil || f.Verdicts == nil || f.Green == nil) {
		err = errors.New("one of its parts is null")
	}
	if err != nil {
		return empty(), fmt.Errorf("%s is not a progress file (%w): delete it, and the tests bring back everything "+
			"but your place, hints and bugs", path(root), err)
	}
	return f, nil
}

func empty() File {
	return File{Hints: map[string]int{}, Bugs: map[string]string{}, Verdicts: map[string]Verdict{},
		Green: map[string]bool{}}
}

// Update changes the file: change receives the current content. No other process changes it meanwhile, and a kill
// leaves the old content or the new one. On an error the file is as it was, and change may not have run.
func Update(root string, change func(*File)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store the progress in %s: %w", path(root), err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path(root)), 0o755); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(root, ".workshop", "progress.lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	f, err := Load(root)
	if err != nil {
		return err
	}
	change(&f)
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return workspace.Replace(path(root), append(text, '\n'))
}

// ids returns the ID of a task and its former ones.
func ids(t course.Task) []string { return append([]string{t.ID}, t.Former...) }

// HintsTaken returns how many hints of a task were taken, also under its former IDs.
func (f File) HintsTaken(t course.Task) int {
	taken := 0
	for _, id := range ids(t) {
		taken = max(taken, f.Hints[id])
	}
	return taken
}

// Record stores a verdict on files whose Content is content.
func (f *File) Record(v runner.Verdict, content string) {
	stored := Verdict{Content: content, Tasks: map[string]Task{}}
	if old := f.Verdicts[v.Chapter.Topic]; old.Content == content {
		maps.Copy(stored.Tasks, old.Tasks) // a run of one task has no result for the others
	}
	for _, t := range v.Tasks {
		if passed, all := t.Count(); t.State != runner.Unknown {
			stored.Tasks[t.ID] = Task{t.State, passed, all}
		}
		switch t.State {
		case runner.Passed:
			f.Green[t.ID] = true
		case runner.Open:
			f.notGreen(t.Task)
		}
	}
	f.Verdicts[v.Chapter.Topic] = stored
}

// WasGreen reports whether a task has passed over some version of the files, also under its former IDs.
func (f File) WasGreen(t course.Task) bool {
	return slices.ContainsFunc(ids(t), func(id string) bool { return f.Green[id] })
}

func (f *File) notGreen(t course.Task) {
	for _, id := range ids(t) {
		delete(f.Green, id)
	}
}

// StartAgain forgets which tasks of a chapter have passed: its stubs are back.
func (f *File) StartAgain(c course.Chapter) {
	for _, t := range c.Tasks {
		f.notGreen(t)
	}
}

// Chapter is the state of a chapter, as far as it is known without running the tests.
type Chapter struct {
	course.Chapter
	Fresh     bool // the stored results are about the present files
	Untouched bool // every file is the stub
	Bare      bool // the learner began, or will begin, with the bare stub
	Skipped   bool // every file is the solution
	// TestsChanged reports whether a test of the chapter is edited or gone, so its results are not those of the workshop.
	TestsChanged bool
	Tasks        []TaskState
}

// TaskState is the state of a task.
type TaskState struct {
	course.Task
	State  runner.State
	Passed int
	Tests  int
	Hints  int  // the number of hints taken
	Green  bool // it has passed over these files, or over an earlier version of them
}

// Read returns the state of a chapter. The state of a task is the stored one if it is about the present files.
// Otherwise a task without any code is not begun, and the state of the others is Unknown.
func Read(root string, c course.Chapter, f File) (Chapter, error) { return newTree(root).state(c, f) }

func (t tree) state(c course.Chapter, f File) (Chapter, error) {
	out := Chapter{Chapter: c}
	content, err := t.content(c)
	if err != nil {
		return out, err
	}
	known := f.Verdicts[c.Topic]
	out.Fresh = known.Content == content
	out.Untouched, out.Bare, out.Skipped = workspace.Compare(t.root, c)
	edited, err := workspace.EditedTests(t.root, c)
	if err != nil {
		return out, err
	}
	out.TestsChanged = len(edited) > 0
	var untouched map[int]bool
	if !out.Untouched { // else each task is
		untouched = runner.Untouched(filepath.Join(t.root, c.Dir), filepath.Join(t.root, c.Solution()))
	}
	for _, task := range c.Tasks {
		t := TaskState{Task: task, State: runner.Unknown, Hints: f.HintsTaken(task)}
		for _, id := range ids(task) {
			if v, ok := known.Tasks[id]; ok && out.Fresh && t.State == runner.Unknown {
				t.State, t.Passed, t.Tests = v.State, v.Passed, v.Tests
			}
		}
		if out.Untouched || t.State == runner.Unknown && untouched[task.Number] {
			t.State = runner.NotBegun(task)
		}
		t.Green = t.State == runner.Passed || f.WasGreen(task) && !out.Untouched
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// All returns the states of all chapters of the workshop.
func All(root string, f File) ([]Chapter, error) {
	chapters, err := course.All(root)
	if err != nil {
		return nil, err
	}
	var all []Chapter
	files := newTree(root)
	for _, c := range chapters {
		state, err := files.state(c, f)
		if err != nil {
			return nil, err
		}
		all = append(all, state)
	}
	return all, nil
}
