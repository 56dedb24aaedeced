package ownwrites_test

// Task 2: remember each write.

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// memory makes a store for tests that never ask its caches.
func memory() *ownwrites.RealConsistencyStore { return storeOn(&aCache{}, &aCache{}) }

func TestTask2_Newest_version_is_remembered(t *testing.T) {
	guard.Test(t, "WroteAt records the version of a write, unless a newer one of the same owner and resource is "+
		"recorded. Two goroutines may report their writes in the wrong order.", func(t *guard.T) {
		s := memory()
		for _, step := range []struct{ version, wanted string }{{"9", "9"}, {"10", "10"}, {"8", "10"}, {"11", "11"}} {
			t.Did("WroteAt(web, uid-1, pods, %s)", step.version)
			s.WroteAt(web, "uid-1", pods, step.version)
			require.Equal(t, step.wanted, s.Written(web, pods), "the written version")
		}
	})
}

func TestTask2_Owners_and_resources_are_apart(t *testing.T) {
	guard.Test(t, "WroteAt records the version of a write, unless a newer one of the same owner and resource is "+
		"recorded. Versions of two resources cannot be compared.", func(t *guard.T) {
		s := memory()
		t.Did("WroteAt(web, uid-1, pods, 9), WroteAt(web, uid-1, replicasets, 5), WroteAt(db, uid-2, pods, 3)")
		s.WroteAt(web, "uid-1", pods, "9")
		s.WroteAt(web, "uid-1", replicas, "5")
		s.WroteAt(db, "uid-2", pods, "3")
		require.Equal(t, "9", s.Written(web, pods), "the written version of web's Pods")
		require.Equal(t, "5", s.Written(web, replicas), "the written version of web's ReplicaSets")
		require.Equal(t, "3", s.Written(db, pods), "the written version of db's Pods")
		t.Did("WroteAt(shop/web, uid-3, pods, 2), WroteAt(web, uid-1, secrets, 4), for which there is no cache")
		inShop, secrets := types.NamespacedName{Namespace: "shop", Name: "web"}, schema.GroupResource{Resource: "secrets"}
		s.WroteAt(inShop, "uid-3", pods, "2")
		s.WroteAt(web, "uid-1", secrets, "4")
		require.Equal(t, "2", s.Written(inShop, pods), "the written version of shop/web's Pods")
		require.Equal(t, "4", s.Written(web, secrets), "the written version of web's Secrets")
		require.Equal(t, "9", s.Written(web, pods), "the written version of web's Pods")
		t.Did("WroteAt(web, uid-1, pods of another group, 99), WroteAt(db, uid-2, pods of another group, 1)")
		metrics := schema.GroupResource{Group: "metrics.k8s.io", Resource: "pods"}
		s.WroteAt(web, "uid-1", metrics, "99")
		s.WroteAt(db, "uid-2", metrics, "1")
		require.Equal(t, "9", s.Written(web, pods), "the written version of web's Pods")
		require.Equal(t, "3", s.Written(db, pods), "the written version of db's Pods")
		require.Equal(t, "1", s.Written(db, metrics), "the written version of db's Pods of the other group")
		t.Did("WroteAt of two owners with the empty UID: web, pods, 7 and db, pods, 5")
		s.WroteAt(web, "", pods, "7")
		s.WroteAt(db, "", pods, "5")
		require.Equal(t, "7", s.Written(web, pods), "the written version of web's Pods")
		require.Equal(t, "5", s.Written(db, pods), "the written version of db's Pods")
	})
}

func TestTask2_Version_that_cannot_be_compared(t *testing.T) {
	guard.Test(t, "A version that cannot be compared changes nothing. It would take the place of one that can.",
		func(t *guard.T) {
			s := memory()
			t.Did("WroteAt(web, uid-1, pods, 9), and then, with the versions \"\", 0 and x7, for web, for a web of another " +
				"UID and for db")
			s.WroteAt(web, "uid-1", pods, "9")
			for _, bad := range []string{"", "0", "x7"} {
				s.WroteAt(web, "uid-1", pods, bad)
				s.WroteAt(web, "uid-2", pods, bad)
				s.WroteAt(db, "uid-2", pods, bad)
			}
			require.Equal(t, "9", s.Written(web, pods), "the written version of web's Pods")
			require.Equal(t, 1, s.Owners(), "the number of owners")
		})
}

