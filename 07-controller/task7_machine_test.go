package controller_test

// Task 7: the machine. Handlers, queue, workers, start and stop.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask7_Life_of_a_budget(t *testing.T) {
	guard.Test(t, "a cut owner is repaired", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		edit := func(change func(*policyv1.PodDisruptionBudget)) func() {
			return func() {
				budget := m.server.get()
				change(budget)
				m.server.put(budget)
			}
		}

		m.then(func() { m.deployments.Add(web()) }, 2, "a Deployment of 3 gets a budget")
		m.then(edit(func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0)) }), 2, "an edit is repaired")
		m.then(edit(noOwner), 2, "a cut owner is repaired")
		require.Len(t, m.server.get().OwnerReferences, 1)
		m.then(m.server.drop, 2, "a deleted budget comes back")
		m.then(func() { m.apply(web(replicas(5))) }, 4, "the budget follows a scale-up")
		m.then(func() { m.apply(web(replicas(1))) }, -1, "one replica has no budget")
		m.then(func() { m.apply(web(replicas(2))) }, 1, "two have one again")
		m.then(func() { m.apply(web(replicas(2), annotated("disabled"))) }, -1, "the annotation opts out")
		m.then(func() { m.apply(web(replicas(2))) }, 1, "and without it, in again")
		m.then(func() { m.deployments.Delete(web(replicas(2))) }, 1, "deleting the Deployment leaves the budget to the garbage collector")

		t.Rule("each change takes exactly one write: the controller's own writes come back as events and must " +
			"change nothing")
		require.Equal(t, []string{
			"create default/web", "update default/web", "update default/web", "create default/web", "update default/web",
			"delete default/web", "create default/web", "delete default/web", "create default/web",
		}, m.server.callLog())
		t.Rule("and is told in one Event")
		require.Equal(t, []string{
			"default/web Normal BudgetCreated", "default/web Normal BudgetRepaired", "default/web Normal BudgetRepaired",
			"default/web Normal BudgetCreated", "default/web Normal BudgetRepaired", "default/web Normal BudgetRemoved",
			"default/web Normal BudgetCreated", "default/web Normal BudgetRemoved", "default/web Normal BudgetCreated",
		}, m.events.list())
	})
}

func TestTask7_Restart_creates_nothing_twice(t *testing.T) {
	guard.Test(t, "all was right before the start, so nothing may be written", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget())
		})
		defer m.stop()
		require.Empty(t, m.server.callLog())
	})
}

func TestTask7_No_work_before_both_caches_are_complete(t *testing.T) {
	guard.Test(t, "the Deployment's key should be waiting", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget())
			m.closed.Store(true)
		})
		defer m.stop()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, m.queue.Len())
		t.Rule("while the budgets are not listed, every budget seems to be missing")
		require.Empty(t, m.server.callLog())

		m.closed.Store(false)
		time.Sleep(time.Minute) // the Reflector backs off
		synctest.Wait()
		t.Rule("work starts when the second cache is complete")
		require.Zero(t, m.queue.Len())
		t.Rule("all was right, so nothing may be written")
		require.Empty(t, m.server.callLog())
	})
}

func TestTask7_Stop_before_the_caches_are_complete(t *testing.T) {
	guard.Test(t, "Run must not wait for caches when it is told to stop", func(t *guard.T) {
		m := start(t, 0, func(m *machine) { m.closed.Store(true) })
		began := time.Now()
		m.stop()
		require.Zero(t, time.Since(began))
		t.Rule("Run owns the queue and must shut it down on every way out")
		require.True(t, m.queue.ShuttingDown())
	})
}

func TestTask7_Deletion_that_the_watch_missed_is_repaired(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 2, "a Deployment of 3 gets a budget")

		m.server.mu.Lock()
		m.server.source.DeleteDropWatch(m.server.budgets[cache.NewObjectName("default", "web")].DeepCopy())
		delete(m.server.budgets, cache.NewObjectName("default", "web"))
		m.server.mu.Unlock()
		m.server.source.ResetWatch()
		time.Sleep(time.Minute) // the Reflector backs off, lists again and finds it missing
		m.then(nil, 2, "after the relist the deletion arrives as a tombstone, and the budget must come back")
	})
}

