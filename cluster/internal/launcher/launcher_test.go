// The parts that need no process. Starting, stopping and their faults are
// tested from outside, in cmd/cluster.

package launcher

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/cluster/internal/pki"
	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

func newWorkspace(t *testing.T) workspace.Workspace {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "cluster"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "cluster", "go.mod"),
		[]byte("module client-go-workshop/cluster\n"), 0o644))
	w, err := workspace.At(root)
	require.NoError(t, err)
	return w
}

func TestStateRoundTrip(t *testing.T) {
	w := newWorkspace(t)
	state, err := Load(w)
	require.NoError(t, err)
	require.Nil(t, state, "no file is no cluster, and no error")

	etcd := Component{Name: "etcd", Path: "/bin/etcd", Args: []string{"--a=b c"}, Env: []string{"HOME=/"},
		Probe: Probe{URL: "u"}}
	saved := &State{Phase: Ready, Nodes: 2, Server: "https://127.0.0.1:1", Started: time.Unix(7, 0).UTC(),
		Components: []Running{{Component: etcd, Process: process.Process{PID: 7, Started: "then"}}}}
	require.NoError(t, saved.save(w))
	loaded, err := Load(w)
	require.NoError(t, err)
	require.Equal(t, saved, loaded, "a restart needs every word of the command line")

	info, err := os.Stat(w.State())
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "nobody else's business")
	entries, err := os.ReadDir(w.Cluster())
	require.NoError(t, err)
	require.Len(t, entries, 1, "writing must leave no temporary file")
}

func TestStateOfAnotherVersion(t *testing.T) {
	w := newWorkspace(t)
	require.NoError(t, WriteFile(w.State(), []byte(`{"version": 99}`)))
	_, err := Load(w)
	require.ErrorContains(t, err, "another version")
}

func TestDead(t *testing.T) {
	state := &State{Components: []Running{
		{Component: Component{Name: "etcd"}, Process: process.Process{PID: os.Getpid(), Started: "another time"}},
	}}
	require.Len(t, state.Dead(), 1, "our PID, but not at that time")
	require.Equal(t, "etcd", state.Dead()[0].Name)
	_, err := state.Component("kubelet")
	require.ErrorContains(t, err, `no component "kubelet"; there are ["etcd"]`)
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.Empty(t, tail(path, 3), "a log that is not there has no lines")
	require.NoError(t, os.WriteFile(path, []byte("a\nb\nc\nd"), 0o600))
	require.Equal(t, []string{"c", "d"}, tail(path, 2))
	require.Equal(t, []string{"a", "b", "c", "d"}, tail(path, 9))
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 3<<20)+"\nlast\n"), 0o600))
	require.Equal(t, []string{"last"}, tail(path, 1), "a log of any size")
}

func TestFailureSentences(t *testing.T) {
	w := newWorkspace(t)
	require.EqualError(t, died(w, "etcd", errors.New("exit status 1")),
		"etcd ended with exit status 1 while the cluster was starting", "without a log there is nothing to quote")
	for last, want := range map[string]string{
		"listen tcp 127.0.0.1:1: bind: address already in use": "another program took its port",
		"write x: no space left on device":                     "is full; free some space",
	} {
		require.NoError(t, WriteFile(w.Log("etcd"), []byte("first\n"+last+"\n")))
		text := died(w, "etcd", errors.New("exit status 1")).Error()
		require.Contains(t, text, want)
		require.Contains(t, text, "    "+last, "the cause that we have read out of the log must be there to see")
	}
}

func TestStackTraceIsNotQuoted(t *testing.T) {
	w := newWorkspace(t)
	require.NoError(t, WriteFile(w.Log("etcd"), []byte("starting\npanic: no space left on device\n\n"+
		"goroutine 1 [running]:\nmain.main()\n\t/main.go:14 +0x28\n")))
	text := died(w, "etcd", errors.New("exit status 2")).Error()
	require.Contains(t, text, "is full; free some space", "the cause stands above the trace")
	require.True(t, strings.HasSuffix(text, "    starting\n    panic: no space left on device"), text)
}

func TestProbe(t *testing.T) {
	answer, code := "ok", http.StatusOK
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer))
	}))
	server.StartTLS()
	defer server.Close()
	directory := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(directory, name)
		require.NoError(t, WriteFile(path, content))
		return path
	}
	authority, err := pki.NewAuthority("ours")
	require.NoError(t, err)
	client, err := authority.Client("alice")
	require.NoError(t, err)
	probe := Probe{URL: server.URL, Certificate: write("crt", client.Certificate), Key: write("key", client.Key)}

	probe.Authority = write("ours", authority.Certificate)
	require.ErrorContains(t, probe.Ask(t.Context()), "certificate",
		"a server that our authority has not signed must be refused")

	probe.Authority = write("theirs", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	require.NoError(t, probe.Ask(t.Context()))

	code, answer = 500, "[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\n[-]hook failed\nhealthz check failed\n"
	require.ErrorContains(t, probe.Ask(t.Context()),
		"500 Internal Server Error: etcd failed: reason withheld, hook failed",
		"of a long report only what failed")
	require.NoError(t, Probe{}.Ask(t.Context()))
}
