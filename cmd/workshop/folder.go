package main

// This file is what changes a chapter's folder, or looks at the finished code: `workshop reset`, `skip`, `restore` and
// `solution`. The folder itself is package workfolder's.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

func newReset() *cobra.Command {
	var tests, missing bool
	cmd := &cobra.Command{
		Use:   "reset [chapter]",
		Short: "Start a chapter anew; what you wrote is kept in a backup",
		Long: `Put the untouched stubs of a chapter back. What you wrote is copied first, and
the command says where to; "go tool workshop restore" brings it back.

With --tests it puts back the chapter's tests, if you have changed one; with
--missing the stubs of files that are gone. Both leave all else as it is.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeFolder(cmd, args, func(root string, c course.Chapter) (string, workspace.Change, error) {
				if tests {
					change, err := workspace.RestoreTests(root, c)
					return "the tests of " + c.Dir + " are as they were made", change, err
				}
				if missing {
					change, err := workspace.ResetMissing(root, c)
					return "every file of " + c.Dir + " is there", change, err
				}
				change, err := workspace.Reset(root, c)
				return c.Dir + " is untouched", change, err
			})
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "put back the tests, not the stubs")
	cmd.Flags().BoolVar(&missing, "missing", false, "put back only the stubs of files that are gone")
	cmd.MarkFlagsMutuallyExclusive("tests", "missing")
	return cmd
}

func newSkip() *cobra.Command {
	return &cobra.Command{
		Use:   "skip chapter",
		Short: "Put the finished layer in a chapter's place; yours is kept in a backup",
		Long: `Put the finished layer in a chapter's place, so that you can go on with the
next one. What you wrote is copied first, and the command says where to;
"go tool workshop restore" brings it back. Of an untouched chapter there is nothing
to copy; "go tool workshop reset" makes its stubs anew.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 { // too much to do by a slip
				return errors.New("say which chapter, such as: go tool workshop skip 05")
			}
			return nil
		},
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeFolder(cmd, args, func(root string, c course.Chapter) (string, workspace.Change, error) {
				change, err := workspace.Skip(root, c)
				return c.Dir + " is the finished layer", change, err
			})
		},
	}
}

