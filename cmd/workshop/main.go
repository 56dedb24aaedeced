// Command workshop is the workshop's command line: `go tool workshop`.
//
// This file is the root of its commands, and the commands that run other programs. The other files are named for the
// commands in them, except for app.go, which is what the commands share.
//
// No command imports client-go, so that building the tool takes seconds. A command that needs a chapter's code runs
// `go test`; one that needs a cluster runs the launcher in cluster/, a module of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/launch"
	"client-go-workshop/internal/runner/usage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	var code exitCode
	switch {
	case err == nil:
	case errors.As(err, &code):
		os.Exit(int(code)) // the command has printed why
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "workshop: interrupted")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "workshop:", err)
		os.Exit(usage.ExitCode(err))
	}
}

// exitCode ends the program with a code and without a further message.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "workshop",
		Short: "Re-create client-go, layer by layer",
		Long: `Re-create client-go, layer by layer.

Each numbered folder is a chapter: read its README.md, write the missing code, and
run its tests with plain go test, for instance

    go test ./01-restclient

Without a command, the live view opens. It runs the tests of the current chapter at
each save. To choose a chapter, name it: go tool workshop 05. The labs, which come
after the chapters, have names: labs/README.md lists them. Without a terminal, the
command prints your progress and the next step.`,
		Args: noSuchCommand,
		RunE: newWatch().RunE,
	}
	usage.Set(root, "go tool workshop")
	addCommands(root)
	return root
}

// addCommands adds all commands, in the groups and in the order in which help lists them.
func addCommands(root *cobra.Command) {
	cobra.EnableCommandSorting = false
	groups := []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Work on a chapter:", []*cobra.Command{newWatch(), newList(), newTest(), newPredict(), newHint()}},
		{"After a chapter is green:", []*cobra.Command{newSolution(), newCompare(), newBugs()}},
		{"Start again, or continue elsewhere:", []*cobra.Command{newReset(), newSkip(), newRestore()}},
		{"See it at work:", []*cobra.Command{
			newShow(),
			programCommand("cluster up|down|status|logs|…", "Run a real Kubernetes API on this machine, without Docker",
				launch.Cluster),
			programCommand("kubectl …", "Run kubectl on the workshop's own cluster, never on yours",
				launch.Cluster, "kubectl"),
		}},
		{"More:", []*cobra.Command{
			programCommand("share", "Serve the workshop to a room without internet", launch.Share),
			newProgress(), newCompletion(), newVersion(),
		}},
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	help := newHelp()
	help.GroupID = "More:"
	root.SetHelpCommand(help)
}

// noSuchCommand returns an error for an unknown command, with a suggestion.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if root, err := course.Root("."); err == nil {
		c, task, err := course.FindTask(root, args[0])
		if err == nil && task.Number == 0 && len(args) == 1 {
			return nil // the chapter's live view
		}
		if err == nil {
			return usage.Wrap(fmt.Errorf("there is no command %q. The chapter's live view is: go tool workshop watch %s; "+
				"its tests: go tool workshop test %s", args[0], c.Dir, args[0]))
		}
	}
	cmd.SuggestionsMinimumDistance = 2
	if args[0] == "verify" || args[0] == "generate" {
		return usage.Wrap(fmt.Errorf("%s is for authors of the workshop: go tool author %s", args[0], args[0]))
	}
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return usage.Wrap(fmt.Errorf("there is no command %q. Did you mean: go tool workshop %s?", args[0],
			strings.Join(like, ", or ")))
	}
	return usage.Wrap(fmt.Errorf("there is no command %q. For a list: go tool workshop help", args[0]))
}

// newShow returns the command that shows the pipeline in the browser.
func newShow() *cobra.Command {
	show := programCommand("show [recording.json [another.json]]",
		"Show the pipeline live in the browser: stop, step, break, rewind", launch.Show)
	run := show.RunE
	show.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "--help") || slices.Contains(args, "-h") { // building it takes a minute
			root, err := course.Root(".")
			if err != nil {
				return err
			}
			help, err := os.ReadFile(filepath.Join(root, "cmd", "show", "help.txt"))
			fmt.Fprint(cmd.OutOrStdout(), string(help))
			return err
		}
		return run(cmd, args)
	}
	return show
}

// programCommand returns a command that runs another program in place of this one: the launcher in cluster/, which
// imports nothing of Kubernetes and builds the rest on first use, cmd/share or cmd/show. It returns the program's exit
// code as an error.
func programCommand(use, short string, p launch.Program, first ...string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              short,
		DisableFlagParsing: true, // the program has its own flags, and its own help
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := course.Root(".")
			if err != nil {
				return err
			}
			code, err := p.Run(cmd.Context(), root, append(first, args...)...)
			if err == nil && code != 0 {
				return exitCode(code)
			}
			return err
		},
	}
}
