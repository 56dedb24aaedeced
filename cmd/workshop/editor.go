package main

// This file opens a line of a file in the learner's editor. Each editor has its own arguments for that.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/tui"
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

// editor returns the command that opens a place of a chapter, such as "store.go:45". Without a place it opens the
// README.
func (a *app) editor(c progress.Chapter, place string) (*tui.Editor, error) {
	words := strings.Fields(cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), os.Getenv("EDITOR")))
	if len(words) == 0 {
		return nil, errors.New("set VISUAL or EDITOR to the command that starts your editor, such as: export VISUAL='code'")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("start the editor that VISUAL or EDITOR names: %w", err)
	}
	file, line, _ := strings.Cut(cmp.Or(place, "README.md:1"), ":")
	values := strings.NewReplacer("FILE", filepath.Join(a.root, c.Dir, filepath.FromSlash(file)), "LINE", line)
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
