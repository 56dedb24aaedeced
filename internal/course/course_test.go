package course

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const readme = "# Chapter 05: The Indexer\n\n" +
	"```sh\ngo test ./05-indexer -run Everything\n```\n\n" +
	"## Task 1: A map, behind a lock (45 min)\n\n<!-- formerly: indexer/a-map -->\nText.\n\n" +
	"```console\n$ go test ./05-indexer -run Task1\n```\n\n### More\n\n" +
	"```sh\ngo test ./05-indexer -run Task1_Again\n# Task 9: not a heading\n```\n\n" +
	"## Task 2: One index\n\n```sh\ngo test -race ./05-indexer -run Task2\n```\n\n" +
	"## Afterwards\n\n```sh\ngo test ./05-indexer -run Other\n```\n"

func workshop(t *testing.T, readmes map[string]string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module client-go-workshop\n"), 0o644))
	for dir, text := range readmes {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(root, dir, "README.md"), []byte(text), 0o644))
		}
	}
	return root
}

func TestAll_reads_the_tasks_from_the_README(t *testing.T) {
	root := workshop(t, map[string]string{"05-indexer": readme, "docs": "# Docs\n", "solutions": ""})
	all, err := All(root)
	require.NoError(t, err)
	require.Equal(t, []Chapter{{Dir: "05-indexer", Number: 5, Topic: "indexer", Title: "Chapter 05: The Indexer",
		Tasks: []Task{
			{
				Number: 1, Title: "A map, behind a lock", ID: "indexer/a-map-behind-a-lock", Former: []string{"indexer/a-map"},
				Minutes: 45, Anchor: "task-1-a-map-behind-a-lock-45-min", Line: 7, Command: "go test ./05-indexer -run Task1",
			},
			{
				Number: 2, Title: "One index", ID: "indexer/one-index",
				Anchor: "task-2-one-index", Line: 23, Command: "go test -race ./05-indexer -run Task2",
			},
		}}}, all, "the first command in a task's section is the task's; headings in code blocks are none")
}

func TestAll_refuses_a_chapter_that_nobody_finds_into(t *testing.T) {
	for name, c := range map[string]struct{ readme, problem string }{
		"no README":  {"", "has no readable README"},
		"no tasks":   {"# Chapter 05\n", "so the chapter has no tasks"},
		"no command": {"## Task 1: A\n", "task 1 shows no \"go test ./05-indexer -run …\""},
		"a gap":      {strings.Replace(readme, "Task 2:", "Task 3:", 1), "this is task 3, but 2 would come next"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := All(workshop(t, map[string]string{"05-indexer": c.readme}))
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestFind_takes_every_name_a_person_would_type(t *testing.T) {
	root := workshop(t, map[string]string{"02-watch-stream": strings.ReplaceAll(readme, "05-indexer", "02-watch-stream")})
	for _, name := range []string{"02-watch-stream", "./02-watch-stream/", "2", "02", "watch-stream"} {
		c, err := Find(root, name)
		require.NoError(t, err, name)
		require.Equal(t, "watchstream", c.Package(), name)
	}
	_, err := Find(root, "9")
	require.EqualError(t, err, `there is no chapter "9"; the chapters are 02-watch-stream`)
}

func TestRoot_is_found_from_any_folder(t *testing.T) {
	root := workshop(t, map[string]string{"05-indexer": readme})
	found, err := Root(filepath.Join(root, "05-indexer"))
	require.NoError(t, err)
	require.Equal(t, root, found)
	_, err = Root(t.TempDir())
	require.ErrorContains(t, err, "is not inside the workshop")
}

// The table of chapters in the repository's README is what people plan their evenings with.
func TestReadme_tells_how_long_each_chapter_takes(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	all, err := All(root)
	require.NoError(t, err)
	labs, err := os.ReadFile(filepath.Join(root, LabsPage))
	require.NoError(t, err)
	for _, c := range all {
		text, name := readme, c.Dir
		if c.Lab() {
			text, name = labs, c.Topic
		}
		row := fmt.Sprintf(`\| \[%s\]\(%s/README\.md\) \| .* \| %d min \|`, name, name, c.Minutes())
		require.Regexp(t, row, string(text), "a line for %s, with the minutes of its tasks", c.Dir)
	}
}

func TestFindTask_takes_numbers_and_IDs_and_former_IDs(t *testing.T) {
	root := workshop(t, map[string]string{"05-indexer": readme})
	for name, number := range map[string]int{"5/1": 1, "05-indexer/2": 2, "./05-indexer/task2": 2,
		"indexer/one-index": 2, "indexer/a-map": 1, "indexer": 0, "05-indexer/": 0} {
		_, task, err := FindTask(root, name)
		require.NoError(t, err, name)
		require.Equal(t, number, task.Number, name)
	}
	_, _, err := FindTask(root, "5/9")
	require.EqualError(t, err, `chapter 05-indexer has no task "9"; its tasks are 1, 2`)
}

// Progress is kept by ID: two tasks with one ID would share it.
func TestTasks_of_the_workshop_have_IDs_of_their_own_and_patterns_that_compile(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	all, err := All(root)
	require.NoError(t, err)
	owner := map[string]string{}
	for _, c := range all {
		for _, task := range c.Tasks {
			for _, id := range append([]string{task.ID}, task.Former...) {
				require.Empty(t, owner[id], "%s is an ID of two tasks", id)
				owner[id] = task.Title
			}
			require.Regexp(t, task.Pattern(), fmt.Sprintf("TestTask%d_x", task.Number),
				"what the command of %s selects", task.ID)
		}
	}
}

func TestReadFile_reads_what_ends(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "box.go")
	_, err := ReadFile(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("package box\n"), 0o644))
	content, err := ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "package box\n", string(content))

	require.NoError(t, os.Truncate(path, MaxFile+1))
	_, err = ReadFile(path)
	require.ErrorContains(t, err, "box.go is 16 MiB large")
	_, err = ReadFile(dir)
	require.ErrorContains(t, err, "is a folder")
	if runtime.GOOS == "windows" {
		return
	}
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero.go")))
	_, err = Code(dir)
	require.Error(t, err, "Code refuses what ReadFile does")
	_, err = ReadFile(filepath.Join(dir, "zero.go"))
	require.ErrorContains(t, err, "is a device")
	pipe := filepath.Join(dir, "pipe.go")
	require.NoError(t, exec.Command("mkfifo", pipe).Run())
	_, err = ReadFile(pipe)
	require.ErrorContains(t, err, "pipe.go is a named pipe, so it is not read; remove it")
}
