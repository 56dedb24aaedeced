package ownwrites_test

// Task 4: a Reconcile with other parts: a store that takes its time, a second namespace, and clients without a server.

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// storeWith is a store with another EnsureReady.
type storeWith struct {
	ownwrites.ConsistencyStore
	ensureReady func(owner types.NamespacedName) error
}

func (s storeWith) EnsureReady(owner types.NamespacedName) error { return s.ensureReady(owner) }

// ensure gives web's controller another EnsureReady.
func (w *world) ensure(ensureReady func(owner types.NamespacedName) error) {
	config := w.config()
	config.Store = storeWith{w.store, ensureReady}
	w.controller = ownwrites.New(config)
}

func TestTask4_Cache_is_read_after_the_question(t *testing.T) {
	guard.Test(t, "A Deployment never has more Pods than it wants, however late the watches of Pods are. What was read "+
		"from the cache before EnsureReady may be older than what EnsureReady has compared.", func(t *guard.T) {
		w := newWorld(t, 10*time.Second)
		require.NoError(t, w.reconcile(), "the error of Reconcile, which creates three Pods")
		w.ensure(func(owner types.NamespacedName) error {
			time.Sleep(11 * time.Second)
			return w.store.EnsureReady(owner)
		})
		t.Did("the watch is 10 s late; the cache gets the Pods while the store is asked")
		require.NoError(t, w.reconcile(), "the error of the next Reconcile")
		require.Len(t, w.names(), 3, "the server's Pods")
	})
}

func TestTask4_Any_error_of_the_store(t *testing.T) {
	guard.Test(t, "If EnsureReady returns an error, Reconcile writes nothing and returns that error. A store may have "+
		"other errors than a *ConsistencyError.", func(t *guard.T) {
		w := newWorld(t, 0)
		failed := errors.New("the store does not answer")
		w.ensure(func(types.NamespacedName) error { return failed })
		lists := len(w.sent("list"))
		require.ErrorIs(t, w.reconcile(), failed, "the error of Reconcile")
		require.Empty(t, w.sent("create"), "the requests to create a Pod")
		t.Did("the store answers after its first error")
		asked := 0
		w.ensure(func(types.NamespacedName) error {
			if asked++; asked == 1 {
				return failed
			}
			return nil
		})
		require.ErrorIs(t, w.reconcile(), failed, "the error of Reconcile")
		require.Empty(t, w.sent("create"), "the requests to create a Pod")
		t.Rule("When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last one and " +
			"reads the Pods from the server.")
		t.Did("the store does not answer any more")
		w.ensure(func(types.NamespacedName) error { return failed })
		require.ErrorIs(t, w.reconcile(), failed, "the error of Reconcile")
		time.Sleep(patience)
		t.Did("Patience has passed")
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, []error{failed}, w.stale, "the errors that Stale was called with")
		require.Len(t, w.sent("list"), lists+1, "the lists of Pods")
		require.Len(t, w.names(), 3, "the server's Pods")
		t.Rule("A Deployment that is not in the cache is gone, or the cache does not have it yet: Reconcile returns " +
			"EnsureReady's error for it too.")
		w.store.WroteAt(web, w.web().UID, pods, "999999")
		t.Did("the Deployment is deleted")
		w.Delete(w.web())
		settle()
		require.ErrorIs(t, w.reconcile(), failed, "the error of Reconcile")
		require.Equal(t, 1, w.store.Owners(), "the number of owners in the store")
	})
}

func TestTask4_Stale_takes_its_time(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server: first the one, then the other.", func(t *guard.T) {
		w := withDB(t, 0)
		config := w.config()
		config.Stale = func(cache.ObjectName, error) { time.Sleep(time.Minute) }
		w.controller = ownwrites.New(config)
		w.farAhead()
		w.behind()
		time.Sleep(patience)
		t.Did("Patience has passed; Stale takes a minute")
		lists, ended := len(w.sent("list")), make(chan error, 1)
		reconcile := func(name string) error {
			return w.controller.Reconcile(t.Context(), cache.NewObjectName("default", name))
		}
		t.Go(func() { ended <- reconcile("web") })
		settle()
		require.Len(t, w.sent("list"), lists, "the lists of Pods while Stale is called")
		t.Rule("Reconcile may run for different Deployments at once. A slow Stale for one does not stop another.")
		t.Did("Reconcile default/db")
		start := time.Now()
		require.NoError(t, reconcile("db"), "the error of Reconcile for db")
		require.Zero(t, time.Since(start), "the time that the Reconcile of db took")
		require.NoError(t, <-ended, "the error of Reconcile for web")
		require.Len(t, w.names(), 6, "the server's Pods")
	})
}

