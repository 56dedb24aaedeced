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
	"io/fs"
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
	differing, count, err := r.outputs()
	if err != nil {
		return "", []string{err.Error()}
	}
	var p problems
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
	r := &run{ctx: ctx, root: root, chapter: c}
	differing, _, err := r.outputs()
	if err != nil {
		return nil, err
	}
	for _, o := range differing {
		if o.err != nil {
			return changed, o.err
		}
		text, err := os.ReadFile(o.path)
		if err != nil {
			return changed, err
		}
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

// outputs runs the command of each output that the chapter's texts show. It returns those whose command prints
// something else or cannot run, and how many outputs there are.
func (r *run) outputs() (differing []output, count int, err error) {
	names, err := r.texts()
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		path := filepath.Join(r.root, name)
		doc, err := course.Text(path)
		if err != nil {
			return nil, 0, err
		}
		for _, b := range doc.Blocks {
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
			printed, err := r.printKept(over, command, fits)
			if err == nil && fits(printed) {
				continue
			}
			at := fmt.Sprintf("%s:%d", name, b.Comment.Line)
			differing = append(differing, output{path, at, over, command, shownBlock(over, b.Lines...), printed, err})
		}
	}
	return differing, count, nil
}

// texts returns the texts that may show an output of the chapter, relative to the root: its own, and those for
// learners.
func (r *run) texts() ([]string, error) {
	var names []string
	for _, pattern := range []string{r.chapter.Dir + "/README.md", r.chapter.Dir + "/hints.md", "docs/learn/*.md"} {
		found, err := fs.Glob(os.DirFS(r.root), pattern)
		if err != nil {
			return nil, fmt.Errorf("look for texts: %w", err)
		}
		names = append(names, found...)
	}
	return names, nil
}

// printKept returns what a shown command prints. It keeps what fits.
func (r *run) printKept(over, command string, fits func(string) bool) (string, error) {
	layer, err := r.named(over)
	if err != nil {
		return "", err
	}
	pattern := "."
	if _, run, chooses := strings.Cut(command, " -run "); chooses {
		pattern, _, _ = strings.Cut(strings.Trim(strings.Fields(run)[0], "'"), "/") // without subtests
	}
	what := fmt.Sprintf("shown %s %s %s", command, r.inputs.matching(pattern), rawSum(layer)) // comments move lines
	return keep(r, what, []overlay.Layer{layer}, fits, func() (string, error) {
		if printed, ok := r.printBuilt(over, command); ok && fits(printed) {
			return printed, nil
		}
		return r.print(over, command)
	})
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

// printBuilt returns what a command would print, by a program that other truths have built of the same code. ok is
// false if there is none. The text in a program that was built for itself counts, if this one is not as shown.
func (r *run) printBuilt(over, command string) (printed string, ok bool) {
	args, err := testArgs(command)
	switch {
	case err != nil:
		return "", false
	case len(args) == 1 && args[0] == r.pkg():
		args = append(args, "-run", ".")
	case !r.onlyPattern(args):
		return "", false
	}
	built, bug := program{}, strings.TrimPrefix(over, "bug ")
	if over == "stub" {
		built, err = r.stubProgram()
	} else {
		if r.wrong == nil || bug == over && over != "solution" || bug != over && !r.wrong.has[bug] {
			return "", false
		}
		built = r.wrong.program
	}
	if err != nil {
		return "", false
	}
	cmd := exec.CommandContext(r.ctx, built.path, "-test.run="+args[2], "-test.timeout=120s", "-test.paniconexit0")
	cmd.Dir = filepath.Join(r.root, r.chapter.Dir)
	cmd.Env = append(os.Environ(), chosenBug+"="+strings.TrimPrefix(bug, "solution"))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return fmt.Sprintf("ok  \tclient-go-workshop/%s\t0.0s\n", r.chapter.Dir), true
	}
	return fmt.Sprintf("%sFAIL\tclient-go-workshop/%s\t0.0s\nFAIL\n", out, r.chapter.Dir), true
}

// downloads are what the go command says when a module is used for the first time on a machine.
var downloads = regexp.MustCompile(`(?m)^go: downloading .*\n`)

// named returns the layer that a comment in a text names.
func (r *run) named(over string) (overlay.Layer, error) {
	name, isBug := strings.CutPrefix(over, "bug ")
	switch {
	case over == "stub":
		return r.stubLayer()
	case over == "solution":
		return r.solution()
	case !isBug:
		return overlay.Layer{}, fmt.Errorf("a shown output can be over \"stub\", \"solution\" or \"bug NAME\", not %q", over)
	}
	sets, err := bugs.Sets(r.root, r.chapter)
	if err != nil {
		return overlay.Layer{}, err
	}
	all := sets[0].Bugs
	i := slices.IndexFunc(all, func(b bugs.Bug) bool { return b.Name == name })
	if i < 0 {
		return overlay.Layer{}, fmt.Errorf("there is no wrong version %q", name)
	}
	return all[i].Apply(sets[0].Code)
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