func TestTask7_Foreign_budget_is_not_touched(t *testing.T) {
	guard.Test(t, "a foreign budget must not be touched", func(t *guard.T) {
		foreign := webBudget(noOwner, noLabel, func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0)) })
		m := start(t, 0, func(m *machine) { m.server.put(foreign) })
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 0, "a foreign budget must not be touched")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, m.server.callLog())
		t.Rule("one Event, and no retry: trying again cannot help until the other budget changes")
		require.Equal(t, []string{"default/web Warning BudgetConflict"}, m.events.list())

		m.then(m.server.drop, 2, "when the foreign budget goes, the Deployment gets its own: its event must lead to the Deployment of that name")
	})
}

func TestTask7_Resync_looks_again(t *testing.T) {
	guard.Test(t, "one look at the start", func(t *guard.T) {
		m := start(t, 10*time.Minute, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget(noOwner, noLabel)) // in the way: one Event for each look
		})
		defer m.stop()
		require.Len(t, m.events.list(), 1)
		time.Sleep(35 * time.Minute)
		synctest.Wait()
		// Two informers resync, so each round is two looks, or one if the queue merged them.
		t.Rule("in 35 minutes there are 3 resyncs: an update with an unchanged resourceVersion must not be " +
			"filtered out")
		require.GreaterOrEqual(t, len(m.events.list()), 4)
	})
}

func TestTask7_Failure_is_tried_again_after_a_while(t *testing.T) {
	guard.Test(t, "a failed key goes back by AddRateLimited", func(t *guard.T) {
		began := time.Now()
		var attempts []time.Duration
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error {
				attempts = append(attempts, time.Since(began))
				if len(attempts) <= 4 {
					return apierrors.NewInternalError(errors.New("etcd is away"))
				}
				return nil
			}
		})
		defer m.stop()
		key := cache.NewObjectName("default", "web")
		m.then(func() { m.deployments.Add(web()) }, -1, "the server fails")
		require.Equal(t, 1, m.queue.NumRequeues(key))

		time.Sleep(time.Minute)
		m.then(nil, 2, "it must be tried until it works")
		seconds := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}
		t.Rule("each failure doubles the wait: 1, 2, 4, 8 seconds")
		require.Equal(t, seconds, attempts)
		t.Rule("success must Forget the key, or its next failure starts with a long wait")
		require.Zero(t, m.queue.NumRequeues(key))
		t.Rule("an Event says what was done, and failures did nothing")
		require.Equal(t, []string{"default/web Normal BudgetCreated"}, m.events.list())
	})
}

func TestTask7_Refused_write_is_everyday_life(t *testing.T) {
	for name, refusal := range map[string]error{
		"conflict":       apierrors.NewConflict(budgetResource, "web", errors.New("newer")),
		"already exists": apierrors.NewAlreadyExists(budgetResource, "web"),
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "a stale cache is everyday life and must not be reported as an error", func(t *guard.T) {
				var reported []string
				defer replace(&utilruntime.ErrorHandlers, []utilruntime.ErrorHandler{
					func(_ context.Context, err error, _ string, _ ...any) { reported = append(reported, err.Error()) },
				})()
				var attempts int
				m := start(t, 0, func(m *machine) {
					m.server.before = func(context.Context, string) error {
						if attempts++; attempts == 1 {
							return refusal
						}
						return nil
					}
				})
				defer m.stop()
				m.then(func() { m.deployments.Add(web()) }, -1, "the first write is refused")
				time.Sleep(time.Second)
				m.then(nil, 2, "a refused write is tried again, on a newer cache")
				require.Empty(t, reported)
			})
		})
	}
}

func TestTask7_Errors_are_reported(t *testing.T) {
	guard.Test(t, "each failure goes to utilruntime, and nothing else does: whoever runs the program counts them "+
		"there", func(t *guard.T) {
		var reported []error
		defer replace(&utilruntime.ErrorHandlers, []utilruntime.ErrorHandler{
			func(_ context.Context, err error, _ string, _ ...any) { reported = append(reported, err) },
		})()
		failure := apierrors.NewInternalError(errors.New("etcd is away"))
		var attempts int
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error {
				if attempts++; attempts <= 2 {
					return failure
				}
				return nil
			}
		})
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, -1, "the server fails")
		time.Sleep(time.Minute)
		m.then(nil, 2, "and is well again")
		require.Len(t, reported, 2)
		t.Rule("with what happened")
		require.ErrorIs(t, reported[0], failure)
	})
}

