package verify

// This file compares the output shown in a chapter's texts with what the command prints. A block is checked when a
// comment above it says over which code the command runs:
//
//	<!-- shown: stub -->                          (or: solution, or: bug NAME)
//	```console
//	$ go test ./05-indexer -run Task1
//	--- FAIL: …
//	```
//
// Times are not compared. A line "…" stands for any number of lines.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"client-go-workshop/internal/bugs"
	"client-go-workshop/internal/overlay"
)

var shownBlock = regexp.MustCompile("(?s)<!-- shown: ([^>]*?) -->\n```console\n\\$ ([^\n]*)\n(.*?)```\n")

func shown(r *run) (string, []string) {
	count := 0
	var problems []string
	for _, name := range []string{"README.md", "hints.md"} {
		path := filepath.Join(r.root, r.chapter.Dir, name)
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", []string{err.Error()}
		}
		for _, at := range shownBlock.FindAllStringSubmatchIndex(string(text), -1) {
			part := func(n int) string { return string(text[at[2*n]:at[2*n+1]]) }
			line := 1 + strings.Count(string(text[:at[0]]), "\n")
			count++
			printed, err := r.print(part(1), part(2))
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s/%s:%d: %v", r.chapter.Dir, name, line, err))
			} else if !matches(part(3), printed) {
				problems = append(problems, fmt.Sprintf("%s/%s:%d: `%s` does not print what is shown; over %s it prints:\n%s", r.chapter.Dir, name, line, part(2), part(1), printed))
			}
		}
	}
	return fmt.Sprintf("%d outputs", count), problems
}

// print runs a shown command over the code that the text names.
func (r *run) print(over, command string) (string, error) {
	layer, err := r.named(over)
	if err != nil {
		return "", err
	}
	args, err := testArgs(command)
	if err != nil {
		return "", err
	}
	cmd, err := r.command(layer, "test", args...)
	if err != nil {
		return "", err
	}
	out, _ := cmd.CombinedOutput() // a failing test is what most texts want to show
	return string(out), nil
}

func (r *run) named(over string) (overlay.Layer, error) {
	if name, isBug := strings.CutPrefix(over, "bug "); isBug {
		solution, err := r.solution()
		if err != nil {
			return overlay.Layer{}, err
		}
		all, err := bugs.Load(filepath.Join(r.root, r.chapter.Solution()))
		if err != nil {
			return overlay.Layer{}, err
		}
		for _, b := range all {
			if b.Name == name {
				return b.Apply(solution)
			}
		}
		return overlay.Layer{}, fmt.Errorf("there is no wrong version %q", name)
	}
	switch over {
	case "stub":
		layer, _, err := r.stubLayer()
		return layer, err
	case "solution":
		return r.solution()
	}
	return overlay.Layer{}, fmt.Errorf("a shown output can be over \"stub\", \"solution\" or \"bug NAME\", not %q", over)
}

var times = regexp.MustCompile(`\(cached\)|\(?\b\d+(\.\d+)?m?s\b\)?`)

// matches compares line by line, without times and trailing space.
func matches(wanted, printed string) bool {
	clean := func(s string) []string {
		lines := strings.Split(strings.TrimSpace(times.ReplaceAllString(s, "TIME")), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " \t\r")
		}
		return lines
	}
	return matchLines(clean(wanted), clean(printed))
}

func matchLines(wanted, printed []string) bool {
	switch {
	case len(wanted) == 0:
		return len(printed) == 0
	case strings.TrimSpace(wanted[0]) == "…":
		for skip := 0; skip <= len(printed); skip++ {
			if matchLines(wanted[1:], printed[skip:]) {
				return true
			}
		}
		return false
	case len(printed) == 0 || wanted[0] != printed[0]:
		return false
	}
	return matchLines(wanted[1:], printed[1:])
}
