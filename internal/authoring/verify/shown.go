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
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

// output is one output that a text shows.
type output struct {
	path string // of the text
	at   string // "05-indexer/README.md:84"
	over string // the code that the command runs over

	command, text string
	block         string // comment and code block, as written
}

func shown(r *run) (string, []string) {
	var problems []string
	count, err := r.outputs(func(o output, printed string, err error) error {
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", o.at, err))
			return nil
		}
		problems = append(problems, fmt.Sprintf("%s: `%s` does not print what is shown; over %s it prints:\n%s",
			o.at, o.command, o.over, printed))
		return nil
	})
	if err != nil {
		return "", []string{err.Error()}
	}
	return fmt.Sprintf("%d outputs", count), problems
}

// UpdateShown puts what the commands print today into a chapter's texts, where they show something else. It returns the
// places that it changed.
func UpdateShown(ctx context.Context, root string, c course.Chapter) (changed []string, err error) {
	r := &run{ctx: ctx, root: root, chapter: c}
	_, err = r.outputs(func(o output, printed string, err error) error {
		if err != nil {
			return err
		}
		text, err := os.ReadFile(o.path)
		if err != nil {
			return err
		}
		before, after, ok := strings.Cut(string(text), o.block)
		if !ok {
			return fmt.Errorf("%s: put the comment right above ```console, both at the beginning of a line", o.at)
		}
		changed = append(changed, fmt.Sprintf("%s: $ %s", o.at, o.command))
		block := shownBlock(o.over, "$ "+o.command, strings.TrimRight(printed, "\n"))
		return os.WriteFile(o.path, []byte(before+block+after), 0o644)
	})
	return changed, err
}

// shownBlock writes a comment and the code block below it.
func shownBlock(over string, lines ...string) string {
	return "<!-- shown: " + over + " -->\n```console\n" + strings.Join(lines, "\n") + "\n```\n"
}

// outputs runs the command of each output that the chapter's texts show, and returns how many there are. It calls
// differs for those whose command prints something else, or cannot run.
func (r *run) outputs(differs func(o output, printed string, err error) error) (count int, err error) {
	for _, name := range textsWithOutput {
		path := filepath.Join(r.root, r.chapter.Dir, name)
		doc, err := course.Text(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return count, err
		}
		for _, b := range doc.Blocks {
			if b.Comment == nil || len(b.Info) == 0 || b.Info[0] != "console" || len(b.Lines) == 0 {
				continue
			}
			over, isShown := strings.CutPrefix(b.Comment.Text, "shown: ")
			command, isCommand := strings.CutPrefix(b.Lines[0], "$ ")
			if !isShown || !isCommand {
				continue
			}
			count++
			at := fmt.Sprintf("%s/%s:%d", r.chapter.Dir, name, b.Comment.Line)
			o := output{path, at, over, command, strings.Join(b.Lines[1:], "\n"), shownBlock(over, b.Lines...)}
			if printed, err := r.print(over, command); err != nil || !matches(o.text, printed) {
				if err := differs(o, printed, err); err != nil {
					return count, err
				}
			}
		}
	}
	return count, nil
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
		return r.stubLayer()
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
