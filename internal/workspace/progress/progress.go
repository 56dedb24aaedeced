// Package progress stores how far a learner is.
//
// The result of a task's tests holds for exactly the files that they ran over. So results are stored with a check sum
// of those files, and count only as long as it matches. The package also stores the current task and the number of
// hints taken. All of it is one readable file, .workshop/progress.json. Deleting that file loses only the place, the
// hints and the bugs found: the tests bring the results back.
package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/sumdb/dirhash"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/runner"
)

// File is the content of progress.json.
type File struct {
	At       string             `json:"at,omitempty"`       // the ID of the current task
	Hints    map[string]int     `json:"hints,omitempty"`    // the number of hints taken, by the task's ID
	Bugs     map[string]string  `json:"bugs,omitempty"`     // by "05-indexer/name": "found" or "shown"
	Verdicts map[string]Verdict `json:"verdicts,omitempty"` // by the chapter's topic
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
	text, err := lockedfile.Read(path(root))
	if existing(err) != nil {
		return empty(), fmt.Errorf("read the progress: %w", err)
	}
	return decode(root, text)
}

func empty() File {
	return File{Hints: map[string]int{}, Bugs: map[string]string{}, Verdicts: map[string]Verdict{}}
}

// decode reads the file's text, which is empty if another process has just created the file.
func decode(root string, text []byte) (File, error) {
	f := empty()
	if len(bytes.TrimSpace(text)) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return empty(), fmt.Errorf("%s is not a progress file (%w): delete it, and the tests bring back everything "+
			"but your place, hints and bugs", path(root), err)
	}
	return f, nil
}

// Update changes the file under a lock: change receives the current content. If the file cannot be written, Update
// returns the changed content and the error.
func Update(root string, change func(*File)) (File, error) {
	var f File
	err := os.MkdirAll(filepath.Dir(path(root)), 0o755)
	if err == nil {
		err = lockedfile.Transform(path(root), func(old []byte) ([]byte, error) {
			var err error
			if f, err = decode(root, old); err != nil {
				return nil, err
			}
			change(&f)
			text, err := json.MarshalIndent(f, "", "  ")
			return append(text, '\n'), err
		})
	}
	if err != nil {
		f, _ = Load(root) // again, because change may have run, and must not run twice on the same content
		change(&f)
		return f, fmt.Errorf("store the progress in %s: %w", path(root), err)
	}
	return f, nil
}

// HintsTaken returns how many hints of a task were taken, also under its former IDs.
func (f File) HintsTaken(t course.Task) int {
	taken := f.Hints[t.ID]
	for _, id := range t.Former {
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
	}
	f.Verdicts[v.Chapter.Topic] = stored
}

// BugTest is the learner's own test for `workshop bugs`. Content ignores it, so writing it leaves the chapter green.
const BugTest = "bug_test.go"

// Content returns a check sum of everything that a chapter's verdict depends on: its Go files, those that its tests
// import, the module's requirements, and the version of Go. A file that does not exist counts as an empty one.
func Content(root string, c course.Chapter) (string, error) {
	files := []string{"go.mod", "go.sum"}
	for _, dir := range Folders(root, c) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && course.IsGo(d.Name()) && d.Name() != BugTest {
				files = append(files, strings.TrimPrefix(path, root+string(filepath.Separator)))
			}
			return existing(err)
		})
		if err != nil {
			return "", fmt.Errorf("look for changes in %s: %w", dir, err)
		}
	}
	sum, err := dirhash.Hash1(files, func(name string) (io.ReadCloser, error) {
		text, err := os.ReadFile(filepath.Join(root, name))
		return io.NopCloser(bytes.NewReader(text)), existing(err)
	})
	if err != nil {
		return "", fmt.Errorf("look for changes: %w", err)
	}
	return runtime.Version() + " " + sum, nil
}

// existing returns err, unless it is about a file that does not exist.
func existing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Folders returns the folders that Content reads, with all folders below them.
func Folders(root string, c course.Chapter) []string {
	dirs := []string{filepath.Join(root, c.Dir), filepath.Join(root, "internal", "testkit")}
	if runner.HasLayers(c) {
		dirs = append(dirs, filepath.Join(root, "solutions"))
	}
	return dirs
}

