package controller_test

// Task 7: the machine. What fails is tried again, however often.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

var webKey = cache.NewObjectName("default", "web")

// failFor makes the server answer the first n writes of default/web with an error, and notes the times of all.
func (m *machine) failFor(n int, failure error) (attempts *[]time.Duration) {
	attempts = &[]time.Duration{}
	began := time.Now().Add(settleTime)
	m.server.before = func(context.Context, string) error {
		if *attempts = append(*attempts, time.Since(began)); len(*attempts) <= n {
			return failure
		}
		return nil
	}
	return attempts
}

func TestTask7_Failure_is_tried_again_after_a_while(t *testing.T) {
	guard.Test(t, "After every failure the key returns to the queue after a longer wait, whatever the error is "+
		"and however many there were: AddRateLimited doubles the wait.", func(t *guard.T) {
		var attempts *[]time.Duration
		m := start(t, 0, func(m *machine) {
			attempts = m.failFor(4, apierrors.NewInternalError(errors.New("etcd is away")))
		})
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, -1, "while the server fails")
		require.Equal(t, 1, m.queue.NumRequeues(webKey), "NumRequeues after the 1st failure")

		m.pass(time.Minute)
		m.then(nil, 2, "a minute later")
		require.Equal(t, "[0s 1s 3s 7s 15s]", fmt.Sprint(*attempts), "the times of the attempts")
		t.Rule("After a success the next failure begins with the shortest wait: Forget clears the failures " +
			"of the key.")
		require.Zero(t, m.queue.NumRequeues(webKey), "NumRequeues after success")
		t.Rule("A failed write records no Event: an Event reports what the controller has changed.")
		require.Equal(t, []string{"default/web Normal BudgetCreated"}, m.events.list(), "Events")
	})
}

func TestTask7_No_answer_is_tried_again_after_a_longer_wait(t *testing.T) {
	guard.Test(t, "After every failure the key returns to the queue after a longer wait, whatever the error is: "+
		"also if a Reconcile took longer than ReconcileTimeout.", func(t *guard.T) {
		var attempts []time.Duration
		m := start(t, 0, func(m *machine) {
			began := time.Now().Add(settleTime)
			m.server.before = func(ctx context.Context, _ string) error {
				if attempts = append(attempts, time.Since(began)); len(attempts) > 3 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
		})
		defer m.stop()
		t.Did("the server does not answer the first three requests")
		m.apply(web())
		m.pass(3*controller.ReconcileTimeout + time.Minute)
		require.Equal(t, "[0s 31s 1m3s 1m37s]", fmt.Sprint(attempts), "the times of the attempts")
	})
}

// Many failures, of each kind and for each write.
func TestTask7_Failures_never_wear_out(t *testing.T) {
	n := guard.Times(250, 50)
	refusals := map[string]bool{
		"a role": true, "a quota": true, "a webhook": true, "an expired": true, "a broken rule": true,
		"no time": true, "504": true, // an admission webhook that hangs
	}
	writes := map[string][]*policyv1.PodDisruptionBudget{
		"create": nil,
		"update": {webBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0)) })},
		"delete": {webBudget(noOtherOwner, func(b *policyv1.PodDisruptionBudget) { b.Finalizers = nil })},
	}
	for verb, before := range guard.InOrder(writes) {
		for name, failure := range failures() {
			if verb != "create" && apierrors.IsNotFound(failure) {
				continue
			}
			t.Run(verb+", "+name, func(t *testing.T) {
				guard.Test(t, "After every failure the key returns to the queue after a longer wait, "+
					"whatever the error is and however many there were.", func(t *guard.T) {
					var attempts *[]time.Duration
					m := start(t, 0, func(m *machine) {
						for _, b := range before {
							m.server.put(b)
						}
						attempts = m.failFor(n, failure)
					})
					defer m.stop()
					t.Did("the server answers %d times: %v", n, failure)
					deployment, want := web(), 2
					if verb == "delete" {
						deployment, want = web(replicas(1)), -1
					}
					m.apply(deployment)
					m.pass(time.Duration(n+1) * time.Minute) // the longest wait of the queue
					require.Len(t, *attempts, n+1, "attempts")
					if verb != "update" { // there the budget and the Deployment each bring the key
						require.Equal(t, "[0s 1s 3s 7s]", fmt.Sprint((*attempts)[:4]), "the times of the first attempts")
					}
					require.Equal(t, time.Duration(n-10)*time.Minute, (*attempts)[n]-(*attempts)[10],
						"the waits after failures 11 to %d", n)
					m.then(nil, want, "after all failures")
					t.Rule("processNext passes each result to recordResult: a series of refusals " +
						"is one Event, and a temporary failure is none.")
					events := map[string][]string{"create": created, "update": repaired, "delete": removed}[verb]
					if refusals[name] {
						events = append([]string{"default/web Warning BudgetRefused"}, events...)
					}
					require.Equal(t, events, m.events.list(), "Events")
				})
			})
		}
	}
}

