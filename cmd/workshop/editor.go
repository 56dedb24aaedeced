package main

// This file opens a place in the learner's editor. Each editor has its own way to be told a line.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/tui"
	"client-go-workshop/internal/workspace"
)

// editor makes the command that opens place ("store.go:45") of a chapter. Without a place it is the chapter's README.
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

// lineArgs is how an editor is told a line, and whether it runs in the terminal.
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
	return []string{path}, true // unknown to us; most take a path, and some the terminal
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)

// notes are things about a chapter's folder that explain failures which would be hard to understand.
func notes(root string, c course.Chapter) (out []string) {
	if edited, err := workspace.EditedTests(root, c); err == nil && len(edited) > 0 {
		out = append(out, fmt.Sprintf("Not as made: %s. To have the tests back: go tool workshop reset --tests %s", strings.Join(edited, ", "), c.Dir))
	}
	missing, wrong := workspace.Odd(root, c, func(content []byte) string {
		if m := packageClause.FindSubmatch(content); m != nil {
			return string(m[1])
		}
		return ""
	})
	if len(missing) > 0 {
		out = append(out, fmt.Sprintf("Gone: %s. To have the stub back, and all else as it is: go tool workshop reset --missing %s", strings.Join(missing, ", "), c.Dir))
	}
	for _, name := range wrong {
		out = append(out, fmt.Sprintf("%s does not begin with \"package %s\", which the tests import", name, c.Package()))
	}
	return out
}
