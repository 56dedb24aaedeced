package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// output tells when something has been written.
type output struct {
	bytes.Buffer
	written chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Buffer.Write(b)
	if bytes.Contains(b, []byte("kubectl create")) {
		close(o.written)
	}
	return n, err
}

func TestServe_says_where_it_is_and_leaves_nothing_behind(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "folder", "kubeconfig")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &output{written: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, "127.0.0.1:0", kubeconfig, out) }()
	select {
	case <-out.written:
	case err := <-ended:
		t.Fatal(err)
	}
	url := regexp.MustCompile(`curl (\S+)`).FindStringSubmatch(out.String())[1]
	r, err := http.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	require.NoError(t, err)
	require.Contains(t, string(body), `"kind":"DeploymentList"`)

	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	require.Contains(t, url, config.Host)

	cancel()
	require.NoError(t, <-ended)
	require.NoFileExists(t, kubeconfig)
}

// begin runs a server until end is called, or the test is over.
func begin(t *testing.T, kubeconfig string) (url string, end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &output{written: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, "127.0.0.1:0", kubeconfig, out) }()
	end = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	select {
	case <-out.written:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(end)
	return regexp.MustCompile(`curl (http://[^/]+)/`).FindStringSubmatch(out.String())[1], end
}

func TestServe_leaves_the_kubeconfig_of_a_later_one(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	_, endFirst := begin(t, kubeconfig)
	second, endSecond := begin(t, kubeconfig)
	endFirst()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	require.Equal(t, second, config.Host)
	endSecond()
	require.NoFileExists(t, kubeconfig)
}

func TestServe_leaves_another_kubeconfig_alone(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\n"), 0o600))
	err := serve(t.Context(), "127.0.0.1:0", kubeconfig, io.Discard)
	require.ErrorContains(t, err, "is another kubeconfig, which is left as it is; name a new file with --kubeconfig")
	require.FileExists(t, kubeconfig)
}

func TestServe_says_what_to_do_about_an_address_in_use(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	err = serve(t.Context(), taken.Addr().String(), filepath.Join(t.TempDir(), "config"), io.Discard)
	require.ErrorContains(t, err, "choose another address with --address")
}

func TestOnLoopback(t *testing.T) {
	for address, want := range map[string]string{
		":8099": "127.0.0.1:8099", "127.0.0.1:0": "127.0.0.1:0", "127.0.0.2:1": "127.0.0.2:1",
		"[::1]:1": "[::1]:1", "localhost:1": "localhost:1",
	} {
		got, err := onLoopback(address)
		require.NoError(t, err, address)
		require.Equal(t, want, got)
	}
	for _, address := range []string{"0.0.0.0:8099", "[::]:8099", "192.0.2.1:1", "example.com:1"} {
		_, err := onLoopback(address)
		require.ErrorContains(t, err, "is not on the loopback address", address)
	}
	_, err := onLoopback("8099")
	require.ErrorContains(t, err, "127.0.0.1:8099", "what it has to look like")
}

func TestServe_refuses_other_machines(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	err := serve(t.Context(), "0.0.0.0:0", kubeconfig, io.Discard)
	require.ErrorContains(t, err, "is not on the loopback address")
	require.NoFileExists(t, kubeconfig)
}
