package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/localserver"
	restclient "client-go-workshop/solutions/01-restclient"
)

// output can be read while it is written to.
type output struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.String()
}

// waitFor waits until something has been printed.
func (o *output) waitFor(t *testing.T, pattern string) {
	t.Helper()
	require.Eventually(t, func() bool { return regexp.MustCompile(pattern).MatchString(o.String()) }, time.Minute,
		time.Millisecond, "%s", pattern)
}

// tapped runs a wiretap before a server, and returns the kubeconfig that it has written.
func tapped(t *testing.T, server upstream) (kubeconfig string, out *output) {
	kubeconfig = filepath.Join(t.TempDir(), "folder", "kubeconfig")
	out = &output{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, server, "127.0.0.1:0", kubeconfig, newPrinter(out, 60)) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoFileExists(t, kubeconfig)
	})
	out.waitFor(t, "export KUBECONFIG")
	return kubeconfig, out
}

func TestServe_a_client_lists_and_watches_through_it(t *testing.T) {
	api := fakeapi.Start(t)
	url, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	kubeconfig, out := tapped(t, upstream{address: strings.TrimPrefix(url, "http://")})
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	c, err := restclient.AppsV1For(config)
	require.NoError(t, err)
	deployments := restclient.NewDeployments(c, "default")

	list, err := deployments.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	w, err := deployments.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	api.Create(fakeapi.Deployment("web", 1))
	require.Equal(t, "ADDED", string((<-w.ResultChan()).Type))
	w.Stop()

	out.waitFor(t, `#\d > GET /apis/apps/v1/namespaces/default/deployments HTTP/1\.1`)
	out.waitFor(t, `#\d > GET /apis/apps/v1/namespaces/default/deployments\?resourceVersion=\d+&watch=true HTTP/1\.1`)
	out.waitFor(t, `#\d < Transfer-Encoding: chunked`)
	out.waitFor(t, `#\d < [0-9a-f]+  \(a chunk of \d+ bytes\)\n`+
		`.*#\d < {"type":"ADDED","object":{"kind":"Deployment".*… \(\d+ more bytes\)`)
}

func TestServe_speaks_TLS_to_a_server_that_wants_it_with_a_certificate(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }
	server := httptest.NewUnstartedServer(http.HandlerFunc(handler))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	// Any certificate will do, so the client has the server's.
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	given := filepath.Join(t.TempDir(), "config")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL, InsecureSkipTLSVerify: true}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		ClientKeyData:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	require.NoError(t, clientcmd.WriteToFile(*config, given))
	up, err := upstreamOf(given)
	require.NoError(t, err)

	kubeconfig, out := tapped(t, up)
	written, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	response, err := http.Get(written.Host)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1", string(body))
	out.waitFor(t, "#1 < HTTP/1.1\n") // the body, not the status line
}

func TestServe_says_that_the_server_is_away(t *testing.T) {
	kubeconfig, out := tapped(t, upstream{address: "127.0.0.1:1"})
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	_, err = http.Get(config.Host)
	require.Error(t, err)
	out.waitFor(t, `cannot reach 127.0.0.1:1: .*refused`)
}

func TestUpstreamOf_refuses_what_it_would_have_to_add(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://192.0.2.1"}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "secret"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	_, err := upstreamOf(file)
	require.ErrorContains(t, err, "wiretap only copies bytes")
}

func TestUpstreamOf_says_where_a_kubeconfig_comes_from(t *testing.T) {
	_, err := upstreamOf(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "`go run ./cmd/fakeapi` makes one")
}

func TestServe_names_its_kubeconfig_so_that_any_folder_will_do(t *testing.T) {
	t.Chdir(t.TempDir())
	out := &output{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, upstream{}, "127.0.0.1:0", "config", newPrinter(out, 0)) }()
	out.waitFor(t, "export KUBECONFIG=.*\n")
	cancel()
	require.NoError(t, <-ended)
	printed := regexp.MustCompile(`export KUBECONFIG=(.*)\n`).FindStringSubmatch(out.String())[1]
	require.True(t, filepath.IsAbs(printed), printed)
}

