package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

var offline = flag.Bool("offline", false, "do the whole workshop with an empty module cache and no internet (minutes)")

// inside, in the environment, says that this process is offline already. It ends with the code noNetwork if the room
// cannot be had after all: some systems give a network of its own to anybody, and then forbid to switch its loopback
// interface on.
const (
	inside    = "WORKSHOP_TEST_OFFLINE"
	noNetwork = 77
)

// An attendee has Go, and types the two lines that the instructor's machine shows. Nothing else is there: no module, no
// home folder, no network but this machine itself. Every chapter's tests must compile and run.
//
// The build cache is shared with the machine, since compiling client-go is not what is in question.
func TestOffline_attendee_does_the_whole_workshop(t *testing.T) {
	if !*offline {
		t.Skip("takes minutes; -offline asks for it")
	}
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-offline")
		if end, ok := t.Deadline(); ok {
			cmd.Args = append(cmd.Args, "-test.timeout="+time.Until(end.Add(-10*time.Second)).String())
		}
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		err := startInOwnNetwork(cmd)
		if err == nil {
			if err = cmd.Wait(); cmd.ProcessState.ExitCode() != noNetwork {
				require.NoError(t, err, "the room's own process says why")
				return
			}
		}
		t.Logf("a network of its own cannot be had (%v): the proxies are set to a closed port instead", err)
	} else {
		if err := loopbackUp(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(noNetwork)
		}
		_, err := net.Dial("udp", "192.0.2.1:9")
		require.Error(t, err, "from here, no way leads out")
	}

	root, err := course.Root(".")
	require.NoError(t, err)
	home := t.TempDir()
	cache, flags := emptyModuleCache(t)
	url := serveHere(t, root)
	a := attendee{t: t, dir: home, env: append(bare(os.Environ()),
		"HOME="+home, "USERPROFILE="+home,
		"GOPROXY="+url,                                                  // the one variable; all below is the test's own
		"GOENV=off", "GOTOOLCHAIN=auto", "GOCACHE="+goEnv(t, "GOCACHE"), // auto is how Go is delivered
		"GOMODCACHE="+cache, "GOFLAGS="+flags,
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1",
		"GIT_ALLOW_PROTOCOL=none",
	)}

	out, err := a.run("curl", "--fail", "--silent", "--show-error", "-o", "workshop.tar.gz", url+repositoryPath)
	require.NoError(t, err, out)
	out, err = a.run("tar", "-xf", "workshop.tar.gz")
	require.NoError(t, err, out)
	a.dir = filepath.Join(home, "client-go-workshop")
	chapters, err := course.All(a.dir)
	require.NoError(t, err)
	isLab := func(c course.Chapter) bool { return c.Lab() }
	require.Len(t, slices.DeleteFunc(slices.Clone(chapters), isLab), 7)

	// It is a repository with one commit, and the tool is compiled with a line that shows how far it is.
	out, err = a.run("git", "log", "--format=tformat:one commit")
	require.NoError(t, err, out)
	require.Equal(t, 1, strings.Count(out, "\none commit\n"), out)
	out, err = a.run("git", "status", "--porcelain")
	require.NoError(t, err, out)
	require.Equal(t, "$ git status --porcelain\n", out)
	out, err = a.run("go", "run", "./cmd/prepare")
	require.NoError(t, err, out)
	require.Contains(t, out, "Ready. Start with: go tool workshop\n")

	// What cannot be had is refused at once, and in words.
	out, err = a.run("go", "get", "example.com/not/here@v1.0.0")
	require.Error(t, err, out)
	require.Contains(t, out, "this is not part of the workshop")
	later := a
	later.dir = folder(t, "go.mod", "module later\n\ngo 1.999.0\n")
	out, err = later.run("go", "version")
	require.Error(t, err, out)
	require.Contains(t, out, "the workshop needs Go 1.26", "as with a Go that is older than go.mod asks for")

	// As they come: nothing is written yet, and the tests say so.
	for _, c := range chapters {
		out, err := a.run("go", "test", "./"+c.Dir)
		require.Error(t, err, c.Dir)
		require.Contains(t, out, "not written yet", "the tests of %s run", c.Dir)
		require.NotContains(t, out, "[build failed]", c.Dir)
		require.NotContains(t, out, "[setup failed]", c.Dir)
		t.Logf("%s: its tests compile, run, and ask for code", c.Dir)
	}
	// The solutions compile, and one of them passes. That the others pass is a truth, and has nothing to do with the room.
	out, err = a.run("go", "build", "./solutions/...", "./labs/solutions/...")
	require.NoError(t, err, out)
	out, err = a.run("go", "test", "-v", "./solutions", "-run", "TestSolutions/07-controller")
	require.NoError(t, err, out)
	require.Contains(t, out, "--- PASS: TestSolutions/07-controller")

	out, err = a.run("go", "tool", "workshop", "list")
	require.NoError(t, err, out)
	require.Contains(t, out, "07-controller")
	out, err = a.run("go", "tool", "workshop", "cluster", "status")
	require.Error(t, err, out)
	require.Contains(t, out, "no cluster is up", "the launcher is built, and answers")

	// Attendees with other systems need other packages. All modules of those have to be here, too.
	for _, system := range []string{"linux/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		goos, goarch, _ := strings.Cut(system, "/")
		other := a
		other.env = append(a.env, "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		out, err := other.run("go", "list", "-deps", "-test", "./...")
		require.NoError(t, err, "%s: %s", system, out)
		other.dir = filepath.Join(a.dir, "cluster")
		out, err = other.run("go", "list", "-deps", "./cmd/cluster")
		require.NoError(t, err, "%s: %s", system, out)
	}
}

