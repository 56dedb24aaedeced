// Package progress remembers how far a learner is.
//
// What a task's tests said is true for exactly the files that they ran over. So verdicts are kept beside a check sum of
// those files, and count only as long as it is right: progress comes from the tests, never from a list that somebody
// ticked. What is kept besides is a pointer to the task one was at, and how many hints one has taken. All of it is one
// readable file, .workshop/progress.json; deleting it loses that pointer and nothing else.
//
// What it leaves out: running tests (see trial).
package progress

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/runner"
)

// Book is the file.
type Book struct {
	At       string             `json:"at,omitempty"`       // the ID of the task one is at
	Hints    map[string]int     `json:"hints,omitempty"`    // how often one was taken, by the task's ID
	Bugs     map[string]string  `json:"bugs,omitempty"`     // by "05-indexer/name": "found" or "shown"
	Verdicts map[string]Verdict `json:"verdicts,omitempty"` // by the chapter's topic
}

// Verdict is what the tests said of a chapter as it was.
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

// Load reads the book. A file that is not there is an empty book; one that cannot be read as a book is an error that
// says what to do, and is left as it is.
func Load(root string) (Book, error) {
	text, err := lockedfile.Read(path(root))
	if errors.Is(err, fs.ErrNotExist) {
		return Book{}.filled(), nil
	}
	if err != nil {
		return Book{}.filled(), fmt.Errorf("read the progress: %w", err)
	}
	return decode(root, text)
}

func decode(root string, text []byte) (Book, error) {
	var b Book
	if len(strings.TrimSpace(string(text))) == 0 { // just made, by somebody who is about to write it
		return b.filled(), nil
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return Book{}.filled(), fmt.Errorf("%s is not a file of the workshop any more (%w): delete it, and all but your place comes back from the tests", path(root), err)
	}
	return b.filled(), nil
}

func (b Book) filled() Book {
	if b.Hints == nil {
		b.Hints = map[string]int{}
	}
	if b.Bugs == nil {
		b.Bugs = map[string]string{}
	}
	if b.Verdicts == nil {
		b.Verdicts = map[string]Verdict{}
	}
	return b
}

// Update changes the book on disk: change gets what is there now, so that two programs at once lose nothing of each
// other's. It returns the changed book also if it could not be written, with the error.
func Update(root string, change func(*Book)) (Book, error) {
	var b Book
	err := os.MkdirAll(filepath.Dir(path(root)), 0o755)
	if err == nil {
		err = lockedfile.Transform(path(root), func(old []byte) ([]byte, error) {
			var err error
			if b, err = decode(root, old); err != nil {
				return nil, err
			}
			change(&b)
			text, err := json.MarshalIndent(b, "", "  ")
			return append(text, '\n'), err
		})
	}
	if err != nil {
		b, _ = Load(root) // what can be read; change may have run already, and must not run twice on the same book
		change(&b)
		return b, fmt.Errorf("keep the progress in %s: %w", path(root), err)
	}
	return b, nil
}

// Taken is how many hints of a task were taken, also under the IDs that it had.
func (b Book) Taken(t course.Task) int {
	taken := b.Hints[t.ID]
	for _, id := range t.Former {
		taken = max(taken, b.Hints[id])
	}
	return taken
}

// Record enters a verdict on files whose Content was content.
func (b *Book) Record(v runner.Verdict, content string) {
	kept := Verdict{Content: content, Tasks: map[string]Task{}}
	if old := b.Verdicts[v.Chapter.Topic]; old.Content == content {
		for id, t := range old.Tasks { // a run of one task says nothing about the others
			kept.Tasks[id] = t
		}
	}
	for _, t := range v.Tasks {
		passed, all := t.Count()
		if t.State == runner.Unknown {
			continue
		}
		kept.Tasks[t.ID] = Task{t.State, passed, all}
	}
	b.Verdicts[v.Chapter.Topic] = kept
}

// GameTest is where the learner's test for `workshop bugs` stands. It says nothing about the chapter, so writing it leaves
// the chapter green.
const GameTest = "bug_test.go"

// Content is a check sum of all that a chapter's verdict depends on: its Go files, those of the packages that its tests
// use, the module's requirements, and the version of Go.
func Content(root string, c course.Chapter) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version())
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := addFile(sum, filepath.Join(root, name)); err != nil {
			return "", err
		}
	}
	for _, dir := range Folders(root, c) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // deleted meanwhile, or not in this copy
			case err != nil:
				return err
			case d.IsDir() || !course.IsGo(d.Name()) || d.Name() == GameTest:
				return nil
			}
			fmt.Fprintln(sum, filepath.ToSlash(strings.TrimPrefix(path, root)))
			return addFile(sum, path)
		})
		if err != nil {
			return "", fmt.Errorf("look for changes in %s: %w", dir, err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))[:16], nil
}

