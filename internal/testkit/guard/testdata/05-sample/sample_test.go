package sample_test

// Every test here ends badly but those called Fine. What guard makes of it is in ../failures.txt.

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	sample "client-go-workshop/internal/testkit/guard/testdata/05-sample"
)

func TestTask2_Equal(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("Add %s", "default/a {app: web}")
		t.Did("look up 100%%")
		t.Rule("an object is found under the values it has now, so Update must take it out from under all "+
			"those that it had before, and only then put it under the new ones (#%d)", 109115)
		require.Equal(t, []string{}, []string{"default/a"})
	})
}

func TestTask2_Equal_after_many_steps(t *testing.T) {
	guard.Test(t, "first", func(t *guard.T) {
		for i := range 20 {
			t.Did("step %d", i)
		}
		for range 3 {
			t.Did("again")
		}
		assert.Equal(t, 1, 2)
		t.Rule("second, which need not tell the steps again")
		assert.Equal(t, 3, 4)
		for range 1000 {
			t.Rule("the same a thousand times")
			assert.Equal(t, 5, 6)
		}
	})
}

func TestTask2_Equal_of_large_objects(t *testing.T) {
	type object struct {
		Name   string
		Labels map[string]string
		Nested struct{ Values []int }
	}
	make := func(changed int) *object {
		o := &object{Name: "default/web", Labels: map[string]string{}, Nested: struct{ Values []int }{[]int{1, changed, 3}}}
		for i := range 10 {
			o.Labels[fmt.Sprint("label-", i)] = "same"
		}
		return o
	}
	guard.Test(t, "cached objects are never changed", func(t *guard.T) {
		require.Equal(t, make(2), make(7))
	})
}

func TestTask1_No_panic(t *testing.T) {
	guard.Test(t, "a panic of the store reaches the caller", func(t *guard.T) {
		require.Panics(t, func() {}, "Pop")
	})
}

func check(t *guard.T, got string) {
	t.Helper()
	require.Equal(t, "web", got, "the name")
}

func TestTask1_Failure_in_a_helper(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		check(t, "db")
	})
}

func TestTask1_Failure_without_testify(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("something")
		t.Errorf("what is that?\n\tindented\n\nafter a blank line")
		t.Error("and", "that")
		t.Fatal("the end")
	})
}

func TestTask1_Failure_in_Go(t *testing.T) {
	guard.Test(t, "ends this goroutine", func(t *guard.T) {
		done := make(chan struct{})
		t.Go(func() {
			defer close(done)
			require.Equal(t, 1, 2)
		})
		<-done
		t.Rule("and the test goes on")
		assert.Equal(t, 3, 4)
	})
}

func TestTask1_Goexit(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) { runtime.Goexit() })
}

func TestTask1_Bubble_in_a_bubble(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		guard.Test(t.T, "A rule.", func(t *guard.T) {})
	})
}

func TestTask1_Run_in_a_bubble(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Run("a subtest", func(t *testing.T) {})
	})
}

func Test_without_a_task(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		require.NoError(t, errors.New("connection refused\nby the peer"))
	})
}

func TestTask7_which_the_README_does_not_have(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		require.Len(t, []int{1, 2}, 3)
	})
}

func TestTask1_Todo(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("is not told for a todo")
		sample.New().Add("a", "b")
	})
}

func TestTask2_Todo_of_an_earlier_task(t *testing.T) {
	guard.Test(t, "a todo is no panic that a test may expect", func(t *guard.T) {
		require.Panics(t, func() { sample.New().Add("a", "b") })
	})
}

func TestTask2_Todo_in_Go(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		t.Go(func() { s.Index("a") })
	})
}

func TestTask2_Todo_on_a_goroutine_of_the_code(t *testing.T) {
	guard.Test(t, "fails, perhaps before the todo is reached, and says nothing", func(t *guard.T) {
		sample.New().IndexLater()
		require.Equal(t, 1, 2)
	})
}

func TestTask2_Todo_below_a_recover(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		defer func() { recover() }()
		sample.New().Index("a")
	})
}

func TestTask2_Todo_in_a_cleanup(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Cleanup(func() { sample.New().Index("a") })
	})
}

func TestTask2_Todo_that_leaves_the_test_waiting(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		answer := make(chan string)
		go func() { answer <- sample.New().Index("a") }()
		<-answer
	})
}