func TestTask7_Refused_writes_wait_longer_and_longer(t *testing.T) {
	guard.Test(t, "a conflict is no error, but no success either: two that fight about one budget would do so as "+
		"fast as they can", func(t *guard.T) {
		began := time.Now()
		var attempts []time.Duration
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error {
				attempts = append(attempts, time.Since(began))
				if len(attempts) <= 3 {
					return apierrors.NewConflict(budgetResource, "web", errors.New("newer"))
				}
				return nil
			}
		})
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, -1, "the first write is refused")
		time.Sleep(time.Minute)
		m.then(nil, 2, "it must be tried until it works")
		require.Equal(t, []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second}, attempts)
	})
}

func TestTask7_Slow_Deployment_holds_up_no_other(t *testing.T) {
	guard.Test(t, "and the slow one is done in its time", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			first := true
			m.server.before = func(context.Context, string) error {
				if slow := first; slow {
					first = false
					time.Sleep(time.Minute)
				}
				return nil
			}
		})
		defer m.stop()
		m.apply(web(func(d *appsv1.Deployment) { d.Name, d.UID = "slow", "slow-uid" }))
		m.then(func() { m.deployments.Add(web()) }, 2, "there are two workers")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, m.events.list(), 2)
	})
}

func TestTask7_Panic_costs_no_worker(t *testing.T) {
	guard.Test(t, "a panic must not cost the worker, and its key must be Done: else the key never comes again", func(t *guard.T) {
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
		// Twice for each worker.
		panics := 4
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error {
				if panics--; panics >= 0 {
					panic("a bug in reconcile")
				}
				return nil
			}
		})
		defer m.stop()
		for i := range 5 {
			m.apply(web(annotated(fmt.Sprint("version ", i))))
			time.Sleep(2 * time.Second) // wait.Until starts the worker again after one
		}
		synctest.Wait()
		require.NotNil(t, m.server.get())
	})
}

func TestTask7_Panic_is_followed_by_a_rest(t *testing.T) {
	guard.Test(t, "a worker that panicked starts again after a second: what panics at everything must not spin", func(t *guard.T) {
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
		began := time.Now()
		var attempts []time.Duration
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error {
				if attempts = append(attempts, time.Since(began)); len(attempts) <= 2 {
					panic("a bug in reconcile")
				}
				return nil
			}
		})
		defer m.stop()
		t.Did("panics do not end the program (runtime.ReallyCrash is off), and each of the two workers panics once; then there is work again")
		for i := range 3 {
			m.apply(web(annotated(fmt.Sprint("version ", i))))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 0, time.Second}, attempts)
	})
}

func TestTask7_Stop_finishes_what_it_began(t *testing.T) {
	guard.Test(t, "five writes of three seconds, by two workers: a stop hurries nobody", func(t *guard.T) {
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
			m.deployments.Add(web(func(d *appsv1.Deployment) { d.Name = fmt.Sprint("web-", i) }))
		}
		synctest.Wait()
		began := time.Now()
		m.stop()
		require.Equal(t, 9*time.Second, time.Since(began))
		t.Rule("a stop must neither cut off a write nor leave what is queued, within DrainTimeout")
		require.Len(t, m.events.list(), 5)
	})
}

func TestTask7_Stop_is_bounded(t *testing.T) {
	guard.Test(t, "after DrainTimeout the requests are cancelled; Run returns when the last worker has (here it "+
		"takes a second)", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.server.before = func(ctx context.Context, _ string) error {
				<-ctx.Done() // a server that never answers
				time.Sleep(time.Second)
				return ctx.Err()
			}
		})
		for i := range 5 {
			m.deployments.Add(web(func(d *appsv1.Deployment) { d.Name = fmt.Sprint("web-", i) }))
		}
		synctest.Wait()
		began := time.Now()
		m.stop()
		require.Equal(t, drainTimeout+time.Second, time.Since(began))
		t.Rule("no new request may start after DrainTimeout")
		require.Len(t, m.server.callLog(), 2)
	})
}
