package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func printed(l *Log) (lines []string) {
	for _, r := range l.Timeline("default/web", 30) {
		lines = append(lines, r.String())
	}
	return lines
}

func TestTimeline_prints_when_where_and_what(t *testing.T) {
	s := &story{Log: NewLog(Limit), at: 25*time.Hour + 1500*time.Millisecond}
	for _, step := range []Step{
		{Seam: Server, Verb: Did, Text: "scaled to 3"}, {Seam: Server, Verb: Wrote, Version: "7", Text: "replicas 3"},
		{Seam: Delta, Verb: "Updated", Version: "7"}, {Seam: Delta, Verb: Pop, List: []Ref{{"Updated", "default/web", "7"}}},
		{Seam: Store, Verb: Update, Version: "7", Count: 1},
		{Seam: Handler, Verb: OnDelete, Version: "7", By: "handler 1", Text: "a tombstone"},
		{Seam: Handler, Verb: Returned, Version: "7", By: "handler 1"}, {Seam: Queue, Verb: Add},
		{Seam: Queue, Verb: Get}, {Seam: Worker, Verb: Writes, Text: "update"}, {Seam: Server, Verb: Wrote, Version: "8"},
		{Seam: Worker, Verb: Answered, Text: "update", Version: "8"}, {Seam: Queue, Verb: AddRateLimited},
		{Seam: Note, Verb: Error, Error: "a wrong call"},
	} {
		step.Key, step.Kind = "default/web", "Deployment"
		if step.Seam == Queue {
			step.Kind = ""
		}
		s.at += time.Millisecond
		step.At = s.at
		s.append(&step)
	}
	s.append(&Step{Seam: Server, Verb: Did, Text: "nothing about the key follows it", At: s.at + 1})
	require.Equal(t, []string{
		"1d 01:00:01.502  server   default/web@7      deploy scaled to 3",
		"1d 01:00:01.504  delta    default/web@7      deploy Updated",
		"1d 01:00:01.505  store    default/web@7      deploy Update",
		"1d 01:00:01.506  handler  default/web@7      deploy OnDelete, handler 1, a tombstone",
		"1d 01:00:01.508  queue    default/web        Add",
		"1d 01:00:01.509  worker   default/web        has it",
		"1d 01:00:01.512  worker   default/web@8      deploy update: done",
		"1d 01:00:01.513  queue    default/web        AddRateLimited, failure 1",
		"1d 01:00:01.514  handler  default/web        deploy ✗ a wrong call",
	}, printed(s.Log))
}

func TestTimeline_sorts_rows_of_the_same_instant(t *testing.T) {
	rows := func(one, two func(s *story)) []string {
		s := newStory().step(Store, Update, "7")
		one(s)
		two(s)
		return printed(s.step(Server, Wrote, "8").Log)
	}
	handler := func(s *story) { s.step(Handler, OnUpdate, "7") }
	worker := func(s *story) { s.step(Queue, Add, "").step(Queue, Get, "") }
	require.Equal(t, rows(handler, worker), rows(worker, handler))
	require.Contains(t, rows(handler, worker)[0], "stored", "what is done to the server comes first")
}

func TestLost_names_the_first_layer_that_a_state_never_came_to(t *testing.T) {
	s := newStory()
	pop := func(kind, version string) {
		s.append(&Step{Seam: Delta, Verb: Pop, Kind: "Deployment", Key: "default/web",
			List: []Ref{{kind, "default/web", version}}})
	}
	lost := func(version string) Seam { return s.Lost("Deployment", "default/web", version, version == "") }
	require.Empty(t, lost("8"), "the server does not have it either")
	s.step(Server, Wrote, "8")
	require.Equal(t, Handler, lost("8"), "without the queue only the handlers say something")
	pop("Updated", "7")
	require.Equal(t, Delta, lost("8"))
	pop("Updated", "8")
	require.Equal(t, Store, lost("8"))
	s.step(Store, Update, "8")
	require.Equal(t, Handler, lost("8"))
	s.step(Handler, OnUpdate, "8")
	require.Empty(t, lost("8"))
	s.step(Server, Removed, "9")
	pop("Deleted", "8")
	require.Equal(t, Store, lost(""))
	s.step(Store, Delete, "8").step(Handler, OnDelete, "8")
	require.Empty(t, lost(""))
}

func TestUnseen(t *testing.T) {
	s := newStory()
	require.False(t, s.Unseen("default/web"))
	step := Step{Seam: Worker, Verb: Answered, Kind: "PodDisruptionBudget", Key: "default/web", Text: "create"}
	s.append(&step)
	require.True(t, s.Unseen("default/web"))
	step.Seam, step.Verb = Handler, OnAdd
	s.append(&step)
	require.False(t, s.Unseen("default/web"))
}
