package guard

// These tests read dumps as Go 1.26 writes them, of client-go too: there the chapter has no calls of its own.

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/failure"
)

const dump = `goroutine 7 [running]:
example.com/other.f(...)
	/src/other/f.go:1

goroutine 20 [sync.Cond.Wait (durable), 3 minutes, synctest bubble 5]:
sync.runtime_notifyListWait(0xc000012, 0x0)
	/go/src/runtime/sema.go:617 +0x159
sync.(*Cond).Wait(0xc00001)
	/go/src/sync/cond.go:71 +0x85
workshop/06-workqueue.(*Typed[...]).Get(0xc000034)
	C:/workshop/06-workqueue/queue.go:81 +0x7f
workshop/06-workqueue_test.TestTask1_Get.func1(0xc00007?)
	/workshop/06-workqueue/queue_test.go:30 +0x45
created by testing/synctest.testingSynctestTest in goroutine 19
	/go/src/testing/testing.go:2150 +0x5fd

goroutine 21 gp=0xc0001 m=nil [select (durable), synctest bubble 5]:
workshop/06-workqueue.(*Typed[...]).loop.func1()
	queue.go:99 +0x7f
created by workshop/06-workqueue.(*Typed[...]).loop in goroutine 20
	/workshop/06-workqueue/queue.go:97 +0x11

goroutine 22 [running, synctest bubble 5]:
	goroutine running on other thread; stack unavailable
created by sync.(*WaitGroup).Go in goroutine 20
	/go/src/sync/waitgroup.go:238 +0x73
`

func TestDump_is_read(t *testing.T) {
	all := parseDump("panic: all was lost\n\n" + strings.ReplaceAll(dump, "\n", "\r\n"))
	require.Len(t, all, 4)

	get := all[1]
	require.Equal(t, 20, get.id)
	require.Equal(t, 5, get.bubble)
	require.Equal(t, "sync.Cond.Wait", get.state)
	require.True(t, get.durable)
	require.Equal(t, "testing/synctest.testingSynctestTest", get.created.function)
	require.Len(t, get.frames, 4)
	require.Equal(t, frame{"workshop/06-workqueue.(*Typed[...]).Get", "0xc000034", "C:/workshop/06-workqueue/queue.go",
		81}, get.frames[2])

	require.Equal(t, "select", all[2].state)
	require.Equal(t, frame{"workshop/06-workqueue.(*Typed[...]).loop.func1", "", "queue.go", 99}, all[2].frames[0],
		"a //line directive may give a bare name")
	require.Empty(t, all[3].frames)
	require.Equal(t, "sync.(*WaitGroup).Go", all[3].created.function)
}

func TestDump_that_makes_no_sense_is_no_dump(t *testing.T) {
	for _, text := range []string{
		"", "\n\n\n", "goroutine", "goroutine x [running]:\nf()\n\tf.go:1", "goroutine 1:\n",
	} {
		require.Empty(t, parseDump(text), "%q", text)
	}
	g := parseDump("goroutine 1 [running]:\nonly half a fr")
	require.Len(t, g, 1)
	require.Empty(t, g[0].frames)
}

func TestPackage_of_a_function(t *testing.T) {
	for function, pkg := range map[string]string{
		"main.main":          "main",
		"sync.(*Mutex).Lock": "sync",
		"client-go-workshop/05-indexer.(*store).Add.func1":                   "client-go-workshop/05-indexer",
		"client-go-workshop/05-indexer_test.TestTask1":                       "client-go-workshop/05-indexer_test",
		"k8s.io/client-go/util/workqueue.(*Typed[k8s.io/api/x.Y]).Get":       "k8s.io/client-go/util/workqueue",
		"gopkg.in/inf%2ev0.(*Dec).Add":                                       "gopkg.in/inf%2ev0",
		"client-go-workshop/06-workqueue.New[go.shape.struct { A/b.C int }]": "client-go-workshop/06-workqueue",
	} {
		require.Equal(t, pkg, packageOf(function), function)
	}
}

func TestCall_of_the_chapter_is_written_there(t *testing.T) {
	p := place{chapter: "client-go-workshop/05-indexer", test: "client-go-workshop/05-indexer_test"}
	for at, is := range map[string]bool{
		"/w/05-indexer/store.go": true, "/w/solutions/05-indexer/store.go": true,
		"client-go-workshop/05-indexer/store.go": true, "store.go": true,
		"/w/05-indexer/store_test.go": false, "/go/src/maps/iter.go": false, "maps/iter.go": false,
	} {
		f := frame{function: "client-go-workshop/05-indexer.(*store).ListKeys.Keys[...].func1", file: at}
		require.Equal(t, is, p.isChapter(f), at)
	}
}

// over makes a run of a test of chapter, as if it were in bubble 5 on goroutine 20.
func over(t *testing.T, chapter string) *run {
	r := newRun(t, "the rule")
	r.where = place{test: chapter + "_test", chapter: chapter, name: "TestTask1_Get"}
	r.bubble, r.main, r.start = 5, 20, failure.Position{File: "queue_test.go", Line: 25}
	return r
}