// emptyModuleCache makes a module cache that is empty, and returns where, and the flags to use it with. Where it can,
// it puts it in this machine's own one's place, for this process and its children only; the real one moves to where
// GOMODCACHE then says. Go compiles a package again if its folder changes, and so nothing has to be that CI has
// compiled already. Where that cannot be done, -trimpath at least makes it the same the next time.
func emptyModuleCache(t *testing.T) (cache, flags string) {
	t.Helper()
	empty := t.TempDir()
	if os.Getenv(inside) == "" {
		return empty, "-trimpath -modcacherw"
	}
	cache = goEnv(t, "GOMODCACHE")
	aside, err := os.MkdirTemp("", "modules")
	require.NoError(t, err)
	t.Cleanup(func() {
		putBack(aside)
		_ = os.Remove(aside) // this folder only, and only if it is empty: were it still the real one, nothing may go
	})
	if err := putAside(cache, aside, empty); err != nil {
		t.Logf("the module cache stays where it is, and the empty one is elsewhere: %v", err)
		return empty, "-trimpath -modcacherw"
	}
	t.Setenv("GOMODCACHE", aside)
	return cache, "-modcacherw"
}

// serveHere shares what this machine has, and returns where.
func serveHere(t *testing.T, root string) (url string) {
	t.Helper()
	require.NoError(t, complete(t.Context(), root))
	goVersion := regexp.MustCompile(`(?m)^go (.+)$`).FindStringSubmatch(read(t, filepath.Join(root, "go.mod")))[1]
	s := newCatalogue(goVersion)
	_, err := s.addModules(filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download"), filepath.Join(root, "go.sum"),
		filepath.Join(root, "cluster", "go.sum"))
	require.NoError(t, err)
	archive, commit, changed, err := archiveOf(t.Context(), root)
	require.NoError(t, err)
	if changed {
		t.Logf("what the room gets is commit %s; what has changed since is not in it", commit)
	}
	s.addRepository(archive)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	stats := newStatistics(s, func(string) {})
	go func() { ended <- serve(ctx, listener, stats) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		t.Log(stats)
	})
	return "http://" + listener.Addr().String()
}

// attendee is a person with a terminal.
type attendee struct {
	t   *testing.T
	dir string
	env []string
}

// run runs a command to its end and returns all it said.
func (a attendee) run(command ...string) (string, error) {
	a.t.Helper()
	ctx := a.t.Context()
	if end, ok := a.t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-30*time.Second))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = a.dir, a.env
	cmd.WaitDelay = 10 * time.Second
	// The go command passes an interrupt on; killed, it would leave its tests running.
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil { // there are no signals on Windows
			return cmd.Process.Kill()
		}
		return nil
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(a.t, err, "run %v", command)
	}
	return fmt.Sprintf("$ %s\n%s", strings.Join(command, " "), out), err
}

// bare is an environment without anything that the go command or a proxy listens to.
func bare(env []string) []string {
	var kept []string
	for _, variable := range env {
		name, _, _ := strings.Cut(strings.ToUpper(variable), "=")
		switch {
		case strings.HasPrefix(name, "GO"), strings.HasPrefix(name, "CGO_"), strings.HasSuffix(name,
			"_PROXY"), name == "HOME", name == "USERPROFILE", name == inside:
		default:
			kept = append(kept, variable)
		}
	}
	return kept
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
