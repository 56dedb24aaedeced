//go:build unix

package main

// These tests sit at the live view as a person does: a real terminal (a pty), keys in, and the screen read back by a
// terminal emulator. What is awaited is always a text on the screen; nothing depends on how long something takes.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"github.com/stretchr/testify/require"
)

// box is the smallest workshop there is, with one chapter of two tasks.
func box(t *testing.T) string {
	t.Helper()
	return home(t, "../../internal/authoring/verify/testdata/workshop.txtar")
}

// screen is a running program and what it shows.
type screen struct {
	t    *testing.T
	root string
	cmd  *exec.Cmd
	tty  *os.File
	term vt10x.Terminal
	mu   sync.Mutex
	raw  strings.Builder
	news chan struct{}
	gone chan struct{}
}

// sit starts the program in root on a terminal of that size.
func sit(t *testing.T, root string, columns, rows uint16, env []string, args ...string) *screen {
	t.Helper()
	return sitAt(t, program, root, columns, rows, env, args...)
}

func sitAt(
	t *testing.T, program, root string, columns, rows uint16, env []string, args ...string,
) *screen {
	t.Helper()
	s := &screen{t: t, root: root, cmd: exec.Command(program, args...), news: make(chan struct{}, 1),
		gone: make(chan struct{})}
	s.cmd.Dir = root
	s.cmd.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "GOFLAGS=", "NO_COLOR=", "EDITOR=", "VISUAL="},
		env...)...)
	s.term = vt10x.New(vt10x.WithSize(int(columns), int(rows)))
	var err error
	s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: rows, Cols: columns})
	require.NoError(t, err)
	go s.read()
	t.Cleanup(func() {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.gone
		s.tty.Close()
	})
	return s
}

func (s *screen) read() {
	defer close(s.gone)
	for b := make([]byte, 4096); ; {
		n, err := s.tty.Read(b)
		s.mu.Lock()
		s.raw.Write(b[:n])
		s.term.Write(b[:n])
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default:
		}
		if err != nil { // EIO, when the program has ended
			return
		}
	}
}

// sent returns all that the program has written, with the control sequences.
func (s *screen) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.String()
}

// sees waits until the screen matches a pattern.
func (s *screen) sees(pattern string) string {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	deadline := time.After(2 * time.Minute)
	for {
		if text := s.text(); want.MatchString(text) {
			return text
		}
		select {
		case <-s.news:
		case <-s.gone:
			if text := s.text(); want.MatchString(text) {
				return text
			}
			s.t.Fatalf("the program has ended, and the screen never showed %q:\n%s", pattern, s.text())
		case <-deadline:
			s.t.Fatalf("the screen never showed %q:\n%s", pattern, s.text())
		}
	}
}

func (s *screen) types(keys string) {
	s.t.Helper()
	_, err := s.tty.WriteString(keys)
	require.NoError(s.t, err)
}

// saves writes a file of the chapter as most editors do: a new file, renamed over the old one.
func (s *screen) saves(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.root, "01-box", name)
	require.NoError(s.t, os.WriteFile(path+"~", []byte(content), 0o644))
	require.NoError(s.t, os.Rename(path+"~", path))
}

// ends waits for the program's end and returns its exit code.
func (s *screen) ends() int {
	s.t.Helper()
	select {
	case <-s.gone:
	case <-time.After(time.Minute):
		s.t.Fatalf("the program does not end:\n%s", s.text())
	}
	s.cmd.Wait() // its error is the exit code
	return s.cmd.ProcessState.ExitCode()
}

// alternateScreen is what a program writes when it takes the terminal.
const alternateScreen = "\x1b[?1049h"

const (
	boxRight = "package box\n\ntype Box struct{ n int }\n\nfunc (b *Box) Put() { b.n++ }\nfunc (b *Box) Len() int { " +
		"return b.n }\nfunc (b *Box) Empty() { b.n = 0 }\n"
	boxWrong = "package box\n\ntype Box struct{ n int }\n\nfunc (b *Box) Put() { b.n += 2 }\nfunc (b *Box) Len() int " +
		"{ return b.n }\nfunc (b *Box) Empty() { b.n = 0 }\n"
	boxBroken  = "package box\n\ntype Box struct{ n int }\n\nfunc (b *Box) Put() { b.n++\n"
	boxEndless = "package box\n\ntype Box struct{ n int }\n\nfunc (b *Box) Put() { b.n += 2 }\nfunc (b *Box) Len() int " +
		"{ return b.n }\nfunc (b *Box) Empty() { for { b.n++ } }\n"
)

