package bitcoinapp

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	informer "client-go-workshop/solutions/07-controller"
)

// parts are a program whose resource is Deployments, which the fake API server has without a definition.
func parts(run func(ctx context.Context, setup Setup) error) Parts {
	return Parts{
		Resource: appsv1.SchemeGroupVersion.WithResource("deployments"), AddToScheme: appsv1.AddToScheme,
		Example: &appsv1.Deployment{}, Manifest: func() string { return "a definition\n" },
		NewInformer: informer.NewSharedIndexInformerOn, Run: run,
		Sets: map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers},
	}
}

func TestRun_says_what_is_wrong_with_the_flags(t *testing.T) {
	for problem, args := range map[string][]string{
		"flag provided but not defined": {"--nodes", "3"},
		"unexpected argument":           {"now"},
		"must be a folder that exists":  {"--registry", filepath.Join(t.TempDir(), "missing")},
		`there is no set "theirs"`:      {"--registry", t.TempDir(), "--layers", "theirs"},
	} {
		code, err := run(t.Context(), args, &bytes.Buffer{}, parts(nil))
		require.Equal(t, 2, code, "%v", args)
		require.ErrorContains(t, err, problem)
	}
}

func TestRun_prints_the_definition_and_help(t *testing.T) {
	var out bytes.Buffer
	code, err := run(t.Context(), []string{"--print-crd"}, &out, parts(nil))
	require.NoError(t, err)
	require.Equal(t, 0, code)
	require.Equal(t, "a definition\n", out.String())
	code, err = run(t.Context(), []string{"-h"}, &out, parts(nil))
	require.NoError(t, err)
	require.Equal(t, 0, code)
	require.Contains(t, out.String(), "-registry")
}

func TestRun_gives_the_controller_informers_that_sync(t *testing.T) {
	for _, set := range []string{"solutions", "client-go"} {
		t.Run(set, func(t *testing.T) {
			api := fakeapi.Start(t)
			url, err := api.Listen("127.0.0.1:0")
			require.NoError(t, err)
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			require.NoError(t, os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c,
				contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}],
				clusters: [{name: c, cluster: {server: "`+url+`"}}]}`), 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			synced := false
			args := []string{"--kubeconfig", kubeconfig, "--registry", t.TempDir(), "--layers", set}
			code, err := run(ctx, args, &bytes.Buffer{}, parts(func(ctx context.Context, setup Setup) error {
				defer setup.Queue.ShutDown()
				synced = cache.WaitForCacheSync(ctx.Done(), setup.Networks.HasSynced, setup.Deployments.HasSynced)
				return nil
			}))
			require.NoError(t, err)
			require.Equal(t, 0, code)
			require.True(t, synced)
		})
	}
}
