package main

// This file opens a line of a file in the learner's editor. Each editor has its own arguments for that.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/tui"
)

// editor returns the command that opens a place of a chapter, such as "store.go:45". Without a place it opens the
// README.
func editor(root string, c course.Chapter, place string) (*tui.Editor, error) {
	words := strings.Fields(os.Getenv("VISUAL"))
	if len(words) == 0 {
		words = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(words) == 0 {
		return nil, errors.New("set VISUAL or EDITOR to the command that starts your editor, such as: export VISUAL='code'")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("start the editor that VISUAL or EDITOR names: %w", err)
	}
	file, line, _ := strings.Cut(place, ":")
	if file == "" {
		file, line = "README.md", "1"
	}
	path := filepath.Join(root, c.Dir, filepath.FromSlash(file))
	args, terminal := lineArgs(strings.TrimSuffix(filepath.Base(words[0]), ".exe"), path, line)
	cmd := exec.Command(words[0], append(words[1:], args...)...)
	cmd.Dir = root
	return &tui.Editor{Cmd: cmd, Terminal: terminal}, nil
}

// lineArgs returns the arguments that open a line, and whether the editor runs in the terminal.
func lineArgs(name, path, line string) (args []string, terminal bool) {
	switch {
	case slices.Contains([]string{"code", "code-insiders", "codium", "cursor", "windsurf"}, name):
		return []string{"--goto", path + ":" + line}, false
	case slices.Contains([]string{"subl", "zed", "gnome-text-editor"}, name):
		return []string{path + ":" + line}, false
	case slices.Contains([]string{"goland", "idea"}, name):
		return []string{"--line", line, path}, false
	case slices.Contains([]string{"hx", "helix"}, name):
		return []string{path + ":" + line}, true
	case slices.Contains([]string{"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "joe"}, name):
		return []string{"+" + line, path}, true
	}
	return []string{path}, true // an unknown editor: most accept a path, and some need the terminal
}