func TestTask7_Refusals_are_one_Event_for_each_row(t *testing.T) {
	guard.Test(t, "processNext passes each result to recordResult: an Event says what the server refuses, once "+
		"for each series.", func(t *guard.T) {
		var answer atomic.Value // one of failures, or "" for a success
		answer.Store("a quota")
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error { return failures()[answer.Load().(string)] }
		})
		defer m.stop()
		warning := "default/web Warning BudgetRefused"
		m.then(func() { m.deployments.Add(web()) }, -1, "while a quota refuses it")
		m.pass(time.Hour)
		require.Equal(t, []string{warning}, m.events.list(), "Events after an hour")
		require.Contains(t, m.events.messages[0], failures()["a quota"].Error(), "the message of the Event")
		for _, other := range []string{"503", "a quota", "conflict", "a role"} {
			answer.Store(other)
			m.pass(10 * time.Minute)
		}
		require.Equal(t, []string{warning}, m.events.list(), "Events after other failures, and the quota again")
		answer.Store("")
		m.pass(time.Minute)
		m.then(nil, 2, "after the quota was raised")
		answer.Store("a quota")
		m.then(func() { m.apply(web(replicas(5))) }, 2, "while the quota refuses it again")
		require.Equal(t, []string{warning, created[0], warning}, m.events.list(), "Events after the second row")
		m.deployments.Delete(web(replicas(5)))
		m.server.drop()
		m.pass(time.Minute)
		m.then(func() { m.deployments.Add(web(replicas(4))) }, -1, "after the Deployment was deleted and made again")
		require.Equal(t, []string{warning, created[0], warning, warning}, m.events.list(), "Events after the third row")
	})
}

func TestTask7_Refused_write_is_everyday_life(t *testing.T) {
	for name, refusal := range guard.InOrder(map[string]error{
		"conflict":       apierrors.NewConflict(budgetResource, "web", errors.New("newer")),
		"already exists": apierrors.NewAlreadyExists(budgetResource, "web"),
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "processNext reports each error to utilruntime, except a conflict and an "+
				"object that exists already: they are tried again all the same.", func(t *guard.T) {
				reported := reports(t)
				m := start(t, 0, func(m *machine) { m.failFor(1, refusal) })
				defer m.stop()
				m.then(func() { m.deployments.Add(web()) }, -1, "after the 1st write was refused")
				m.pass(time.Second)
				m.then(nil, 2, "a second later")
				require.Empty(t, *reported, "reported errors")
				t.Rule("After a success the next failure begins with the shortest wait: Forget clears one failure, too.")
				require.Zero(t, m.queue.NumRequeues(webKey), "NumRequeues after success")
			})
		})
	}
}

func TestTask7_Errors_are_reported(t *testing.T) {
	const n = 30
	for name, failure := range failures() {
		want := n
		if apierrors.IsConflict(failure) || apierrors.IsAlreadyExists(failure) {
			want = 0
		}
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "processNext reports each error to utilruntime, except a conflict and an object that exists "+
				"already.", func(t *guard.T) {
				reported := reports(t)
				m := start(t, 0, func(m *machine) { m.failFor(n, failure) })
				defer m.stop()
				t.Did("the server answers %d times: %v", n, failure)
				m.then(func() { m.deployments.Add(web()) }, -1, "while the server fails")
				m.pass(n * time.Minute)
				m.then(nil, 2, "after all failures")
				require.Len(t, *reported, want, "reported errors")
				for i, err := range *reported {
					require.ErrorIs(t, err, failure, "reported error %d", i+1)
				}
			})
		})
	}
}

func TestTask7_Slow_Deployment_holds_up_no_other(t *testing.T) {
	guard.Test(t, "Then Config.Workers workers reconcile until ctx ends: there are two, so a slow Deployment holds up no "+
		"other one.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			first := true
			m.server.before = func(context.Context, string) error {
				if slow := first; slow {
					first = false
					time.Sleep(20 * time.Second)
				}
				return nil
			}
		})
		defer m.stop()
		m.apply(web(called("slow")))
		m.then(func() { m.deployments.Add(web()) }, 2, "while the other Deployment's write is slow")
		m.pass(20 * time.Second)
		require.Len(t, m.events.list(), 2, "Events")
	})
}

