package controller_test

// Task 7: the machine. It stops, whatever it is at.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/solutions"
)

const (
	finishes = "After ctx has ended, Run finishes the running and the queued keys, for at most Config.DrainTimeout."
	drops    = "Run drops the keys that wait for a retry: the next start looks at every Deployment anyway."
	noWorker = "Run returns when no worker is left."
)

// stopIn ends the machine, and requires that Run returns after this time, give or take what a poll may take. It leaves
// the rule behind.
func (m *machine) stopIn(want time.Duration, rule string) {
	m.t.Helper()
	began := time.Now()
	m.stop()
	got := time.Since(began)
	m.t.Rule("%s", rule)
	require.GreaterOrEqual(m.t, got, want, "time that Run takes to return")
	require.LessOrEqual(m.t, got, want+settleTime, "time that Run takes to return")
}

func TestTask7_Stop_before_the_caches_are_complete(t *testing.T) {
	guard.Test(t, "Then Config.Workers workers reconcile until ctx ends: if it ends before the caches are complete, no "+
		"worker starts.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.closed.Store(true)
		})
		m.stopIn(0, noWorker)
		require.Empty(t, m.server.callLog(), "writes to the server")
		t.Rule("The queue is shut down whenever Run returns.")
		require.True(t, m.queue.ShuttingDown(), "the queue is shutting down after Run")
	})
}

func TestTask7_Stop_in_an_idle_hour(t *testing.T) {
	guard.Test(t, "processNext returns false when the queue is shut down and empty: a worker that waits for a "+
		"key ends.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.configure = func(config *controller.Config) { config.Queue = lateAnswer{config.Queue} }
		})
		m.pass(time.Hour)
		t.Did("a worker that waits for a key learns a second late that the queue is shut down")
		m.stopIn(time.Second, noWorker)
		t.Rule("The queue is shut down whenever Run returns.")
		require.True(t, m.queue.ShuttingDown(), "the queue is shutting down after Run")
	})
}

// lateAnswer is a queue that says a second late that it is shut down.
type lateAnswer struct{ layers.WorkQueue }

func (l lateAnswer) Get() (key cache.ObjectName, shutdown bool) {
	if key, shutdown = l.WorkQueue.Get(); shutdown {
		time.Sleep(time.Second)
	}
	return key, shutdown
}

func TestTask7_Stop_drops_retries(t *testing.T) {
	guard.Test(t, drops,
		func(t *guard.T) {
			m := start(t, 0, func(m *machine) {
				m.deployments.Add(web())
				m.server.before = func(context.Context, string) error { return errors.New("connection refused") }
			})
			m.pass(2 * time.Minute) // the wait is a minute by now
			n := len(m.server.callLog())
			m.stopIn(0, drops)
			require.Len(t, m.server.callLog(), n, "writes to the server")
		})
}

