// Command share is `go tool workshop share`: one machine with internet serves the workshop, read-only, to a room
// without. The others need only Go and the address.
//
//   - main.go, this one: the command. It collects what is served, prints what attendees type, and serves it.
//   - catalogue.go: everything that is served, as a table, and its HTTP handler. attendees.txt has its texts.
//   - modules.go: the files of the module cache that belong to the workshop.
//   - repository.go: the repository, as git has it.
//   - addresses.go: the addresses of this machine, the likeliest first.
//   - server.go: the server, and what it counts.
//   - board.go, boardserver.go, page: the instructor's board, with --board.
//
// It is a program of its own, because most people never need it and an HTTP server takes long to compile.
//
// It leaves out a checksum database (the workshop's go.sum has all sums, so the go command never asks for one),
// versions other than the workshop's, Go itself (the go command verifies a new Go against a checksum database; put the
// installers into .workshop/share instead), encryption and passwords.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/launch"
	"client-go-workshop/internal/runner/usage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := newShare().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "workshop:", err)
		os.Exit(usage.ExitCode(err))
	}
}

// defaultPort is always the same, so that what attendees have typed is still right after a restart.
const defaultPort = "7100"

func newShare() *cobra.Command {
	var listen string
	var withBoard bool
	cmd := &cobra.Command{
		Use:   "share",
		Short: "Serve the workshop to a room without internet",
		Long: `Serve the workshop to a room without internet: the modules that it needs, from
this machine's module cache, the last commit of the repository, the cluster's
programs if they are built here, and the files in .workshop/share.

The server is read-only, and serves no other modules of the cache. Everyone in
the network can download what it serves. docs/teach/room.md says how to
prepare, and what attendees type; so does the command itself.

With --board it also shows where those learners are who agree to it: chapter,
task, minutes, hints, and the rule of the last failure; never code.
docs/teach/room.md says how to use it.`,
		Args:              usage.AtMost(0, ""),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return share(cmd.Context(), cmd.OutOrStdout(), listen, withBoard)
		},
	}
	usage.Set(cmd, "go tool workshop share")
	cmd.Flags().StringVar(&listen, "listen", "",
		"address and port to serve on (default: this machine's private address, port "+defaultPort+")")
	cmd.Flags().BoolVar(&withBoard, "board", false, "show where the learners are who agree to it")
	return cmd
}

// share serves until ctx ends.
func share(ctx context.Context, out io.Writer, listen string, withBoard bool) error {
	root, err := course.Root(".")
	if err != nil {
		return err
	}
	candidates, err := addresses()
	if err != nil {
		return err
	}
	chosen, err := choose(listen, candidates, defaultPort)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", chosen) // before the cluster's programs are packed, which takes long
	if err != nil {
		return fmt.Errorf("serve on %s: %w; if another program has the port, --listen takes another address and port, "+
			"and port 0 is any free one", chosen, err)
	}
	defer listener.Close()
	c, err := collect(ctx, root, out)
	if err != nil {
		return err
	}
	var handler http.Handler = c
	var pages *boardServer
	if withBoard {
		b, err := newBoard(root)
		if err != nil {
			return fmt.Errorf("make the board: %w", err)
		}
		pages, c.board = newBoardServer(b), true
		handler = pages.around(c)
	}
	announce(out, listener, candidates, c, pages)
	stats := newStatistics(handler, func(attendee string) {
		fmt.Fprintf(out, "%s  %s connected\n", time.Now().Format(time.TimeOnly), attendee)
	})
	err = serve(ctx, listener, stats)
	fmt.Fprintf(out, "\nStopped serving: %s.\n", stats)
	return err
}

