package main

// These tests watch the server in the process as another program's informer would watch a cluster.

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/pipeline"
)

// observing returns a session on the Deployments of a server that has so many.
func observing(t *testing.T, deployments int) (*fakeapi.Server, *session) {
	t.Helper()
	api := fakeapi.Start(t)
	for i := range deployments {
		api.Create(fakeapi.Deployment("web-"+string(rune('a'+i)), 2))
	}
	s := &session{}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	config := api.Config()
	config.QPS = -1
	require.NoError(t, s.observe(ctx, config, "deployments.apps"))
	return api, s
}

// facts are what the page says about the informer at a station.
func facts(m *message, seam pipeline.Seam) string {
	if i := m.View.Informers["Deployment"]; i != nil {
		return strings.Join(i.Facts[seam], " ")
	}
	return ""
}

func TestObserve_says_what_is_cached_how_late_and_why_it_was_listed_again(t *testing.T) {
	api, s := observing(t, 3)
	m := follow(t, s, func(m *message) bool {
		return strings.Contains(facts(m, pipeline.Handler), "A call of handler 1 takes") &&
			m.View.Informers["Deployment"].Store.Total == 3
	})
	require.Contains(t, facts(m, pipeline.Reflector), "It has asked for all objects 1 time.")
	require.NotContains(t, facts(m, pipeline.Reflector), "The last time")
	require.Regexp(t, `as of \d+s ago`, facts(m, pipeline.Store))
	m = follow(t, s, func(m *message) bool {
		return strings.Contains(facts(m, pipeline.Delta), "Its depth is 0 deltas. To process one takes ")
	})
	require.True(t, slices.ContainsFunc(s.runs[0].Log.Steps(m.View.N, 1000), func(step pipeline.Step) bool {
		return step.Verb == pipeline.Depth && step.Count > 0
	}), "the queue had a delta once")

	api.Compact()
	api.Script("watch", fakeapi.Answer(410, ""))
	api.EndWatches()
	again := regexp.MustCompile(`for all objects \d times\. The last time was \d+s ago: .* too old\.$`)
	follow(t, s, func(m *message) bool { return again.MatchString(facts(m, pipeline.Reflector)) })
	api.Delete(fakeapi.Deployment("web-a", 2))
	follow(t, s, func(m *message) bool { return m.View.Informers["Deployment"].Store.Total == 2 })
	require.Error(t, s.do(do("create", "web", 1)), "it only looks")
}

// No data of an object reaches the program.
func TestObserve_receives_metadata_only(t *testing.T) {
	d := fakeapi.Deployment("web", 1)
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	stripped, err := withoutManagers(d)
	require.NoError(t, err)
	require.Empty(t, stripped.(metav1.Object).GetManagedFields())
	api, s := observing(t, 1)
	follow(t, s, func(m *message) bool {
		return len(m.View.Informers) > 0 && m.View.Informers["Deployment"].Store.Total == 1
	})
	for _, request := range api.Requests("") {
		if strings.Contains(request.Path, "deployments") {
			require.Contains(t, request.Header.Get("Accept"), "as=PartialObjectMetadata")
		}
	}
}
