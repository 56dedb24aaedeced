package customresource_test

// Task 6: the controller as a running program: an idle hour, and a crash at every effect.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
	finished "client-go-workshop/labs/solutions/custom-resource"
)

// run runs an instance of the controller. The returned function ends it, and waits for its end.
func (w *world) run(i *instance) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	w.t.Go(func() {
		defer close(ended)
		if err := i.controller.Run(ctx); err != nil {
			w.t.Errorf("the error of Run: %v", err)
		}
	})
	return func() {
		cancel()
		<-ended
	}
}

// playDeployments plays the Deployment's controller: Pods are ready after a second.
func (w *world) playDeployments() {
	time.Sleep(time.Second)
	if d := w.deployment(); d != nil && d.Status.ObservedGeneration < d.Generation {
		w.Update(finish(d))
	}
	time.Sleep(time.Second)
}

func TestTask6_Idle_hour(t *testing.T) {
	guard.Test(t, "A Reconcile of a network that is right writes nothing: in an idle hour with six resyncs, no request "+
		"leaves the controller, and the registry is not called.", func(t *guard.T) {
		w := newWorld(t, demo())
		stop := w.run(w.instance)
		defer stop()
		t.Did("the controller runs, and the nodes become ready")
		for range 5 {
			w.playDeployments()
		}
		require.Equal(t, "Ready is True: NodesReady", w.state("Ready"), "the condition Ready")
		since, calls, version := len(w.Requests("")), len(w.registry.callLog()), w.ResourceVersion()
		t.Did("an hour passes")
		time.Sleep(time.Hour)
		require.Empty(t, w.writes(since), "the writes of the idle hour")
		require.Empty(t, w.registry.callLog()[calls:], "the calls of the registry in the idle hour")
		require.Equal(t, version, w.ResourceVersion(), "the newest version on the server")
	})
}

func TestTask6_Outage_of_the_registry(t *testing.T) {
	guard.Test(t, "The message of an error's condition has no text that can differ at each attempt, as that of "+
		"most errors can: during an outage of the registry, the status is written once.", func(t *guard.T) {
		w := newWorld(t, demo())
		var attempts atomic.Int32
		last, longest := time.Now(), time.Duration(0)
		w.registry.before = func(string) error {
			n := attempts.Add(1)
			w.registry.lock.Lock()
			last, longest = time.Now(), max(longest, time.Since(last))
			w.registry.lock.Unlock()
			if n > 300 { // a controller in a loop without a pause must come to an end
				return errAway
			}
			return fmt.Errorf("attempt %d: %w", n, errAway)
		}
		stop := w.run(w.instance)
		defer stop()
		w.playDeployments()
		w.playDeployments()
		since := len(w.Requests(""))
		t.Did("an hour without the registry")
		time.Sleep(time.Hour)
		require.Empty(t, w.writes(since), "the writes of the hour")
		require.Less(t, attempts.Load(), int32(100), "the attempts, with a back-off of up to a minute")
		t.Rule("Any other error is returned, so that the network is tried again.")
		require.Greater(t, attempts.Load(), int32(20), "the attempts in an hour")
		w.registry.lock.Lock()
		require.LessOrEqual(t, longest, 2*time.Minute, "the longest pause between two attempts")
		w.registry.lock.Unlock()
		t.Did("the registry is back")
		w.registry.lock.Lock()
		w.registry.before = nil
		w.registry.lock.Unlock()
		time.Sleep(2 * time.Minute)
		require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
		require.Equal(t, "Registered is True: Registered", w.state("Registered"), "the condition Registered")
	})
}

func TestTask6_Registry_that_hangs(t *testing.T) {
	guard.Test(t, "A failed registry does not prevent the Deployment, not even one that hangs, and a failed step does not "+
		"prevent the status.", func(t *guard.T) {
		w := newWorld(t, demo())
		hold := func(hold bool) {
			w.registry.lock.Lock()
			defer w.registry.lock.Unlock()
			w.registry.hold = hold
		}
		hold(true)
		stop := w.run(w.instance)
		defer stop()
		t.Did("the registry hangs; the controller runs for a minute")
		time.Sleep(time.Minute)
		require.NotNil(t, w.deployment(), "the Deployment")
		require.Equal(t, "Registered is False: RegistryUnavailable", w.state("Registered"), "the condition Registered")
		w.playDeployments()
		time.Sleep(2 * time.Minute)
		require.Equal(t, "Ready is True: NodesReady", w.state("Ready"), "the condition Ready")
		t.Rule("Any other error is returned, so that the network is tried again.")
		t.Did("the registry answers again; two minutes pass")
		hold(false)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
		require.Equal(t, "Registered is True: Registered", w.state("Registered"), "the condition Registered")
	})
}

func TestTask6_Deletion_waits_for_the_registry(t *testing.T) {
	guard.Test(t, "Finalizer stays until the registry has removed the entry: however long that takes, and however often "+
		"the controller has tried.", func(t *guard.T) {
		w := newWorld(t, demo())
		stop := w.run(w.instance)
		defer stop()
		w.playDeployments()
		away := func(err error) {
			w.registry.lock.Lock()
			defer w.registry.lock.Unlock()
			w.registry.before = func(string) error { return err }
		}
		away(errAway)
		t.Did("a user deletes the network while the registry is away; two days pass")
		w.Delete(generic(t, demo()))
		time.Sleep(48 * time.Hour)
		require.NotNil(t, w.stored(), "the network after two days")
		require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
		t.Did("the registry is back; two minutes pass")
		away(nil)
		time.Sleep(2 * time.Minute)
		require.Empty(t, w.registry.list(), "the entries of the registry")
		require.Nil(t, w.stored(), "the network")
	})
}