// Chapter is the state of a chapter, as far as it is known without running the tests.
type Chapter struct {
	course.Chapter
	Fresh     bool // the stored results are about the present files
	Untouched bool // every file is the stub
	Skipped   bool // every file is the solution
	Tasks     []TaskState
}

// TaskState is the state of a task.
type TaskState struct {
	course.Task
	State  runner.State
	Passed int
	Tests  int
	Hints  int // the number of hints taken
}

// Done reports whether all tasks have passed, except for bonus tasks.
func (c Chapter) Done() bool {
	_, open := c.Next()
	return !open
}

// Next returns the first task that has not passed, except for bonus tasks. If there is none, open is false, and t is
// the chapter's first task.
func (c Chapter) Next() (t TaskState, open bool) {
	i := slices.IndexFunc(c.Tasks, func(t TaskState) bool { return t.State != runner.Passed && !t.Bonus })
	return c.Tasks[max(i, 0)], i >= 0
}

// Read returns the state of a chapter. The state of a task is the stored one if it is about the present files.
// Otherwise it is Open if the files are the stubs, and Unknown if they are not.
func Read(root string, c course.Chapter, f File) (Chapter, error) {
	out := Chapter{Chapter: c}
	content, err := Content(root, c)
	if err != nil {
		return out, err
	}
	known := f.Verdicts[c.Topic]
	out.Fresh = known.Content == content
	out.Untouched, out.Skipped = compare(root, c)
	for _, task := range c.Tasks {
		t := TaskState{Task: task, State: runner.Unknown, Hints: f.HintsTaken(task)}
		for _, id := range append([]string{task.ID}, task.Former...) {
			if v, ok := known.Tasks[id]; ok && out.Fresh && t.State == runner.Unknown {
				t.State, t.Passed, t.Tests = v.State, v.Passed, v.Tests
			}
		}
		switch {
		case out.Untouched && task.Bonus:
			t.State = runner.Bonus
		case out.Untouched:
			t.State = runner.Open
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// compare reports whether the chapter's files are the stubs, or the solution's. If a file cannot be read, both are
// false.
func compare(root string, c course.Chapter) (stubs, solution bool) {
	listed, err := checksum.Read(filepath.Join(root, c.Solution()))
	present, presentErr := course.Code(filepath.Join(root, c.Dir))
	reference, referenceErr := course.Code(filepath.Join(root, c.Solution()))
	if errors.Join(err, presentErr, referenceErr) != nil || len(listed.Stubs) == 0 {
		return false, false
	}
	stubs, solution = true, true
	for name, sum := range listed.Stubs {
		stubs = stubs && checksum.Of(present[name]) == sum
		solution = solution && bytes.Equal(present[name], reference[name])
	}
	return stubs, solution
}

// All returns the states of all chapters of the workshop.
func All(root string, f File) ([]Chapter, error) {
	chapters, err := course.All(root)
	if err != nil {
		return nil, err
	}
	var all []Chapter
	for _, c := range chapters {
		state, err := Read(root, c, f)
		if err != nil {
			return nil, err
		}
		all = append(all, state)
	}
	return all, nil
}

// Current returns the learner's chapter and task. It is the task with the ID at, unless that has passed. Without one,
// it is the first open task of the first chapter that the learner has begun, or else of the first chapter. After a
// chapter that is done or skipped comes the next one. ok is false when no task is left.
func Current(all []Chapter, at string) (c Chapter, task TaskState, ok bool) {
	start := slices.IndexFunc(all, func(c Chapter) bool { _, has := c.find(at); return has })
	if start < 0 {
		start = max(0, slices.IndexFunc(all, func(c Chapter) bool { return !c.Untouched && !c.Skipped && !c.Done() }))
	} else if t, _ := all[start].find(at); t.State != runner.Passed && !all[start].Skipped {
		return all[start], t, true
	}
	for i := range all {
		c := all[(start+i)%len(all)]
		if t, open := c.Next(); open && !c.Skipped {
			return c, t, true
		}
	}
	return Chapter{}, TaskState{}, false
}

// find finds a task by its ID, also by a former one.
func (c Chapter) find(id string) (TaskState, bool) {
	i := slices.IndexFunc(c.Tasks, func(t TaskState) bool { return t.ID == id || slices.Contains(t.Former, id) })
	if i < 0 {
		return TaskState{}, false
	}
	return c.Tasks[i], true
}
