package reflector_test

// Task 3: relists of a server that has no watch cache, so that its first list came in pages.

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Relist_comes_in_pages_where_the_first_list_did(t *testing.T) {
	guard.Test(t, "If the list at 0 came in pages, relists come in pages too. This server has no watch cache, "+
		"and would read the whole list from etcd at once.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, page("more", "a"), page("", "b"), lists("8", "a", "b"),
			listFails(errors.New("the network is away")), lists("9"))
		s.watches = append(s.watches, s.sends(failing(errExpired)), s.sends(failing(errExpired)))
		t.Did("RunWithContext; the list at 0 comes in two pages, two watches end with 410, and the 2nd relist fails once")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, []string{"list@7", "watch@8", "list@8", "list@8"}, s.requests()[3:7], "requests to the source")
		for _, i := range []int{3, 5, 6} {
			require.NotZero(t, s.options[i].Limit, "limit of request %d, %s", i+1, s.requests()[i])
		}

		t.Rule("WatchListPageSize is the number of objects in a page of every list.")
		s = &script{}
		s.lists = append(s.lists, page("more", "a"), page("", "b"), listFails(errTooLarge), lists("8", "a", "b"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		r := newScripted(s, &store{})
		r.WatchListPageSize = 3
		t.Did("the same, with WatchListPageSize 3; the relist is refused")
		runFor(t, r, 10*time.Minute)
		require.Equal(t, []string{"list@7", "list@"}, s.requests()[3:5], "requests to the source")
		require.Equal(t, []int64{3, 3}, []int64{s.options[3].Limit, s.options[4].Limit}, "limits of the two")

		t.Rule("If the list at 0 came in pages, relists come in pages too, after a list without a version as well: the " +
			"server has no watch cache still.")
		s = &script{}
		s.lists = append(s.lists, page("more", "a"), page("", "b"), listFails(errTooLarge), listFails(internal), lists("8"),
			lists("9"), lists("10"))
		ends410 := s.sends(failing(errExpired))
		s.watches = append(s.watches, ends410, ends410, ends410)
		t.Did("RunWithContext; the list at 0 comes in two pages, three watches end with 410; the first relist is refused, " +
			"and the list without a version fails once")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, []string{"list@7", "list@", "list@", "watch@8", "list@8", "watch@9", "list@9"}, s.requests()[3:10],
			"requests to the source")
		for _, i := range []int{4, 5, 7, 9} {
			require.NotZero(t, s.options[i].Limit, "limit of request %d, %s", i+1, s.requests()[i])
		}

		t.Rule("If the list at 0 came in pages, relists come in pages too, and each relist asks for the last version.")
		s = &script{}
		s.lists = append(s.lists, page("more", "a"), page("", "b"), page("more", "a"), page("", "b"), page("more", "a"),
			page("", "b"), lists("8"))
		s.watches = append(s.watches, ends410, s.sends(event(watch.Modified, "a", "6"), failing(errExpired)), ends410)
		t.Did("RunWithContext; the list at 0 and the next two come in two pages; three watches end with 410, the second " +
			"one after a@6")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, []string{"list@0", "list@", "watch@7", "list@7", "list@", "watch@7", "list@6", "list@", "watch@7",
			"list@7", "watch@8"}, s.requests(), "requests to the source")
		require.NotZero(t, s.options[9].Limit, "limit of the last relist")

		t.Rule("A relist asks for the last version. If the token of a page has expired, the list in one piece asks for it " +
			"too.")
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"), page("more", "a"), listFails(errExpired), lists("8", "a", "b"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		r = newScripted(s, &store{})
		r.WatchListPageSize = 1
		t.Did("WatchListPageSize 1; the relist comes in pages, and the token of its second page has expired")
		runFor(t, r, 10*time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "list@7", "watch@8"}, s.requests(),
			"requests to the source")

		t.Rule("If the server refuses the version of a list, the next list comes at once, without a version: the list in " +
			"one piece after an expired token may be refused too.")
		for _, failure := range []error{errExpired, errTooLarge} {
			s = &script{}
			s.lists = append(s.lists, lists("7", "a"), page("more", "a"), listFails(errExpired), listFails(failure),
				lists("8", "a", "b"))
			s.watches = append(s.watches, s.sends(failing(errExpired)))
			r = newScripted(s, &store{})
			r.WatchListPageSize = 1
			t.Did("the same, but the list in one piece is answered: %v", failure)
			var moments []time.Time
			s.onRequest = func(string) { moments = append(moments, time.Now()) }
			runFor(t, r, 10*time.Minute)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "list@7", "list@", "watch@8"}, s.requests(),
				"requests to the source")
			require.Zero(t, moments[5].Sub(moments[4]), "time to the list without a version")
		}

		t.Rule("If the list at 0 came in pages, relists come in pages too, in the next run as well.")
		s = &script{}
		s.lists = append(s.lists, page("more", "a"), page("", "b"), lists("8", "a", "b"))
		r = newScripted(s, &store{})
		t.Did("RunWithContext twice; the list at 0 comes in two pages")
		runFor(t, r, time.Minute)
		runFor(t, r, time.Minute)
		require.Equal(t, []string{"list@0", "list@", "watch@7", "list@7", "watch@8"}, s.requests(),
			"requests to the source")
		require.NotZero(t, s.options[3].Limit, "limit of the relist")

		t.Rule("If WatchListPageSize is 0, a relist at a version comes in one piece. A list in pages without a " +
			"version is not a reason for pages later: only the first list shows that the server has no watch cache.")
		s = &script{}
		s.lists = append(s.lists, lists("7"), listFails(errTooLarge), listFails(errors.New("the server is on fire")),
			page("more", "a"), page("", "b"), lists("8"))
		s.watches = append(s.watches, s.sends(failing(errExpired)), s.sends(failing(errExpired)))
		t.Did("RunWithContext; the relist is refused, a list without a version fails, and the next one comes in two pages")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		want := []string{"list@0", "watch@7", "list@7", "list@", "list@", "list@", "watch@7", "list@7", "watch@8"}
		require.Equal(t, want, s.requests(), "requests to the source")
		require.Equal(t, int64(0), s.options[7].Limit, "limit of the relist after the list in pages")
	})
}
