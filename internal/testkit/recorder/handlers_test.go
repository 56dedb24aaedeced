package recorder_test

// These tests are about handlers whose calls are not those that the changes of the Indexer call for.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// changed is an informer whose handlers receive other calls than below makes.
type changed struct {
	cache.SharedIndexInformer
	change func(cache.ResourceEventHandler) cache.ResourceEventHandler
}

func (c changed) AddEventHandlerWithOptions(h cache.ResourceEventHandler,
	options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return c.SharedIndexInformer.AddEventHandlerWithOptions(c.change(h), options)
}

// startChanged is start, with handlers that are changed.
func startChanged(t *testing.T, change func(cache.ResourceEventHandler) cache.ResourceEventHandler) *machine {
	right := newInformer
	defer func() { newInformer = right }()
	newInformer = func(below layers.Layers, lw cache.ListerWatcher, example runtime.Object,
		options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
		return changed{right(below, lw, example, options), change}
	}
	return start(t, solutions.Layers)
}

// without is a handler that does not receive some calls.
type without struct {
	cache.ResourceEventHandler
	deletions bool
	updates   func(old, now any)
}

func (w without) OnDelete(obj any) {
	if !w.deletions {
		w.ResourceEventHandler.OnDelete(obj)
	}
}

func (w without) OnUpdate(old, now any) {
	if w.updates == nil {
		w.ResourceEventHandler.OnUpdate(old, now)
		return
	}
	w.updates(old, now)
}

func TestTruth_deletions_that_no_handler_receives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startChanged(t, func(h cache.ResourceEventHandler) cache.ResourceEventHandler {
			return without{ResourceEventHandler: h, deletions: true}
		})
		m.api.Create(deployment("web", 1))
		time.Sleep(time.Second)
		m.settle()
		m.api.Delete(deployment("web", 1))
		m.settle()
		handler := func() *pipeline.HandlerState { return m.state.Informers[recorder.Deployment].Handlers["handler 1"] }
		require.Len(t, handler().Pending, 1, "the call may still come")
		require.Empty(t, m.state.View().Informers[recorder.Deployment].Differs)

		time.Sleep(pipeline.InTime)
		m.settle()
		require.Empty(t, handler().Pending, "nothing waits in a ring")
		require.Regexp(t, `^handler 1: it was not called: OnDelete for default/web@\d+$`,
			m.state.View().Informers[recorder.Deployment].Differs[0])
		n := m.state.N
		m.settle()
		require.Equal(t, n, m.state.N, "it is recorded once")
		m.stop()
	})
}

// While a goroutine is held, nothing is late.
func TestTruth_held_calls_are_not_late(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, solutions.Layers)
		m.settle()
		m.rec.Gate.Break(pipeline.Handler, true)
		m.api.Create(deployment("web", 1))
		time.Sleep(time.Hour)
		m.settle()
		m.rec.Gate.Open(true)
		m.rec.Look(m.state) // before the goroutine that was held goes on
		m.settle()
		require.Empty(t, m.state.View().Informers[recorder.Deployment].Differs)
		m.atRest()
		m.stop()
	})
}

// A call that was overtaken by a later one of its object is missing, until it comes.
func TestTruth_updates_that_are_overtaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var updates []func()
		m := startChanged(t, func(h cache.ResourceEventHandler) cache.ResourceEventHandler {
			return without{ResourceEventHandler: h, updates: func(old, now any) {
				updates = append(updates, func() { h.OnUpdate(old, now) })
			}}
		})
		m.api.Create(deployment("web", 1))
		time.Sleep(time.Second)
		m.settle()
		for replicas := range int32(2) {
			m.api.Update(deployment("web", 2+replicas))
		}
		m.settle()
		differs := func() []string { m.settle(); return m.state.View().Informers[recorder.Deployment].Differs }
		require.Empty(t, differs())
		updates[1]()
		require.Regexp(t, "handler 1: it was not called: OnUpdate for default/web@", differs())
		updates[0]()
		require.Regexp(t, "handler 1: OnUpdate for default/web@.* comes late", differs())
		require.Empty(t, m.state.Informers[recorder.Deployment].Handlers["handler 1"].Missing)
		m.stop()
	})
}

// The calls of a handler come before the change of the Indexer.
func TestTruth_early_calls(t *testing.T) {
	log := pipeline.NewLog(pipeline.Limit)
	step := func(seam pipeline.Seam, verb, version string, there int64) {
		log.Append(pipeline.Step{Seam: seam, Verb: verb, Kind: "Pod", Key: "default/web", Version: version,
			By: "handler 1", Count: there})
	}
	step(pipeline.Handler, pipeline.Joined, "", 0)
	step(pipeline.Delta, pipeline.Pop, "2", 0)
	step(pipeline.Handler, pipeline.OnAdd, "2", 0)
	differs := func() []string { return log.Follow(nil).View().Informers["Pod"].Differs }
	require.Contains(t, differs(), "handler 1: OnAdd for default/web, and no change is pending for it")
	step(pipeline.Handler, pipeline.Returned, "2", 0)
	step(pipeline.Store, pipeline.Add, "2", 1)
	step(pipeline.Delta, pipeline.Processed, "2", 0)
	require.Empty(t, log.Follow(nil).Informers["Pod"].Handlers["handler 1"].Pending, "it has been called")
}

// The version of client-go's own informer is the Reflector's: that of lists, events and bookmarks.
func TestTruth_version_of_an_informer_that_is_observed(t *testing.T) {
	for _, streams := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			api, rec := fakeapi.Start(t), recorder.New()
			config := api.Config()
			config.QPS = -1
			client, err := clientgo.Layers.NewClient(config)
			require.NoError(t, err)
			source := rec.ListerWatcher(client.Deployments(""), recorder.Deployment)
			if !streams {
				source = rec.ListerWatcher(onlyLists{client.Deployments("")}, recorder.Deployment)
			}
			informer := rec.Informer(cache.NewSharedIndexInformer(source, &appsv1.Deployment{}, 0, nil), recorder.Deployment)
			require.NoError(t, rec.Observe(informer, recorder.Deployment))
			_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			for _, name := range []string{"api", "db", "web"} {
				api.Create(deployment(name, 1))
			}
			go informer.RunWithContext(ctx)
			compare := func(when string) {
				time.Sleep(5 * time.Minute) // with a bookmark
				synctest.Wait()
				state := rec.Log.Follow(nil).Informers[recorder.Deployment]
				require.Equal(t, informer.LastSyncResourceVersion(), state.Reflector.Version, "%s, streams %v", when, streams)
				require.Len(t, state.Store.Objects, len(informer.GetIndexer().ListKeys()), when)
			}
			compare("after the list")
			api.Update(deployment("web", 2))
			compare("after an update")
			api.Down()
			api.Delete(deployment("web", 2)) // its tombstone has the version of the last known object
			api.Create(deployment("shop", 1))
			api.Compact()
			api.Up()
			compare("after the second list")
			cancel()
			api.Close()
			time.Sleep(5 * time.Minute)
		})
	}
}

// onlyLists cannot list by a watch.
type onlyLists struct{ cache.ListerWatcher }

func (onlyLists) IsWatchListSemanticsUnSupported() bool { return true }