func TestLive_from_the_welcome_to_the_finished_chapter(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil)
	welcome := s.sees(`Press Enter to begin with 01-box`)
	require.Regexp(t, `(?m)^Welcome to the`, welcome, "no rest of an escape sequence in front of it")
	require.Contains(t, welcome, "Go: 1.")
	require.Contains(t, welcome, "disk: ")
	s.types("9\n")
	s.sees(`There is no chapter "9"`)
	s.types("\n")

	first := s.sees(`Box\.Put is not written yet`)
	require.Contains(t, first, "01-box  task 1 of 2: Put")
	require.Contains(t, first, "0 of 1 tests pass")
	require.Contains(t, first, "01-box/README.md#task-1-put-5-min")

	s.saves("box.go", boxBroken)
	broken := s.sees(`It does not compile:`)
	require.Regexp(t, `01-box/box\.go:\d+`, broken)
	require.NotContains(t, broken, "FAIL", "errors with file and line, and nothing else")

	s.saves("box.go", boxWrong)
	wrong := s.sees(`(?s)TestTask1_Put_counts.*why`)
	require.Regexp(t, `did +Put`, wrong)
	require.Regexp(t, `wanted +1`, wrong)
	require.Regexp(t, `got +2`, wrong)
	require.Regexp(t, `why +Put adds one`, wrong)

	s.types("h")
	s.sees(`(?s)hint 1 of 2.*Look\.`)
	s.types("h")
	s.sees(`(?s)hint 1 of 2.*hint 2 of 2.*Think\.`)

	s.saves("box.go", boxRight)
	s.sees(`01 ✓✓`)
	s.types("\r")
	s.sees(`Every test of this chapter passes|What to take away`)
	s.types("q")
	require.Equal(t, 0, s.ends())
	require.FileExists(t, filepath.Join(s.root, ".workshop", "progress.json"))
}

// Where the learner is, and what is known, is there again the next time, and the screen comes before the tests do.
func TestLive_begins_where_it_was_left(t *testing.T) {
	root := box(t)
	stdout, stderr, _ := run(t, root, "hint", "1/2") // makes the progress file
	require.Contains(t, stdout, "task 2", stderr)
	s := sit(t, root, 80, 24, nil)
	s.sees(`01-box  task 1 of 2`)
	s.types("n")
	s.sees(`01-box  task 2 of 2: Empty`)
	s.types("q")
	require.Equal(t, 0, s.ends())
	again := sit(t, root, 80, 24, nil)
	again.sees(`01-box  task 2 of 2: Empty`)
}

func TestLive_newer_save_cancels_what_runs(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("n") // of a later task nothing runs while an earlier one fails
	s.sees(`task 2 of 2`)
	s.saves("box.go", boxEndless) // the tests' own watchdog needs seconds for it
	slow := s.sees(`TestTask2_\w+ has run for \d+s\. (?s:.*This test has failed)`)
	require.Regexp(t, `(?s)This test has failed:.*TestTask1_Put_counts.*got +2`, slow, "the learner does not wait for that")
	s.saves("box.go", boxRight)
	s.sees(`01 ✓✓`)
}

// Where an endless loop spins is known long before there is a verdict, and a key ends the run.
func TestLive_says_where_a_loop_spins_and_ends_it(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("c")
	s.sees(`No test is running\.`)
	s.types("n")
	s.sees(`task 2 of 2`)
	s.saves("box.go", boxEndless)
	spins := s.sees(`still\s+running:\s+\(\*Box\)\.Empty\s+at\s+box\.go:\d+`)
	require.Regexp(t, `c ends it, or it ends after 30s`, strings.Join(strings.Fields(spins), " "))
	s.types("c")
	ended := s.sees(`(?s)Stopped: you ended it\..*TestTask2_\w+`)
	require.Regexp(t, `it was still running when the run was stopped, in \(\*Box\)\.Empty at box\.go:\d+`,
		strings.Join(strings.Fields(ended), " "))
	s.saves("box.go", boxRight)
	s.sees(`01 ✓✓`)
}

func TestTest_says_where_a_loop_spins_when_it_is_interrupted(t *testing.T) {
	root := box(t)
	s := sit(t, root, 120, 24, nil, "test", "1")
	s.sees(`Box\.Put is not written yet`)
	require.Equal(t, 1, s.ends())
	require.NoError(t, os.WriteFile(filepath.Join(root, "01-box", "box.go"), []byte(boxEndless), 0o644))
	s = sit(t, root, 120, 24, nil, "test", "1/2")
	s.sees(`TestTask2_\w+ is still running: \(\*Box\)\.Empty at box\.go:\d+ \(Ctrl-C ends it\)`)
	s.types("\x03")
	s.sees(`(?s)Stopped: you ended it\..*running\s+when\s+the\s+run\s+was\s+stopped,\s+in\s+\(\*Box\)\.Empty`)
	require.Equal(t, 130, s.ends())
}

