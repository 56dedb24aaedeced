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
	guard.Test(t, "Each Deployment of two or more replicas has a right budget: it is created, repaired, replaced "+
		"and removed.", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		edit := func(change func(*policyv1.PodDisruptionBudget)) func() {
			return func() {
				budget := m.server.get()
				change(budget)
				m.server.put(budget)
			}
		}

		m.then(func() { m.deployments.Add(web()) }, 2, "after the Deployment was created")
		m.then(edit(func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
		}), 2, "after the budget was edited")
		m.then(edit(noOwner), 2, "after the owner reference was cut")
		require.Len(t, m.server.get().OwnerReferences, 1, "owner references after one was cut")
		m.then(m.server.drop, 2, "after the budget was deleted")
		m.then(func() { m.apply(web(replicas(5))) }, 4, "after a scale-up to 5")
		m.then(func() { m.apply(web(replicas(1))) }, -1, "after a scale-down to 1")
		m.then(func() { m.apply(web(replicas(2))) }, 1, "after a scale-up to 2")
		m.then(func() { m.apply(web(replicas(2), annotated("disabled"))) }, -1, "after the Deployment opted out")
		m.then(func() { m.apply(web(replicas(2))) }, 1, "after the Deployment opted in again")
		t.Rule("When the Deployment is deleted, the garbage collector takes the budget by its owner reference.")
		m.then(func() { m.deployments.Delete(web(replicas(2))) }, 1, "after the Deployment was deleted")

		t.Rule("Each change takes exactly one write: the controller's own writes come back as events and change nothing.")
		require.Equal(t, []string{
			"create default/web", "update default/web", "update default/web", "create default/web", "update default/web",
			"delete default/web", "create default/web", "delete default/web", "create default/web",
		}, m.server.callLog(), "writes to the server")
		t.Rule("Each write is reported by one Event.")
		require.Equal(t, []string{
			"default/web Normal BudgetCreated", "default/web Normal BudgetRepaired", "default/web Normal BudgetRepaired",
			"default/web Normal BudgetCreated", "default/web Normal BudgetRepaired", "default/web Normal BudgetRemoved",
			"default/web Normal BudgetCreated", "default/web Normal BudgetRemoved", "default/web Normal BudgetCreated",
		}, m.events.list(), "Events")
	})
}

func TestTask7_Restart_creates_nothing_twice(t *testing.T) {
	guard.Test(t, "A restart creates nothing twice: the budget was right before, so "+
		"nothing is written.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget())
		})
		defer m.stop()
		require.Empty(t, m.server.callLog(), "writes to the server")
	})
}

func TestTask7_No_work_before_both_caches_are_complete(t *testing.T) {
	guard.Test(t, "Work begins when both caches are full: a budget that is not listed yet looks like one that "+
		"is missing.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget())
			m.closed.Store(true)
		})
		defer m.stop()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, m.queue.Len(), "keys in the queue before the budgets are listed")
		require.Empty(t, m.server.callLog(), "writes to the server before the budgets are listed")

		m.closed.Store(false)
		time.Sleep(time.Minute) // the Reflector backs off
		synctest.Wait()
		require.Zero(t, m.queue.Len(), "keys in the queue after the budgets are listed")
		t.Rule("A budget that is right is not written.")
		require.Empty(t, m.server.callLog(), "writes to the server after the budgets are listed")
	})
}

func TestTask7_Stop_before_the_caches_are_complete(t *testing.T) {
	guard.Test(t, "Run does not wait for the caches when its context ends.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) { m.closed.Store(true) })
		began := time.Now()
		m.stop()
		require.Zero(t, time.Since(began), "time that Run takes to return")
		t.Rule("On every way out of Run the queue is shut down.")
		require.True(t, m.queue.ShuttingDown(), "the queue is shutting down after Run")
	})
}

func TestTask7_Deletion_that_the_watch_missed_is_repaired(t *testing.T) {
	guard.Test(t, "A deletion that the watch has missed comes as a tombstone, and "+
		"the budget comes back.", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 2, "after the Deployment was created")

		m.server.mu.Lock()
		m.server.source.DeleteDropWatch(m.server.budgets[cache.NewObjectName("default", "web")].DeepCopy())
		delete(m.server.budgets, cache.NewObjectName("default", "web"))
		m.server.mu.Unlock()
		m.server.source.ResetWatch()
		time.Sleep(time.Minute) // the Reflector backs off, lists again and finds it missing
		m.then(nil, 2, "after a deletion that the watch has missed")
	})
}

func TestTask7_Foreign_budget_is_not_touched(t *testing.T) {
	guard.Test(t, "A budget that is not ours is never touched.", func(t *guard.T) {
		foreign := webBudget(noOwner, noLabel, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
		})
		m := start(t, 0, func(m *machine) { m.server.put(foreign) })
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 0, "after the Deployment was created")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, m.server.callLog(), "writes to the server")
		t.Rule("A budget in the way is one Event and no retry: to try again cannot help until that budget changes.")
		require.Equal(t, []string{"default/web Warning BudgetConflict"}, m.events.list(), "Events")

		t.Rule("A budget's event concerns the Deployment of its name: when the budget in the way goes, another is created.")
		m.then(m.server.drop, 2, "after the budget in the way was deleted")
	})
}