func TestServe_leaves_the_kubeconfig_of_a_later_one(t *testing.T) {
	path, out := filepath.Join(t.TempDir(), "config"), &output{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, upstream{}, "127.0.0.1:0", path, newPrinter(out, 0)) }()
	out.waitFor(t, "export KUBECONFIG")
	const later = "http://127.0.0.1:1"
	_, _, err := localserver.WriteKubeconfig(path, name, later, "--write")
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-ended)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	require.Equal(t, later, config.Host)
}

func TestServe_leaves_another_kubeconfig_alone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\n"), 0o600))
	err := serve(t.Context(), upstream{}, "127.0.0.1:0", file, newPrinter(io.Discard, 0))
	require.ErrorContains(t, err, "is another kubeconfig, which is left as it is; name a new file with --write")
	require.FileExists(t, file)
}

// times are not the same twice.
var times = regexp.MustCompile(`(?m)^ *\d+\.\d{3} #1 `)

// printed is what is made of a conversation.
func printed(width int, requests, responses string) string {
	var out bytes.Buffer
	t := newPrinter(&out, width).tap(1)
	t.requests(strings.NewReader(requests))
	t.responses(strings.NewReader(responses))
	return times.ReplaceAllString(out.String(), "")
}

func TestPrint(t *testing.T) {
	get := "GET / HTTP/1.1\r\n\r\n"
	for name, c := range map[string]struct{ requests, responses, want string }{
		"a length": {
			"POST / HTTP/1.1\r\nContent-Length: 2\r\nAuthorization: Bearer secret\r\n\r\n{}",
			"HTTP/1.1 201 Created\r\ncontent-length: 8\r\n\r\n{\"a\":1}\n",
			"> POST / HTTP/1.1\n> Content-Length: 2\n> Authorization: (not shown)\n> \n> {}\n" +
				"< HTTP/1.1 201 Created\n< content-length: 8\n< \n< {\"a\":1}\n",
		},
		"chunks": {
			get,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n",
			"> GET / HTTP/1.1\n> \n< HTTP/1.1 200 OK\n< Transfer-Encoding: chunked\n< \n< 3;x=y  (a chunk of 3 bytes)\n< abc\n" +
				"< a  (a chunk of 10 bytes)\n< 0123456789\n< 0  (the last chunk: the body ends)\n< \n",
		},
		"two requests on one connection, the first for a head": {
			"HEAD / HTTP/1.1\r\n\r\n" + get,
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			"> HEAD / HTTP/1.1\n> \n> GET / HTTP/1.1\n> \n< HTTP/1.1 200 OK\n< Content-Length: 5\n< \n" +
				"< HTTP/1.1 200 OK\n< Content-Length: 2\n< \n< ok\n",
		},
		"until the connection ends": {
			get, "HTTP/1.1 200 OK\r\n\r\nabc",
			"> GET / HTTP/1.1\n> \n< HTTP/1.1 200 OK\n< \n< abc\n",
		},
		"an answer before the answer": {
			get, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
			"> GET / HTTP/1.1\n> \n< HTTP/1.1 100 Continue\n< \n< HTTP/1.1 204 No Content\n< \n",
		},
		"an upgrade": {
			get, "HTTP/1.1 101 Switching Protocols\r\n\r\n\x00\x01",
			"> GET / HTTP/1.1\n> \n< HTTP/1.1 101 Switching Protocols\n< \n- (upgraded: no longer HTTP, and not shown)\n",
		},
		"what is no text": {
			get, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\x00\x00\x00\x04k8s\x00",
			"> GET / HTTP/1.1\n> \n< HTTP/1.1 200 OK\n< Content-Length: 8\n< \n" +
				"< 00000000  00 00 00 04 6b 38 73 00                           |....k8s.|\n",
		},
		"long lines, not cut within a character": {
			get, "HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n0123456789012345678äö",
			"> GET / HTTP/1.1\n> \n< HTTP/1.1 200 OK\n< Content-Length: 23\n< \n< 0123456789012345678… (4 more bytes)\n",
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, printed(20, c.requests, c.responses)) })
	}
}

func TestPrint_a_large_body_is_passed_over(t *testing.T) {
	got := printed(0, "GET / HTTP/1.1\r\n\r\n", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", most+10,
		strings.Repeat("a\n", most/2+5)))
	require.Contains(t, got, "< … (10 more bytes)\n")
}
