// Package commands collects every command that the workshop's texts show, so that a test can run them.
//
// A command is a line of a ```sh block, or a line after "$ " of a ```console block. Comments, and what a line ending in \
// goes on with, are joined as a shell would. What it leaves out: running them (see the tests of this package).
package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is one command and the places that show it.
type Command struct {
	Text   string
	Places []string // "README.md:21"
}

var (
	fence   = regexp.MustCompile("^\\s*```\\s*(\\w*)")
	comment = regexp.MustCompile(`\s+# .*$`)
)

// Texts are the patterns of the files that people read, below the root.
var Texts = []string{"README.md", "docs/*.md", "docs/*/*.md", "0*/README.md", "0*/hints.md", "cluster/README.md"}

// All lists the commands of all texts, in the order in which they are read.
func All(root string) ([]Command, error) {
	var all []Command
	for _, pattern := range Texts {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("read the commands of a text: %w", err)
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			for line, command := range parse(string(text)) {
				place := fmt.Sprintf("%s:%d", filepath.ToSlash(name), line)
				i := slices.IndexFunc(all, func(c Command) bool { return c.Text == command })
				if i < 0 {
					all = append(all, Command{Text: command})
					i = len(all) - 1
				}
				all[i].Places = append(all[i].Places, place)
			}
		}
	}
	return all, nil
}

// parse yields the line and the text of each command.
func parse(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		kind, joined, from := "", "", 0
		for i, line := range strings.Split(text, "\n") {
			line = strings.TrimRight(line, " \r")
			if m := fence.FindStringSubmatch(line); m != nil {
				if kind == "" {
					kind = m[1] + "?" // a block without a language is one, too
				} else {
					kind = ""
				}
				continue
			}
			command, shown := strings.TrimSpace(line), kind == "sh?"
			if kind == "console?" {
				command, shown = strings.CutPrefix(command, "$ ")
				shown = shown || joined != ""
			}
			if !shown || command == "" || strings.HasPrefix(command, "#") {
				continue
			}
			if joined == "" {
				from = i + 1
			}
			if rest, goesOn := strings.CutSuffix(command, `\`); goesOn {
				joined += rest
				continue
			}
			if !yield(from, comment.ReplaceAllString(joined+command, "")) {
				return
			}
			joined = ""
		}
	}
}
