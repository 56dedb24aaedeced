package main

// This file is `workshop solution`: what to take away from a chapter, and how the solution differs from the learner's
// code.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/style"
)

func newSolution() *cobra.Command {
	var showDiff, yes bool
	cmd := chapterCommand("solution [chapter]",
		"What to take away from a finished chapter, and the solution beside your code",
		`What to take away from a chapter, its last hints, and where the finished code
is; with --diff, how it differs from yours. It asks first if the chapter is not
green.`,
		func(cmd *cobra.Command, a app, args []string) error {
			c, err := a.pickFinished(args)
			if err != nil {
				return err
			}
			if !c.Done() && !c.Skipped && !yes {
				question := c.Dir + " is not green yet, as far as is known. See the solution anyway?"
				if err := confirm(cmd, question); err != nil {
					return err
				}
			}
			if showDiff {
				text, err := diffToSolution(a.root, c.Chapter)
				if err != nil {
					return err
				}
				return style.Fprint(cmd.OutOrStdout(), colourDiff(text))
			}
			lines, err := takeaway(a.root, c.Chapter, min(columns(cmd.OutOrStdout()), 100))
			if err != nil {
				return err
			}
			return printLines(cmd, lines...)
		})
	cmd.Flags().BoolVar(&showDiff, "diff", false, "show how the solution differs from your code")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// takeaway returns what is worth knowing after a chapter.
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
			last := strings.ReplaceAll(rungs[len(rungs)-1], "\n", " ")
			out = append(out, prose(fmt.Sprintf("%d  %s", t.Number, last), width)...)
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

// prose wraps Markdown for a terminal. Links become their text.
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
	solution, err := overlay.ReadDir(c.Dir, "solution", filepath.Join(root, c.Solution()))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range solution.Files {
		yours, err := os.ReadFile(filepath.Join(root, c.Dir, f.Name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("read your code: %w", err)
		}
		b.Write(diff.Diff("yours/"+f.Name, stub.WithoutMarks(yours), "solution/"+f.Name, stub.WithoutMarks(f.Content)))
	}
	if b.Len() == 0 {
		return "Your code and the solution are the same.\n", nil
	}
	return b.String(), nil
}

func colourDiff(text string) string {
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
