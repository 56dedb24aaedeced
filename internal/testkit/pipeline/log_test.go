package pipeline

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// filled returns a log of n steps, which create and delete objects.
func filled(n int) *Log {
	l := NewLog(Limit)
	for i := range n {
		verb, there := Add, int64(1)
		if i%3 == 2 {
			verb, there = Delete, 0
		}
		l.Append(Step{Seam: Store, Verb: verb, Kind: "Deployment", Key: fmt.Sprint("default/web-", i%7), Count: there,
			Version: fmt.Sprint(i)})
	}
	return l
}

func TestLog_at_any_step_is_the_fold_of_the_steps_before(t *testing.T) {
	l := filled(3 * 10 * block)
	for _, n := range []int64{0, 1, 6, 10*block + 5, 3 * 10 * block, 10 * block, 2} {
		want := NewState()
		for _, step := range l.since(0, n) {
			want.Apply(&step)
		}
		require.Equal(t, want, l.At(n), "the state at step %d", n)
	}
}

func TestLog_forgets_the_oldest_steps_and_not_their_effect(t *testing.T) {
	n := Limit + 5*block
	l := filled(n)
	first, last := l.Range()
	require.Equal(t, int64(n), last)
	require.Equal(t, int64(n-Limit), first)
	want := NewState()
	all := filled(Limit).since(0, Limit)
	require.Len(t, all, Limit)
	for i := range n {
		step := all[i%21] // the keys and verbs repeat after 21 steps
		step.N, step.Version = int64(i+1), fmt.Sprint(i)
		want.Apply(&step)
	}
	require.Equal(t, want.Informers["Deployment"].Store.Objects, l.At(last).Informers["Deployment"].Store.Objects)
	require.Equal(t, first, l.At(3).N, "a forgotten step is shown as the first that is known")
}

func TestLog_keeps_as_many_steps_as_it_was_told(t *testing.T) {
	for _, keep := range []int{1, block - 1, block, block + 1, 2*block + 500} {
		l := NewLog(keep)
		for n := 1; n <= 3*keep+7; n++ {
			l.Append(Step{Seam: Note, Text: fmt.Sprint(n)})
			first, last := l.Range()
			require.Equal(t, int64(n), last)
			require.Equal(t, int64(max(0, n-keep)), first)
		}
		kept := l.since(0, math.MaxInt64)
		require.Len(t, kept, keep)
		for i, step := range kept {
			require.Equal(t, fmt.Sprint(2*keep+8+i), step.Text, "the step at %d of %d", i, keep)
			require.Equal(t, int64(2*keep+8+i), step.N)
		}
	}
}

// A wait that is not known ends with the Get of its key, whatever else is called.
func TestState_waits_until_Get_if_the_limiter_could_not_be_asked(t *testing.T) {
	s := NewState()
	for i, verb := range []string{AddRateLimited, Forget, Waits, AddAfter} {
		s.Apply(&Step{N: int64(i + 1), At: time.Duration(i) * time.Second, Seam: Queue, Verb: verb, Key: "default/web",
			Wait: map[string]time.Duration{AddRateLimited: -1, AddAfter: time.Hour}[verb]})
		require.Empty(t, s.Queue.Queue, "the queue after %s", verb)
		require.Contains(t, s.Queue.Waiting, "default/web", "the keys that wait after %s", verb)
		again := s.Clone()
		again.Queue.earliest = 0 // as read from a file
		again.Advance(time.Minute)
		require.Empty(t, again.Queue.Queue, "the queue a minute after %s", verb)
	}
	s.Apply(&Step{N: 5, At: time.Minute, Seam: Queue, Verb: Get, Key: "default/web"})
	require.Empty(t, s.Queue.Waiting)
}

// Steps are appended, forgotten and read at the same time. Each reader sees all steps, in order.
func TestLog_readers_see_each_step(t *testing.T) {
	const all = Limit + 40*block
	l, done := NewLog(Limit), make(chan struct{})
	go func() {
		defer close(done)
		for range all {
			l.Append(Step{Seam: Store, Verb: Add, Kind: "Deployment", Key: "default/web", Count: 1, Version: "7"})
		}
	}()
	var state *State
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		state = l.Follow(state)
		first, _ := l.Range()
		oldest := l.Steps(first+block, block)
		for i, step := range oldest {
			if step.N != oldest[0].N+int64(i) {
				t.Fatalf("step %d follows step %d", step.N, oldest[i-1].N)
			}
		}
		if first > 0 { // a page that opens now
			state = l.Follow(nil)
		}
		require.Equal(t, state.N, state.Counts[Store])
	}
	require.Equal(t, int64(all), state.N)
}

// The first names of the objects are right, whatever comes and goes.
func TestView_rows_are_the_first_objects(t *testing.T) {
	l, r := NewLog(Limit), rand.New(rand.NewPCG(1, 2))
	var state *State
	for range 500 {
		l.Append(Step{Seam: Store, Verb: Add, Kind: "Deployment", Key: fmt.Sprint("default/web-", r.IntN(120)),
			Count: int64(min(1, r.IntN(3)))})
		state = l.Follow(state)
		want := slices.Sorted(maps.Keys(state.Informers["Deployment"].Store.Objects))
		shown := state.View()
		require.Equal(t, len(want), shown.Informers["Deployment"].Store.Total)
		require.ElementsMatch(t, want[:min(rows, len(want))],
			slices.Collect(maps.Keys(shown.Informers["Deployment"].Store.Objects)))
	}
}

