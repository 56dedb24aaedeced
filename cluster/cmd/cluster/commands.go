// The commands: which locks they take, and what they print. Progress goes to
// stderr; stdout carries only the answer, so that
// `eval "$(go tool workshop cluster up)"` works.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/cluster/internal/build"
	"client-go-workshop/cluster/internal/controlplane"
	"client-go-workshop/cluster/internal/launcher"
	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

var errNotUp = errors.New("no cluster is up; `go tool workshop cluster up` starts one")

func upCommand() *cobra.Command {
	options := controlplane.Options{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster (and build its programs, the first time)",
		Long: `Start the cluster and print the line that makes kubectl and controllers use it.
If it is up already, start its dead components again, and print that line. Programs
that are missing or out of date are built from source first, which takes minutes.`,
		Args: noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return locked(cmd.Context(), func(w workspace.Workspace) error {
				return up(cmd.Context(), w, options, !cmd.Flags().Changed("keep"), os.Stdout, os.Stderr)
			})
		},
	}
	cmd.Flags().IntVar(&options.Nodes, "nodes", 1, "how many nodes to simulate")
	cmd.Flags().IntVar(&options.Port, "port", 0, "port of the API server (default: any free one)")
	cmd.Flags().BoolVar(&options.Keep, "keep", false,
		"let the objects outlive crashes and each cluster down, until cluster down --discard")
	return cmd
}

// up starts the cluster. If asBefore is set, a cluster whose objects were kept
// goes on keeping them.
func up(ctx context.Context, w workspace.Workspace, options controlplane.Options, asBefore bool,
	stdout, stderr io.Writer) error {
	if options.Nodes < 1 || options.Nodes > 1000 {
		return usageError{fmt.Errorf("--nodes=%d: the cluster can simulate 1 to 1000 nodes", options.Nodes)}
	}
	state, err := launcher.Load(w)
	if err != nil {
		return err
	}
	if state == nil {
		if err := forgotten(w); err != nil {
			return err
		}
	}
	if state != nil && state.Phase == launcher.Ready {
		if dead := state.Dead(); len(dead) < len(state.Components) {
			return upAgain(ctx, w, state, dead, stdout, stderr)
		}
	}
	if state, err = tidyUp(w, state, stderr); err != nil {
		return err
	}
	if options.Resume = state != nil; options.Resume {
		options.Keep = options.Keep || asBefore
		fmt.Fprintln(stderr, "The objects of the last cluster are kept, until `cluster down --discard`.")
	}
	if err := build.Ensure(ctx, w, stderr); err != nil {
		return err
	}
	if !options.Resume {
		if err := launcher.Discard(w); err != nil { // the logs of a start that failed
			return err
		}
	}
	began := time.Now()
	server, err := start(ctx, w, options, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "The cluster is up after %.1f s: %s\n", time.Since(began).Seconds(), server)
	printExport(w, stdout)
	return nil
}

// tidyUp ends what is left of a cluster that nobody has taken down. It returns
// the state of a cluster whose objects are kept, or nil.
func tidyUp(w workspace.Workspace, state *launcher.State, stderr io.Writer) (*launcher.State, error) {
	if state == nil || state.Phase == launcher.Stopped {
		return state, nil
	}
	left := "what it left"
	if state.Keep {
		left += ", except for its objects"
	}
	fmt.Fprintf(stderr, "An earlier cluster ended without `cluster down`; removing %s.\n", left)
	if err := launcher.Stop(w, state); err != nil {
		return nil, err
	}
	return launcher.Load(w)
}

// start starts a new cluster, or resumes a kept one, and returns its address.
// If a port is snatched away, it tries with others, three times in all.
func start(ctx context.Context, w workspace.Workspace, options controlplane.Options, stderr io.Writer) (string, error) {
	fmt.Fprintln(stderr, "Starting the cluster.")
	for attempt := 1; ; attempt++ {
		plan, err := controlplane.New(w, options)
		if err != nil {
			return "", err
		}
		err = launcher.Start(ctx, w, plan, stderr)
		if attempt == 3 || !errors.Is(err, launcher.ErrPortTaken) {
			return plan.Server, err
		}
		fmt.Fprintln(stderr, "A port was taken by another program in the meantime; starting again with other ports.")
	}
}