func TestNever_returned_names_the_call_of_the_chapter(t *testing.T) {
	r := over(t, "workshop/06-workqueue")
	r.neverReturned(parseDump(dump), "")
	f := r.failures[0]
	require.Equal(t, "queue_test.go:30", f.At.String())
	require.Equal(t, "(*Typed[...]).Get never returned", f.Problem)
	require.Equal(t, "(*Typed[...]).Get at queue.go:81, waiting in sync.Cond.Wait\n(*Typed[...]).loop.func1 at "+
		"queue.go:99, waiting in select", f.Got)
}

func TestNever_returned_names_the_call_of_client_go_where_it_stands_in(t *testing.T) {
	text := strings.ReplaceAll(dump, "workshop/06-workqueue.", "k8s.io/client-go/util/workqueue.")
	r := over(t, "workshop/06-workqueue")
	r.neverReturned(parseDump(text), "")
	f := r.failures[0]
	require.Equal(t, "queue_test.go:30", f.At.String())
	require.Equal(t, "workqueue.(*Typed[...]).Get never returned", f.Problem)
	require.Contains(t, f.Got, "workqueue.(*Typed[...]).Get at queue.go:81, waiting in sync.Cond.Wait\n")
}

func TestLock_of_a_Once_is_not_blamed(t *testing.T) {
	r := over(t, "workshop/06-workqueue")
	r.lockNeverFree(parseDump(`goroutine 20 [sync.Mutex.Lock, synctest bubble 5]:
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
sync.(*Once).doSlow(0xc0, 0xc1)
	/go/src/sync/once.go:73 +0x1
sync.(*Once).Do(...)
	/go/src/sync/once.go:69
workshop/06-workqueue.(*queue).ShutDown(0xc2)
	/w/06-workqueue/queue.go:9 +0x1
workshop/06-workqueue_test.TestTask1_Get.func1()
	/w/06-workqueue/queue_test.go:30 +0x1

goroutine 21 [sync.Cond.Wait (durable), synctest bubble 5]:
sync.(*Cond).Wait(0xc3)
	/go/src/sync/cond.go:71 +0x1
workshop/06-workqueue.(*queue).drain(0xc2)
	/w/06-workqueue/queue.go:12 +0x1
created by workshop/06-workqueue_test.TestTask1_Get.func1 in goroutine 20
	/w/06-workqueue/queue_test.go:25 +0x1
`))
	f := r.failures[0]
	require.Equal(t, "(*queue).ShutDown never returned", f.Problem)
	require.Contains(t, f.Got, "(*queue).drain at queue.go:12, waiting in sync.Cond.Wait")
	require.Contains(t, f.Got, "a call of a sync.Once waits until the first one has returned")
}

func TestLock_that_client_go_may_hold_is_named(t *testing.T) {
	r := over(t, "workshop/07-controller")
	r.lockNeverFree(parseDump(`goroutine 20 [sync.WaitGroup.Wait (durable), synctest bubble 5]:
workshop/07-controller_test.TestTask1_Get.func1()
	/w/07-controller/queue_test.go:30 +0x1

goroutine 21 [sync.Mutex.Lock, synctest bubble 5]:
internal/sync.(*Mutex).lockSlow(0xc1)
	/go/src/internal/sync/mutex.go:149 +0x1
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
k8s.io/client-go/tools/cache.(*FIFO).HasSynced(0xc0)
	/go/mod/fifo.go:4 +0x1
workshop/07-controller.(*informer).handleDeltas(0xc2)
	/w/07-controller/informer_run.go:12 +0x1
k8s.io/client-go/tools/cache.(*FIFO).Pop(0xc0)
	/go/mod/fifo.go:11 +0x1
workshop/07-controller.(*informer).popAll(0xc2)
	/w/07-controller/informer_run.go:5 +0x1
created by workshop/07-controller.(*informer).Run in goroutine 20
	/w/07-controller/informer_run.go:1 +0x1
`))
	f := r.failures[0]
	require.Equal(t, "(*informer).handleDeltas never returned: it waits for a lock that is never released", f.Problem)
	require.Contains(t, f.Got, "cache.(*FIFO).HasSynced was called by cache.(*FIFO).Pop at fifo.go:11, which may "+
		"hold the lock already")
	require.Contains(t, f.Why, "not reentrant")
}

