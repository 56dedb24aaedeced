package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/fakeapi"
)

func TestRun_shows_everything_once_and_cleans_up(t *testing.T) {
	api := fakeapi.Start(t)
	url, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "`+url+`"}}]
contexts: [{name: c, context: {cluster: c}}]
`), 0o600))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), kubeconfig, "default", &out))
	require.Equal(t, `created chapter-01-one
created chapter-01-two
created chapter-01-three
created chapter-01-four
created chapter-01-five
a page of 2
a page of 2
a page of 1
chapter-01-one has 3 replicas
created twice: deployments.apps "chapter-01-one" already exists
`, out.String())
	require.Empty(t, api.Objects("deployments"))
}

func TestRun_says_what_to_do_without_a_kubeconfig(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), "", "default", nil), "Say --kubeconfig FILE")
}
