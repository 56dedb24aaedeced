package main

// These tests run the program as a process, as `go tool workshop share` does.

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/authoring/cmdtest"
	"client-go-workshop/internal/workspace/report"
)

// program is the test binary under another name, in the PATH.
const program = "share"

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){program: main}) }

// run runs the program in dir.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return cmdtest.Run(t, program, dir, args...)
}

// miniature is a workshop without anything in it.
func miniature(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module client-go-workshop\n\ngo 1.26.0\n", "go.sum": "",
		"cluster/go.mod": "module client-go-workshop/cluster\n\ngo 1.26.0\n", "cluster/go.sum": "",
		"solutions/README.md":            "",
		".workshop/share/go1.26.8.msi":   "setup",
		".workshop/share/.packing-12345": "half",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return root
}

func TestShare_has_the_modules_of_tools_that_labs_need(t *testing.T) {
	root := miniature(t)
	for name, content := range map[string]string{
		"go.mod": "module client-go-workshop/tool\n\ngo 1.26.0\n\nrequire example.com/generator v1.0.0\n",
		"go.sum": "example.com/generator v1.0.0 h1:AAA=\nexample.com/generator v1.0.0/go.mod h1:BBB=\n",
	} {
		path := filepath.Join(root, "scripts", "tool", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	var out strings.Builder
	c, err := collect(t.Context(), root, &out)
	require.NoError(t, err)
	require.Contains(t, c.items, "/example.com/generator/@v/v1.0.0.zip")
	require.Contains(t, out.String(), "but not every lab can be done with them: ")
}

func TestShare_serves_until_it_is_interrupted(t *testing.T) {
	cmd := exec.Command(program, "--listen", "127.0.0.1:0")
	cmd.Dir = miniature(t)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	ended := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer ended.Stop()
	defer func() { _ = cmd.Process.Kill() }()

	said := ""
	lines := bufio.NewReader(stdout)
	for !regexp.MustCompile(`Ctrl-C ends it`).MatchString(said) {
		line, err := lines.ReadString('\n')
		said += line
		require.NoError(t, err, said)
	}
	require.Regexp(t, `Serving on 127\.0\.0\.1:\d+, this machine only, read-only`, said)
	require.Contains(t, said, "cluster      not shared: its programs are not built here")
	require.Contains(t, said, "repository   not shared: pack the repository with git", "it is no clone")
	url := regexp.MustCompile(`export GOPROXY=(http://127\.0\.0\.1:\d+)\n`).FindStringSubmatch(said)
	require.NotNil(t, url, said)

	client := &http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(url[1])
	require.NoError(t, err)
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(page), "export GOPROXY="+url[1]+"\n")
	require.Contains(t, string(page), "go1.26.8.msi")
	require.NotContains(t, string(page), ".packing")

	if runtime.GOOS == "windows" {
		return // no process can be interrupted from outside there
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), "Ctrl-C is how it ends, and no failure")
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d  127\.0\.0\.1 connected$`, string(rest))
	require.Regexp(t, `1 attendee, 1 request, \d+ B\.`, string(rest))
}

// A client that sends only half of a body, or reads nothing of an answer, does not keep its connection.
func TestShare_ends_requests_that_stand_still(t *testing.T) {
	for name, request := range map[string]string{
		"a report": "POST " + report.Path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
			"Content-Length: 100\r\n\r\n{",
		"another body":       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
		"an answer not read": "GET /files/large HTTP/1.1\r\nHost: x\r\n\r\n",
		"half a header":      "GET / HTTP/1.1\r\nHost",
	} {
		t.Run(name, func(t *testing.T) {
			board := newBoardServer(testBoard(t))
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				closed, closing := context.WithCancel(t.Context())
				listener := pipeListener{make(chan net.Conn, 1), closed}
				listener.conns <- endOf{server, closing}
				mux := http.NewServeMux()
				mux.HandleFunc("/files/large", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 10<<20)) })
				ctx, cancel := context.WithCancel(t.Context())
				began := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- serve(ctx, listener, newStatistics(board.around(mux), func(string) {})) }()
				go io.WriteString(client, request)
				if !strings.HasPrefix(request, "GET /files") {
					go io.Copy(io.Discard, client)
				}
				<-closed.Done()
				require.LessOrEqual(t, time.Since(began), 2*longestPause)
				client.Close()
				cancel()
				<-ended
			})
		})
	}
}

// pipeListener accepts what is in conns, until closed ends, as it does when an endOf is closed.
type pipeListener struct {
	conns  chan net.Conn
	closed context.Context
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

type endOf struct {
	net.Conn
	closing func()
}

func (e endOf) Close() error { e.closing(); return e.Conn.Close() }

func TestShare_says_what_to_do_when_it_cannot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	stdout, stderr, code := run(t, miniature(t), "--listen", taken.Addr().String())
	require.Equal(t, 1, code, stdout)
	require.Contains(t, stderr, "serve on "+taken.Addr().String())
	require.Contains(t, stderr, "--listen takes another address and port")

	root := miniature(t)
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"),
		[]byte("module client-go-workshop\n\ngo 1.26.0\n\nrequire example.com/not/here v1.0.0\n"), 0o644))
	stdout, stderr, code = run(t, root, "--listen", "127.0.0.1:0")
	require.Equal(t, 1, code, stdout)
	require.Contains(t, stderr, "the module cache is not complete: run go mod download in "+root)
	require.Contains(t, stderr, "example.com/not/here@v1.0.0")
}