func TestLock_that_a_finished_layer_waits_for_is_held_by_the_chapter(t *testing.T) {
	r := over(t, "workshop/07-controller")
	r.lockNeverFree(parseDump(`goroutine 20 [sync.WaitGroup.Wait (durable), synctest bubble 5]:
workshop/07-controller_test.TestTask1_Get.func1()
	/w/07-controller/queue_test.go:30 +0x1

goroutine 21 [sync.Mutex.Lock, synctest bubble 5]:
internal/sync.(*Mutex).lockSlow(0xc1)
	/go/src/internal/sync/mutex.go:149 +0x1
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
workshop/04-deltafifo.(*DeltaFIFO).record(0xc0)
	/w/04-deltafifo/delta_fifo.go:4 +0x1
workshop/04-deltafifo.(*DeltaFIFO).Update(0xc0)
	/w/04-deltafifo/delta_fifo.go:11 +0x1
created by workshop/07-controller.(*informer).Run in goroutine 20
	/w/07-controller/informer_run.go:1 +0x1

goroutine 22 [sleep (durable), synctest bubble 5]:
time.Sleep(0xf4240)
	/go/src/runtime/time.go:363 +0x1
workshop/07-controller.(*informer).distribute(0xc2)
	/w/07-controller/handlers.go:88 +0x1
workshop/04-deltafifo.(*DeltaFIFO).Pop(0xc0)
	/w/04-deltafifo/delta_fifo.go:21 +0x1
created by workshop/07-controller.(*informer).Run in goroutine 20
	/w/07-controller/informer_run.go:2 +0x1
`))
	f := r.failures[0]
	require.Contains(t, f.Got, "(*informer).distribute at handlers.go:88, sleeping")
	require.NotContains(t, f.Got, "which may hold the lock already")
	require.Contains(t, f.Why, "Hold a lock for a moment only")
	require.Equal(t, "handlers.go:88", f.Code.String())
}

func TestLock_of_the_chapter_is_not_the_call_that_waits(t *testing.T) {
	p := place{chapter: "workshop/07-controller", test: "workshop/07-controller_test"}
	call, ok := p.inChapter([]frame{
		{function: "sync.(*Mutex).Lock", file: "/go/src/sync/mutex.go"},
		{function: "workshop/07-controller.(*fairLock).Lock", file: "/w/07-controller/lock.go"},
		{function: "workshop/07-controller.(*informer).distribute", file: "/w/07-controller/handlers.go"},
	})
	require.True(t, ok)
	require.Equal(t, "workshop/07-controller.(*informer).distribute", call.function)
}

func TestCall_in_an_empty_loop_has_no_line(t *testing.T) {
	p := place{chapter: "workshop/07-controller", test: "workshop/07-controller_test"}
	call := frame{function: "workshop/07-controller.(*Controller).Reconcile", file: "/w/07-controller/reconcile.go", line: 1}
	require.Equal(t, "(*Controller).Reconcile in reconcile.go", call.at(p))
	require.Zero(t, p.codeLine(call))
	call.line = 70
	require.Equal(t, "(*Controller).Reconcile at reconcile.go:70", call.at(p))
	require.Equal(t, "reconcile.go:70", p.codeLine(call).String())
}

func TestPolling_takes_a_sleeping_machine_for_no_deadlock(t *testing.T) {
	locked := strings.ReplaceAll(dump, "sync.Cond.Wait (durable)", "sync.Mutex.Lock")
	locked, _, _ = strings.Cut(locked, "goroutine 22")
	r := over(t, "workshop/06-workqueue")
	stuck := parseDump(locked)
	w := watchdog{}
	now := w.latest
	for _, step := range []struct {
		later string
		dump  []goroutine
		over  bool
	}{
		{"1s", stuck, false},
		{"1h", stuck, false}, // asleep
		{"1h", stuck, false},
		{"250ms", parseDump(dump), false}, // something moves
		{"250ms", stuck, false},
		{"250ms", stuck, false},
		{"1s", stuck, false},
		{"250ms", stuck, false},
		{"250ms", stuck, false},
		{"250ms", stuck, true},
	} {
		d, err := time.ParseDuration(step.later)
		require.NoError(t, err)
		now = now.Add(d)
		require.Equal(t, step.over, w.look(r, step.dump, now, 0) != nil, "after %v", w.clock)
	}
}

func TestLimit_of_a_running_test_is_of_processor_time(t *testing.T) {
	running := parseDump(dump)
	idle := parseDump(strings.ReplaceAll(dump, "[running, synctest", "[sleep, synctest"))
	for _, c := range []struct {
		name  string
		dump  []goroutine
		used  time.Duration // of the processors, in each second
		steps bool          // the test does one in each second
		over  time.Duration
	}{
		{"a loop", running, time.Second, false, realLimit / 3},
		{"a loop with several goroutines", running, 2 * time.Second, false, realLimit / 6},
		{"a long test", running, time.Second, true, realLimit},
		{"a test on a busy machine", running, time.Second / 10, true, starved * realLimit},
		{"a test that waits", idle, 0, false, realLimit},
		{"a test that waits beside an abandoned loop", idle, time.Second, false, realLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := over(t, "workshop/06-workqueue")
			w := watchdog{}
			now, used := w.latest, time.Duration(0)
			for w.clock < 10*starved*realLimit {
				now, used = now.Add(time.Second), used+c.used
				if c.steps {
					r.did("a step")
				}
				if w.look(r, c.dump, now, used) != nil {
					break
				}
			}
			require.Equal(t, c.over, w.clock)
		})
	}
}