func TestTask2_Todo_that_leaves_a_lock_locked(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		t.Go(s.IndexLocked)
		time.Sleep(1)
		s.Get("a")
	})
}

func TestTask1_Panic(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("SetNil a")
		sample.New().SetNil("a", "b")
	})
}

func TestTask1_Panic_in_Go(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Go(func() { sample.New().SetNil("a", "b") })
	})
}

func TestTask1_Panic_in_a_cleanup(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Cleanup(func() { panic(fmt.Errorf("wrapped: %w", os.ErrNotExist)) })
	})
}

func TestTask1_Never_returns(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("Get from an empty queue")
		sample.NewQueue().Get()
	})
}

func TestTask1_Never_returns_in_an_assertion(t *testing.T) {
	guard.Test(t, "an empty queue gives what comes next", func(t *guard.T) {
		require.Equal(t, []string{"a"}, []string{sample.NewQueue().Get()})
	})
}

func TestTask1_Never_returns_in_an_assertion_without_a_rule(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		require.Equal(t, "a", sample.NewQueue().Get())
	})
}

func TestTask1_Never_returns_while_a_ticker_runs(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		q := sample.NewQueue()
		q.Run()
		q.Get()
	})
}

func TestTask1_Never_returns_in_Go(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		q := sample.NewQueue()
		for range 3 {
			t.Go(func() { q.Get() })
		}
	})
}

func TestTask1_Never_returns_while_the_test_waits_for_it(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		q := sample.NewQueue()
		got := make(chan string)
		go func() { got <- q.Get() }()
		require.Equal(t, "a", <-got)
	})
}

func TestTask1_Test_waits_for_nothing(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		<-make(chan int)
	})
}

func TestTask1_Failed_and_left_others_waiting(t *testing.T) {
	guard.Test(t, "the queue was not stopped, because of this failure", func(t *guard.T) {
		q := sample.NewQueue()
		t.Go(func() { q.Get() })
		q.Run()
		require.Equal(t, 1, 2)
	})
}

func TestTask1_Left_behind(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		sample.NewQueue().Run()
	})
}

func TestTask1_Left_behind_two(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		q := sample.NewQueue()
		q.Run()
		go q.Get()
	})
}

func TestTask1_Left_behind_in_the_standard_library(t *testing.T) {
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		near, _ := net.Pipe()
		sample.NewQueue().Drain(near)
	})
}

func TestTask1_Lock_taken_twice(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("SetTwice a")
		sample.New().SetTwice("a", "b")
	})
}

func TestTask1_Lock_forgotten(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		s.Forget()
		t.Go(func() { s.Get("a") })
		s.Get("b")
	})
}

func TestTask1_Locks_in_opposite_order(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		var met sync.WaitGroup
		met.Add(2)
		t.Go(func() { s.Forward(&met) })
		s.Backward(&met)
	})
}

func TestTask1_Lock_held_while_sleeping(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		t.Go(s.SleepLocked)
		time.Sleep(time.Millisecond)
		s.Get("a")
	})
}

func TestTask1_Lock_held_while_sending(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		q := sample.NewQueue()
		t.Go(func() { q.Get() }) // who has nothing to do with it is not named
		t.Go(s.SendLocked)
		time.Sleep(time.Millisecond)
		s.Get("a")
	})
}

func TestTask1_Lock_taken_twice_through_the_test(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		s.With(func() { s.Set("a", "b") })
	})
}

func TestTask1_Lock_not_given_back_this_time(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		s.Apply(false, func() { s.Apply(true, func() {}) })
	})
}

// Who called the blocked method is a method of the same object, and has given the lock back.
func TestTask1_Lock_forgotten_by_somebody_else(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		s.GetLater("a", s.Forget)
	})
}

func TestTask1_Lock_held_while_another_one_spins(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		s := sample.New()
		t.Go(s.SendLocked)
		time.Sleep(time.Millisecond)
		t.Go(func() { s.Get("a") })
		s.Spin()
	})
}

func TestTask1_Endless_loop(t *testing.T) {
	t.Parallel()
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("Spin")
		sample.New().Spin()
	})
}

func TestTask1_Subtests(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		guard.Test(t, "in a subtest", func(t *guard.T) { require.True(t, false) })
	})
	t.Run("two", func(t *testing.T) {
		guard.Test(t, "The rule of this test.", func(t *guard.T) { sample.NewQueue().Get() })
	})
}
