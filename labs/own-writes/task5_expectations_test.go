package ownwrites_test

// Task 5: expectations, the older way.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// requireSatisfied compares the result of SatisfiedExpectations for web.
func requireSatisfied(t *guard.T, wanted bool, e *ownwrites.Expectations) {
	t.Helper()
	require.Equal(t, wanted, e.SatisfiedExpectations(web), "SatisfiedExpectations(web)")
}

func TestTask5_Owner_waits_for_nothing(t *testing.T) {
	guard.Test(t, "SatisfiedExpectations reports whether an owner waits for nothing.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		t.Did("ExpectCreations(web, 2)")
		e.ExpectCreations(web, 2)
		requireSatisfied(t, false, e)
		t.Did("CreationObserved(web), and once more when ExpectationsTimeout has almost passed")
		e.CreationObserved(web)
		requireSatisfied(t, false, e)
		time.Sleep(ownwrites.ExpectationsTimeout - time.Second)
		e.CreationObserved(web)
		requireSatisfied(t, true, e)
	})
}

func TestTask5_Creations_replace(t *testing.T) {
	guard.Test(t, "ExpectCreations makes an owner wait for a number of creations. It replaces the owner's earlier "+
		"expectations.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		t.Did("ExpectDeletions(web, a), ExpectCreations(web, 1), CreationObserved(web)")
		e.ExpectDeletions(web, "a")
		e.ExpectCreations(web, 1)
		requireSatisfied(t, false, e)
		e.CreationObserved(web)
		requireSatisfied(t, true, e)
		t.Rule("It replaces the owner's earlier expectations.")
		t.Did("ExpectCreations(web, 3), ExpectCreations(web, 1), CreationObserved(web)")
		e.ExpectCreations(web, 3)
		e.ExpectCreations(web, 1)
		e.CreationObserved(web)
		requireSatisfied(t, true, e)
		t.Did("ExpectDeletions(web, a), ExpectCreations(web, 0)")
		e.ExpectDeletions(web, "a")
		e.ExpectCreations(web, 0)
		requireSatisfied(t, true, e)
	})
}

func TestTask5_Deletions_by_UID(t *testing.T) {
	guard.Test(t, "ExpectDeletions makes an owner wait for the deletion of each UID.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		t.Did("ExpectDeletions(web, a, b)")
		e.ExpectDeletions(web, "a", "b")
		requireSatisfied(t, false, e)
		t.Did("DeletionObserved(web, a), DeletionObserved(web, b) when ExpectationsTimeout has almost passed")
		e.DeletionObserved(web, "a")
		requireSatisfied(t, false, e)
		time.Sleep(ownwrites.ExpectationsTimeout - time.Second)
		e.DeletionObserved(web, "b")
		requireSatisfied(t, true, e)
		t.Did("ExpectDeletions(web, a, a), DeletionObserved(web, a)")
		e.ExpectDeletions(web, "a", "a")
		e.DeletionObserved(web, "a")
		requireSatisfied(t, true, e)
		t.Did("ExpectDeletions(web, uids...) with a and b, DeletionObserved(web, a)")
		uids := []types.UID{"a", "b"}
		e.ExpectDeletions(web, uids...)
		e.DeletionObserved(web, "a")
		require.Equal(t, []types.UID{"a", "b"}, uids, "the caller's slice")
		t.Did("the caller writes c into its slice; DeletionObserved(web, b)")
		uids[0], uids[1] = "c", "c"
		requireSatisfied(t, false, e)
		e.DeletionObserved(web, "b")
		requireSatisfied(t, true, e)
	})
}

func TestTask5_Deletions_replace(t *testing.T) {
	guard.Test(t, "It replaces the owner's earlier expectations.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		t.Did("ExpectCreations(web, 2), ExpectDeletions(web, a, b), ExpectDeletions(web, c), DeletionObserved(web, c)")
		e.ExpectCreations(web, 2)
		e.ExpectDeletions(web, "a", "b")
		e.ExpectDeletions(web, "c")
		e.DeletionObserved(web, "c")
		requireSatisfied(t, true, e)
		t.Did("ExpectCreations(web, 2), and ExpectDeletions(web) without a UID")
		e.ExpectCreations(web, 2)
		e.ExpectDeletions(web)
		requireSatisfied(t, true, e)
	})
}

func TestTask5_Creation_is_counted(t *testing.T) {
	guard.Test(t, "CreationObserved counts one creation of the owner's.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		t.Did("CreationObserved(web) before anything is expected, ExpectCreations(web, 1), CreationObserved(db)")
		e.CreationObserved(web)
		e.ExpectCreations(web, 1)
		e.ExpectCreations(db, 2)
		e.CreationObserved(db)
		requireSatisfied(t, false, e)
		t.Did("CreationObserved(web)")
		e.CreationObserved(web)
		requireSatisfied(t, true, e)
		require.False(t, e.SatisfiedExpectations(db), "SatisfiedExpectations(db)")
		t.Did("CreationObserved(web), once more")
		e.CreationObserved(web)
		requireSatisfied(t, true, e)
		t.Did("ExpectDeletions(web, a), CreationObserved(web)")
		e.ExpectDeletions(web, "a")
		e.CreationObserved(web)
		requireSatisfied(t, false, e)
		t.Did("ExpectCreations(web, 1), CreationObserved(web), twice")
		e.ExpectCreations(web, 1)
		e.CreationObserved(web)
		e.CreationObserved(web)
		t.Rule("ExpectCreations makes an owner wait for a number of creations. It replaces the owner's earlier " +
			"expectations.")
		t.Did("ExpectCreations(web, 1), after one creation too many")
		e.ExpectCreations(web, 1)
		requireSatisfied(t, false, e)
	})
}

