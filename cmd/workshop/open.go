package main

// This file starts other programs for the live view: the learner's editor, and the debugger delve. It also returns the
// text of a task.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
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

// editor returns the command that opens a line of a file. The file is relative to the workshop's root.
func (a *app) editor(at failure.Position) (*tui.Editor, error) {
	words := strings.Fields(cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), os.Getenv("EDITOR")))
	if len(words) == 0 {
		return nil, errors.New("set VISUAL or EDITOR to the command that starts your editor, such as: export VISUAL='code'")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("start the editor that VISUAL or EDITOR names: %w", err)
	}
	values := strings.NewReplacer("FILE", filepath.Join(a.root, filepath.FromSlash(at.File)), "LINE", fmt.Sprint(at.Line))
	args, terminal := "FILE", true // an unknown editor: most accept a path, and some need the terminal
	for _, e := range editors {
		if slices.Contains(strings.Fields(e.names), strings.TrimSuffix(filepath.Base(words[0]), ".exe")) {
			args, terminal = e.args, e.terminal
		}
	}
	for arg := range strings.FieldsSeq(args) {
		words = append(words, values.Replace(arg))
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = a.root
	return &tui.Editor{Cmd: cmd, Terminal: terminal}, nil
}

// debugger returns the command that runs a failed test in delve, up to the line of the test that has failed.
func (a *app) debugger(c progress.Chapter, f failure.Failure) (*tui.Editor, error) {
	if _, err := exec.LookPath("dlv"); err != nil {
		return nil, errors.New("delve is not installed. To install it: go install github.com/go-delve/delve/cmd/dlv@latest")
	}
	commands := "continue\n"
	if _, test := runner.Places(a.root, c.Chapter, f); test.File != "" {
		commands = fmt.Sprintf("break %s:%d\n", filepath.Join(a.root, filepath.FromSlash(test.File)), test.Line) + commands
	}
	script := filepath.Join(a.root, ".workshop", "delve")
	err := os.MkdirAll(filepath.Dir(script), 0o755)
	if err = cmp.Or(err, os.WriteFile(script, []byte(commands), 0o644)); err != nil {
		return nil, fmt.Errorf("write the commands for delve: %w", err)
	}
	name, _, _ := strings.Cut(f.Test, "/")
	cmd := exec.Command("dlv", "test", "./"+c.Dir, "--init", script, "--", "-test.run", "^"+name+"$")
	cmd.Dir = a.root
	cmd.Env = append(os.Environ(), env.TestLimit+"=24h") // a person who looks at variables takes longer than a test may
	says := "$ " + strings.Join(cmd.Args, " ") +
		"\nDelve compiles client-go without optimization. The first time this takes some minutes."
	return &tui.Editor{Cmd: cmd, Terminal: true, Says: says}, nil
}

// taskText returns the text of a task from the chapter's README, without the folded answers.
func (a *app) taskText(c progress.Chapter, t progress.TaskState, width int) ([]string, error) {
	lines, err := course.TaskText(a.root, c.Chapter, t.Task)
	return append([]string{style.Strong(t.Title), ""}, style.Wrap(strings.Join(lines, "\n"), min(width, 120))...), err
}