func newRestore() *cobra.Command {
	var list bool
	var name string
	cmd := &cobra.Command{
		Use:   "restore [chapter]",
		Short: "Bring back what reset, skip or restore has replaced",
		Long: `Bring a backup of a chapter back: the newest that is not what is there now, or
the one named with --backup. What is there now is copied first.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				d, err := sitDown(cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				c, _, err := d.pick(args)
				if err != nil {
					return err
				}
				names, err := workspace.Backups(d.root, c.Chapter)
				for _, name := range names {
					fmt.Fprintf(cmd.OutOrStdout(), "%s\t.workshop/backup/%s/%s\n", name, c.Dir, name)
				}
				if err == nil && len(names) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "there is no backup of %s\n", c.Dir)
				}
				return err
			}
			return changeFolder(cmd, args, func(root string, c course.Chapter) (string, workspace.Change, error) {
				change, from, err := workspace.Restore(root, c, name)
				return fmt.Sprintf("%s is as it was at %s", c.Dir, from), change, err
			})
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the backups, and change nothing")
	cmd.Flags().StringVar(&name, "backup", "", "the backup to bring back, as --list names it")
	return cmd
}

// changeFolder runs a change on the chapter that args name, or the one we are at, and says what was done.
func changeFolder(cmd *cobra.Command, args []string, do func(root string, c course.Chapter) (string, workspace.Change, error)) error {
	d, err := sitDown(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	c, _, err := d.pick(args)
	if err != nil {
		return err
	}
	said, change, err := do(d.root, c.Chapter)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if change.Nothing() {
		_, err := fmt.Fprintf(out, "%s already; nothing was changed\n", said)
		return err
	}
	fmt.Fprintf(out, "%s now: ", said)
	if len(change.Written) > 0 {
		fmt.Fprintf(out, "wrote %s", strings.Join(change.Written, ", "))
	}
	if len(change.Removed) > 0 {
		fmt.Fprintf(out, "; took away %s", strings.Join(change.Removed, ", "))
	}
	fmt.Fprintln(out)
	if change.Backup != "" {
		fmt.Fprintf(out, "what was there is in %s", filepath.ToSlash(change.Backup))
		if change.Restorable {
			fmt.Fprintf(out, "; to have it back: go tool workshop restore %s", c.Dir)
		}
		fmt.Fprintln(out)
	}
	return nil
}

func newSolution() *cobra.Command {
	var showDiff, yes bool
	cmd := &cobra.Command{
		Use:   "solution [chapter]",
		Short: "What to take away from a finished chapter, and the solution beside your code",
		Long: `What to take away from a chapter, what its hints said, and where the finished
code is; with --diff, how it differs from yours. While a chapter is not green it
asks first.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := sitDown(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c, err := d.finished(args)
			if err != nil {
				return err
			}
			if !c.Done() && !c.Skipped && !yes {
				if err := ask(cmd, fmt.Sprintf("%s is not green yet, as far as is known. See the solution anyway?", c.Dir)); err != nil {
					return err
				}
			}
			if showDiff {
				text, err := diffToSolution(d.root, c.Chapter)
				if err != nil {
					return err
				}
				return style.Fprint(cmd.OutOrStdout(), paintDiff(text))
			}
			lines, err := takeaway(d.root, c.Chapter, min(columns(cmd.OutOrStdout()), 100))
			if err != nil {
				return err
			}
			return style.Fprint(cmd.OutOrStdout(), strings.Join(lines, "\n")+"\n")
		},
	}
	cmd.Flags().BoolVar(&showDiff, "diff", false, "show how the solution differs from your code")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// finished picks the chapter that args name; without one, the chapter before the one we are at if we have just begun
// there, because that is the one just finished.
func (d desk) finished(args []string) (progress.Chapter, error) {
	c, _, err := d.pick(args)
	if err != nil || len(args) > 0 {
		return c, err
	}
	for i, other := range d.chapters {
		if other.Dir == c.Dir && i > 0 && c.Untouched && d.chapters[i-1].Done() {
			return d.chapters[i-1], nil
		}
	}
	return c, nil
}

// ask asks a question that is answered with yes or no, on a terminal. Without one the answer is a flag's business.
func ask(cmd *cobra.Command, question string) error {
	if f, ok := cmd.InOrStdin().(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return fmt.Errorf("%s Add --yes for that", question)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	answer, err := readLine(cmd.Context(), cmd.InOrStdin())
	switch {
	case cmd.Context().Err() != nil:
		return err
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read the answer: %w", err)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		fmt.Fprintln(cmd.ErrOrStderr(), "Then not.")
		return exitCode(1)
	}
	return nil
}

// takeaway lays out what is worth knowing after a chapter.
func takeaway(root string, c course.Chapter, width int) ([]string, error) {
	text, err := course.Section(root, c, "What to take away")
	if err != nil {
		return nil, err
	}
	out := []string{style.Strong(c.Title), "", style.Key("What to take away")}
	out = append(out, prose(text, width)...)
	byTask, err := course.Hints(root, c.Dir)
	if err != nil {
		return nil, err
	}
	out = append(out, "", style.Key("What the last hint of each task said"))
	for _, t := range c.Tasks {
		if rungs := byTask[t.Number]; len(rungs) > 0 {
			out = append(out, prose(fmt.Sprintf("%d  %s", t.Number, strings.ReplaceAll(rungs[len(rungs)-1], "\n", " ")), width)...)
		}
	}
	beyond, err := course.Section(root, c, "Read the real one")
	if err != nil {
		return nil, err
	}
	paragraphs := strings.Split(strings.TrimSpace(beyond), "\n\n")
	out = append(out, "", style.Key("What client-go does beyond it"))
	out = append(out, prose(paragraphs[len(paragraphs)-1], width)...)
	return append(out, "",
		"  the path through client-go   "+c.Dir+"/README.md#read-the-real-one",
		"  the finished code            "+filepath.ToSlash(c.Solution()),
		"  how it differs from yours    go tool workshop solution "+c.Dir+" --diff",
		"  lines, speed, allocations    go tool workshop compare "+c.Dir,
		"  find the bug                 go tool workshop bugs "+c.Dir), nil
}

// prose wraps Markdown for a terminal: paragraphs, and links by their text.
func prose(text string, width int) (out []string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out = append(out, "")
		}
		item := ""
		flush := func() {
			if item != "" {
				out = append(out, style.Wrap("  "+item, width)...)
			}
			item = ""
		}
		for line := range strings.Lines(paragraph) {
			line = strings.TrimSpace(course.PlainLinks(line))
			if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "|") {
				flush()
			}
			item = strings.TrimSpace(item + " " + line)
		}
		flush()
	}
	return out
}

// diffToSolution compares the learner's files with the solution's, file by file.
func diffToSolution(root string, c course.Chapter) (string, error) {
	var b strings.Builder
	paths, err := filepath.Glob(filepath.Join(root, c.Solution(), "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		theirs, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the solution: %w", err)
		}
		theirs = stub.WithoutMarks(theirs)
		yours, err := os.ReadFile(filepath.Join(root, c.Dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("read your code: %w", err)
		}
		b.Write(diff.Diff("yours/"+name, stub.WithoutMarks(yours), "solution/"+name, theirs))
	}
	if b.Len() == 0 {
		return "Your code and the solution are the same.\n", nil
	}
	return b.String(), nil
}

func paintDiff(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		plain := strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "diff "):
			plain = style.Strong(plain)
		case strings.HasPrefix(line, "-"):
			plain = style.Bad(plain)
		case strings.HasPrefix(line, "+"):
			plain = style.Good(plain)
		case strings.HasPrefix(line, "@@"):
			plain = style.Key(plain)
		}
		b.WriteString(plain + "\n")
	}
	return b.String()
}
