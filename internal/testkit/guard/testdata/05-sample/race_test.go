package sample_test

// Tests with guard.Race, each of which ends in another way.

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	sample "client-go-workshop/internal/testkit/guard/testdata/05-sample"
)

const rule = "every method takes the lock for as long as it touches the map"

// together calls all functions at once, until each has been called often.
func together(calls ...func()) {
	var ready, all sync.WaitGroup
	ready.Add(len(calls))
	for _, call := range calls {
		all.Go(func() {
			ready.Done()
			ready.Wait()
			for range 20_000 {
				call()
			}
		})
	}
	all.Wait()
}

func TestTask1_Race(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) {
		s := sample.New()
		t.Did("Set and Keys, at once")
		guard.Storm(func(int) { s.Set("a", "b") }, func(int) { s.Keys() })
	})
}

func TestFine_Apart(t *testing.T) {
	guard.Apart(t, rule, func(t *guard.T) {
		time.Sleep(time.Hour) // of the bubble
		require.Empty(t, sample.New().Get("a"))
	})
}

func TestFine_Race(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) {
		s := sample.New()
		t.Go(func() { s.Set("c", "d") })
		for range 1000 {
			t.Go(func() { s.Set("a", "b") })
			s.Get("a")
		}
	})
}

func TestFine_Race_skipped(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) { t.Skip("not today") })
	t.Error("nothing runs after a skip")
}

func TestTask1_Race_assertion(t *testing.T) {
	t.Run("in a subtest", func(t *testing.T) {
		guard.Race(t, rule, func(t *guard.T) {
			t.Did("something")
			t.Rule("an assertion's own reason")
			require.Equal(t, "a", "b")
		})
	})
}

func TestTask1_Race_todo(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) {
		s := sample.New()
		together(func() { s.Index("a") }, func() { s.Add("a", "b") })
	})
}

func TestTask1_Race_panic(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) { sample.New().SetNil("a", "b") })
}

func TestTask1_Race_panic_elsewhere(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) {
		t.Did("SetNil on a goroutine that nobody guards")
		together(func() { sample.New().SetNil("a", "b") })
	})
}

func TestTask1_Apart_panic_elsewhere(t *testing.T) {
	guard.Apart(t, "a new store is empty", func(t *guard.T) {
		time.Sleep(time.Hour) // of the bubble
		t.Rule("a panic is reported, and the store goes on")
		t.Did("SetNil on a goroutine that nobody guards, an hour later")
		together(func() { sample.New().SetNil("a", "b") })
	})
}

func TestFine_Crash(t *testing.T) {
	guard.Crash(t, "a panic ends the program", "assignment to entry in nil map", func(t *guard.T) {
		time.Sleep(time.Hour) // of the bubble
		together(func() { sample.New().SetNil("a", "b") })
	})
}

func TestTask1_Crash_survived(t *testing.T) {
	guard.Crash(t, "a panic ends the program", "a bug", func(t *guard.T) {
		t.Did("a panic that is swallowed until the test is over")
		go func() {
			defer func() {
				<-t.Context().Done()
				panic(recover())
			}()
			panic("a bug")
		}()
		time.Sleep(time.Hour) // of the bubble
	})
}

func TestTask1_Crash_of_another_kind(t *testing.T) {
	guard.Crash(t, "a panic ends the program", "a bug", func(t *guard.T) {
		together(func() { sample.New().SetNil("a", "b") })
	})
}

func TestTask1_Race_fatal(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) { sample.New().Unlock() })
}

func TestTask1_Race_lock_forgotten(t *testing.T) {
	t.Parallel()
	guard.Race(t, rule, func(t *guard.T) {
		s := sample.New()
		s.Forget()
		together(func() { s.Get("a") }, func() { s.Set("a", "b") })
	})
}

func TestTask1_Race_exit(t *testing.T) {
	guard.Race(t, rule, func(t *guard.T) {
		os.Stdout.WriteString("a last word\n")
		os.Exit(3)
	})
}
