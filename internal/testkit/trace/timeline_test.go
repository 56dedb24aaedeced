package trace

import (
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

func TestRows_tell_when_where_and_what(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := New()
		time.Sleep(25*time.Hour + 1500*time.Millisecond)
		line.Note(Store, deployment("7"), "Update")
		line.Note(Handler, cache.DeletedFinalStateUnknown{Key: "default/web", Obj: deployment("7")}, "OnDelete")
		line.Note(Queue, cache.NewObjectName("default", "web"), "Add")
		line.Note(Queue, "default/other", "Add")
		var told []string
		for _, r := range line.Of("default/web", 10) {
			told = append(told, r.String())
		}
		require.Equal(t, []string{
			"1d 01:00:01.500  store    default/web@7      deploy Update",
			"1d 01:00:01.500  handler  default/web@7      deploy OnDelete (tombstone)",
			"1d 01:00:01.500  queue    default/web        Add",
		}, trim(told))
	})
}

func trim(lines []string) []string {
	for i, line := range lines {
		for line[0] == ' ' {
			line = line[1:]
		}
		lines[i] = line
	}
	return lines
}

func TestOf_is_in_one_order_whoever_was_first(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tell := func(first, second func(line *Timeline)) []Row {
			line := New()
			line.Note(Store, deployment("7"), "Update")
			first(line)
			second(line)
			line.Note(Worker, "default/web", "create: done")
			return line.Of("default/web", 10)
		}
		handler := func(line *Timeline) { line.Note(Handler, deployment("7"), "OnUpdate") }
		worker := func(line *Timeline) { line.Note(Queue, "default/web", "Add"); line.Note(Worker, "default/web", hasIt) }
		require.Equal(t, tell(handler, worker), tell(worker, handler))
	})
}

func TestLost_names_the_first_layer_that_a_state_never_came_to(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := New()
		lost := func() string { return line.Lost("Deployment", "default/web", "8", false) }
		require.Equal(t, "", lost(), "the server has not got it either")
		line.Note(Server, deployment("8"), "scaled")
		line.Note(Delta, deployment("7"), "Updated")
		require.Equal(t, Delta, lost())
		line.Note(Delta, deployment("8"), "Updated")
		require.Equal(t, Store, lost())
		line.Note(Store, deployment("8"), "Update")
		require.Equal(t, Handler, lost())
		line.Note(Handler, deployment("8"), "OnUpdate")
		require.Equal(t, "", lost())
	})
}

func TestNeverHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := New()
		require.False(t, line.NeverHeardOf("default/web"))
		line.Note(Worker, "default/web", "create: done")
		require.True(t, line.NeverHeardOf("default/web"))
	})
}
