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
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

// output is one output that a text shows and that its command does not print.
type output struct {
	path          string // of the text
	at            string // "05-indexer/README.md:84"
	over, command string // the command, and the code that it runs over
	block         string // comment and code block, as written
	printed       string
	err           error // why the command cannot run
}

func shown(r *run) (string, []string) {
	var p problems
	differing, count := r.outputs()
	for _, o := range differing {
		if o.err != nil {
			p.add("%s: %v", o.at, o.err)
			continue
		}
		p.add("%s: `%s` does not print what is shown; over %s it prints:\n%s", o.at, o.command, o.over, o.printed)
	}
	return fmt.Sprintf("%d outputs", count), p
}

// UpdateShown puts what the commands print today into a chapter's texts, where they show something else. It returns the
// places that it changed.
func UpdateShown(ctx context.Context, root string, c course.Chapter) (changed []string, err error) {
	defer ended(&err)
	differing, _ := must(run{ctx: ctx, root: root}.of(c)).outputs()
	for _, o := range differing {
		if o.err != nil {
			return changed, o.err
		}
		text := must(os.ReadFile(o.path))
		before, after, ok := strings.Cut(string(text), o.block)
		if !ok {
			return changed, fmt.Errorf("%s: put the comment right above ```console, both at the beginning of a line", o.at)
		}
		block := shownBlock(o.over, "$ "+o.command, strings.TrimRight(o.printed, "\n"))
		if err := os.WriteFile(o.path, []byte(before+block+after), 0o644); err != nil {
			return changed, err
		}
		changed = append(changed, fmt.Sprintf("%s: $ %s", o.at, o.command))
	}
	return changed, nil
}

// shownBlock writes a comment and the code block below it.
func shownBlock(over string, lines ...string) string {
	return "<!-- shown: " + over + " -->\n```console\n" + strings.Join(lines, "\n") + "\n```\n"
}

// outputs runs the command of each output that the chapter's texts, and those for learners, show. It returns those
// whose command prints something else or cannot run, and how many outputs there are.
func (r *run) outputs() (differing []output, count int) {
	for _, name := range textsIn(r.root, r.chapter.Dir+"/README.md", r.chapter.Dir+"/hints.md", "docs/learn/*.md") {
		path := filepath.Join(r.root, name)
		for _, b := range must(course.Text(path)).Blocks {
			if b.Comment == nil || !b.Is("console") || len(b.Lines) == 0 {
				continue
			}
			over, isShown := strings.CutPrefix(b.Comment.Text, "shown: ")
			command, isCommand := strings.CutPrefix(b.Lines[0], "$ ")
			if !isShown || !isCommand || !strings.Contains(command, r.chapter.Dir) {
				continue
			}
			count++
			wanted := strings.Join(b.Lines[1:], "\n")
			fits := func(printed string) bool { return matches(wanted, printed) }
			printed, err := r.print(over, command, fits)
			if err == nil && fits(printed) {
				continue
			}
			at := fmt.Sprintf("%s:%d", name, b.Comment.Line)
			differing = append(differing, output{path, at, over, command, shownBlock(over, b.Lines...), printed, err})
		}
	}
	return differing, count
}

// quotes are those of a shell around a pattern.
var quotes = strings.NewReplacer("'", "", `"`, "")

// print returns what a shown command prints. It keeps what fits.
func (r *run) print(over, command string, fits func(string) bool) (string, error) {
	args, isTest := strings.CutPrefix(command, "go test "+r.pkg())
	if !isTest {
		return "", fmt.Errorf("the command %q is not a go test of %s", command, r.pkg())
	}
	layer, err := r.named(over)
	if err != nil {
		return "", err
	}
	parts := []string{"shown", command, r.inputs.files}
	for _, f := range layer.Files {
		parts = append(parts, string(f.Content)) // comments move lines
	}
	return keep(r, r.key(layer, parts...), fits, func() (string, error) {
		all := append([]string{"-vet=off", "-ldflags=-w -s", r.pkg()}, strings.Fields(quotes.Replace(args))...)
		cmd, err := r.command(layer, "test", all...)
		if err != nil {
			return "", err
		}
		printed, err := cmd.CombinedOutput()
		if r.ctx.Err() != nil {
			return "", fmt.Errorf("run `%s`: %w", command, r.ctx.Err())
		}
		if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			return "", fmt.Errorf("run `%s`: %w", command, err)
		}
		if bytes.Contains(printed, []byte("no tests to run")) {
			return "", fmt.Errorf("`%s` runs no test", command)
		}
		if bytes.Contains(printed, []byte("[build failed]")) { // of a test that its author has not finished
			return "", fmt.Errorf("`%s` does not compile:\n%s", command, printed)
		}
		return string(printed), nil
	})
}

// named returns the layer that a comment in a text names.
func (r *run) named(over string) (overlay.Layer, error) {
	name, isBug := strings.CutPrefix(over, "bug ")
	switch {
	case over == "stub":
		return r.stub, nil
	case over == "solution":
		return r.solution, nil
	case !isBug:
		return overlay.Layer{}, fmt.Errorf("a shown output can be over \"stub\", \"solution\" or \"bug NAME\", not %q", over)
	}
	all := r.sets[0].Bugs
	i := slices.IndexFunc(all, func(b bugs.Bug) bool { return b.Name == name })
	if i < 0 {
		return overlay.Layer{}, fmt.Errorf("there is no wrong version %q", name)
	}
	return all[i].Apply(r.solution)
}

// matches reports whether a command printed the wanted lines, without times and trailing space.
func matches(wanted, printed string) bool {
	pattern := ellipsis.ReplaceAllLiteralString(regexp.QuoteMeta(clean(wanted)), "(?:.*\n)*")
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(clean(printed))
}

// ellipsis is a line that stands for any number of lines.
var ellipsis = regexp.MustCompile(`(?m)^[ \t\r]*…\n`)

var (
	times         = regexp.MustCompile(`\(cached\)|\(?\b\d+(\.\d+)?m?s\b\)?`)
	trailingSpace = regexp.MustCompile(`(?m)[ \t\r]+$`)
)

// clean takes times and trailing space off a text, and ends it with a newline.
func clean(text string) string {
	text = strings.TrimSpace(times.ReplaceAllLiteralString(text, "TIME"))
	return trailingSpace.ReplaceAllLiteralString(text, "") + "\n"
}
