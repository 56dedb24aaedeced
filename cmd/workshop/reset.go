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
	"client-go-workshop/internal/workspace"
)

func newReset() *cobra.Command {
	var tests, missing bool
	cmd := chapterCommand("reset [chapter]", "Start a chapter again; your code is kept in a backup",
		`Put the untouched stubs of a chapter back. The command copies your code first,
and prints where; "go tool workshop restore" brings it back.

With --tests it puts back the chapter's tests, if you have changed one; with
--missing the stubs of missing files. Both leave everything else as it is.`,
		func(cmd *cobra.Command, a app, args []string) error {
			return changeFolder(cmd, a, args, func(c course.Chapter) (string, workspace.Change, error) {
				if tests {
					change, err := workspace.RestoreTests(a.root, c)
					return "the tests of " + c.Dir + " are unchanged", change, err
				}
				if missing {
					change, err := workspace.ResetMissing(a.root, c)
					return "every file of " + c.Dir + " is there", change, err
				}
				change, err := workspace.Reset(a.root, c)
				return c.Dir + " is untouched", change, err
			})
		})
	cmd.Flags().BoolVar(&tests, "tests", false, "put back the tests, not the stubs")
	cmd.Flags().BoolVar(&missing, "missing", false, "put back only the stubs of missing files")
	cmd.MarkFlagsMutuallyExclusive("tests", "missing")
	return cmd
}

func newSkip() *cobra.Command {
	cmd := chapterCommand("skip chapter", "Put the finished layer in a chapter's place; yours is kept in a backup",
		`Put the finished layer in a chapter's place, so that you can go on with the
next one. The command copies your code first, and prints where; "go tool workshop
restore" brings it back. An untouched chapter needs no copy: "go tool workshop
reset" brings its stubs back.`,
		func(cmd *cobra.Command, a app, args []string) error {
			return changeFolder(cmd, a, args, func(c course.Chapter) (string, workspace.Change, error) {
				change, err := workspace.Skip(a.root, c)
				return c.Dir + " is the finished layer", change, err
			})
		})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 { // it does too much for a default
			return errors.New("name the chapter, such as: go tool workshop skip 05")
		}
		return nil
	}
	return cmd
}

func newRestore() *cobra.Command {
	var list bool
	var name string
	cmd := chapterCommand("restore [chapter]", "Bring back what reset, skip or restore has replaced",
		`Bring a backup of a chapter back: the newest that differs from the present
files, or the one named with --backup. The command copies the present files
first.`,
		func(cmd *cobra.Command, a app, args []string) error {
			if list {
				return listBackups(cmd, a, args)
			}
			return changeFolder(cmd, a, args, func(c course.Chapter) (string, workspace.Change, error) {
				change, from, err := workspace.Restore(a.root, c, name)
				return fmt.Sprintf("%s is as it was at %s", c.Dir, from), change, err
			})
		})
	cmd.Flags().BoolVar(&list, "list", false, "list the backups, and change nothing")
	cmd.Flags().StringVar(&name, "backup", "", "the backup to bring back, as --list names it")
	return cmd
}

func listBackups(cmd *cobra.Command, a app, args []string) error {
	c, _, err := a.pick(args)
	if err != nil {
		return err
	}
	names, err := workspace.Backups(a.root, c.Chapter)
	for _, name := range names {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\t.workshop/backup/%s/%s\n", name, c.Dir, name)
	}
	if err == nil && len(names) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "there is no backup of %s\n", c.Dir)
	}
	return err
}

// changeFolder changes the folder of the chapter that args name, or of the current one, and prints what has changed.
// state is what holds after the change, such as "05-indexer is untouched".
func changeFolder(cmd *cobra.Command, a app, args []string,
	do func(c course.Chapter) (state string, _ workspace.Change, _ error)) error {
	c, _, err := a.pick(args)
	if err != nil {
		return err
	}
	state, change, err := do(c.Chapter)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if change.Nothing() {
		_, err := fmt.Fprintf(out, "%s already; nothing was changed\n", state)
		return err
	}
	fmt.Fprintf(out, "%s now: ", state)
	if len(change.Written) > 0 {
		fmt.Fprintf(out, "wrote %s", strings.Join(change.Written, ", "))
	}
	if len(change.Removed) > 0 {
		fmt.Fprintf(out, "; removed %s", strings.Join(change.Removed, ", "))
	}
	fmt.Fprintln(out)
	if change.Backup != "" {
		fmt.Fprintf(out, "the files from before are in %s", filepath.ToSlash(change.Backup))
		if change.Restorable {
			fmt.Fprintf(out, "; to restore them: go tool workshop restore %s", c.Dir)
		}
		fmt.Fprintln(out)
	}
	return nil
}