func TestTask6_Deployment_comes_back(t *testing.T) {
	guard.Test(t, "A Deployment's event concerns the network that controls the Deployment: a user deletes it, and the "+
		"controller creates it again at once.", func(t *guard.T) {
		w := newWorld(t, demo())
		stop := w.run(w.instance)
		defer stop()
		w.playDeployments()
		w.playDeployments()
		require.NotNil(t, w.deployment(), "the Deployment")
		t.Did("a user deletes the Deployment")
		w.Delete(&appsv1.Deployment{ObjectMeta: w.deployment().ObjectMeta})
		time.Sleep(time.Second)
		require.NotNil(t, w.deployment(), "the Deployment a second later")
	})
}

// crash ends a process at its nth effect: a write to the server, or a call of the registry.
type crash struct {
	lock sync.Mutex
	at   int
	// late lets the effect happen before the process ends.
	late bool
	n    int
	dead bool
}

var errCrashed = errors.New("the process has ended")

// hit counts an effect. It reports whether the effect happens, and whether the process receives its result.
func (c *crash) hit() (happens, goesOn bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.dead {
		return false, false
	}
	c.n++
	if c.n != c.at {
		return true, true
	}
	c.dead = true
	return c.late, false
}

func (c *crash) happened() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.dead
}

// transport sends requests until the process ends.
type transport struct {
	crash *crash
	next  http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		if t.crash.happened() {
			return nil, errCrashed
		}
		return t.next.RoundTrip(r)
	}
	happens, goesOn := t.crash.hit()
	if !happens {
		return nil, errCrashed
	}
	response, err := t.next.RoundTrip(r)
	if err == nil && !goesOn {
		response.Body.Close()
		return nil, errCrashed
	}
	return response, err
}

// process runs a controller that crashes, until it has crashed or is at rest. It reports whether it has crashed.
func (w *world) process(c *crash) bool {
	config := w.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{c, next} })
	result := error(nil)
	w.registry.lock.Lock()
	w.registry.before = func(string) error {
		happens, goesOn := c.hit()
		result = nil
		if !goesOn {
			result = errCrashed
		}
		if !happens {
			return errCrashed
		}
		return nil
	}
	w.registry.after = func(string) error { return result }
	w.registry.lock.Unlock()
	i := w.newInstance(config)
	stop := w.run(i)
	for range 6 {
		w.playDeployments()
	}
	stop()
	return c.happened()
}

// end describes the state that matters in the end.
func (w *world) end() []string {
	facts := append([]string{}, w.registry.list()...)
	if d := w.deployment(); d != nil {
		facts = append(facts, fmt.Sprintf("a Deployment with %d replicas", *d.Spec.Replicas))
	}
	if n := w.stored(); n != nil {
		facts = append(facts, fmt.Sprint("finalizers ", n.Finalizers), w.state("Ready"), w.state("Registered"),
			fmt.Sprintf("generation %d, observed %d", n.Generation, n.Status.ObservedGeneration))
	}
	return facts
}

// story is a change by a user, and the number of effects that it needs at least.
type story struct {
	before  func(w *world)
	change  func(w *world)
	effects int
}

var stories = map[string]story{
	"creation": {func(*world) {}, func(w *world) { w.Create(generic(w.t, demo())) }, 4},
	"another chain": {func(w *world) { w.Create(generic(w.t, demo())) }, func(w *world) {
		n := w.stored()
		n.Spec.Chain, n.Spec.Nodes = "test", ptr.To[int32](4)
		w.Update(generic(w.t, n))
	}, 3},
	"deletion": {func(w *world) { w.Create(generic(w.t, demo())) }, func(w *world) { w.Delete(generic(w.t, demo())) }, 2},
}

func TestTask6_Crash_at_every_effect(t *testing.T) {
	for name, s := range guard.InOrder(stories) {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %v", name, late), func(t *testing.T) {
				guard.Test(t, "Reconcile brings one network to its desired state, also after a crash at any moment: the next "+
					"process starts from what the server has, and each effect can be repeated.", func(t *guard.T) {
					var wanted []string
					for at := 0; ; at++ { // 0 is without a crash
						w := &world{Server: start(t, finished.Manifest()), t: t, registry: newRegistry()}
						s.before(w)
						w.process(&crash{})
						s.change(w)
						crashed := w.process(&crash{at: at, late: late})
						if at > 0 && !crashed {
							require.Greater(t, at, s.effects, "the effects of the story")
							return
						}
						t.Did("crash at effect %d of the %s, and a new process", at, name)
						require.False(t, w.process(&crash{}), "the second process has crashed")
						if at == 0 {
							wanted = w.end()
						}
						require.Equal(t, wanted, w.end(), "the end of the story after a crash at effect %d", at)
						require.Less(t, at, 50, "effects of one story")
						w.Close()
					}
				})
			})
		}
	}
}