func TestTask5_Deletion_counts_once(t *testing.T) {
	guard.Test(t, "DeletionObserved counts a deletion if the owner waits for this UID.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		e.ExpectDeletions(web, "a", "b")
		t.Did("ExpectDeletions(web, a, b); then DeletionObserved of c and d, which a user deleted")
		e.DeletionObserved(web, "c")
		e.DeletionObserved(web, "d")
		requireSatisfied(t, false, e)
		t.Did("DeletionObserved(db, a) and DeletionObserved(db, b)")
		e.ExpectDeletions(db, "a", "b")
		e.DeletionObserved(db, "a")
		e.DeletionObserved(db, "b")
		requireSatisfied(t, false, e)
		t.Rule("A second report of the same UID does not count. A Pod is reported when its deletion timestamp is set, and " +
			"when it is gone.")
		t.Did("DeletionObserved(web, a), twice")
		e.DeletionObserved(web, "a")
		e.DeletionObserved(web, "a")
		requireSatisfied(t, false, e)
		t.Rule("DeletionObserved counts a deletion if the owner waits for this UID. It does not count a creation.")
		t.Did("ExpectCreations(web, 1), DeletionObserved(web, a)")
		e.ExpectCreations(web, 1)
		e.DeletionObserved(web, "a")
		requireSatisfied(t, false, e)
	})
}

func TestTask5_Unknown_owner(t *testing.T) {
	guard.Test(t, "An owner without expectations waits for nothing.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		t.Did("ExpectCreations(db, 1)")
		e.ExpectCreations(db, 1)
		requireSatisfied(t, true, e)
		t.Did("ExpectCreations(shop/web, 1)")
		inShop := types.NamespacedName{Namespace: "shop", Name: "web"}
		e.ExpectCreations(inShop, 1)
		requireSatisfied(t, true, e)
		t.Did("ExpectCreations(web, 1); then CreationObserved(shop/web)")
		e.ExpectCreations(web, 1)
		e.CreationObserved(inShop)
		requireSatisfied(t, false, e)
		require.True(t, e.SatisfiedExpectations(inShop), "SatisfiedExpectations(shop/web)")
	})
}

func TestTask5_Leak_ends_after_five_minutes(t *testing.T) {
	guard.Test(t, "Expectations that are older than ExpectationsTimeout count as satisfied. An event that a watch "+
		"has missed never comes.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		for _, kind := range []struct {
			expected        string
			expect, observe func()
		}{
			{"ExpectCreations(web, 2)", func() { e.ExpectCreations(web, 2) }, func() { e.CreationObserved(web) }},
			{"ExpectDeletions(web, a, b)", func() { e.ExpectDeletions(web, "a", "b") }, func() { e.DeletionObserved(web, "a") }},
			{"ExpectCreations(web, 2) again", func() { e.ExpectCreations(web, 2) }, func() { e.CreationObserved(web) }},
		} {
			t.Did("db expects a creation, and its timeout passes; %s", kind.expected)
			e.ExpectCreations(db, 1)
			time.Sleep(ownwrites.ExpectationsTimeout)
			kind.expect()
			time.Sleep(ownwrites.ExpectationsTimeout / 2)
			t.Did("one of the two is gone before the watch has seen it")
			kind.observe()
			t.Did("db expects a creation again")
			e.ExpectCreations(db, 1)
			time.Sleep(ownwrites.ExpectationsTimeout / 2)
			t.Did("ExpectationsTimeout passes: the expectations are not older than that")
			requireSatisfied(t, false, e)
			t.Did("one nanosecond passes")
			time.Sleep(time.Nanosecond)
			for range 2 {
				requireSatisfied(t, true, e)
			}
			require.False(t, e.SatisfiedExpectations(db), "SatisfiedExpectations(db)")
			t.Did("%[1]s, and all events arrive; ExpectationsTimeout passes; %[1]s", kind.expected)
			kind.expect()
			for range 2 {
				kind.observe()
				e.DeletionObserved(web, "b")
			}
			time.Sleep(ownwrites.ExpectationsTimeout)
			kind.expect()
			time.Sleep(time.Nanosecond)
			requireSatisfied(t, false, e)
		}
	})
}

func TestTask5_Forget(t *testing.T) {
	guard.Test(t, "DeleteExpectations forgets the expectations of an owner.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		e.ExpectCreations(web, 1)
		e.ExpectCreations(db, 1)
		t.Did("web and db expect a creation; DeleteExpectations(web)")
		e.DeleteExpectations(web)
		requireSatisfied(t, true, e)
		require.False(t, e.SatisfiedExpectations(db), "SatisfiedExpectations(db)")
		e.ExpectDeletions(web, "a")
		e.DeleteExpectations(web)
		requireSatisfied(t, true, e)
	})
}

func TestTask5_Many_goroutines(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine.", func(t *guard.T) {
		e := ownwrites.NewExpectations()
		t.Did("all methods on four goroutines")
		guard.Storm(
			func(int) { e.ExpectCreations(web, 2); e.CreationObserved(web) },
			func(int) { e.ExpectDeletions(db, "a", "b"); e.DeletionObserved(db, "a") },
			func(int) { e.SatisfiedExpectations(web); e.SatisfiedExpectations(db) },
			func(int) { e.DeleteExpectations(web) },
		)
	})
}
