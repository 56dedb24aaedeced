// Package author is the command line of those who change the workshop: `go tool author`. cmd/author is its program; the
// tests of the learner's command line use it too. What it proves and makes is in the packages beside it.
package author

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/authoring/performance"
	"client-go-workshop/internal/runner/usage"
)

// Main runs the command line in os.Args, and exits.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newRoot().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
		return
	case interrupted:
		fmt.Fprintln(os.Stderr, "author: interrupted")
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, "author:", err)
	os.Exit(usage.ExitCode(err))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "author",
		Short: "Prove and generate what the workshop says about itself",
		Long: `Prove and generate what the workshop says about itself. This is for those who change
the workshop; to work on a chapter, use go tool workshop.`,
	}
	usage.Set(root, "go tool author")
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newVerify(), newGenerate(), newMutate(), newPerformance())
	return root
}

func newPerformance() *cobra.Command {
	return &cobra.Command{
		Use:   "performance FOLDER < bench.txt",
		Short: "Write the tables and the picture of docs/learn/performance.md",
		Long: `Write the tables and the picture of docs/learn/performance.md from the output of
benchmarks. FOLDER is docs. The output of all packages is one input, because the
picture shows several. It runs no benchmark: run them on a quiet machine.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return performance.Write(args[0], cmd.InOrStdin()) },
	}
}
