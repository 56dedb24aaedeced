package pipeline

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// story is a log in the making.
type story struct {
	*Log
	at time.Duration
}

func (s *story) step(seam Seam, verb, version string) *story {
	step := Step{Seam: seam, Verb: verb, Kind: "Deployment", Key: "default/web", Version: version, At: s.at}
	if seam == Store && verb != Delete {
		step.Count = 1
	}
	if seam == Handler {
		step.By = "handler 1"
	}
	s.append(&step)
	return s
}

// change is a change that goes all the way.
func (s *story) change(after time.Duration, version string) *story {
	s.at += after
	return s.step(Server, Wrote, version).step(Event, "MODIFIED", version).step(Delta, "Updated", version).
		step(Delta, Pop, version).step(Store, Update, version).step(Handler, OnUpdate, version).
		step(Queue, Add, "").step(Queue, Get, "").step(Queue, Done, "")
}

func newStory() *story { return &story{Log: NewLog(Limit)} }

func TestCompare_of_the_same_story(t *testing.T) {
	a := newStory().change(time.Second, "2").change(time.Second, "3")
	b := newStory().change(time.Second, "20").change(time.Second, "25") // other versions, and a watch that comes late
	b.at = 3 * time.Second
	b.step(Server, Wrote, "30")
	b.at = 4 * time.Second
	b.step(Store, Update, "30").step(Handler, OnUpdate, "30")
	a.at = 3 * time.Second
	a.step(Server, Wrote, "4").step(Store, Update, "4").step(Handler, OnUpdate, "4")
	require.Equal(t, Difference{}, Compare(a.Log, b.Log, "default/web"))
}

func TestCompare_finds_the_first_lasting_difference(t *testing.T) {
	a, b := newStory().change(time.Second, "2"), newStory().change(time.Second, "2")
	a.at, b.at = 2*time.Second, 2*time.Second
	a.step(Server, Removed, "3").step(Delta, "Deleted", "3").step(Delta, Pop, "3") // and the store keeps the object
	wrong := a.n
	a.step(Handler, OnDelete, "3")
	b.step(Server, Removed, "3").step(Delta, "Deleted", "3").step(Delta, Pop, "3").step(Store, Delete, "3").
		step(Handler, OnDelete, "3")
	a.at, b.at = 3*time.Second, 3*time.Second // what follows from it comes later
	b.step(Server, Wrote, "4").step(Store, Add, "4")
	require.Equal(t, Difference{Seam: Store, Kind: "Deployment", Key: "default/web", At: 2 * time.Second, Step: wrong,
		Here: "an object that the API server has deleted", Elsewhere: "nothing"}, Compare(a.Log, b.Log, ""))
}

// No handler is called for the deletion of a budget, so the controller does not make it again. The Indexer differs at
// the same moment, but it is right.
func TestCompare_names_the_call_that_is_missing_first(t *testing.T) {
	a, b := newStory().change(time.Second, "2"), newStory().change(time.Second, "2")
	a.at, b.at = 2*time.Second, 2*time.Second
	for _, s := range []*story{a, b} {
		s.step(Server, Removed, "3").step(Event, "DELETED", "3").step(Delta, "Deleted", "3").step(Delta, Pop, "3").
			step(Store, Delete, "3")
	}
	stored := a.n
	b.step(Handler, OnDelete, "3").step(Queue, Add, "").step(Queue, Get, "").step(Server, Wrote, "4").
		step(Queue, Done, "").step(Event, "ADDED", "4").step(Delta, "Added", "4").step(Delta, Pop, "4").
		step(Store, Add, "4").step(Handler, OnAdd, "4")
	require.Equal(t, Difference{Seam: Handler, Kind: "Deployment", Key: "default/web", By: "handler 1",
		At: 2 * time.Second, Step: stored, Here: "no call of OnDelete", Elsewhere: "a call of OnDelete"},
		Compare(a.Log, b.Log, "default/web"))
	d := Compare(b.Log, a.Log, "default/web")
	require.Equal(t, []string{string(Handler), "a call of OnDelete", "no call of OnDelete"},
		[]string{string(d.Seam), d.Here, d.Elsewhere})
}

func TestCompare_prefers_the_key(t *testing.T) {
	a, b := newStory(), newStory()
	for _, key := range []string{"default/a", "default/b", "default/c"} {
		b.append(&Step{Seam: Server, Verb: Wrote, Key: key, Version: "2"})
	}
	require.Equal(t, "default/b", Compare(a.Log, b.Log, "default/b").Key)
	require.Equal(t, "default/a", Compare(a.Log, b.Log, "").Key)
}

func TestCompare_of_keys_that_no_worker_gives_back(t *testing.T) {
	a, b := newStory().change(time.Second, "2"), newStory().change(time.Second, "2")
	a.at, b.at = 2*time.Second, 2*time.Second
	a.step(Queue, Add, "").step(Queue, Get, "")
	b.step(Queue, Add, "").step(Queue, Get, "").step(Queue, Done, "")
	d := Compare(a.Log, b.Log, "")
	require.Equal(t, []string{string(Queue), "with a worker", "idle"}, []string{string(d.Seam), d.Here, d.Elsewhere})
	require.Equal(t, a.n, d.Step)
}

// The chain goes from a worker's write back to the change that caused it.
func TestCauses(t *testing.T) {
	s := newStory().change(time.Second, "2")
	s.step(Server, Wrote, "3") // another change, which is no cause
	s.step(Queue, Add, "").step(Queue, Get, "")
	s.append(&Step{Seam: Worker, Verb: Writes, Kind: "PodDisruptionBudget", Key: "default/web", Text: "update"})
	s.append(&Step{Seam: Server, Verb: Wrote, Kind: "PodDisruptionBudget", Key: "default/web", Version: "4"})
	var chain []string
	for _, step := range s.Causes(s.n) {
		chain = append(chain, string(step.Seam)+" "+step.Verb)
	}
	require.Equal(t, []string{"server wrote", "event MODIFIED", "delta Updated", "delta Pop", "store Update",
		"handler OnUpdate", "queue Add", "queue Get", "worker writes", "server wrote"}, chain)
	require.EqualValues(t, 1, s.Causes(s.n)[0].N)
	require.Empty(t, s.Causes(0))
}

func TestRecordings_in_one_file(t *testing.T) {
	a, b := newStory().change(time.Second, "2"), newStory().change(time.Second, "2").change(time.Minute, "3")
	wrong := Recording{a.Log, "Week 1: your code", Wrong{"too few", "default/web", 7}}
	right := Recording{Log: b.Log, Title: "Week 1: the solution"}
	var file bytes.Buffer
	require.NoError(t, wrong.Write(&file))
	require.NoError(t, right.Write(&file))
	read, err := ReadRecordings(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Len(t, read, 2)
	for i, r := range []Recording{wrong, right} {
		require.Equal(t, []any{r.Title, r.Wrong}, []any{read[i].Title, read[i].Wrong})
		require.Equal(t, r.Log.At(r.Log.n), read[i].Log.At(r.Log.n))
	}
	_, err = ReadRecordings(bytes.NewReader(bytes.Replace(file.Bytes(), []byte(`"n":4`), []byte(`"n":5`), 1)))
	require.ErrorContains(t, err, "step 5 follows step 3")
}

func TestLog_until(t *testing.T) {
	s := newStory().change(time.Second, "2").change(time.Second, "3")
	for at, n := range map[time.Duration]int64{0: 0, time.Second: 9, 1500 * time.Millisecond: 9, time.Hour: 18} {
		require.Equal(t, n, s.Until(at), "until %v", at)
	}
}