func TestTask4_Same_name_in_two_namespaces(t *testing.T) {
	guard.Test(t, "Reconcile gives one Deployment the wanted number of Pods. An owner has a namespace and a name.",
		func(t *guard.T) {
			w := newWorld(t, 0)
			other := fakeapi.Deployment("web", 2)
			other.Namespace = "shop"
			w.Create(other)
			settle()
			here, inShop := cache.NewObjectName("default", "web"), cache.NewObjectName("shop", "web")
			reconcile := func(key cache.ObjectName, reads int) error {
				t.Helper()
				t.Did("Reconcile %s", key)
				lists := len(w.sent("list"))
				err := w.reconcileKey(t.Context(), key)
				require.Len(t, w.sent("list"), lists+reads, "the lists of Pods")
				return err
			}
			t.Did("there is a Deployment shop/web, too, which wants two Pods; the answer to a create of default/web is lost")
			t.Rule("After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady " +
				"returns. A Deployment of the same name in another namespace has lost nothing.")
			w.Script("create", fakeapi.Reset(true))
			require.Error(t, reconcile(here, 0), "the error of Reconcile for default/web")
			require.NoError(t, reconcile(inShop, 0), "the error of Reconcile for shop/web")
			require.NoError(t, reconcile(here, 1), "the error of the next Reconcile for default/web")
			settle()
			t.Rule("Reconcile gives one Deployment the wanted number of Pods. An owner has a namespace and a name.")
			require.Len(t, w.sent("create"), 5, "the requests to create a Pod")
			require.Len(t, w.names(), 5, "the server's Pods")
			for _, pod := range w.stored()[3:] {
				require.Equal(t, "shop", pod.Namespace, "the namespace of a Pod")
			}
			t.Rule("When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last one " +
				"and reads the Pods from the server. An owner has a namespace and a name.")
			behind := func(key cache.ObjectName) {
				t.Helper()
				var behind *ownwrites.ConsistencyError
				err := reconcile(key, 0)
				require.True(t, errors.As(err, &behind), "the error of Reconcile is a *ConsistencyError: %v", err)
			}
			for _, key := range []cache.ObjectName{here, inShop} {
				t.Did("the store has a write of %s at 999999", key)
				w.store.WroteAt(key.AsNamespacedName(), "uid-1", pods, "999999")
				behind(key)
				time.Sleep(patience / 2)
			}
			behind(inShop)
			require.NoError(t, reconcile(here, 1), "the error of Reconcile for default/web")
			time.Sleep(patience / 2)
			require.NoError(t, reconcile(inShop, 1), "the error of Reconcile for shop/web")
			require.Equal(t, []cache.ObjectName{here, inShop}, w.late, "the Deployments that Stale was called with")
			t.Rule("Of surplus Pods it deletes the last by name, each with its UID as a precondition.")
			for _, obj := range w.Objects("deployments") {
				d := obj.(*appsv1.Deployment)
				d.Spec.Replicas = new(int32)
				w.Update(d)
			}
			settle()
			t.Did("no Pods are wanted any more")
			require.NoError(t, reconcile(inShop, 0), "the error of Reconcile for shop/web")
			require.Len(t, w.names(), 3, "the server's Pods")
			for _, pod := range w.stored() {
				require.Equal(t, "default", pod.Namespace, "the namespace of a Pod")
			}
		})
}

// markOutlivesTheWait lets web, which has lost an answer, come into the cache while Reconcile still waits for it.
func markOutlivesTheWait(w *world) {
	w.t.Rule("After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady " +
		"returns: only a Deployment that is forgotten has no lost answer.")
	w.t.Did("the Deployment comes back before Patience has passed")
	w.Create(fakeapi.Deployment("web", 3))
	settle()
	lists := len(w.sent("list"))
	require.NoError(w.t, w.reconcile(), "the error of Reconcile, which reads from the server")
	require.Len(w.t, w.sent("list"), lists+1, "the lists of Pods")
}

// withoutServer returns the parts of a controller whose caches are empty and stay as they are.
func withoutServer(client ownwrites.PodClient) ownwrites.Config {
	return ownwrites.Config{
		Deployments: cache.NewSharedIndexInformer(&cache.ListWatch{}, &appsv1.Deployment{}, 0, nil),
		Pods: cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0,
			cache.Indexers{ownwrites.OwnerIndex: ownwrites.IndexByOwner}),
		Client: func(string) ownwrites.PodClient { return client },
		Store:  ownwrites.NoopConsistencyStore{}, Patience: patience, Stale: func(cache.ObjectName, error) {},
	}
}

// counting is a client without a server, which counts.
type counting struct {
	ownwrites.PodClient
	creates, deletes int
}

func (c *counting) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	c.creates++
	return pod, nil
}

func (c *counting) Delete(context.Context, string, metav1.DeleteOptions) error {
	c.deletes++
	return nil
}

