// Command cluster builds, starts, watches and stops a real Kubernetes control
// plane on this machine. People reach it as `go tool workshop cluster …`.
//
// This file: the command tree, Ctrl-C, and exit codes. commands.go: what each
// command does; usage.go: wrong arguments. All else is in packages below cluster/internal; none of them
// imports Kubernetes code, so this program builds in seconds and starts in
// milliseconds.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"client-go-workshop/cluster/internal/launcher"
)

// errInterrupted is the cause of every context that a signal has ended.
var errInterrupted = errors.New("interrupted")

func main() {
	os.Exit(run())
}

// run returns the exit code: 0 done, 1 not done, 2 a wrong argument, 130 interrupted.
func run() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	// SIGHUP: a terminal that is closed in the middle of a start.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel(errInterrupted)
	}()

	err := command().ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(os.Stderr, "Interrupted; what this command had started is stopped.")
		return 130
	case errors.Is(err, launcher.ErrUnwell): // status has told it all
		return 1
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	if _, wrong := errors.AsType[usageError](err); wrong {
		return 2
	}
	return 1
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes API on this machine, built from Go modules",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgument,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "go tool workshop cluster"},
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(upCommand(), downCommand(), statusCommand(), logsCommand(),
		restartCommand(), killCommand(), compactCommand(), buildCommand(), packCommand(),
		fetchCommand(), kubectlCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}
