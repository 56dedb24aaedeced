package main

// This file is `workshop cluster` and `workshop kubectl`. Both hand over to the launcher in cluster/, a module of its
// own because it requires all of Kubernetes. The launcher itself imports nothing of Kubernetes, so building it takes
// seconds; it builds the rest when it is first asked to.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
)

func newCluster() *cobra.Command {
	return &cobra.Command{
		Use:                "cluster up|down|status|logs|…",
		Short:              "Run a real Kubernetes API on this machine, without Docker",
		DisableFlagParsing: true, // the launcher has its own flags, and its own help
		RunE:               func(cmd *cobra.Command, args []string) error { return launch(cmd, args...) },
	}
}

func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl …",
		Short:              "Run kubectl on the workshop's own cluster, never on yours",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return launch(cmd, append([]string{"kubectl"}, args...)...)
		},
	}
}

// launch builds the launcher if need be and runs it in our place. It hears Ctrl-C itself, since it is in our process
// group; we only wait for it to clean up.
func launch(cmd *cobra.Command, args ...string) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	bin := filepath.Join(root, ".workshop", "bin", "cluster")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	build := exec.CommandContext(cmd.Context(), "go", "build", "-o", bin, "./cmd/cluster")
	build.Dir = filepath.Join(root, "cluster")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the launcher of the cluster: %w\n%s", err, out)
	}
	launcher := exec.Command(bin, args...)
	launcher.Stdin, launcher.Stdout, launcher.Stderr = os.Stdin, os.Stdout, os.Stderr
	launcher.Env = append(os.Environ(), "WORKSHOP_ROOT="+root)
	err = launcher.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(max(exit.ExitCode(), 1))
	}
	if err != nil {
		return fmt.Errorf("start the launcher of the cluster: %w", err)
	}
	return nil
}
