package proxyapp

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

var update = flag.Bool("update", false, "write the demonstration into the lab's README")

func finished(c Config) (http.Handler, error) {
	return rewritingproxy.New(rewritingproxy.Config{
		Upstream: c.Upstream, Transport: c.Transport, NewFrameReader: watchstream.NewFrameReader,
		View: rewritingproxy.View{Factor: c.Factor, HiddenLabel: c.HiddenLabel},
	})
}

var shownDemo = regexp.MustCompile("(?s)<!-- demo -->\n```console\n\\$ [^\n]*\n(.*?)```\n")

func TestReadme_shows_the_demo(t *testing.T) {
	var out strings.Builder
	require.NoError(t, demo(t.Context(), finished, &out))
	path := filepath.Join("..", "..", "..", "labs", "rewriting-proxy", "README.md")
	readme, err := os.ReadFile(path)
	require.NoError(t, err)
	at := shownDemo.FindSubmatchIndex(readme)
	require.NotNil(t, at, "%s has a block <!-- demo -->", path)
	if *update {
		updated := string(readme[:at[2]]) + out.String() + string(readme[at[3]:])
		require.NoError(t, os.WriteFile(path, []byte(updated), 0o644))
		return
	}
	require.Equal(t, out.String(), string(readme[at[2]:at[3]]),
		"go test ./internal/testkit/proxyapp -run Readme -update writes it")
}

func TestServer_wants_its_token(t *testing.T) {
	api := fakeapi.Start(t)
	url, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	handler, err := inFrontOf(&rest.Config{Host: url}, finished, 3, "")
	require.NoError(t, err)
	s, err := listen("127.0.0.1:0", handler)
	require.NoError(t, err)
	defer s.http.Close()
	list := func(config *rest.Config) error {
		client, err := typedappsv1.NewForConfig(config)
		require.NoError(t, err)
		_, err = client.Deployments("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	require.NoError(t, list(s.config()))
	wrong := s.config()
	wrong.BearerToken = "guess"
	require.True(t, apierrors.IsUnauthorized(list(wrong)), "the error of a client with another token")
	require.Len(t, api.Requests("list"), 1, "the request without the token has not reached the API server")
	require.Empty(t, api.Requests("list")[0].Header.Get("Authorization"), "the token of the proxy's clients at the "+
		"API server")
}

func TestMain_needs_a_kubeconfig_that_exists(t *testing.T) {
	o := options{kubeconfig: filepath.Join(t.TempDir(), "missing"), address: "127.0.0.1:0", factor: 3}
	require.ErrorContains(t, run(t.Context(), finished, o, os.Stderr), "read how to reach the API server")
}