func TestLive_pages_and_the_way_back(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("?")
	s.sees(`A save runs the tests of the tasks`)
	s.types("\x1b[F") // end
	s.sees(`Saves are noticed by`)
	s.types("l")
	s.sees(`✓ passes  ✗ fails`)
	s.types("a")
	s.sees(`1 test failed because something is not written yet`) // of task 2 nothing has run
	s.types("\r")
	s.sees(`The comment above it says what to write`)
	s.types("o")
	s.sees(`set VISUAL or EDITOR`)
	s.types("s")
	s.sees(`See the solution anyway\? y/n`)
	s.types("n")
	s.sees(`Cancelled`)
	s.types("s")
	s.sees(`anyway\? y/n`)
	s.types("y")
	s.sees(`solution/box\.go`)
	s.types("w")
	s.sees(`when the chapter is green`)
}

func TestLive_reset_asks_and_keeps_a_copy(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`not written yet`)
	s.saves("box.go", boxWrong)
	s.sees(`got +2`)
	s.types("x")
	s.sees(`Start 01-box again\?`)
	s.types("y")
	s.sees(`(?s)to restore it:\s+go tool workshop restore 01.*not written yet`)
	kept, err := filepath.Glob(filepath.Join(s.root, ".workshop", "backup", "01-box", "*", "box.go"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	content, err := os.ReadFile(kept[0])
	require.NoError(t, err)
	require.Equal(t, boxWrong, string(content))
}

func TestLive_opens_the_line_in_the_editor(t *testing.T) {
	root := box(t)
	note := filepath.Join(t.TempDir(), "opened")
	editor := filepath.Join(t.TempDir(), "vim")
	require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\necho \"$@\" > "+note+"\n"), 0o755))
	s := sit(t, root, 80, 24, []string{"VISUAL=" + editor}, "watch", "1")
	opens := func(key, place string) {
		t.Helper()
		back := strings.Count(s.sent(), alternateScreen) + 1
		os.Remove(note)
		s.types(key)
		file, line, _ := strings.Cut(place, ":")
		want := "+" + line + " " + filepath.Join(root, "01-box", file)
		require.Eventually(t, func() bool { text, _ := os.ReadFile(note); return strings.TrimSpace(string(text)) == want },
			time.Minute, 10*time.Millisecond, want)
		require.Eventually(t, func() bool { return strings.Count(s.sent(), alternateScreen) >= back },
			time.Minute, 10*time.Millisecond, "the live view comes back when the editor ends")
	}
	s.sees(`box\.go:11: Box\.Put is not written yet`)
	opens("o", "box.go:11")
	opens("O", "box_test.go:16")
	s.saves("box.go", boxWrong)
	s.sees(`(?s)0 of 1 tests pass.*got +2`) // the verdict, not the first failure of a run that goes on
	opens("o", "box.go:5")
	opens("O", "box_test.go:17")
	s.types("l")
	s.sees(`✓ passes`)
}

func TestLive_fits_any_terminal_and_follows_its_size(t *testing.T) {
	s := sit(t, box(t), 60, 15, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("?")
	help := s.sees(`A save runs the tests of the tasks`)
	require.NotContains(t, help, "…", "what does not fit into a row goes on in the next")
	s.types("\x1b[F") // end
	s.sees(`Saves are noticed by`)
	s.mu.Lock()
	s.term.Resize(100, 40)
	s.mu.Unlock()
	require.NoError(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 40, Cols: 100}))
	s.sees(`─{100}`)
	s.mu.Lock()
	s.term.Resize(40, 10)
	s.mu.Unlock()
	require.NoError(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 10, Cols: 40}))
	s.sees(`(?m)^─{40}\s*$`)
	s.types("q")
	require.Equal(t, 0, s.ends())
}

func TestLive_without_colour_says_the_same(t *testing.T) {
	s := sit(t, box(t), 80, 24, []string{"NO_COLOR=1"}, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("q")
	require.Equal(t, 0, s.ends())
	require.NotRegexp(t, `\x1b\[[0-9;]*3[0-7]m`, s.sent(), "no colour is set")
}

func TestLive_ctrl_c_leaves_the_terminal_as_it_was(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("\x03")
	require.Equal(t, 0, s.ends())
	require.Contains(t, s.sent(), "\x1b[?1049l", "back from the alternate screen")
	require.Contains(t, s.sent(), "\x1b[?25h", "the cursor is shown again")
}

// Editing a test is easily done by mistake, and then nothing that the learner writes is right.
func TestLive_tells_of_an_edited_test(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`not written yet`)
	path := filepath.Join(s.root, "01-box", "box_test.go")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(content, "\n// mine\n"...), 0o644))
	s.sees(`Edited: box_test\.go`)
	require.NoError(t, os.Remove(filepath.Join(s.root, "01-box", "box.go")))
	s.sees(`Missing: box\.go`)
}
