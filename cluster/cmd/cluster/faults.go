// The commands that do harm on purpose: parts of the cluster are restarted or
// killed, and etcd forgets its history. The others are in commands.go.

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"client-go-workshop/cluster/internal/controlplane"
	"client-go-workshop/cluster/internal/launcher"
	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

func restartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart <component>",
		Short: "Stop a component, or start a dead one, with the same port and data",
		Args:  oneComponent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return locked(cmd.Context(), func(workspace.Workspace) error {
				w, state, err := running()
				if err != nil {
					return err
				}
				if err := launcher.Restart(cmd.Context(), w, state, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "%s is ready.\n", args[0])
				return nil
			})
		},
	}
}

func killCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kill <component>",
		Short: "Kill a component as a crash would, to see how others cope",
		Args:  oneComponent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return locked(cmd.Context(), func(workspace.Workspace) error {
				_, state, err := running()
				if err != nil {
					return err
				}
				component, err := state.Component(args[0])
				if err != nil {
					return err
				}
				if err := process.Stop(0, component.Process); err != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "%s is dead; `go tool workshop cluster restart %s` starts it again.\n", args[0], args[0])
				return nil
			})
		},
	}
}

func compactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Forget all history, so that watches of older versions end with 410 Gone",
		Long: `Make etcd forget every version but the newest of each object, and restart
kube-apiserver, whose watch cache remembers too. Watches break, as in every
restart; one that resumes from an older version is told 410 Gone.`,
		Args: noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return locked(cmd.Context(), func(workspace.Workspace) error {
				w, state, err := running()
				if err != nil {
					return err
				}
				etcd, err := state.Component("etcd")
				if err != nil {
					return err
				}
				revision, err := controlplane.Compact(cmd.Context(), etcd)
				if err != nil {
					return err
				}
				if err := launcher.Restart(cmd.Context(), w, state, "kube-apiserver"); err != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "Everything before version %s is forgotten.\n", revision)
				return nil
			})
		},
	}
}
