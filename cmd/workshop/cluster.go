package main

// This file is `workshop cluster`, `workshop kubectl` and `workshop share`. They run other programs: the launcher in
// cluster/, which imports nothing of Kubernetes and builds the rest on first use, and cmd/share.

import (
	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/launch"
)

func newCluster() *cobra.Command {
	return programCommand("cluster up|down|status|logs|…", "Run a real Kubernetes API on this machine, without Docker",
		launch.Cluster)
}

func newKubectl() *cobra.Command {
	return programCommand("kubectl …", "Run kubectl on the workshop's own cluster, never on yours",
		launch.Cluster, "kubectl")
}

func newShare() *cobra.Command {
	return programCommand("share", "Serve the workshop to a room without internet", launch.Share)
}

// programCommand returns a command that runs another program in place of this one, and returns its exit code as an
// error.
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
