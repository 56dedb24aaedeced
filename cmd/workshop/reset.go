package main

// This file is the commands that change a chapter's folder: `workshop reset`, `skip` and `restore`. Package workspace
// does the work.

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/usage"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

func newReset() *cobra.Command {
	var tests, missing, bare bool
	cmd := chapterCommand("reset [chapter]", "Put the stubs back, with --bare only the names, after a backup",
		`Put the original stubs of a chapter back. The command first copies your code, and
prints the folder of the copy. "go tool workshop restore" brings your code back.

With --bare it leaves only the exported names of the chapter and their comments.
You then design fields, helper functions and files: the tests see exported names
only.

With --tests it puts back the chapter's tests, if you have changed one. With
--missing it puts back the stubs of missing files. Both change nothing else.`,
		func(a *app, c progress.Chapter, task course.Task) ([]string, error) {
			do, state := workspace.Reset, c.Dir+" is untouched"
			switch {
			case bare:
				return a.resetBare(c, task)
			case tests:
				do, state = workspace.RestoreTests, "the tests of "+c.Dir+" are unchanged"
			case missing:
				do, state = workspace.ResetMissing, "every file of "+c.Dir+" is there"
			}
			change, err := do(a.root, c.Chapter)
			if err == nil && !tests && !missing && !change.Nothing() {
				err = progress.Update(a.root, func(f *progress.File) { f.StartAgain(c.Chapter) })
			}
			return describe(c, state, change, err)
		})
	cmd.Flags().BoolVar(&bare, "bare", false, "leave only the exported names, and design the rest yourself")
	cmd.Flags().BoolVar(&tests, "tests", false, "put back the tests, not the stubs")
	cmd.Flags().BoolVar(&missing, "missing", false, "put back only the stubs of missing files")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if bare && (tests || missing) || tests && missing {
			return usage.Wrap(errors.New("choose one of --bare, --tests and --missing: each puts something else back"))
		}
		return nil
	}
	return cmd
}

// resetBare puts the bare stub of a chapter in place.
func (a *app) resetBare(c progress.Chapter, task course.Task) ([]string, error) {
	if a.named && task.Number > 0 {
		return nil, fmt.Errorf("--bare is for a whole chapter, because its tasks share one design; without the task: "+
			"go tool workshop reset %s --bare", c.Dir)
	}
	change, err := workspace.ResetBare(a.root, c.Chapter)
	out, err := describe(c, c.Dir+" is bare", change, err)
	if err != nil {
		return nil, err
	}
	return append(out, "it has the exported names and what their comments promise; the ordinary stubs: go tool workshop "+
		"reset "+c.Dir), nil
}

func newSkip() *cobra.Command {
	cmd := chapterCommand("skip chapter", "Replace a chapter by its finished layer, after a backup",
		`Replace a chapter by its finished layer, so that you can continue with the next one.
The command first copies your code, and prints the folder of the copy. "go tool
workshop restore" brings your code back. The command does not copy an untouched
chapter: "go tool workshop reset" brings its stubs back.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			change, err := workspace.Skip(a.root, c.Chapter)
			return describe(c, c.Dir+" is the finished layer", change, err)
		})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 { // it does too much for a default
			return usage.Wrap(errors.New("name one chapter, such as: go tool workshop skip 05"))
		}
		return nil
	}
	return cmd
}

func newRestore() *cobra.Command {
	var list bool
	var name string
	cmd := chapterCommand("restore [chapter]", "Bring back the code that reset, skip or restore has replaced",
		`Bring a backup of a chapter back: the newest that differs from the present files, or
the one that --backup names. The command first copies the present files.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			if !list {
				change, from, err := workspace.Restore(a.root, c.Chapter, name)
				return describe(c, fmt.Sprintf("%s is as it was at %s", c.Dir, from), change, err)
			}
			names, err := workspace.Backups(a.root, c.Chapter)
			for i, name := range names {
				names[i] = fmt.Sprintf("%s\t.workshop/backup/%s/%s", name, c.Dir, name)
			}
			if err == nil && len(names) == 0 {
				names = []string{"there is no backup of " + c.Dir}
			}
			return names, err
		})
	cmd.Flags().BoolVar(&list, "list", false, "list the backups, and change nothing")
	cmd.Flags().StringVar(&name, "backup", "", "the backup to bring back, as --list names it")
	return cmd
}

// describe returns what a command has changed in a chapter's folder, unless it returned an error. state is what holds
// after the change, such as "05-indexer is untouched".
func describe(c progress.Chapter, state string, change workspace.Change, err error) ([]string, error) {
	switch {
	case err != nil:
		return nil, err
	case change.Nothing():
		return []string{state + " already; nothing was changed"}, nil
	}
	var parts []string
	if len(change.Written) > 0 {
		parts = append(parts, "wrote "+strings.Join(change.Written, ", "))
	}
	if len(change.Removed) > 0 {
		parts = append(parts, "removed "+strings.Join(change.Removed, ", "))
	}
	out := []string{state + " now: " + strings.Join(parts, "; ")}
	if change.Backup != "" {
		where := "the files from before are in " + filepath.ToSlash(change.Backup)
		if change.Restorable {
			where += "; to restore them: go tool workshop restore " + c.Dir
		}
		out = append(out, where)
	}
	return out, nil
}