// upAgain is `up` on a cluster of which at least a part still runs: the dead
// are started again, so that the objects in it are not lost.
func upAgain(ctx context.Context, w workspace.Workspace, state *launcher.State, dead []*launcher.Running,
	stdout, stderr io.Writer) error {
	for _, component := range dead {
		fmt.Fprintf(stderr, "%s is dead; starting it again.\n", component.Name)
		if err := launcher.Restart(ctx, w, state, component.Name); err != nil {
			return fmt.Errorf("%w\n%s", err, startAnew)
		}
	}
	if err := launcher.AwaitReady(ctx, w, state); err != nil {
		return fmt.Errorf("%w\n%s", err, startAnew)
	}
	fmt.Fprintf(stderr, "The cluster is up since %s: %s (`cluster down` first, to start it with other flags)\n",
		state.Started.Format(time.TimeOnly), state.Server)
	printExport(w, stdout)
	return nil
}

const startAnew = "`go tool workshop cluster down`, then `up`, makes a new cluster"

// printExport prints the line for the shell of this system.
func printExport(w workspace.Workspace, stdout io.Writer) {
	if runtime.GOOS == "windows" {
		fmt.Fprintf(stdout, "$env:KUBECONFIG = '%s'\n", strings.ReplaceAll(w.Kubeconfig(), "'", "''"))
		return
	}
	path := w.Kubeconfig()
	if strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(plainInShell, r) }) {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	fmt.Fprintf(stdout, "export KUBECONFIG=%s\n", path)
}

// plainInShell are the characters that need no quotes in any shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@"

func downCommand() *cobra.Command {
	discard := false
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and throw it away (unless it was started with --keep)",
		Args:  noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return locked(cmd.Context(), func(w workspace.Workspace) error { return down(w, discard, os.Stderr) })
		},
	}
	cmd.Flags().BoolVar(&discard, "discard", false, "throw away what --keep has kept, too")
	return cmd
}

func down(w workspace.Workspace, discard bool, stderr io.Writer) error {
	state, err := launcher.Load(w)
	damaged := errors.Is(err, launcher.ErrDamaged)
	if err != nil && !damaged {
		return err
	}
	found, errFind := launcher.Find(w, build.Components)
	switch {
	case damaged && errFind != nil:
		return fmt.Errorf("%s is damaged, and this system does not show which programs run on %s (%w); end the processes "+
			"of %s, and delete that folder", w.State(), w.Cluster(), errFind, w.Bin())
	case len(found) == 0 && (state == nil && !damaged || state != nil && state.Phase == launcher.Stopped && !discard):
		fmt.Fprintln(stderr, "No cluster is up.")
		return nil
	case state == nil:
		fmt.Fprintf(stderr, "%s is damaged or gone; %d of the cluster's programs still run.\n", w.State(), len(found))
		_, err := os.Stat(w.Etcd())
		state = &launcher.State{Keep: err == nil} // it may have been started with --keep
	}
	state.Add(found)
	state.Keep = state.Keep && !discard
	if err := launcher.Stop(w, state); err != nil {
		return err
	}
	if state.Keep {
		fmt.Fprintln(stderr, "The cluster is stopped; the next `cluster up` finds its objects again, and "+
			"`cluster down --discard` throws them away.")
	} else {
		fmt.Fprintln(stderr, "The cluster is stopped and thrown away.")
	}
	return nil
}

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say how each component is (exit code 1 if not all are well)",
		Args:  noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, state, err := running()
			if err != nil {
				return err
			}
			return launcher.Status(cmd.Context(), w, state, os.Stdout)
		},
	}
}