func TestTask4_Large_Deployment(t *testing.T) {
	guard.Test(t, "Reconcile gives one Deployment the wanted number of Pods. A Deployment may want many.",
		func(t *guard.T) {
			const many = 5_000
			client := &counting{}
			config := withoutServer(client)
			d := fakeapi.Deployment("web", many)
			require.NoError(t, config.Deployments.GetStore().Add(d), "the error of filling a cache")
			reconcile := func() error {
				return ownwrites.New(config).Reconcile(t.Context(), cache.NewObjectName("default", "web"))
			}
			t.Did("a Deployment wants 5,000 Pods, and has none; Reconcile default/web")
			require.NoError(t, reconcile(), "the error of Reconcile")
			require.Equal(t, many, client.creates, "the number of creates")
			for i := range many + 1 {
				pod := ownwrites.NewPod(d)
				pod.Name = strconv.Itoa(i)
				require.NoError(t, config.Pods.GetStore().Add(pod), "the error of filling a cache")
			}
			d = fakeapi.Deployment("web", 1)
			require.NoError(t, config.Deployments.GetStore().Add(d), "the error of filling a cache")
			t.Did("it has 5,001 Pods, and wants one; Reconcile default/web")
			require.NoError(t, reconcile(), "the error of Reconcile")
			require.Equal(t, many, client.deletes, "the number of deletions")
		})
}

func TestTask4_No_number_is_wanted(t *testing.T) {
	guard.Test(t, "A Deployment whose Replicas is nil wants one. The server sets this default, and a cache that a program "+
		"has filled may not have it.", func(t *guard.T) {
		for cached := range 3 {
			client := &counting{}
			config := withoutServer(client)
			d := fakeapi.Deployment("web", 3)
			d.Spec.Replicas = nil
			require.NoError(t, config.Deployments.GetStore().Add(d), "the error of filling a cache")
			for i := range cached {
				pod := ownwrites.NewPod(d)
				pod.Name = strconv.Itoa(i)
				require.NoError(t, config.Pods.GetStore().Add(pod), "the error of filling a cache")
			}
			t.Did("the Replicas of a Deployment is nil, and it has %d Pods; Reconcile default/web", cached)
			err := ownwrites.New(config).Reconcile(t.Context(), cache.NewObjectName("default", "web"))
			require.NoError(t, err, "the error of Reconcile")
			require.Equal(t, 1, cached+client.creates-client.deletes, "the number of Pods afterwards")
			require.Nil(t, d.Spec.Replicas, "the Replicas of the cached Deployment")
		}
	})
}

func TestTask4_Cache_without_an_index(t *testing.T) {
	guard.Test(t, "After an error it writes nothing more, and returns the error. A cache that cannot be read is not an "+
		"empty cache.", func(t *guard.T) {
		client := &counting{}
		config := withoutServer(client)
		config.Pods = cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, nil)
		d := fakeapi.Deployment("web", 1)
		pod := ownwrites.NewPod(d)
		pod.Name = "web-a"
		require.NoError(t, config.Deployments.GetStore().Add(d), "the error of filling a cache")
		require.NoError(t, config.Pods.GetStore().Add(pod), "the error of filling a cache")
		t.Did("a Deployment has its one Pod, and the cache of Pods has no OwnerIndex; Reconcile default/web")
		err := ownwrites.New(config).Reconcile(t.Context(), cache.NewObjectName("default", "web"))
		require.Zero(t, client.creates, "the number of creates; the error of Reconcile is %v", err)
		require.Zero(t, client.deletes, "the number of deletions; the error of Reconcile is %v", err)
	})
}

// lost is a client without a server: the answer to each create is lost, and there is no Pod.
type lost struct{ ownwrites.PodClient }

func (lost) Create(context.Context, *corev1.Pod, metav1.CreateOptions) (*corev1.Pod, error) {
	return nil, errors.New("the connection is broken")
}

func (lost) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	return &corev1.PodList{}, nil
}

func TestTask4_Many_Deployments_at_once(t *testing.T) {
	guard.Race(t, "Reconcile may run for different Deployments at once.", func(t *guard.T) {
		config := withoutServer(lost{})
		for _, name := range []string{"web", "db"} {
			require.NoError(t, config.Deployments.GetStore().Add(fakeapi.Deployment(name, 1)), "the error of filling a cache")
		}
		var asked atomic.Int64
		config.Store = storeWith{ownwrites.NoopConsistencyStore{}, func(types.NamespacedName) error {
			if asked.Add(1)%3 == 0 {
				return &ownwrites.ConsistencyError{ReadRV: "1", WroteRV: "2", GroupResource: pods}
			}
			return nil
		}}
		c := ownwrites.New(config)
		reconcile := func(name string) func(int) {
			return func(int) { _ = c.Reconcile(t.Context(), cache.NewObjectName("default", name)) }
		}
		t.Did("Reconcile of web, of db and of a Deployment that is gone, on three goroutines")
		guard.Storm(reconcile("web"), reconcile("db"), reconcile("gone"))
	})
}