func TestTask7_Resync_looks_again(t *testing.T) {
	guard.Test(t, "A resync is a second look at everything: an update with an unchanged resourceVersion is not "+
		"filtered out.", func(t *guard.T) {
		m := start(t, 10*time.Minute, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget(noOwner, noLabel)) // in the way: one Event for each look
		})
		defer m.stop()
		require.Len(t, m.events.list(), 1, "Events after the start")
		time.Sleep(35 * time.Minute)
		synctest.Wait()
		// Two informers resync, so each round is two looks, or one if the queue merged them.
		require.GreaterOrEqual(t, len(m.events.list()), 4, "Events in 35 minutes, with a resync every 10 minutes")
	})
}

func TestTask7_Failure_is_tried_again_after_a_while(t *testing.T) {
	guard.Test(t, "A key that failed goes back by AddRateLimited: each failure doubles its wait.", func(t *guard.T) {
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
		m.then(func() { m.deployments.Add(web()) }, -1, "while the server fails")
		require.Equal(t, 1, m.queue.NumRequeues(key), "NumRequeues after the 1st failure")

		time.Sleep(time.Minute)
		m.then(nil, 2, "a minute later")
		require.Equal(t, "[0s 1s 3s 7s 15s]", fmt.Sprint(attempts), "the times of the attempts")
		t.Rule("Success forgets the failures of the key, or its next failure would begin with a long wait.")
		require.Zero(t, m.queue.NumRequeues(key), "NumRequeues after success")
		t.Rule(noEvent)
		require.Equal(t, []string{"default/web Normal BudgetCreated"}, m.events.list(), "Events")
	})
}

func TestTask7_Refused_write_is_everyday_life(t *testing.T) {
	for name, refusal := range map[string]error{
		"conflict":       apierrors.NewConflict(budgetResource, "web", errors.New("newer")),
		"already exists": apierrors.NewAlreadyExists(budgetResource, "web"),
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "A conflict is everyday life with a cache that is behind: the write is tried again, and no error "+
				"is reported.", func(t *guard.T) {
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
				m.then(func() { m.deployments.Add(web()) }, -1, "after the 1st write was refused")
				time.Sleep(time.Second)
				m.then(nil, 2, "a second later")
				require.Empty(t, reported, "reported errors")
			})
		})
	}
}

func TestTask7_Errors_are_reported(t *testing.T) {
	guard.Test(t, "Each failure is reported to utilruntime, and nothing else is.", func(t *guard.T) {
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
		m.then(func() { m.deployments.Add(web()) }, -1, "while the server fails")
		time.Sleep(time.Minute)
		m.then(nil, 2, "a minute later")
		require.Len(t, reported, 2, "reported errors")
		require.ErrorIs(t, reported[0], failure, "the 1st reported error")
	})
}

func TestTask7_Refused_writes_wait_longer_and_longer(t *testing.T) {
	guard.Test(t, "A refused write is not a success: each one doubles the wait, or two clients that fight about a "+
		"budget never rest.", func(t *guard.T) {
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
		m.then(func() { m.deployments.Add(web()) }, -1, "after the 1st write was refused")
		time.Sleep(time.Minute)
		m.then(nil, 2, "a minute later")
		require.Equal(t, "[0s 1s 3s 7s]", fmt.Sprint(attempts),
			"the times of the attempts")
	})
}

func TestTask7_Slow_Deployment_holds_up_no_other(t *testing.T) {
	guard.Test(t, "A slow Deployment holds up no other one: there are two workers.", func(t *guard.T) {
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
		m.then(func() { m.deployments.Add(web()) }, 2, "while the other Deployment's write is slow")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, m.events.list(), 2, "Events")
	})
}

func TestTask7_Panic_costs_no_worker(t *testing.T) {
	guard.Test(t, "A panic costs no worker, and its key is Done: otherwise the queue never gives that key to a "+
		"worker again.", func(t *guard.T) {
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
		require.NotNil(t, m.server.get(), "the budget on the server")
	})
}

func TestTask7_Panic_is_followed_by_a_rest(t *testing.T) {
	guard.Test(t, "A worker that panicked starts again after a second: a reconcile that panics at everything "+
		"must not spin.", func(t *guard.T) {
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
		t.Did("panics do not end the program (runtime.ReallyCrash is off), and each of the two workers panics once; " +
			"then there is work again")
		for i := range 3 {
			m.apply(web(annotated(fmt.Sprint("version ", i))))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "[0s 0s 1s]", fmt.Sprint(attempts), "the times of the attempts")
	})
}

func TestTask7_Stop_finishes_what_it_began(t *testing.T) {
	guard.Test(t, "After its context has ended Run works off the queue and cuts off no write, for at most "+
		"DrainTimeout.", func(t *guard.T) {
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
		require.Equal(t, 9*time.Second, time.Since(began), "time that Run takes to return")
		require.Len(t, m.events.list(), 5, "Events")
	})
}

func TestTask7_Stop_is_bounded(t *testing.T) {
	guard.Test(t, "After DrainTimeout the running requests are cancelled, and Run returns when no "+
		"worker is left.", func(t *guard.T) {
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
		require.Equal(t, drainTimeout+time.Second, time.Since(began), "time that Run takes to return")
		t.Rule("After DrainTimeout no new request starts.")
		require.Len(t, m.server.callLog(), 2, "writes to the server")
	})
}