func TestTask2_Owner_that_was_created_again(t *testing.T) {
	guard.Test(t, "If the record is of another UID, the owner was deleted and created again: WroteAt then replaces the "+
		"whole record. The writes of a dead owner are nobody's business.", func(t *guard.T) {
		for _, uids := range [][2]types.UID{{"uid-1", "uid-2"}, {"", "uid-2"}, {"uid-1", ""}} {
			s := memory()
			t.Did("WroteAt(web, %[1]q, pods, 9), WroteAt(web, %[1]q, replicasets, 9), WroteAt(web, %[2]q, pods, 7)", uids[0],
				uids[1])
			s.WroteAt(web, uids[0], pods, "9")
			s.WroteAt(web, uids[0], replicas, "9")
			s.WroteAt(web, uids[1], pods, "7")
			require.Equal(t, "7", s.Written(web, pods), "the written version of Pods")
			require.Empty(t, s.Written(web, replicas), "the written version of ReplicaSets")
			require.Equal(t, 1, s.Owners(), "the number of owners")
			t.Did("WroteAt(web, %[1]q, replicasets, 3), WroteAt(web, %[1]q, pods, 6)", uids[1])
			s.WroteAt(web, uids[1], replicas, "3")
			s.WroteAt(web, uids[1], pods, "6")
			require.Equal(t, "7", s.Written(web, pods), "the written version of Pods")
			require.Equal(t, "3", s.Written(web, replicas), "the written version of ReplicaSets")
			for _, old := range [][]schema.GroupResource{{replicas}, {replicas, pods}} {
				s := memory()
				t.Did("a new store; WroteAt(web, %q, ..., 9) for %v; WroteAt(web, %q, pods, 9)", uids[0], old, uids[1])
				for _, resource := range old {
					s.WroteAt(web, uids[0], resource, "9")
				}
				s.WroteAt(web, uids[1], pods, "9")
				require.Equal(t, "9", s.Written(web, pods), "the written version of Pods")
				require.Empty(t, s.Written(web, replicas), "the written version of ReplicaSets")
			}
		}
	})
}

func TestTask2_Clear(t *testing.T) {
	guard.Test(t, "Clear forgets the record of an owner.", func(t *guard.T) {
		s := memory()
		all := []schema.GroupResource{pods, replicas, secrets}
		for _, resource := range all {
			s.WroteAt(web, "uid-1", resource, "9")
		}
		s.WroteAt(db, "uid-2", pods, "9")
		t.Did("web has a record of Pods, ReplicaSets and Secrets, for which there is no cache, and db one of Pods; " +
			"Clear(web, \"\")")
		s.Clear(web, "")
		for _, resource := range all {
			require.Empty(t, s.Written(web, resource), "the written version of web's %s", resource.Resource)
		}
		require.Equal(t, "9", s.Written(db, pods), "the written version of db's Pods")
		t.Did("a web in another namespace has a record, too; Clear(web, \"\")")
		inShop := types.NamespacedName{Namespace: "shop", Name: "web"}
		s.WroteAt(inShop, "uid-3", pods, "9")
		s.Clear(web, "")
		require.Equal(t, "9", s.Written(inShop, pods), "the written version of the Pods of shop/web")
		s.Clear(inShop, "")
		t.Did("Clear(db, uid-2)")
		s.Clear(db, "uid-2")
		require.Empty(t, s.Written(db, pods), "the written version of db's Pods")
		t.Did("Clear(db, \"\") of an owner without a record")
		s.Clear(db, "")
		require.Equal(t, 0, s.Owners(), "the number of owners")
	})
}

func TestTask2_Clear_of_another_UID(t *testing.T) {
	guard.Test(t, "If ownerUID is not empty, Clear keeps a record of another UID. The deletion of the old owner may be "+
		"handled after the first write for the new one.", func(t *guard.T) {
		for _, uid := range []types.UID{"uid-2", ""} {
			s := memory()
			s.WroteAt(web, uid, pods, "9")
			t.Did("web has a record of the UID %q; Clear(web, uid-1)", uid)
			s.Clear(web, "uid-1")
			require.Equal(t, "9", s.Written(web, pods), "the written version")
		}
	})
}

