package sample_test

// These tests are fine, or skipped, and guard must leave them alone.

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	sample "client-go-workshop/internal/testkit/guard/testdata/05-sample"
)

func TestFine(t *testing.T) {
	var lock sync.Mutex
	var order []string
	note := func(what string) {
		lock.Lock()
		defer lock.Unlock()
		order = append(order, what)
	}
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		q := sample.NewQueue()
		q.Run()
		t.Cleanup(q.Stop)
		t.Cleanup(func() { note("second cleanup") })
		t.Go(func() {
			<-t.Context().Done()
			time.Sleep(time.Hour) // the clock goes on until it has ended
			note("after the context")
		})
		t.Go(func() { q.Get() })
		start := time.Now()
		time.Sleep(24 * time.Hour)
		require.Equal(t, 24*time.Hour, time.Since(start))
		synctest.Wait()
		q.Add("a")
		note("test")
	})
	require.Equal(t, []string{"test", "second cleanup", "after the context"}, order)
}

func TestFine_Skip(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) { t.Skip("not today") })
	t.Error("nothing runs after a skip")
}

// A test may be slow as long as something moves, even while others wait for a lock, and it does its steps.
func TestFine_Slow(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	time.AfterFunc(4*time.Second, func() { close(over) }) // the clock inside the bubble stands still
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		inside := make(chan struct{})
		t.Go(func() {
			s.With(func() {
				close(inside)
				for busy := true; busy; {
					select {
					case <-over:
						busy = false
					case <-tick.C:
						t.Did("a turn")
					default:
					}
				}
			})
		})
		<-inside
		s.Get("a")
	})
}

// Something outside the bubble may wake it up.
func TestFine_Waits_for_the_world(t *testing.T) {
	t.Parallel()
	world := make(chan struct{})
	time.AfterFunc(4*time.Second, func() { close(world) })
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		inside := make(chan struct{})
		t.Go(func() {
			s.With(func() {
				close(inside)
				<-world
			})
		})
		<-inside
		s.Get("a")
	})
}
