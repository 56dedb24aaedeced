package main

// This file runs the program as a process of its own, before an API server, and kills it with SIGKILL at each of its
// writes: once before the server has the write, and once after it. The next process must finish the work.

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/fakeapi/crd"
	"client-go-workshop/internal/testkit/realapi"
	customresource "client-go-workshop/labs/solutions/custom-resource"
)

const asProgram = "BITCOIN_CONTROLLER_TEST_RUNS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// killer stands before an API server, and kills its client at the client's nth write.
type killer struct {
	http.Handler
	lock    sync.Mutex
	at, n   int
	late    bool
	program *exec.Cmd
	killed  bool
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		k.Handler.ServeHTTP(w, r)
		return
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.n++; k.n != k.at {
		k.Handler.ServeHTTP(w, r)
		return
	}
	if k.late {
		k.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	k.killed = true
	_ = k.program.Process.Kill() // SIGKILL; an error means that it has ended
	panic(http.ErrAbortHandler)  // no answer
}

// before returns a handler that passes requests to the API server.
func before(t *testing.T, config *rest.Config) http.Handler {
	t.Helper()
	url, _, err := rest.DefaultServerUrlFor(config)
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(url) },
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0), // requests of a killed client fail
	}
}

// In the process there is the fake API server; -kubeconfig names a real one.
func TestReal_kill_at_every_write(t *testing.T) {
	custom, err := crd.Parse(customresource.Manifest())
	require.NoError(t, err)
	if realapi.Given() {
		define(t, realapi.Config(t))
	}
	for name, late := range map[string]bool{"before the server has the write": false, "after it has it": true} {
		t.Run(name, func(t *testing.T) {
			if !realapi.Given() {
				t.Parallel() // on one server, each program would also do the other's work
			}
			config, _ := realapi.Server(t, func(testing.TB) *fakeapi.Server {
				api := fakeapi.New()
				t.Cleanup(api.Close)
				api.Serve(custom)
				return api
			})
			client, err := dynamic.NewForConfig(config)
			require.NoError(t, err)
			at := 1
			for ; story(t, config, client, at, late); at++ {
				require.Less(t, at, 40, "writes of one story")
			}
			require.Greater(t, at, 4, "writes of one story: finalizer, Deployment, status, finalizer")
		})
	}
}

// define creates the definition, and removes it when the test is over.
func define(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	var definition unstructured.Unstructured
	require.NoError(t, yaml.Unmarshal([]byte(customresource.Manifest()), &definition.Object))
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err = definitions.Create(t.Context(), &definition, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, definitions.Delete(context.Background(), definition.GetName(), metav1.DeleteOptions{}))
	})
	require.Eventually(t, func() bool {
		_, err := client.Resource(customresource.Networks).List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, time.Minute, 100*time.Millisecond, "the resource is served")
}

// story creates a network and deletes it, while the program is killed once. It reports whether it was.
func story(t *testing.T, config *rest.Config, client dynamic.Interface, at int, late bool) bool {
	k := &killer{Handler: before(t, config), at: at, late: late}
	server := httptest.NewServer(k)
	defer server.Close()
	defer server.CloseClientConnections()
	registry := t.TempDir()
	kubeconfig := filepath.Join(registry, "kubeconfig.yaml")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
		contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}],
		clusters: [{name: c, cluster: {server: %q}}]}`, server.URL)), 0o600))
	name := fmt.Sprintf("kill-%d-%v", at, late) // each story has its own, because garbage collection takes a while
	networks := client.Resource(customresource.Networks).Namespace("default")
	deployments := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace("default")
	network := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bitcoin.example.com/v1alpha1", "kind": "BitcoinNetwork",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"version": "29.0"},
	}}
	entries := func() int {
		files, err := filepath.Glob(filepath.Join(registry, "*.json"))
		require.NoError(t, err)
		return len(files)
	}
	p := &process{t: t, k: k, args: []string{"--kubeconfig", kubeconfig, "--registry", registry}}
	defer p.end()

	_, err := networks.Create(t.Context(), network, metav1.CreateOptions{})
	require.NoError(t, err)
	p.runUntil("the network is registered", func() bool {
		stored, err := networks.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		chain, _, _ := unstructured.NestedString(stored.Object, "status", "registeredChain")
		_, missing := deployments.Get(t.Context(), name, metav1.GetOptions{})
		return chain == "regtest" && missing == nil && entries() == 1
	})
	require.NoError(t, networks.Delete(t.Context(), name, metav1.DeleteOptions{}))
	p.runUntil("the network is gone", func() bool {
		_, err := networks.Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
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