func TestTask7_Stop_finishes_what_it_began(t *testing.T) {
	guard.Test(t, finishes, func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.server.before = func(ctx context.Context, _ string) error {
				select {
				case <-time.After(3 * time.Second):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
		for i := range 5 {
			m.deployments.Add(web(called(fmt.Sprint("web-", i))))
		}
		synctest.Wait()
		t.Did("five Deployments are created; each write takes three seconds; there are two workers")
		began := time.Now()
		m.stop()
		took := time.Since(began)
		t.Rule("Run cancels no request before DrainTimeout.")
		require.Len(t, m.events.list(), 5, "Events")
		t.Rule("%s", finishes)
		require.Equal(t, 9*time.Second, took.Truncate(settleTime), "time that Run takes to return")
	})
}

func TestTask7_Stop_survives_a_panic(t *testing.T) {
	guard.Apart(t, finishes+" A worker that panics meanwhile starts again after a second.", func(t *guard.T) {
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
		// A drain of client-go's queue ends while no worker has a key (#141079).
		defer replace(&below.NewWorkQueue, solutions.Layers.NewWorkQueue)()
		m := start(t, 0, func(m *machine) {
			m.configure = func(config *controller.Config) { config.Workers = 1 }
			m.server.before = func(context.Context, string) error {
				if len(m.server.callLog()) == 1 {
					time.Sleep(3 * time.Second)
					panic("a bug in reconcile")
				}
				return nil
			}
		})
		t.Did("the only worker is at a write that will panic, and another key is queued")
		m.apply(web(called("one")))
		m.apply(web(called("two")))
		m.stop()
		t.Rule("%s", finishes)
		require.Equal(t, []string{"create default/one", "create default/two"}, m.server.callLog(), "writes to the server")
	})
}

// blocked is a write that the server does not answer, and what leads to it.
type blocked struct {
	verb    string
	replica int32
	budgets []*policyv1.PodDisruptionBudget
	gone    bool // the Deployment
}

var blockedWrites = map[string]blocked{
	"create":           {"create", 3, nil, false},
	"update":           {"update", 3, []*policyv1.PodDisruptionBudget{webBudget(noLabel)}, false},
	"delete":           {"delete", 1, []*policyv1.PodDisruptionBudget{webBudget(noOtherOwner)}, false},
	"delete of a kept": {"delete", 3, []*policyv1.PodDisruptionBudget{webBudget()}, true},
	"delete of a second": {"delete", 3, []*policyv1.PodDisruptionBudget{webBudget(noOtherOwner),
		handmade("by-hand", map[string]string{"app": "web"})}, false},
}

// begin makes a machine, and brings it to the write.
func (b blocked) begin(t *guard.T, prepare func(*machine)) *machine {
	return start(t, 0, func(m *machine) {
		prepare(m)
		if !b.gone { // otherwise the controller would work as soon as it starts
			for _, budget := range b.budgets {
				m.server.put(budget)
			}
		}
	})
}

// now makes the change that leads to the write.
func (b blocked) now(m *machine) {
	if b.gone {
		for _, budget := range b.budgets {
			m.server.put(budget)
		}
	} else {
		m.deployments.Add(web(replicas(b.replica)))
	}
	synctest.Wait()
}

// noAnswer makes the server answer no write after the first n, which take 3 seconds.
func noAnswer(m *machine, n int) {
	m.server.before = func(ctx context.Context, verb string) error {
		if len(m.server.callLog()) <= n {
			time.Sleep(3 * time.Second)
			return nil
		}
		<-ctx.Done()
		time.Sleep(time.Second)
		return ctx.Err()
	}
}

func TestTask7_Stop_is_bounded(t *testing.T) {
	const rule = "After DrainTimeout, Run cancels the running requests and starts no other"
	for name, b := range guard.InOrder(blockedWrites) {
		t.Run(name+", at the stop", func(t *testing.T) {
			guard.Test(t, rule+": this one began before the stop.", func(t *guard.T) {
				m := b.begin(t, func(m *machine) { noAnswer(m, 0) })
				b.now(m)
				require.Equal(t, []string{b.verb + " default/web"}, m.server.callLog(), "writes to the server at the stop")
				m.stopIn(drainTimeout+time.Second, rule+": this one began before the stop.")
				require.Len(t, m.server.callLog(), 1, "writes to the server")
			})
		})
		t.Run(name+", in the drain", func(t *testing.T) {
			guard.Test(t, rule+": this one began after the stop.", func(t *guard.T) {
				m := b.begin(t, func(m *machine) { noAnswer(m, 2) })
				t.Did("both workers are at writes that take three seconds")
				m.apply(web(called("one")))
				m.apply(web(called("two")))
				b.now(m)
				m.stopIn(drainTimeout+time.Second, rule+": this one began after the stop.")
				require.Len(t, m.server.callLog(), 3, "writes to the server")
			})
		})
	}
	t.Run("with a queue", func(t *testing.T) {
		guard.Test(t, rule+": the queued keys are dropped.", func(t *guard.T) {
			m := start(t, 0, func(m *machine) { noAnswer(m, 0) })
			for i := range 5 {
				m.deployments.Add(web(called(fmt.Sprint("web-", i))))
			}
			synctest.Wait()
			t.Did("the server does not answer: two workers wait, and three keys are queued")
			m.stopIn(drainTimeout+time.Second, rule+": the queued keys are dropped.")
			require.Len(t, m.server.callLog(), 2, "writes to the server")
		})
	})
	const limit = "processNext cancels a Reconcile that takes longer than ReconcileTimeout"
	t.Run("with a long drain", func(t *testing.T) {
		guard.Test(t, limit+": one that begins in the drain, too.", func(t *guard.T) {
			m := start(t, 0, func(m *machine) {
				m.configure = func(config *controller.Config) { config.DrainTimeout = 10 * time.Minute }
				noAnswer(m, 0)
			})
			for i := range 5 { // two workers: 2, 2 and 1
				m.deployments.Add(web(called(fmt.Sprint("web-", i))))
			}
			synctest.Wait()
			m.stopIn(3*(controller.ReconcileTimeout+time.Second), limit)
			require.Len(t, m.server.callLog(), 5, "writes to the server")
		})
	})
}

func TestTask7_Config_is_obeyed(t *testing.T) {
	for _, workers := range []int{1, 3, 20} {
		t.Run(fmt.Sprint("workers ", workers), func(t *testing.T) {
			guard.Test(t, "Then Config.Workers workers reconcile until ctx ends: as many requests run at once.",
				func(t *guard.T) {
					m := start(t, 0, func(m *machine) {
						m.configure = func(config *controller.Config) { config.Workers = workers }
						noAnswer(m, 0)
					})
					for i := range 25 {
						m.deployments.Add(web(called(fmt.Sprint("web-", i))))
					}
					synctest.Wait()
					running := len(m.server.callLog())
					m.stop()
					t.Rule("Then Config.Workers workers reconcile until ctx ends: as many requests run at once.")
					require.Equal(t, workers, running, "requests that run at once")
				})
		})
	}
	for _, drain := range []time.Duration{0, time.Second, 20 * time.Second} {
		t.Run(fmt.Sprint("drain ", drain), func(t *testing.T) {
			guard.Test(t, finishes,
				func(t *guard.T) {
					reported := reports(t)
					m := start(t, 0, func(m *machine) {
						m.configure = func(config *controller.Config) { config.DrainTimeout = drain }
						noAnswer(m, 0)
					})
					m.apply(web())
					m.stopIn(drain+time.Second, finishes)
					t.Rule("processNext reports each error to utilruntime, except a conflict and an object that exists already.")
					require.Len(t, *reported, 1, "reported errors, after Run has cancelled a request")
					require.ErrorIs(t, (*reported)[0], context.Canceled, "the reported error")
					t.Rule("processNext passes each result to recordResult: a request that Run cancels is not refused.")
					require.Empty(t, m.events.list(), "Events")
				})
		})
	}
}

// A recorder may take its time. A worker that is in it is still a worker.
func TestTask7_Stop_waits_for_an_Event(t *testing.T) {
	stops := maps.Clone(blockedWrites)
	stops["conflict"] = blocked{"", 3, []*policyv1.PodDisruptionBudget{webBudget(noOwner, noLabel)}, false}
	for name, b := range stops {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "Run returns when no worker is left: one is about to record an Event.", func(t *guard.T) {
				m := b.begin(t, func(m *machine) {
					m.events.before = func() { time.Sleep(2 * time.Second) }
				})
				b.now(m)
				began := time.Now()
				m.stop()
				t.Rule("Run returns when no worker is left: one is about to record an Event.")
				require.GreaterOrEqual(t, time.Since(began), 2*time.Second, "time that Run takes to return")
				n := len(m.events.list())
				require.NotZero(t, n, "Events")
				m.pass(time.Minute)
				require.Len(t, m.events.list(), n, "Events a minute after the end of Run")
			})
		})
	}
}

// What failed while it was stopping must not come back when everything has ended.
func TestTask7_Nothing_after_the_stop(t *testing.T) {
	guard.Test(t, "Run returns when no worker is left: a later event is for the next start.",
		func(t *guard.T) {
			m := start(t, 0, func(m *machine) { m.deployments.Add(web()) })
			m.stopRun()
			<-m.running
			n := len(m.server.callLog())
			m.apply(web(replicas(9)))
			m.pass(time.Hour)
			m.stop()
			require.Len(t, m.server.callLog(), n, "writes to the server")
		})
}
