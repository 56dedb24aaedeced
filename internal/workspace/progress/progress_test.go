package progress

// These tests store progress in a folder of two small chapters. Their tests never run: the verdicts are made up.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
)

const (
	untouched = "// Package box counts.\npackage box\n\nfunc Put() { panic(todo.Task(1, \"Put\")) }\n" +
		"\nfunc Empty() { panic(todo.Task(2, \"Empty\")) }\n" +
		"\nfunc Lid() { panic(todo.Task(3, \"Lid\")) }\n"
	solution = "// Package box counts.\npackage box\n\n//workshop:task 1\nfunc Put() {}\n" +
		"\n//workshop:task 2\nfunc Empty() {}\n" +
		"\n//workshop:task 3\nfunc Lid() {}\n"
)

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func newRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, "go.mod", "module client-go-workshop\n")
	for _, dir := range []string{"01-box", "02-shelf"} {
		write(t, root, dir+"/README.md", "# T\n\n## Task 1: Put (5 min)\n\n```sh\ngo test ./"+dir+" -run Task1\n```\n\n## "+
			"Task 2: Empty\n\n<!-- formerly: box/clear -->\n\n```sh\ngo test ./"+dir+" -run Task2\n```\n\n## Bonus task 3: "+
			"Lid\n\n```sh\ngo test ./"+dir+" -run Task3\n```\n")
		write(t, root, dir+"/box.go", untouched)
		write(t, root, "solutions/"+dir+"/box.go", solution)
		sums := checksum.List{Stubs: map[string]string{"box.go": checksum.Of([]byte(untouched))}}
		require.NoError(t, sums.Write(filepath.Join(root, "solutions", dir)))
	}
	write(t, root, "internal/testkit/guard/guard.go", "package guard\n")
	return root
}

func find(t *testing.T, root, name string) course.Chapter {
	t.Helper()
	c, err := course.Find(root, name)
	require.NoError(t, err)
	return c
}

// verdict is one over some of a chapter's tasks.
func verdict(c course.Chapter, states map[int]runner.State) runner.Verdict {
	v := runner.Verdict{Chapter: c}
	for _, task := range c.Tasks {
		if state, ok := states[task.Number]; ok {
			v.Tasks = append(v.Tasks, runner.Task{Task: task, State: state,
				Tests: []runner.Test{{Status: gotest.Passed}, {Status: gotest.Failed}}})
		}
	}
	return v
}

func record(t *testing.T, root string, v runner.Verdict) {
	t.Helper()
	content, err := Content(root, v.Chapter)
	require.NoError(t, err)
	err = Update(root, func(b *File) { b.Record(v, content) })
	require.NoError(t, err)
}

func all(t *testing.T, root string) ([]Chapter, File) {
	t.Helper()
	file, err := Load(root)
	require.NoError(t, err)
	chapters, err := All(root, file)
	require.NoError(t, err)
	return chapters, file
}

func states(c Chapter) (out []runner.State) {
	for _, t := range c.Tasks {
		out = append(out, t.State)
	}
	return out
}

func TestRead_of_untouched_stubs_needs_no_test(t *testing.T) {
	chapters, _ := all(t, newRoot(t))
	require.True(t, chapters[0].Untouched)
	require.False(t, chapters[0].Skipped)
	require.False(t, chapters[0].Done())
	require.Equal(t, []runner.State{runner.Open, runner.Open, runner.Bonus}, states(chapters[0]))
}

func TestRead_knows_the_finished_layer(t *testing.T) {
	root := newRoot(t)
	write(t, root, "01-box/box.go", solution)
	chapters, _ := all(t, root)
	require.True(t, chapters[0].Skipped)
	require.False(t, chapters[0].Untouched)
	require.NoError(t, os.Remove(filepath.Join(root, "01-box/box.go")))
	chapters, _ = all(t, root)
	require.False(t, chapters[0].Skipped)
	require.False(t, chapters[0].Untouched)
}

func TestRead_knows_the_bare_stub(t *testing.T) {
	root := newRoot(t)
	bare, err := stub.BareDir(filepath.Join(root, "solutions/01-box"))
	require.NoError(t, err)
	write(t, root, "01-box/box.go", string(bare["box.go"]))
	chapters, _ := all(t, root)
	require.True(t, chapters[0].Bare)
	require.True(t, chapters[0].Untouched)
	require.Equal(t, []runner.State{runner.Open, runner.Open, runner.Bonus}, states(chapters[0]))
	write(t, root, "01-box/more.go", "package box\n")
	chapters, _ = all(t, root)
	require.True(t, chapters[0].Bare)
	require.False(t, chapters[0].Untouched, "a file was added")
	require.False(t, chapters[1].Bare)
}

