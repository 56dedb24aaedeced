// Package hints reads a chapter's hints.md: under the heading of each task a numbered list, whose items are the rungs that
// climb from where to look to the shape of the thing.
package hints

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	heading = regexp.MustCompile(`^## (?:Bonus task|Task) (\d+): `)
	rung    = regexp.MustCompile(`^\d+\. (.*)$`)
)

// Read returns the rungs of each task of the chapter in dir, by the task's number. Each rung is one line of text; where
// it has paragraphs, they are lines.
func Read(root, dir string) (map[int][]string, error) {
	path := filepath.Join(root, dir, "hints.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the hints: %w", err)
	}
	return parse(string(text)), nil
}

func parse(text string) map[int][]string {
	all := map[int][]string{}
	task := 0
	blank := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if strings.HasPrefix(line, "#") {
			task = 0
			if m := heading.FindStringSubmatch(line); m != nil {
				fmt.Sscan(m[1], &task)
			}
			continue
		}
		rungs := all[task]
		switch m := rung.FindStringSubmatch(line); {
		case task == 0:
		case m != nil:
			all[task] = append(rungs, m[1])
		case line == "" || len(rungs) == 0 || !strings.HasPrefix(line, " "):
		case blank:
			rungs[len(rungs)-1] += "\n" + strings.TrimSpace(line)
		default:
			rungs[len(rungs)-1] += " " + strings.TrimSpace(line)
		}
		blank = line == ""
	}
	return all
}
