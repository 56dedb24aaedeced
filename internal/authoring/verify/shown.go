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
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

var shownBlock = regexp.MustCompile("(?s)<!-- shown: ([^>]*?) -->\n```console\n\\$ ([^\n]*)\n(.*?)```\n")

func shown(r *run) (string, []string) {
	count := 0
	var problems []string
	for _, name := range textsWithOutput {
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

// UpdateShown puts what the commands print today into a chapter's texts, where they show something else. It returns the
// places that it changed.
func UpdateShown(ctx context.Context, root string, c course.Chapter) (changed []string, err error) {
	r := &run{ctx: ctx, root: root, chapter: c}
	for _, name := range textsWithOutput {
		path := filepath.Join(root, c.Dir, name)
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return changed, err
		}
		mended := shownBlock.ReplaceAllStringFunc(string(text), func(block string) string {
			m := shownBlock.FindStringSubmatch(block)
			printed, printErr := r.print(m[1], m[2])
			if printErr != nil {
				err = printErr
				return block
			}
			if matches(m[3], printed) {
				return block
			}
			changed = append(changed, fmt.Sprintf("%s/%s: $ %s", c.Dir, name, m[2]))
			return fmt.Sprintf("<!-- shown: %s -->\n```console\n$ %s\n%s\n```\n", m[1], m[2], strings.TrimRight(printed, "\n"))
		})
		if err != nil {
			return changed, err
		}
		if mended == string(text) {
			continue
		}
		if err := os.WriteFile(path, []byte(mended), 0o644); err != nil {
			return changed, fmt.Errorf("update the output shown in %s: %w", path, err)
		}
	}
	return changed, nil
}

// textsWithOutput are the texts of a chapter that may show output.
var textsWithOutput = []string{"README.md", "hints.md"}

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
	// Neither vet, which the truth about stubs has asked, nor what a debugger needs, changes what is printed.
	cmd, err := r.command(layer, "test", append([]string{"-vet=off", "-ldflags=-w -s"}, args...)...)
	if err != nil {
		return "", err
	}
	out, _ := cmd.CombinedOutput() // a failing test is what most texts want to show
	if strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]") {
		return "", fmt.Errorf("`%s` over %s does not compile:\n%s", command, over, out)
	}
	if strings.Contains(string(out), "[no tests to run]") {
		return "", fmt.Errorf("`%s` runs no test", command)
	}
	return downloads.ReplaceAllString(string(out), ""), nil
}

// downloads are what the go command says when a module is used for the first time on a machine.
var downloads = regexp.MustCompile(`(?m)^go: downloading .*\n`)

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