func TestRead_of_a_task_without_any_code_is_not_begun(t *testing.T) {
	root := newRoot(t)
	write(t, root, "01-box/box.go", strings.Replace(untouched, `panic(todo.Task(1, "Put"))`, "", 1))
	chapters, _ := all(t, root)
	require.False(t, chapters[0].Untouched)
	require.Equal(t, []runner.State{runner.Unknown, runner.Open, runner.Bonus}, states(chapters[0]))
}

func TestVerdict_counts_for_exactly_the_files_it_was_about(t *testing.T) {
	root := newRoot(t)
	box := find(t, root, "01")
	write(t, root, "01-box/box.go", "package box\n\n// one\n")
	record(t, root, verdict(box, map[int]runner.State{1: runner.Passed, 2: runner.Failing, 3: runner.Bonus}))
	chapters, _ := all(t, root)
	require.True(t, chapters[0].Fresh)
	require.Equal(t, []runner.State{runner.Passed, runner.Failing, runner.Bonus}, states(chapters[0]))
	require.Equal(t, "1 of 2", fmt.Sprintf("%d of %d", chapters[0].Tasks[0].Passed, chapters[0].Tasks[0].Tests))

	write(t, root, "01-box/box.go", "package box\n\n// two\n")
	chapters, _ = all(t, root)
	require.False(t, chapters[0].Fresh)
	require.Equal(t, []runner.State{runner.Unknown, runner.Unknown, runner.Unknown}, states(chapters[0]))

	write(t, root, "01-box/box.go", "package box\n\n// one\n")
	chapters, _ = all(t, root)
	require.Equal(t, []runner.State{runner.Passed, runner.Failing, runner.Bonus}, states(chapters[0]),
		"undone, so it holds again")
}

func TestContent_is_of_all_that_a_verdict_depends_on(t *testing.T) {
	root := newRoot(t)
	box := find(t, root, "01")
	last, err := Content(root, box)
	require.NoError(t, err)
	changes := func(name, text string) bool {
		write(t, root, name, text)
		now, err := Content(root, box)
		require.NoError(t, err)
		defer func() { last = now }()
		return now != last
	}
	require.True(t, changes("01-box/more.go", "package box\n"))
	require.True(t, changes("01-box/box_test.go", "package box\n"))
	require.True(t, changes("01-box/cmd/run/main.go", "package main\n"))
	require.True(t, changes("internal/testkit/guard/guard.go", "package guard\n\n// changed\n"), "a shared package")
	require.True(t, changes("internal/testkit/fastjson/fastjson.go", "package fastjson\n"))
	require.True(t, changes("go.mod", "module client-go-workshop\n\ngo 1.26\n"))
	require.True(t, changes("go.sum", "x v1 h1:y\n"))

	require.False(t, changes("01-box/more.go", "package box\n"), "saved as it was")
	require.False(t, changes("02-shelf/more.go", "package box\n"), "another chapter")
	require.False(t, changes("solutions/01-box/box.go", "package box\n"), "no chapter but the last runs on solutions")
	require.False(t, changes("01-box/README.md", "# Another title\n"))
	require.False(t, changes("01-box/.#box.go", "root@host.1234"), "an editor's lock file")
	require.False(t, changes("01-box/"+BugTest, "package box_test\n"), "the game does not undo what was won")
	require.NoError(t, os.Remove(filepath.Join(root, "01-box/more.go")))
	now, err := Content(root, box)
	require.NoError(t, err)
	require.NotEqual(t, last, now, "a file that is gone")
}

// What is moved from one file to the next must not add up to the same.
func TestContent_tells_files_apart(t *testing.T) {
	root := newRoot(t)
	box := find(t, root, "01")
	write(t, root, "01-box/a.go", "ab")
	write(t, root, "01-box/b.go", "c")
	one, err := Content(root, box)
	require.NoError(t, err)
	write(t, root, "01-box/a.go", "a")
	write(t, root, "01-box/b.go", "bc")
	two, err := Content(root, box)
	require.NoError(t, err)
	require.NotEqual(t, one, two)
}

func TestRecord_of_one_task_keeps_the_others_only_for_the_same_files(t *testing.T) {
	box := find(t, newRoot(t), "01")
	b := empty()
	b.Record(verdict(box, map[int]runner.State{1: runner.Passed, 2: runner.Failing}), "one")
	b.Record(verdict(box, map[int]runner.State{2: runner.Passed}), "one")
	require.Equal(t, runner.Passed, b.Verdicts["box"].Tasks["box/put"].State)
	require.Equal(t, runner.Passed, b.Verdicts["box"].Tasks["box/empty"].State)
	b.Record(verdict(box, map[int]runner.State{2: runner.Unknown}), "one")
	require.Equal(t, runner.Passed, b.Verdicts["box"].Tasks["box/empty"].State,
		"a run that knows nothing takes nothing away")
	b.Record(verdict(box, map[int]runner.State{2: runner.Failing}), "two")
	require.NotContains(t, b.Verdicts["box"].Tasks, "box/put")
	require.Equal(t, runner.Failing, b.Verdicts["box"].Tasks["box/empty"].State)
}