// collect fills the catalogue, and prints what each part of it is or why it is missing. Only the chapters' modules must
// be there.
func collect(ctx context.Context, root string, out io.Writer) (*catalogue, error) {
	goVersion, err := output(ctx, root, "go", "list", "-m", "-f", "{{.GoVersion}}") // the oldest that go.mod accepts
	if err != nil {
		return nil, err
	}
	if err := complete(ctx, root); err != nil {
		return nil, err
	}
	c := newCatalogue(strings.TrimSpace(string(goVersion)))
	moduleCache, err := output(ctx, root, "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	// The modules in scripts have tools of labs, such as the generators of code.
	tools, _ := filepath.Glob(filepath.Join(root, "scripts", "*", "go.sum")) // the pattern is well-formed
	goSums := append([]string{filepath.Join(root, "go.sum"), filepath.Join(root, "cluster", "go.sum")}, tools...)
	modules, err := c.addModules(filepath.Join(strings.TrimSpace(string(moduleCache)), "cache", "download"), goSums...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "modules      %d, all that the chapters need, on every system\n", modules)
	for i, goSum := range goSums[1:] {
		if err := complete(ctx, filepath.Dir(goSum)); err != nil && i == 0 {
			fmt.Fprintf(out, "             but not every system can build the cluster from them: %v\n", err)
		} else if err != nil {
			fmt.Fprintf(out, "             but not every lab can be done with them: %v\n", err)
		}
	}
	if archive, commit, changed, err := archiveOf(ctx, root); err != nil {
		fmt.Fprintf(out, "repository   not shared: %v\n", err)
	} else {
		note := ""
		if changed {
			note = ", without your uncommitted changes"
		}
		c.addRepository(archive)
		fmt.Fprintf(out, "repository   commit %s, %s%s\n", commit, size(int64(len(archive))), note)
	}
	if _, err := os.Stat(filepath.Join(root, ".workshop", "bin", "cluster-programs.stamp")); err == nil {
		code, err := launch.Cluster.Run(ctx, root, "pack") // returns at once if the pack is up to date
		if err != nil {
			return nil, err
		}
		if code != 0 {
			return nil, fmt.Errorf("pack the cluster's programs: exit code %d", code)
		}
	}
	if err := c.addFiles(filepath.Join(root, ".workshop", "share")); err != nil {
		return nil, err
	}
	if c.clusters() == nil {
		fmt.Fprintln(out, "cluster      not shared: its programs are not built here; to build them, with internet: "+
			"go tool workshop cluster build")
	}
	return c, ctx.Err()
}

// announce prints where and what is served, and what attendees type. pages is nil without a board.
func announce(out io.Writer, listener net.Listener, candidates []address, c *catalogue, pages *boardServer) {
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	ip := net.ParseIP(host)
	var others []string
	on := "this machine only"
	for _, a := range candidates {
		if a.ip.String() == host {
			on = "interface " + a.iface
		} else {
			others = append(others, fmt.Sprintf("--listen %s (%s)", net.JoinHostPort(a.ip.String(), port), a.iface))
		}
	}
	switch {
	case ip.IsUnspecified():
		on = "every interface of this machine"
		if len(candidates) > 0 {
			host = candidates[0].ip.String()
		}
	case !ip.IsLoopback() && !ip.IsPrivate():
		on = "a public address, which more than the room can reach"
	}
	url := "http://" + net.JoinHostPort(host, port)
	how := "read-only"
	if pages != nil {
		how += " except for reports to the board"
	}
	fmt.Fprintf(out, "\nServing on %s, %s, %s, to everyone who can reach it.\n", listener.Addr(), on, how)
	if len(others) > 0 {
		fmt.Fprintf(out, "If that is not the room's network: %s\n", strings.Join(others, ", "))
	}
	fmt.Fprintf(out, "Attendees find these instructions at %s/:\n\n", url)
	for line := range strings.Lines(c.text("welcome", url)) {
		fmt.Fprint(out, strings.TrimRight("    "+line, " \n")+"\n")
	}
	if pages != nil {
		fmt.Fprintf(out, "\nThe board, for you:       %s/board/%s/\n          for a projector: %s/board/ (without names)\n",
			url, pages.token, url)
	}
	fmt.Fprint(out, "\nCtrl-C ends it.\n\n")
}

// output returns the standard output of a command in dir. An error has its standard error.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return out, nil
}