// Folders are those that Content reads, with all below them.
func Folders(root string, c course.Chapter) []string {
	dirs := []string{filepath.Join(root, c.Dir), filepath.Join(root, "internal", "testkit")}
	if runner.HasLayers(c) {
		dirs = append(dirs, filepath.Join(root, "solutions"))
	}
	return dirs
}

func addFile(sum interface{ Write([]byte) (int, error) }, path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for changes: %w", err)
	}
	fmt.Fprintln(sum, len(content))
	_, err = sum.Write(content)
	return err
}

// Chapter is how a chapter stands, as far as is known without running its tests.
type Chapter struct {
	course.Chapter
	Fresh     bool // the verdicts are about the files as they are
	Untouched bool // every file is the stub
	Skipped   bool // every file is the solution
	Tasks     []TaskState
}

// TaskState is how a task stands.
type TaskState struct {
	course.Task
	State  runner.State
	Passed int
	Tests  int
	Hints  int // how often one was taken; after the last the first comes again
}

// Done tells whether nothing is left to do in the chapter.
func (c Chapter) Done() bool {
	for _, t := range c.Tasks {
		if t.State != runner.Passed && !t.Bonus {
			return false
		}
	}
	return len(c.Tasks) > 0
}

// Look says how a chapter stands: from the book where it is about the files as they are, from the files themselves where
// they are the untouched stubs, else Unknown. A verdict on other files is not told.
func Look(root string, c course.Chapter, b Book) (Chapter, error) {
	out := Chapter{Chapter: c}
	content, err := Content(root, c)
	if err != nil {
		return out, err
	}
	known := b.Verdicts[c.Topic]
	out.Fresh = known.Content == content
	out.Untouched, out.Skipped = compare(root, c)
	for _, task := range c.Tasks {
		t := TaskState{Task: task, State: runner.Unknown, Hints: b.Taken(task)}
		for _, id := range append([]string{task.ID}, task.Former...) {
			if v, ok := known.Tasks[id]; ok && out.Fresh && t.State == runner.Unknown {
				t.State, t.Passed, t.Tests = v.State, v.Passed, v.Tests
			}
		}
		if out.Untouched {
			t.State = runner.Open
			if task.Bonus {
				t.State = runner.Bonus
			}
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// compare tells whether the chapter's files are the stubs, or the solution's. What cannot be read is neither.
func compare(root string, c course.Chapter) (stubs, solution bool) {
	listed, err := checksum.Read(filepath.Join(root, c.Solution()))
	if err != nil || len(listed.Stubs) == 0 {
		return false, false
	}
	stubs, solution = true, true
	for name, sum := range listed.Stubs {
		onDisk, err := os.ReadFile(filepath.Join(root, c.Dir, name))
		if err != nil {
			return false, false
		}
		reference, err := os.ReadFile(filepath.Join(root, c.Solution(), name))
		stubs = stubs && checksum.Of(onDisk) == sum
		solution = solution && err == nil && string(onDisk) == string(reference)
	}
	return stubs, solution
}

// All looks at every chapter of the workshop.
func All(root string, b Book) ([]Chapter, error) {
	chapters, err := course.All(root)
	if err != nil {
		return nil, err
	}
	var all []Chapter
	for _, c := range chapters {
		state, err := Look(root, c, b)
		if err != nil {
			return nil, err
		}
		all = append(all, state)
	}
	return all, nil
}

// Here finds where the learner is: at the book's task; without one, in the first chapter with work in it that is not
// done, or in the first that is not done. When that chapter is done, or skipped, the next one comes. ok is false when no
// chapter is left.
func Here(all []Chapter, at string) (c Chapter, task TaskState, ok bool) {
	start := 0
	pointed := slices.IndexFunc(all, func(c Chapter) bool { _, has := c.find(at); return has })
	if pointed >= 0 {
		start = pointed
		if t, _ := all[pointed].find(at); t.State != runner.Passed && !all[pointed].Skipped {
			return all[pointed], t, true
		}
	} else if begun := slices.IndexFunc(all, func(c Chapter) bool { return !c.Untouched && !c.Skipped && !c.Done() }); begun >= 0 {
		start = begun
	}
	for i := range all {
		c := all[(start+i)%len(all)]
		for _, t := range c.Tasks {
			if t.State != runner.Passed && !t.Bonus && !c.Skipped {
				return c, t, true
			}
		}
	}
	return Chapter{}, TaskState{}, false
}

func (c Chapter) find(id string) (TaskState, bool) {
	for _, t := range c.Tasks {
		if t.ID == id || slices.Contains(t.Former, id) {
			return t, true
		}
	}
	return TaskState{}, false
}
