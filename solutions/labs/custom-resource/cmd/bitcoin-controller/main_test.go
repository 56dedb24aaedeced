package main

// This file runs the program as a process of its own, on an API server in this process, and kills it with SIGKILL at
// each of its writes: once before the server has the write, and once after it. The next process must finish the work.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/fakeapi/crd"
	customresource "client-go-workshop/solutions/labs/custom-resource"
)

const asProgram = "BITCOIN_CONTROLLER_TEST_RUNS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// killer is an API server that kills its client at the client's nth write.
type killer struct {
	*fakeapi.Server
	lock    sync.Mutex
	at, n   int
	late    bool
	program *exec.Cmd
	killed  bool
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		k.Server.ServeHTTP(w, r)
		return
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.n++; k.n != k.at {
		k.Server.ServeHTTP(w, r)
		return
	}
	if k.late {
		k.Server.ServeHTTP(httptest.NewRecorder(), r)
	}
	k.killed = true
	_ = k.program.Process.Kill() // SIGKILL; an error means that it has ended
	panic(http.ErrAbortHandler)  // no answer
}

func TestKill_at_every_write(t *testing.T) {
	for _, late := range []bool{false, true} {
		for at := 1; ; at++ {
			if killed := story(t, at, late); !killed {
				require.Greater(t, at, 4, "writes of one story: finalizer, Deployment, status, finalizer")
				break
			}
			require.Less(t, at, 20, "writes of one story")
		}
	}
}

// story creates a network and deletes it, while the program is killed once. It reports whether it was.
func story(t *testing.T, at int, late bool) bool {
	custom, err := crd.Parse(customresource.Manifest())
	require.NoError(t, err)
	k := &killer{Server: fakeapi.New(), at: at, late: late}
	defer k.Close()
	k.Serve(custom)
	server := httptest.NewServer(k)
	defer server.CloseClientConnections()
	registry := t.TempDir()
	kubeconfig := filepath.Join(registry, "kubeconfig.yaml")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
		contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}],
		clusters: [{name: c, cluster: {server: %q}}]}`, server.URL)), 0o600))
	network := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bitcoin.example.com/v1alpha1", "kind": "BitcoinNetwork",
		"metadata": map[string]any{"namespace": "default", "name": "demo"}, "spec": map[string]any{"version": "29.0"},
	}}
	entries := func() int {
		files, err := filepath.Glob(filepath.Join(registry, "*.json"))
		require.NoError(t, err)
		return len(files)
	}
	p := &process{t: t, k: k, args: []string{"--kubeconfig", kubeconfig, "--registry", registry}}
	defer p.end()

	k.Create(network)
	p.runUntil("the network is registered", func() bool {
		stored := k.Objects("bitcoinnetworks")
		chain, _, _ := unstructured.NestedString(stored[0].(*unstructured.Unstructured).Object, "status", "registeredChain")
		return chain == "regtest" && len(k.Objects("deployments")) == 1 && entries() == 1
	})
	k.Delete(network)
	p.runUntil("the network is gone", func() bool { return len(k.Objects("bitcoinnetworks")) == 0 })
	require.Zero(t, entries(), "entries in the registry after a kill at write %d, late: %v", at, late)
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.killed
}

// process is the program, which is started again when it was killed.
type process struct {
	t     *testing.T
	k     *killer
	args  []string
	ended chan error
}

func (p *process) start() {
	cmd := exec.Command(os.Args[0], p.args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	p.k.lock.Lock()
	p.k.program = cmd
	err := cmd.Start()
	p.k.lock.Unlock()
	require.NoError(p.t, err)
	ended := make(chan error, 1)
	p.ended = ended
	go func() { ended <- cmd.Wait() }()
}

// runUntil runs the program until a condition is true.
func (p *process) runUntil(what string, holds func() bool) {
	if p.ended == nil {
		p.start()
	}
	limit := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-p.ended:
			p.start()
		case <-tick.C:
		case <-limit:
			p.t.Fatalf("after a minute it is not so: %s", what)
		}
	}
}

// end kills the program, and waits for its end.
func (p *process) end() {
	p.k.lock.Lock()
	_ = p.k.program.Process.Kill()
	p.k.lock.Unlock()
	<-p.ended
}
