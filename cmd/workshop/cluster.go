package main

// This file is `workshop cluster`, `workshop kubectl` and `workshop share`. They run other programs: the launcher in
// cluster/, which imports nothing of Kubernetes and builds the rest on first use, and cmd/share.

import (
	"github.com/spf13/cobra"

	"client-go-workshop/internal/runner/launch"
)

func newCluster() *cobra.Command {
	return &cobra.Command{
		Use:                "cluster up|down|status|logs|…",
		Short:              "Run a real Kubernetes API on this machine, without Docker",
		DisableFlagParsing: true, // the launcher has its own flags, and its own help
		RunE:               func(cmd *cobra.Command, args []string) error { return runProgram(cmd, launch.Cluster, args...) },
	}
}

func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl …",
		Short:              "Run kubectl on the workshop's own cluster, never on yours",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runProgram(cmd, launch.Cluster, append([]string{"kubectl"}, args...)...)
		},
	}
}

func newShare() *cobra.Command {
	return &cobra.Command{
		Use:                "share",
		Short:              "Serve the workshop to a room without internet",
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return runProgram(cmd, launch.Share, args...) },
	}
}

// runProgram runs another program in place of this one, and returns its exit code as an error.
func runProgram(cmd *cobra.Command, p launch.Program, args ...string) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	code, err := p.Run(cmd.Context(), root, args...)
	if err == nil && code != 0 {
		return exitCode(code)
	}
	return err
}
