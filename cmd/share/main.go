// Command share is `go tool workshop share`: the workshop for a room without internet.
//
// What is served, and what never is, is decided in internal/share; here it is collected, announced, and ended. It is a
// program of its own because most people never need it, and an HTTP server takes its time to compile.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/launch"
	"client-go-workshop/internal/share"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newShare().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "workshop:", err)
		os.Exit(1)
	}
}

// sharePort is the default, always the same, so that what attendees have typed holds after a restart.
const sharePort = "7100"

func newShare() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "share",
		Short: "Serve the workshop to a room without internet",
		Long: `Serve the workshop to a room without internet: the modules that it needs, from
this machine's module cache, the repository as it was committed last, the
cluster's programs if they are built here, and the files in .workshop/share.

It only reads, and of the module cache it serves the workshop's modules only.
Everyone in the network can have what it serves. docs/teach/share.md says how to
prepare, and what attendees type; so does the command itself.`,
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "go tool workshop share"},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("find the current folder: %w", err)
			}
			root, err := course.Root(dir)
			if err != nil {
				return err
			}
			candidates, err := share.Addresses()
			if err != nil {
				return err
			}
			address, err := share.Choose(listen, candidates, sharePort)
			if err != nil {
				return err
			}
			// First of all, before a pack is made that nobody could fetch.
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return fmt.Errorf("serve on %s: %w; if another program has the port, --listen takes another address and port, and port 0 is any free one", address, err)
			}
			defer listener.Close()
			out := cmd.OutOrStdout()
			shelf, err := fillShelf(cmd, root, out)
			if err != nil {
				return err
			}
			defer shelf.Close()
			announce(out, listener, candidates, shelf)
			room := share.NewRoom(shelf, func(attendee string) {
				fmt.Fprintf(out, "%s  %s has come\n", time.Now().Format(time.TimeOnly), attendee)
			})
			err = share.Serve(cmd.Context(), listener, room)
			fmt.Fprintf(out, "\nNothing is served any more. %s.\n", room)
			return err
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address and port to serve on (default: this machine's private address, port "+sharePort+")")
	return cmd
}

// fillShelf collects what is to be served, and says of each part what it is or why it is not there. Without the chapters'
// modules there is no point in sharing, and that is an error.
func fillShelf(cmd *cobra.Command, root string, out io.Writer) (_ *share.Shelf, err error) {
	ctx := cmd.Context()
	goVersion, err := goVersionOf(root)
	if err != nil {
		return nil, err
	}
	if err := share.Complete(ctx, root); err != nil {
		return nil, err
	}
	shelf := share.NewShelf(goVersion)
	defer func() {
		if err != nil {
			shelf.Close()
		}
	}()
	download, err := share.ModuleCache(ctx)
	if err != nil {
		return nil, err
	}
	clusterModule := filepath.Join(root, "cluster")
	modules, err := shelf.PutModules(download, filepath.Join(root, "go.sum"), filepath.Join(clusterModule, "go.sum"))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "modules      %d, all that the chapters need, on every system\n", modules)
	if err := share.Complete(ctx, clusterModule); err != nil {
		fmt.Fprintf(out, "             but the cluster cannot be built from them everywhere: %v\n", err)
	}
	if archive, commit, changed, err := share.Archive(ctx, root); err != nil {
		fmt.Fprintf(out, "repository   not shared: %v\n", err)
	} else {
		note := ""
		if changed {
			note = "; what is not committed is not in it"
		}
		shelf.PutRepository(archive)
		fmt.Fprintf(out, "repository   commit %s, %s%s\n", commit, share.Size(int64(len(archive))), note)
	}
	if _, err := os.Stat(filepath.Join(root, ".workshop", "bin", "cluster-programs.stamp")); err == nil {
		// Returns at once if the pack is what it should be.
		code, err := launch.Cluster.Run(ctx, root, "pack")
		if err != nil {
			return nil, err
		}
		if code != 0 {
			return nil, fmt.Errorf("pack the cluster's programs: exit code %d", code)
		}
	}
	if err := shelf.PutFiles(filepath.Join(root, ".workshop", "share")); err != nil {
		return nil, err
	}
	if !shelf.HasCluster() {
		fmt.Fprintln(out, "cluster      not shared: its programs are not built here; go tool workshop cluster build does it, with internet")
	}
	return shelf, ctx.Err()
}

// announce says where and what is served, and what attendees type.
func announce(out io.Writer, listener net.Listener, candidates []share.Address, shelf *share.Shelf) {
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	ip := net.ParseIP(host)
	var others []string
	on := "this machine only"
	for _, c := range candidates {
		if c.IP.String() == host {
			on = "interface " + c.Interface
		} else {
			others = append(others, fmt.Sprintf("--listen %s (%s)", net.JoinHostPort(c.IP.String(), port), c.Interface))
		}
	}
	switch {
	case ip.IsUnspecified():
		on = "every interface of this machine"
		if len(candidates) > 0 {
			host = candidates[0].IP.String()
		}
	case !ip.IsLoopback() && !ip.IsPrivate():
		on = "a public address: not only the room can reach it"
	}
	url := "http://" + net.JoinHostPort(host, port)
	fmt.Fprintf(out, "\nServing on %s, %s, read-only, to whoever can reach it.\n", listener.Addr(), on)
	if len(others) > 0 {
		fmt.Fprintf(out, "If that is not the room's network: %s\n", strings.Join(others, ", "))
	}
	fmt.Fprintf(out, "Attendees read on %s/ what to do, which is:\n\n", url)
	for line := range strings.Lines(shelf.Welcome(url)) {
		fmt.Fprint(out, strings.TrimRight("    "+line, " \n")+"\n")
	}
	fmt.Fprint(out, "\nCtrl-C ends it.\n\n")
}

// goVersionOf is the Go that the workshop's go.mod asks for.
func goVersionOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read which Go the workshop needs: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(version), nil
		}
	}
	return "", errors.New("read which Go the workshop needs: go.mod does not say")
}