func TestTask2_Written(t *testing.T) {
	guard.Test(t, "Written returns the version that is recorded for an owner and a resource, or the empty string.",
		func(t *guard.T) {
			s := memory()
			require.Empty(t, s.Written(web, pods), "the written version of an unknown owner")
			s.WroteAt(web, "uid-1", pods, "9")
			t.Did("WroteAt(web, uid-1, pods, 9)")
			require.Equal(t, "9", s.Written(web, pods), "the written version of Pods")
			require.Empty(t, s.Written(web, replicas), "the written version of ReplicaSets")
			require.Empty(t, s.Written(db, pods), "the written version of db's Pods")
		})
}

func TestTask2_Owners(t *testing.T) {
	guard.Test(t, "Owners returns the number of owners that have a record.", func(t *guard.T) {
		s := memory()
		require.Equal(t, 0, s.Owners(), "the number of owners of a new store")
		t.Did("Clear and Written of web, which has no record")
		s.Clear(web, "")
		s.Written(web, pods)
		require.Equal(t, 0, s.Owners(), "the number of owners")
		t.Did("two writes of web, one of db")
		s.WroteAt(web, "uid-1", pods, "8")
		s.WroteAt(web, "uid-1", replicas, "9")
		s.WroteAt(db, "uid-2", pods, "9")
		require.Equal(t, 2, s.Owners(), "the number of owners")
		t.Did("Clear(web, uid-1)")
		s.Clear(web, "uid-1")
		require.Equal(t, 1, s.Owners(), "the number of owners")
		t.Did("a write of db in another namespace")
		s.WroteAt(types.NamespacedName{Namespace: "shop", Name: "db"}, "uid-3", pods, "9")
		require.Equal(t, 2, s.Owners(), "the number of owners")
		t.Did("a write of a/b-c, of a-b/c, of a/bc and of ab/c: four owners")
		for _, owner := range [][2]string{{"a", "b-c"}, {"a-b", "c"}, {"a", "bc"}, {"ab", "c"}} {
			s.WroteAt(types.NamespacedName{Namespace: owner[0], Name: owner[1]}, "uid-4", pods, "9")
		}
		require.Equal(t, 6, s.Owners(), "the number of owners")
		t.Did("writes of 5,000 more owners with the empty UID")
		for i := range 5_000 {
			s.WroteAt(name("web-"+strconv.Itoa(i)), "", pods, "9")
		}
		require.Equal(t, 5_006, s.Owners(), "the number of owners")
	})
}

func TestTask2_Many_goroutines(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine.", func(t *guard.T) {
		s := memory()
		t.Did("WroteAt, Written, Owners and Clear on four goroutines")
		guard.Storm(
			func(i int) { s.WroteAt(web, "uid-1", pods, strconv.Itoa(i+1)) },
			func(i int) { s.WroteAt(db, "uid-2", replicas, strconv.Itoa(i+1)) },
			func(int) { s.Written(web, pods); s.Owners() },
			func(int) { s.Clear(db, "") },
		)
	})
}

func TestTask2_Writes_at_once(t *testing.T) {
	guard.Race(t, "WroteAt records the version of a write, unless a newer one of the same owner and resource is recorded: "+
		"also if two goroutines write at once.", func(t *guard.T) {
		s := memory()
		t.Did("WroteAt(web, uid-1, pods) with more and more versions, on three goroutines")
		var last, returned atomic.Int64
		write := func(int) {
			for range 50 {
				version := last.Add(1)
				s.WroteAt(web, "uid-1", pods, strconv.FormatInt(version, 10))
				newest := max(version, returned.Load())
				recorded, err := strconv.ParseInt(s.Written(web, pods), 10, 64)
				require.NoError(t, err, "the written version is a number")
				require.GreaterOrEqual(t, recorded, newest, "the written version, after WroteAt has returned for %d", newest)
				returned.Store(newest)
			}
		}
		guard.Storm(write, write, write)
	})
}
