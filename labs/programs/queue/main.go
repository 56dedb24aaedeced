// Command queue shows the workqueue of the articles: a key that is added twice, a key that is added while a worker has
// it, a key for later, a key that fails, and the end. It needs no server.
//
//	go run ./labs/programs/queue
//
// The queue is client-go's; chapter 06 builds it.
//
// What it leaves out: a second worker.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/client-go/util/workqueue"
)

func main() { run(os.Stdout) }

func run(out io.Writer) {
	// A key that fails waits 100 ms, then 200 ms, then 400 ms, and so on, up to a second.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, time.Second)
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "demo"})
	start := time.Now()
	say := func(format string, args ...any) {
		since := time.Since(start).Round(100 * time.Millisecond)
		fmt.Fprintf(out, "%4d ms  %s\n", since.Milliseconds(), fmt.Sprintf(format, args...))
	}

	queue.Add("default/web")
	queue.Add("default/web")
	queue.Add("default/db")
	say("web was added twice and db once: Len is %d", queue.Len())

	key, _ := queue.Get()
	queue.Add(key)
	say("a worker has %s, and it was added again: Len is %d", key, queue.Len())
	queue.Done(key)
	say("the worker is done with it: Len is %d", queue.Len())

	for range 2 {
		key, _ = queue.Get()
		say("a worker gets %s", key)
		queue.Done(key)
	}

	queue.AddAfter("default/later", 300*time.Millisecond)
	key, _ = queue.Get() // blocks
	say("a worker gets %s", key)
	queue.Done(key)

	queue.Add("default/fails")
	for work(queue, say) {
		// until the queue is shut down
	}
	say("Get reports the shutdown")
}

// work is one round of a worker's loop. Each key that Get returns needs one Done. A key that succeeds also needs
// Forget, otherwise its next failure begins with a long wait. It returns false when the queue is shut down.
func work(queue workqueue.TypedRateLimitingInterface[string], say func(string, ...any)) bool {
	key, shutdown := queue.Get()
	if shutdown {
		return false
	}
	defer queue.Done(key)
	if err := reconcile(queue.NumRequeues(key)); err != nil {
		say("%s fails, failures before: %d", key, queue.NumRequeues(key))
		queue.AddRateLimited(key)
		return true
	}
	queue.Forget(key)
	say("%s succeeds, failures after Forget: %d", key, queue.NumRequeues(key))
	queue.ShutDown()
	return true
}

func reconcile(failures int) error {
	if failures < 3 {
		return errors.New("the server is away")
	}
	return nil
}
