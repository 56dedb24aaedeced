//go:build unix

package main

// These tests run the commands that editors run, and find each place that they print, as the editors do.

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner"
)

// vsCodeTask is a task of .vscode/tasks.json.
type vsCodeTask struct {
	Label          string
	Args           []string
	IsBackground   bool
	ProblemMatcher json.RawMessage
}

// matcher is a problem matcher of VS Code.
type matcher struct {
	FileLocation []string
	Pattern      struct {
		Regexp                      string
		File, Line, Column, Message int
	}
	Background struct{ BeginsPattern, EndsPattern string }
}

// tasksWithProblems returns the tasks of VS Code whose output it searches for problems.
func tasksWithProblems(t *testing.T) (tasks []vsCodeTask, matchers []matcher) {
	t.Helper()
	content, err := os.ReadFile("../../.vscode/tasks.json")
	require.NoError(t, err)
	var file struct{ Tasks []vsCodeTask }
	require.NoError(t, json.Unmarshal(regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAll(content, nil), &file))
	for _, task := range file.Tasks {
		if string(task.ProblemMatcher) == "[]" {
			continue
		}
		var m matcher
		require.NoError(t, json.Unmarshal(task.ProblemMatcher, &m), task.Label)
		require.Equal(t, []string{"relative", "${workspaceFolder}"}, m.FileLocation, task.Label)
		tasks, matchers = append(tasks, task), append(matchers, m)
	}
	require.Len(t, tasks, 3)
	return tasks, matchers
}

// problems applies a problem matcher to the output of a task, line by line without colours. It returns the positions,
// and fails unless each is a line of a file below root.
func problems(t *testing.T, root, pattern, output string, file, line int) (at []string) {
	t.Helper()
	for row := range strings.Lines(ansi.Strip(output)) {
		m := regexp.MustCompile(pattern).FindStringSubmatch(strings.TrimRight(row, "\r\n"))
		if m == nil {
			continue
		}
		number, err := strconv.Atoi(m[line])
		require.NoError(t, err)
		isLine(t, root, m[file], number)
		at = append(at, m[file]+":"+m[line])
	}
	return at
}

// isLine fails unless the file below root has a line of that number.
func isLine(t *testing.T, root, file string, number int) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err, "an editor that was started in the workshop's folder does not find %s", file)
	require.Positive(t, number)
	require.LessOrEqual(t, number, bytes.Count(content, []byte("\n")), file)
}

// broken are states of the chapter, and where each verdict points.
var broken = []struct{ code, at string }{
	{"", "01-box/box.go:11"}, {strings.ReplaceAll(boxWrong, "b.n += 2", "missing()"), "01-box/box.go:5"},
	{boxWrong, "01-box/box_test.go:17"},
}

func TestTasks_of_VS_Code_point_to_lines_that_exist(t *testing.T) {
	tasks, matchers := tasksWithProblems(t)
	for i, task := range tasks {
		t.Run(task.Label, func(t *testing.T) {
			m, root := matchers[i], box(t)
			fill := strings.NewReplacer("${relativeFileDirname}", "01-box", "${input:task}", "1")
			var args []string
			for _, arg := range task.Args {
				args = append(args, fill.Replace(arg))
			}
			require.Equal(t, []string{"tool", "workshop"}, args[:2])
			var s *screen
			for n, state := range broken {
				if s == nil || !task.IsBackground {
					s = &screen{t: t, root: root}
				}
				if state.code != "" {
					s.saves("box.go", state.code)
				}
				if s.cmd == nil {
					s = sit(t, root, 80, 24, nil, args[2:]...)
				}
				output := ""
				if task.IsBackground {
					output = s.block(n+1, m.Background.BeginsPattern, m.Background.EndsPattern)
				} else {
					require.Equal(t, 1, s.ends())
					output = s.raw.String()
				}
				at := problems(t, root, m.Pattern.Regexp, output, m.Pattern.File, m.Pattern.Line)
				require.NotEmpty(t, at, output)
				require.Equal(t, state.at, at[0], output)
			}
		})
	}
}

// block waits until the output has n blocks, and returns the last one.
func (s *screen) block(n int, begins, ends string) string {
	s.t.Helper()
	whole := regexp.MustCompile(`(?ms)` + begins + `.*?` + ends + `.*?$`)
	for {
		s.mu.Lock()
		blocks := whole.FindAllString(s.raw.String(), -1)
		s.mu.Unlock()
		if len(blocks) >= n {
			return blocks[n-1]
		}
		select {
		case <-s.news:
		case <-s.gone:
			s.t.Fatalf("the program has ended before block %d:\n%s", n, s.raw.String())
		}
	}
}

func TestWatch_plain_appends_and_moves_no_cursor(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "--plain", "1")
	const begins, ends = `^Running the tests of 01-box\.`, `^Waiting for a save in 01-box\. Ctrl-C ends this\.`
	require.Contains(t, s.block(1, begins, ends), "01-box/box.go:11: Box.Put is not written yet (task 1)")
	s.saves("box.go", boxRight)
	require.Contains(t, s.block(2, begins, ends), "Every test passes.")
	s.types("\x03")
	require.Equal(t, 0, s.ends())
	require.NotContains(t, s.raw.String(), "\x1b", "no colour, no cursor movement")
	require.NotRegexp(t, `\r[^\n]`, s.raw.String(), "no row is written again")
}

func TestWatch_plain_starts_again_when_a_save_is_newer(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "--plain", "1")
	const begins, ends = `^Running`, `^Waiting`
	s.block(1, begins, ends)
	s.saves("box.go", boxEndless)
	s.sees(`(?s)Waiting.*Running`)
	s.saves("box.go", boxRight)
	require.Contains(t, s.block(2, begins, ends), "Every test passes.")
}

func TestTest_json_points_to_lines_that_exist(t *testing.T) {
	root := box(t)
	for _, state := range broken {
		if state.code != "" {
			require.NoError(t, os.WriteFile(filepath.Join(root, "01-box", "box.go"), []byte(state.code), 0o644))
		}
		stdout, stderr, code := run(t, root, "test", "1", "--json")
		require.Equal(t, 1, code, stderr)
		require.Empty(t, stderr)
		var first runner.Report
		for row := range strings.Lines(stdout) {
			var r runner.Report
			require.NoError(t, json.Unmarshal([]byte(row), &r))
			isLine(t, root, r.File, r.Line)
			if first.Message == "" {
				first = r
			}
		}
		require.Equal(t, state.at, first.File+":"+strconv.Itoa(first.Line), stdout)
	}
}

// vim's own errorformat reads the output of `workshop test`: docs/teach/room.md shows its makeprg.
func TestVim_finds_the_line(t *testing.T) {
	vim, err := exec.LookPath("vim")
	if err != nil {
		t.Skip("there is no vim")
	}
	root := box(t)
	for _, state := range broken {
		if state.code != "" {
			require.NoError(t, os.WriteFile(filepath.Join(root, "01-box", "box.go"), []byte(state.code), 0o644))
		}
		cmd := exec.CommandContext(t.Context(), vim, "-es", "-u", "NONE", "-c", "set makeprg="+program+`\ test`,
			"-c", "silent make 1", "-c", `call writefile([expand("%").":".line(".")], "at")`, "-c", "qa!")
		cmd.Dir = root
		out, _ := cmd.CombinedOutput() // the exit code of vim -es says nothing
		at, err := os.ReadFile(filepath.Join(root, "at"))
		require.NoError(t, err, string(out))
		require.Equal(t, state.at, strings.TrimSpace(string(at)))
	}
}
