package trace

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

func deployment(version string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: version}}
}

func TestRow_prints_when_where_and_what(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := New()
		time.Sleep(25*time.Hour + 1500*time.Millisecond)
		rec.Note(Store, deployment("7"), "Update")
		rec.Note(Handler, cache.DeletedFinalStateUnknown{Key: "default/web", Obj: deployment("7")}, "OnDelete")
		rec.Note(Queue, cache.NewObjectName("default", "web"), "Add")
		rec.Note(Queue, "default/other", "Add")
		var printed []string
		for _, r := range rec.Of("default/web", 10) {
			printed = append(printed, r.String())
		}
		require.Equal(t, []string{
			"1d 01:00:01.500  store    default/web@7      deploy Update",
			"1d 01:00:01.500  handler  default/web@7      deploy OnDelete (tombstone)",
			"1d 01:00:01.500  queue    default/web        Add",
		}, trim(printed))
	})
}

func trim(lines []string) []string {
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " ")
	}
	return lines
}

func TestOf_sorts_rows_of_the_same_instant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := func(first, second func(rec *Recorder)) []Row {
			rec := New()
			rec.Note(Store, deployment("7"), "Update")
			first(rec)
			second(rec)
			rec.Note(Worker, "default/web", "create: done")
			return rec.Of("default/web", 10)
		}
		handler := func(rec *Recorder) { rec.Note(Handler, deployment("7"), "OnUpdate") }
		worker := func(rec *Recorder) { rec.Note(Queue, "default/web", "Add"); rec.Note(Worker, "default/web", taken) }
		require.Equal(t, rows(handler, worker), rows(worker, handler))
	})
}

// A change is seen before the test can note its version, and the end of the faults may be noted before or after that.
func TestOf_begins_an_instant_with_what_is_done_to_the_server(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := New()
		rec.NoteChange(Server, "scaled", func() any {
			rec.Note(Delta, deployment("8"), "Updated")
			rec.Note(Store, deployment("8"), "Update")
			return deployment("8")
		})
		rec.Note(Server, nil, "the faults stop")
		var printed []string
		for _, r := range rec.Of("default/web", 10) {
			printed = append(printed, r.Layer+" "+r.Key+"@"+r.Version+" "+r.What)
		}
		require.Equal(t, []string{"server default/web@8 scaled", "server @ the faults stop",
			"delta default/web@8 Updated", "store default/web@8 Update"}, printed)
		require.Equal(t, Handler, rec.Lost("Deployment", "default/web", "8", false))
		require.Len(t, rec.Of("default/web", 3), 3)

		time.Sleep(time.Second)
		rec.Note(Server, nil, "later")
		require.Len(t, rec.Of("default/web", 10), 4, "nothing about the key follows it")
	})
}

func TestLost_names_the_first_layer_that_a_state_never_came_to(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := New()
		lost := func() string { return rec.Lost("Deployment", "default/web", "8", false) }
		require.Equal(t, "", lost(), "the server does not have it either")
		rec.Note(Server, deployment("8"), "scaled")
		rec.Note(Delta, deployment("7"), "Updated")
		require.Equal(t, Delta, lost())
		rec.Note(Delta, deployment("8"), "Updated")
		require.Equal(t, Store, lost())
		rec.Note(Store, deployment("8"), "Update")
		require.Equal(t, Handler, lost())
		rec.Note(Handler, deployment("8"), "OnUpdate")
		require.Equal(t, "", lost())
	})
}

func TestUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := New()
		require.False(t, rec.Unseen("default/web"))
		rec.Note(Worker, "default/web", "create: done")
		require.True(t, rec.Unseen("default/web"))
	})
}
