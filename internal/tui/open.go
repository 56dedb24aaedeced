package tui

// This file gives the terminal away: to the learner's editor, to the debugger delve, and to the programs to predict.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/failure"
)

// editors are the programs whose arguments are known. In them FILE and LINE stand for the place.
var editors = []struct {
	names, args string
	terminal    bool // the editor runs in the terminal
}{
	{"code code-insiders codium cursor windsurf", "--goto FILE:LINE", false},
	{"subl zed gnome-text-editor", "FILE:LINE", false},
	{"goland idea", "--line LINE FILE", false},
	{"hx helix", "FILE:LINE", true},
	{"vi vim nvim nano emacs emacsclient micro joe", "+LINE FILE", true},
}

// edit opens a line in the learner's editor.
func edit(line func(*Model) failure.Position) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		words := strings.Fields(cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), os.Getenv("EDITOR")))
		if len(words) == 0 {
			m.message = "set VISUAL or EDITOR to the command that starts your editor, such as: export VISUAL='code'"
			return nil
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			m.message = "start the editor that VISUAL or EDITOR names: " + err.Error()
			return nil
		}
		at := line(m)
		place := strings.NewReplacer("FILE", m.path(at.File), "LINE", fmt.Sprint(at.Line))
		args, terminal := "FILE", true // an unknown editor: most accept a path, and some need the terminal
		for _, e := range editors {
			if slices.Contains(strings.Fields(e.names), strings.TrimSuffix(filepath.Base(words[0]), ".exe")) {
				args, terminal = e.args, e.terminal
			}
		}
		for arg := range strings.FieldsSeq(args) {
			words = append(words, place.Replace(arg))
		}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = m.root
		if terminal {
			return m.inTerminal("open the editor", onTerminal(cmd, ""))
		}
		return func() tea.Msg { return failedTo("open the editor", cmd.Run()) }
	}
}

// path returns the path of a file that is relative to the workshop's root.
func (m *Model) path(file string) string { return filepath.Join(m.root, filepath.FromSlash(file)) }

func failedTo(attempt string, err error) change {
	if err != nil {
		err = fmt.Errorf("%s: %w", attempt, err)
	}
	return showError(err)
}

// debug runs the test on the screen in delve, up to the line that has failed.
func (m *Model) debug() tea.Cmd {
	f, ok := m.shown()
	if !ok {
		return showError(errors.New("no failed test is on the screen"))(m)
	}
	if _, err := exec.LookPath("dlv"); err != nil {
		m.message = "delve is not installed. To install it: go install github.com/go-delve/delve/cmd/dlv@latest"
		return nil
	}
	commands := "continue\n"
	if _, test := m.placesOf(f); test.File != "" {
		commands = fmt.Sprintf("break %s:%d\n", m.path(test.File), test.Line) + commands
	}
	script := m.path(".workshop/delve")
	err := os.MkdirAll(filepath.Dir(script), 0o755)
	if err = cmp.Or(err, os.WriteFile(script, []byte(commands), 0o644)); err != nil {
		return failedTo("write the commands for delve", err)(m)
	}
	name, _, _ := strings.Cut(f.Test, "/")
	cmd := exec.Command("dlv", "test", "./"+m.chapter.Dir, "--init", script, "--", "-test.run", "^"+name+"$")
	cmd.Dir = m.root
	cmd.Env = append(os.Environ(), env.TestLimit+"=24h") // a person who looks at variables takes longer than a test may
	first := "$ " + strings.Join(cmd.Args, " ") +
		"\nDelve compiles client-go without optimization. The first time this takes some minutes.\n"
	return m.inTerminal("run delve", onTerminal(cmd, first))
}

// predict shows the programs of the task to predict.
func (m *Model) predict() tea.Cmd {
	c, t := m.chapter, m.current()
	return m.inTerminal("predict", func() error { return m.workshop.Predict(c, t) })
}

// inTerminal runs a function that has the terminal for itself. The model receives no message meanwhile, so a run of the
// tests ends before, and begins again afterwards.
func (m *Model) inTerminal(attempt string, do foreground) tea.Cmd {
	interrupted := m.running
	m.stopRun()
	return tea.Exec(do, func(err error) tea.Msg {
		return change(func(m *Model) tea.Cmd {
			if failedTo(attempt, err)(m); interrupted {
				return m.start()
			}
			return nil
		})
	})
}

// onTerminal returns a function that runs a command, after a text.
func onTerminal(cmd *exec.Cmd, first string) foreground {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return func() error {
		fmt.Print(first)
		return cmd.Run()
	}
}

// foreground implements tea.ExecCommand.
type foreground func() error

func (foreground) SetStdin(io.Reader)  {}
func (foreground) SetStdout(io.Writer) {}
func (foreground) SetStderr(io.Writer) {}

func (do foreground) Run() error {
	err := do()
	for stacks := make([]byte, 1<<20); bytes.Contains(stacks[:runtime.Stack(stacks, true)], drawing); {
		time.Sleep(time.Millisecond)
	}
	return err
}

// drawing is the goroutine that draws the screen, in a stack trace. Bubble Tea has told it to end, and does not wait
// for it (v2.1.1, issue 1778 there): it would stop the ticker that the next one has started, and freeze the screen.
var drawing = []byte("bubbletea/v2.(*Program).startRenderer.func")
