package ownwrites_test

// Task 3: has the cache seen the writes?

import (
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// notReady calls EnsureReady for web, which must return a *ConsistencyError.
func notReady(t *guard.T, s *ownwrites.RealConsistencyStore) *ownwrites.ConsistencyError {
	t.Helper()
	t.Did("EnsureReady(web)")
	var behind *ownwrites.ConsistencyError
	err := s.EnsureReady(web)
	require.True(t, errors.As(err, &behind), "the error of EnsureReady is a *ConsistencyError: %v", err)
	return behind
}

// ready calls EnsureReady for web, which must return nil.
func ready(t *guard.T, s *ownwrites.RealConsistencyStore) {
	t.Helper()
	t.Did("EnsureReady(web)")
	require.NoError(t, s.EnsureReady(web), "the error of EnsureReady")
}

func TestTask3_Cache_is_as_new_as_the_writes(t *testing.T) {
	guard.Test(t, "EnsureReady returns nil if each cache is at least as new as the owner's writes to its resource.",
		func(t *guard.T) {
			ofPods, ofReplicas := &aCache{version: "9"}, &aCache{version: "30"}
			s := storeOn(ofPods, ofReplicas)
			ready(t, s)
			s.WroteAt(web, "uid-1", pods, "10")
			s.WroteAt(web, "uid-1", replicas, "20")
			t.Did("web wrote Pods at 10 and ReplicaSets at 20; the caches are at 9 and 30")
			notReady(t, s)
			t.Did("the cache of Pods reaches 10")
			ofPods.version = "10"
			ready(t, s)
			s.WroteAt(web, "uid-1", pods, "11")
			s.WroteAt(web, "uid-1", replicas, "40")
			t.Did("web wrote Pods at 11 and ReplicaSets at 40; the caches are at 100 and 30")
			ofPods.version = "100"
			notReady(t, s)
			t.Did("the cache of ReplicaSets reaches 40")
			ofReplicas.version = "40"
			ready(t, s)
			t.Did("etcd is restored from a copy: the cache of Pods is at 50; web writes Pods at 51")
			ofPods.version = "50"
			s.WroteAt(web, "uid-1", pods, "51")
			notReady(t, s)
		})
}

func TestTask3_Other_owners_do_not_wait(t *testing.T) {
	guard.Test(t, "EnsureReady returns nil if each cache is at least as new as the owner's writes to its resource: the "+
		"writes of other owners do not count.", func(t *guard.T) {
		s := storeOn(&aCache{version: "9"}, &aCache{version: "9"})
		s.WroteAt(db, "uid-2", pods, "10")
		t.Did("db wrote Pods at 10; the cache is at 9")
		ready(t, s)
		require.Equal(t, "10", s.Written(db, pods), "the written version of db's Pods")
	})
}

func TestTask3_Record_goes(t *testing.T) {
	guard.Test(t, "It then forgets the owner's record, so that memory does not grow. A cluster has many owners, and "+
		"most are quiet.", func(t *guard.T) {
		s := storeOn(&aCache{version: "2000"}, &aCache{version: "2000"})
		t.Did("1,000 owners write, every other one with the empty UID, and each calls EnsureReady")
		for i := range 1_000 {
			owner, uid := name("web-"+strconv.Itoa(i)), types.UID("uid-1")
			if i%2 == 1 {
				uid = ""
			}
			s.WroteAt(owner, uid, pods, strconv.Itoa(i+1))
			require.NoError(t, s.EnsureReady(owner), "the error of EnsureReady")
		}
		require.Equal(t, 0, s.Owners(), "the number of owners")
	})
}

func TestTask3_Error_has_both_versions(t *testing.T) {
	guard.Test(t, "Otherwise the record stays, and the error is a *ConsistencyError with the resource and both "+
		"versions.", func(t *guard.T) {
		s := storeOn(&aCache{version: "9"}, &aCache{version: "9"})
		s.WroteAt(web, "uid-1", replicas, "10")
		t.Did("web wrote ReplicaSets at 10; the cache is at 9")
		for range 2 {
			require.Equal(t, ownwrites.ConsistencyError{ReadRV: "9", WroteRV: "10", GroupResource: replicas}, *notReady(t, s),
				"the error")
		}
		require.Equal(t, "10", s.Written(web, replicas), "the written version")
		t.Did("web also wrote Pods at 8, which the cache has, and Secrets at 10, for which there is no cache")
		s.WroteAt(web, "uid-1", pods, "8")
		s.WroteAt(web, "uid-1", secrets, "10")
		for range 300 { // a map has no order, and often begins at its first entry
			require.Equal(t, replicas, notReady(t, s).GroupResource, "the resource of the error")
		}
		require.Equal(t, "8", s.Written(web, pods), "the written version of Pods")
		require.Equal(t, "10", s.Written(web, secrets), "the written version of Secrets")
		t.Did("the cache of ReplicaSets reaches 12 while it is asked")
		ofReplicas := &aCache{version: "9"}
		ofReplicas.during = func() { ofReplicas.version = "12" }
		s = storeOn(&aCache{version: "9"}, ofReplicas)
		s.WroteAt(web, "uid-1", replicas, "10")
		require.Equal(t, ownwrites.ConsistencyError{ReadRV: "9", WroteRV: "10", GroupResource: replicas}, *notReady(t, s),
			"the error has the version that was compared")
	})
}

// secrets are a resource for which the stores of the tests have no cache.
var secrets = schema.GroupResource{Resource: "secrets"}

func TestTask3_Nothing_blocks_forever(t *testing.T) {
	guard.Test(t, "A write does not count if its resource has no cache, if the cache has no version, or if the two "+
		"versions cannot be compared: it would block its owner forever.", func(t *guard.T) {
		s := ownwrites.NewConsistencyStore(nil)
		s.WroteAt(web, "uid-1", pods, "10")
		t.Did("a store without caches, and a write at 10")
		ready(t, s)
		t.Rule("It is forgotten with the others, so that memory does not grow.")
		require.Equal(t, 0, s.Owners(), "owners with a record")
		for _, version := range []string{"", "x7", "0", "07", "-1"} {
			s = storeOn(&aCache{version: version}, &aCache{version: "9"})
			s.WroteAt(web, "uid-1", pods, "10")
			t.Did("the cache has the version %q, and a write at 10", version)
			ready(t, s)
			require.Equal(t, 0, s.Owners(), "owners with a record: it is forgotten with the others")
			s.WroteAt(web, "uid-1", pods, "10")
			s.WroteAt(web, "uid-1", replicas, "10")
			t.Did("another cache is at 9, before a write at 10; a third resource has no cache")
			for range 300 { // a map has no order, and often begins at its first entry
				s.WroteAt(web, "uid-1", pods, "10")
				s.WroteAt(web, "uid-1", secrets, "10")
				s.WroteAt(web, "uid-1", replicas, "10")
				require.Equal(t, replicas, notReady(t, s).GroupResource, "the resource of the error")
				require.Equal(t, "10", s.Written(web, pods), "the written version of Pods: the record stays")
			}
		}
	})
}

func TestTask3_Write_during_EnsureReady(t *testing.T) {
	guard.Test(t, "EnsureReady may run beside WroteAt for the same owner: it forgets no version that WroteAt "+
		"records meanwhile. A lost version is one Pod too many.", func(t *guard.T) {
		for _, write := range []struct {
			uid      types.UID
			resource schema.GroupResource
			version  string
		}{{"uid-1", pods, "11"}, {"uid-1", replicas, "11"}, {"uid-2", pods, "11"}, {"uid-2", replicas, "11"}} {
			ofPods := &aCache{version: "10"}
			s := storeOn(ofPods, &aCache{version: "10"})
			s.WroteAt(web, "uid-1", pods, "10")
			written := make(chan struct{})
			ofPods.during = func() {
				ofPods.during = nil
				t.Go(func() {
					defer close(written)
					s.WroteAt(web, write.uid, write.resource, write.version)
				})
				giveTurns()
			}
			t.Did("WroteAt(web, %s, %s, 11) begins while EnsureReady reads the version 10 of the cache of Pods", write.uid,
				write.resource.Resource)
			_ = s.EnsureReady(web) // it may see the new write or not
			<-written
			require.Equal(t, "11", s.Written(web, write.resource), "the written version")
		}
	})
}

// giveTurns gives another goroutine far more turns than it needs to end, or to reach a lock. It does so on one
// processor, so that the goroutine gets every turn, however busy the machine is.
func giveTurns() {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 1_000 {
		runtime.Gosched()
	}
}

func TestTask3_Many_goroutines(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine.", func(t *guard.T) {
		s := storeOn(&aCache{version: "5"}, &aCache{version: "5"})
		t.Did("EnsureReady, WroteAt and Clear on three goroutines")
		guard.Storm(
			func(int) { _ = s.EnsureReady(web) },
			func(i int) { s.WroteAt(web, "uid-1", pods, strconv.Itoa(i+1)) },
			func(int) { s.Clear(web, "") },
		)
	})
}