// How far the Reflector and the Indexer are behind the server.
func TestView_behind(t *testing.T) {
	s := newStory()
	behind := func() [2]int {
		v := s.Follow(nil).View().Informers["Deployment"]
		return [2]int{v.NotReceived, v.NotStored}
	}
	s.step(Store, AddIndexers, "").step(Server, Wrote, "2").step(Server, Wrote, "3")
	require.Equal(t, [2]int{2, 2}, behind())
	s.step(Delta, "Added", "2")
	require.Equal(t, [2]int{1, 2}, behind(), "the queue has it, and the Indexer does not")
	s.step(Delta, Pop, "2").step(Store, Add, "2")
	require.Equal(t, [2]int{1, 1}, behind())
	s.step(Server, Removed, "4").step(Server, Wrote, "5").step(Delta, "Deleted", "4").step(Store, Delete, "2")
	require.Equal(t, [2]int{1, 1}, behind(), "the object that was created again")
	s.step(Delta, "Added", "5").step(Store, Add, "5")
	require.Equal(t, [2]int{0, 0}, behind())
}

func TestLog_follow_continues(t *testing.T) {
	l := filled(10)
	s := l.Follow(nil)
	require.Equal(t, int64(10), s.N)
	l.Append(Step{Seam: Store, Verb: Add, Kind: "Deployment", Key: "default/new", Count: 1})
	s = l.Follow(s)
	require.Contains(t, s.Informers["Deployment"].Store.Objects, "default/new")
	require.Equal(t, s, l.At(11))
}

func TestRecording_reads_what_it_wrote(t *testing.T) {
	for _, n := range []int{0, 10, Limit + 3*block} {
		l := filled(n)
		var file bytes.Buffer
		require.NoError(t, Recording{Log: l, Title: "a title"}.Write(&file))
		read, err := ReadRecordings(&file)
		require.NoError(t, err)
		require.Equal(t, "a title", read[0].Title)
		require.Equal(t, l.At(int64(n)), read[0].Log.At(int64(n)))
	}
}

// The end of a recording has the calls that did not come, if the run went on long enough.
func TestLog_notes_calls_that_are_overdue(t *testing.T) {
	s := newStory()
	s.step(Handler, Joined, "").step(Delta, Pop, "2").step(Store, Add, "2").step(Delta, Processed, "2")
	s.NoteOverdue()
	require.EqualValues(t, 4, s.n, "it may still come")
	s.at = InTime
	s.step(Event, "BOOKMARK", "9")
	s.NoteOverdue()
	last := s.Steps(s.n, 1)[0]
	require.Equal(t, "Handler 1 of Deployments was not called: OnAdd for default/web@2.", last.Sentence())
	require.Equal(t, s.at, last.At)
}

// RemoveEventHandler does not wait for the running call, and one more may be on its way.
func TestLog_handler_that_has_left_does_not_come_back(t *testing.T) {
	s := newStory()
	s.step(Handler, Joined, "").step(Handler, OnAdd, "2").step(Handler, Left, "").step(Handler, Returned, "2")
	require.Empty(t, s.Follow(nil).Informers["Deployment"].Handlers)
	s.step(Handler, OnUpdate, "3").step(Handler, Returned, "3")
	require.Empty(t, s.Follow(nil).Informers["Deployment"].Handlers)
}

func TestRecording_refuses(t *testing.T) {
	for file, reason := range map[string]string{
		"":                                    "the recording is empty",
		"{}":                                  "not a recording",
		"hello":                               "read line 1",
		`{"a":1}` + "\n":                      "not a recording",
		`{"workshop":"recording","format":2}`: "has format 2, and this program reads format 1",
		`{"workshop":"recording","format":1}` + "\n" + `{"n":1`:                  "read line 2",
		`{"workshop":"recording","format":1}` + "\n" + `{"n":4}`:                 "step 4 follows step 0",
		`{"workshop":"recording","format":1,"first":{"N":7}}` + "\n" + `{"n":4}`: "step 4 follows step 7",
	} {
		_, err := ReadRecordings(strings.NewReader(file))
		require.ErrorContains(t, err, reason, file)
	}
	_, err := ReadRecordings(io.MultiReader(strings.NewReader(`{"title":"`), endless{}))
	require.ErrorContains(t, err, "token too long")
}

// endless is a text without an end, and without a second line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// The axis counts the steps of each station, and marks errors, lists after the first, and waits.
func TestLog_axis(t *testing.T) {
	s := newStory().change(0, "2")
	s.step(Reflector, List, "")
	s.at = time.Second
	s.step(Queue, AddRateLimited, "")
	s.append(&Step{Seam: Request, Verb: Answered, Code: 500, At: s.at})
	s.at = 4 * time.Second
	s.step(Reflector, Returned, "").step(Reflector, List, "")
	a := s.Axis(0, 0, 5)
	require.Equal(t, []int64{10, 12, 0, 0, 14}, a.Steps)
	require.Equal(t, []int{1, 0, 0, 0, 0}, a.Lanes[Stream], "an event")
	require.Equal(t, []string{"", markBackOff, "", "", ""}, a.Marks[Queue])
	require.Equal(t, []string{"", markError, "", "", ""}, a.Marks[Request])
	require.Equal(t, []string{"", "", "", "", markRelist}, a.Marks[Reflector])
	require.Equal(t, []int64{12}, s.Axis(500*time.Millisecond, 2*time.Second, 1).Steps)
	require.Empty(t, NewLog(Limit).Axis(0, 0, 5).Steps)
}