func logsCommand() *cobra.Command {
	follow, lines := false, 0
	cmd := &cobra.Command{
		Use:   "logs [component]…",
		Short: "Show what components have written (by default: the last lines of all)",
		RunE: func(cmd *cobra.Command, names []string) error {
			w, err := workspace.Find()
			if err != nil {
				return err
			}
			known, err := launcher.LoggedComponents(w)
			if err != nil {
				return err
			}
			if len(known) == 0 {
				return errNotUp
			}
			for _, name := range names {
				if !slices.Contains(known, name) {
					return fmt.Errorf("there is no log of %q; there are logs of %s", name, strings.Join(known, ", "))
				}
			}
			if len(names) == 0 {
				names = known
			}
			return launcher.Logs(cmd.Context(), w, names, lines, follow, os.Stdout)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added, until Ctrl-C")
	cmd.Flags().IntVarP(&lines, "tail", "n", 20, "how many lines of each log to begin with")
	return cmd
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the cluster's programs, if they are missing or out of date",
		Args:  noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := workspace.Find()
			if err != nil {
				return err
			}
			return build.Ensure(cmd.Context(), w, os.Stderr)
		},
	}
}

func packCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pack",
		Short: "Put the programs into one file, for `workshop share` (and build them, if need be)",
		Long: `Put the cluster's programs into .workshop/share/cluster-<system>-<processor>.tar.gz,
for others in the room: ` + "`go tool workshop share`" + ` serves that folder. A pack that was
made on another system can be put there too.`,
		Args: noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := workspace.Find()
			if err != nil {
				return err
			}
			return build.Pack(cmd.Context(), w, os.Stderr)
		},
	}
}

func fetchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fetch <address>",
		Short: "Take the programs from a machine that runs `workshop share`, instead of building them",
		Long: `Take the cluster's programs from a machine that runs ` + "`go tool workshop share`" + `, for
instance fetch http://192.168.1.7:7100. They must be made from the sources that
you have, and are what that machine's checksum says; whether that machine is to
be trusted is for you to know.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return refuse(cmd, "name one address, such as: %s http://192.168.1.7:7100", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := workspace.Find()
			if err != nil {
				return err
			}
			return build.Fetch(cmd.Context(), w, args[0], os.Stderr)
		},
	}
}

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl …",
		Short: "Run kubectl on the workshop's cluster, and on no other",
		Long: `Run kubectl with the workshop's kubeconfig. All arguments are kubectl's own.
The user's kubeconfig, kubectl preferences and discovery cache are left alone.`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, _, err := running()
			if err != nil {
				return err
			}
			if err := build.Ensure(cmd.Context(), w, os.Stderr); err != nil {
				return err
			}
			// Set, not appended: of two values of one variable a program takes
			// whichever it likes.
			for name, value := range map[string]string{
				"KUBECONFIG": w.Kubeconfig(), "KUBERC": "off", "KUBECACHEDIR": w.Cache(),
			} {
				if err := os.Setenv(name, value); err != nil {
					return fmt.Errorf("setting %s for kubectl: %w", name, err)
				}
			}
			return fmt.Errorf("running kubectl: %w", process.Become(w.Program("kubectl"), args, os.Environ()))
		},
	}
}

// running returns the cluster that is up, as far as state.json knows.
func running() (workspace.Workspace, *launcher.State, error) {
	w, err := workspace.Find()
	if err != nil {
		return w, nil, err
	}
	state, err := launcher.Load(w)
	if err != nil {
		return w, nil, err
	}
	switch {
	case state == nil:
		return w, nil, cmp.Or(forgotten(w), errNotUp)
	case state.Phase == launcher.Stopped:
		return w, nil, errNotUp
	case state.Phase == launcher.Starting:
		return w, nil, errors.New("the cluster is not up yet: another command is starting it, or was killed while it did; " +
			"`go tool workshop cluster up` waits for the one, and cleans up after the other")
	}
	return w, state, nil
}

// forgotten returns an error if there is no state file, but programs run on
// the cluster's folder.
func forgotten(w workspace.Workspace) error {
	// Where the system does not show them, there is nothing to report.
	found, _ := launcher.Find(w, build.Components)
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%s is gone, and %d of the cluster's programs still run; `go tool workshop cluster down` ends "+
		"them, and keeps the objects", w.State(), len(found))
}

// locked runs a command that starts or stops something.
func locked(ctx context.Context, do func(workspace.Workspace) error) error {
	w, err := workspace.Find()
	if err != nil {
		return err
	}
	unlock, err := workspace.Lock(ctx, w.ClusterLock(), "starting or stopping the cluster", os.Stderr)
	if err != nil {
		return err
	}
	defer unlock()
	return do(w)
}
