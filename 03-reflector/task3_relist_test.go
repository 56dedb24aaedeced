package reflector_test

// Task 3: what a relist asks for.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Relist_asks_for_the_last_version(t *testing.T) {
	guard.Test(t, "A relist asks for the last version, so the store never goes back in time. At 0 the answer may be "+
		"older than the store (#59848).", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"), lists("9", "a"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "b", "8"), failing(errExpired)))
		t.Did("RunWithContext; the watch brings an event of version 8, and then 410")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@8", "watch@9"}, s.requests(), "requests to the source")

		t.Rule("The Reflector passes versions back to the server as they came. They need not be numbers.")
		s = &script{}
		s.lists = append(s.lists, lists("7"), lists("eight"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "seven"), failing(errExpired)))
		t.Did("RunWithContext; the watch brings an event of version seven, and then 410")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@seven", "watch@eight"}, s.requests(), "requests to the source")

		t.Rule("A relist asks for the last version, after a Replace that failed too. The server has not refused it.")
		s = &script{}
		s.lists = append(s.lists, lists("7"), lists("9", "b"), lists("9"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		st := &store{onCall: func(call string) error {
			if call == "Replace [b@1] @9" {
				return errExpired // of another server, to which the store writes
			}
			return nil
		}}
		t.Did("RunWithContext; the watch brings 410, and the store refuses the next list: %v", errExpired)
		runFor(t, newScripted(s, st), time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@7", "watch@9"}, s.requests(), "requests to the source")
	})
}

func TestTask3_Relist_comes_in_one_piece(t *testing.T) {
	guard.Test(t, "If WatchListPageSize is 0, a relist at a version comes in one piece. Every server with a watch "+
		"cache answers it from memory, and after an outage every client lists at once.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		t.Did("RunWithContext, with a watch that ends with 410")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, "7", s.options[2].ResourceVersion, "version that the relist asks for")
		require.Equal(t, int64(0), s.options[2].Limit, "limit of the relist")

		t.Rule("WatchListPageSize is the number of objects in a page of every list.")
		s = &script{}
		s.lists = append(s.lists, lists("7"), lists("8"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		r := newScripted(s, &store{})
		r.WatchListPageSize = 5000
		t.Did("the same, with WatchListPageSize 5000")
		runFor(t, r, 10*time.Minute)
		require.Equal(t, int64(5000), s.options[2].Limit, "limit of the relist with WatchListPageSize 5000")
	})
}