func TestTask_keeps_its_place_under_the_name_it_had(t *testing.T) {
	root := newRoot(t)
	box := find(t, root, "01")
	write(t, root, "01-box/box.go", "package box\n")
	content, err := Content(root, box)
	require.NoError(t, err)
	err = Update(root, func(b *File) {
		b.At = "box/clear"
		b.Hints["box/clear"] = 2
		b.Verdicts["box"] = Verdict{Content: content, Tasks: map[string]Task{"box/clear": {State: runner.Failing, Passed: 1,
			Tests: 2}}}
	})
	require.NoError(t, err)
	chapters, file := all(t, root)
	require.Equal(t, runner.Failing, chapters[0].Tasks[1].State)
	require.Equal(t, 2, chapters[0].Tasks[1].Hints)
	require.Equal(t, 2, file.HintsTaken(box.Tasks[1]))
	_, task, ok := Current(chapters, file.At)
	require.True(t, ok)
	require.Equal(t, "box/empty", task.ID)
}

func TestUpdate_by_many_at_once_loses_nothing(t *testing.T) {
	root := t.TempDir()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 20 {
				err := Update(root, func(b *File) {
					b.Hints["all"]++
					b.Hints[fmt.Sprint(i, " ", n)] = 1
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() { // a reader never sees half a file
			for range 20 {
				if _, err := Load(root); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	b, err := Load(root)
	require.NoError(t, err)
	require.Equal(t, 160, b.Hints["all"])
	require.Len(t, b.Hints, 161)
}

// A file that is written in place is half old and half new if the process is killed between two writes.
func TestUpdate_replaces_the_file_and_does_not_write_into_it(t *testing.T) {
	root := t.TempDir()
	err := Update(root, func(f *File) { f.At = "box/put" })
	require.NoError(t, err)
	before, err := os.Stat(path(root))
	require.NoError(t, err)
	err = Update(root, func(f *File) { f.At = "box/empty" })
	require.NoError(t, err)
	after, err := os.Stat(path(root))
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after))
}

func TestLoad_of_a_broken_file_reports_it_and_leaves_it(t *testing.T) {
	for _, broken := range []string{"{\"at\": ", "{\"hints\": null}"} {
		root := t.TempDir()
		write(t, root, ".workshop/progress.json", broken)
		b, err := Load(root)
		require.ErrorContains(t, err, "delete it, and the tests bring back everything but your place")
		require.NotNil(t, b.Hints, "it can be used all the same")
		require.Error(t, Update(root, func(b *File) { b.At = "x" }))
		text, err := os.ReadFile(path(root))
		require.NoError(t, err)
		require.Equal(t, broken, string(text))
	}
}

func TestFile_is_readable_and_leaves_out_empty_fields(t *testing.T) {
	root := t.TempDir()
	err := Update(root, func(b *File) { b.At = "box/put" })
	require.NoError(t, err)
	text, err := os.ReadFile(path(root))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"at\": \"box/put\"\n}\n", string(text))
	err = Update(root, func(b *File) { b.At = strings.Repeat("long", 100) })
	require.NoError(t, err)
	err = Update(root, func(b *File) { b.At = "" })
	require.NoError(t, err)
	text, err = os.ReadFile(path(root))
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(text), "a shorter file leaves nothing of the longer one")
}

// A learner renames a failing test, and the rest is green.
func TestRead_notices_changed_tests(t *testing.T) {
	root := newRoot(t)
	write(t, root, "01-box/box_test.go", "package box\n")
	listed := checksum.New()
	listed.Add("box.go", checksum.Of([]byte(untouched)))
	listed.Add("box_test.go", checksum.Of([]byte("package box\n")))
	require.NoError(t, listed.Write(filepath.Join(root, "solutions/01-box")))
	read := func() bool {
		state, err := Read(root, find(t, root, "box"), empty())
		require.NoError(t, err)
		return state.TestsChanged
	}
	require.False(t, read())
	write(t, root, "01-box/box_test.go", "package box // disabled\n")
	require.True(t, read())
	require.NoError(t, os.Remove(filepath.Join(root, "01-box/box_test.go")))
	require.True(t, read(), "a test that is gone is changed")
}
