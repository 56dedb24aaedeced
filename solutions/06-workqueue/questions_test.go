package workqueue_test

// This file checks answers of docs/learn/questions.md that are about delays, over the solution and over client-go.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func ask(t *testing.T, test func(t *testing.T, queue clientgo.TypedDelayingInterface[string])) {
	for name, newQueue := range map[string]func() clientgo.TypedDelayingInterface[string]{
		"solution":  workqueue.NewTypedDelayingQueue[string],
		"client-go": clientgo.NewTypedDelayingQueue[string],
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := newQueue()
				test(t, queue)
				queue.ShutDown()
				synctest.Wait()
			})
		})
	}
}

// arrivals gets and finishes each item of the next two hours, and returns the times that they took to come.
func arrivals(queue clientgo.TypedDelayingInterface[string]) (after []time.Duration) {
	start := time.Now()
	for time.Since(start) < 2*time.Hour {
		for queue.Len() > 0 {
			item, _ := queue.Get()
			queue.Done(item)
			after = append(after, time.Since(start))
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
	return after
}

func TestQuestion_AddAfter_moves_an_item_to_an_earlier_time_only(t *testing.T) {
	for _, delays := range [][]time.Duration{{time.Minute, time.Hour}, {time.Hour, time.Minute}} {
		ask(t, func(t *testing.T, queue clientgo.TypedDelayingInterface[string]) {
			for _, delay := range delays {
				queue.AddAfter("web", delay)
				synctest.Wait()
			}
			require.Equal(t, []time.Duration{time.Minute}, arrivals(queue), "%v", delays)
		})
	}
}

func TestQuestion_Add_does_not_cancel_AddAfter(t *testing.T) {
	ask(t, func(t *testing.T, queue clientgo.TypedDelayingInterface[string]) {
		queue.AddAfter("web", time.Hour)
		synctest.Wait()
		queue.Add("web")
		require.Equal(t, []time.Duration{0, time.Hour}, arrivals(queue), "the item comes twice")
	})
}