// A server that takes a request and never answers, while the connection lives, holds a worker for as long as it may.
func TestTask7_Write_without_an_answer_ends(t *testing.T) {
	for verb, budgets := range guard.InOrder(map[string][]*policyv1.PodDisruptionBudget{
		"create": nil,
		"update": {budgetOf(web(called("one")), noLabel), budgetOf(web(called("two")), noLabel)},
		"delete": {budgetOf(web(called("one")), noOtherOwner), budgetOf(web(called("two")), noOtherOwner)},
	}) {
		t.Run(verb, func(t *testing.T) {
			guard.Test(t, "processNext cancels a Reconcile that takes longer than ReconcileTimeout: "+
				"otherwise two requests without an answer stop two workers forever, without a line "+
				"in the log.", func(t *guard.T) {
				reported := reports(t)
				var lock sync.Mutex // guards hung and ended
				began, hung, ended := time.Now(), 0, []time.Duration(nil)
				m := start(t, 0, func(m *machine) {
					for _, b := range budgets {
						m.server.put(b)
					}
					m.server.before = func(ctx context.Context, _ string) error {
						lock.Lock()
						defer lock.Unlock()
						if hung++; hung > 2 {
							return nil
						}
						lock.Unlock()
						<-ctx.Done()
						lock.Lock()
						ended = append(ended, time.Since(began))
						return ctx.Err()
					}
				})
				defer m.stop()
				began = time.Now()
				n := int32(3)
				if verb == "delete" {
					n = 1
				}
				m.apply(web(called("one"), replicas(n)))
				m.apply(web(called("two"), replicas(n)))
				t.Did("the server answers neither of two requests")
				m.then(func() { m.deployments.Add(web()) }, -1, "while both workers wait for an answer")
				m.pass(controller.ReconcileTimeout)
				m.then(nil, 2, "after ReconcileTimeout")
				lock.Lock()
				cancelled := slices.Clone(ended)
				lock.Unlock()
				require.Equal(t, []time.Duration{controller.ReconcileTimeout, controller.ReconcileTimeout}, cancelled,
					"the times at which the requests were cancelled")
				require.Len(t, *reported, 2, "errors reported to utilruntime")
				require.ErrorIs(t, (*reported)[0], context.DeadlineExceeded, "the 1st reported error")
				t.Rule("processNext passes each result to recordResult: a write without an answer is an Event, as a " +
					"refused one is, or its owner sees nothing.")
				for _, name := range []string{"one", "two"} {
					require.Contains(t, m.events.list(), "default/"+name+" Warning BudgetRefused", "Events")
				}
				m.pass(time.Minute)
				for _, name := range []string{"one", "two"} {
					require.Equal(t, verb == "delete", m.server.at("default", name) == nil ||
						m.server.at("default", name).DeletionTimestamp != nil, "the budget of %s is gone a minute later", name)
				}
			})
		})
	}
}

func TestTask7_One_worker_for_each_key(t *testing.T) {
	guard.Test(t, "The caller never runs Reconcile twice at once for one key: processNext calls Done once for each Get. "+
		"Another Done would end the work of another worker.", func(t *guard.T) {
		var writes, atOnce, most atomic.Int32
		m := start(t, 0, func(m *machine) {
			m.events.before = func() { time.Sleep(10 * time.Second) }
			m.server.before = func(context.Context, string) error {
				most.Store(max(most.Load(), atOnce.Add(1)))
				defer atOnce.Add(-1)
				if writes.Add(1) == 1 {
					return apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), "web", nil)
				}
				time.Sleep(20 * time.Second)
				return nil
			}
		})
		defer m.stop()
		t.Did("the server refuses the first write, and takes 20s for each other one; an Event takes 10s")
		m.apply(web())
		m.pass(time.Second)
		t.Did("a second later, the Deployment changes")
		m.apply(web(replicas(5)))
		m.pass(time.Minute)
		require.Equal(t, int32(1), most.Load(), "writes for default/web at once")
	})
}

func TestTask7_Panic_costs_no_worker(t *testing.T) {
	guard.Apart(t, "The queue can give out the key again, even after a panic: until Done, no worker receives "+
		"it.", func(t *guard.T) {
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
		panics := 40                                     // twenty for each worker
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error {
				if panics--; panics >= 0 {
					panic("a bug in reconcile")
				}
				return nil
			}
		})
		defer m.stop()
		t.Did("the first forty writes panic")
		for i := range panics + 1 {
			m.apply(web(annotated(fmt.Sprint("version ", i))))
			m.pass(2 * time.Second) // wait.Until starts the worker again after one
		}
		require.Less(t, panics, 39, "panics that are left, of 40")
		t.Rule("If utilruntime.ReallyCrash is off, the worker starts again after a second, however often it panics.")
		require.NotNil(t, m.server.get(), "the budget on the server")
	})
}

func TestTask7_Panic_is_followed_by_a_rest(t *testing.T) {
	guard.Apart(t, "If utilruntime.ReallyCrash is off, the worker starts again after a second: a Reconcile that "+
		"always panics must not spin.", func(t *guard.T) {
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
		began = time.Now()
		t.Did("panics do not end the program (runtime.ReallyCrash is off), and each of the two workers panics once; " +
			"then there is work again")
		for i := range 3 {
			m.apply(web(annotated(fmt.Sprint("version ", i))))
		}
		m.pass(time.Minute)
		require.Equal(t, "[0s 0s 1s]", fmt.Sprint(attempts), "the times of the attempts")
	})
}

func TestTask7_Panic_ends_the_program(t *testing.T) {
	guard.Crash(t, "A panic in a worker ends the program, as everywhere in Kubernetes: utilruntime logs it and "+
		"panics again.", "a bug in reconcile", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.server.before = func(context.Context, string) error { panic("a bug in reconcile") }
		})
		defer m.stop()
		t.Did("the first write panics")
		m.apply(web())
		m.pass(time.Minute)
	})
}
