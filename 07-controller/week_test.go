package controller_test

// The simulated week: seven days of a small cluster in a bubble, driven by a seed. Deployments come, scale, opt out and go;
// people edit and delete budgets; the API server refuses, breaks off, forgets its history and goes away. Then the faults stop,
// and everything has to be right.
//
//	go test ./07-controller -run SimulatedWeek
//	go test ./07-controller -run SimulatedWeek -seed 7 -weeks 1
//
// If a week goes wrong, the shortest part of it that still goes wrong is played again, and told layer by layer.
//
// This file makes weeks and plays them. What has to be right is in week_check_test.go.

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/trace"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the seed of the first simulated week")
	shrinkFor = flag.Duration("shrink", 20*time.Second, "how long, in real time, a shorter story is looked for if a week goes wrong")
	weeks     = flag.Int("weeks", usualWeeks(), "how many simulated weeks, each with the next seed")
)

// usualWeeks is what takes some seconds.
func usualWeeks() int {
	switch {
	case guard.Brief:
		return 1
	case guard.RaceDetector:
		return 5
	}
	return 20
}

const (
	week = 7 * 24 * time.Hour
	// scenesOfAWeek are spread over it by chance, and come in bursts.
	scenesOfAWeek = 120
)

func TestTask7_SimulatedWeek(t *testing.T) {
	var first atomic.Bool
	for i := range *weeks {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			story := newStory(seed)
			if play(t, story) == nil || !first.CompareAndSwap(false, true) {
				return // one week that goes wrong is enough to read
			}
			story = shorten(t, story)
			guard.Test(t, "", func(t *guard.T) {
				t.Story(60)
				p := simulate(t, story)
				if p == nil {
					require.Fail(t, "a week that goes wrong now and then", "seed %d went wrong, and went well when it was played again", seed)
				}
				for _, line := range p.told() {
					t.Did("%s", line)
				}
				t.Rule("%s (seed %d, the shortest story of %d scenes)", p.rule, seed, len(story))
				require.Equal(t, p.wanted, p.got)
			})
		})
	}
}

// play simulates a story in a bubble of its own.
func play(t *testing.T, story []scene) (p *problem) {
	guard.Test(t, "", func(t *guard.T) { p = simulate(t, story) })
	return p
}

// shorten leaves out what the story does not need to go wrong.
func shorten(t *testing.T, story []scene) []scene {
	deadline := time.Now().Add(*shrinkFor)
	for size := len(story) / 2; size > 0 && time.Now().Before(deadline); {
		removed := false
		for at := 0; at+size <= len(story) && time.Now().Before(deadline); {
			shorter := slices.Concat(story[:at], story[at+size:])
			if play(t, shorter) != nil {
				story, removed = shorter, true
			} else {
				at += size
			}
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
	return story
}

// scene is something that happens in a week.
type scene struct {
	at     time.Duration
	action string
	name   string // of a Deployment, or its budget
	n      int    // of replicas, or of what the action counts
}

var (
	shops = []string{"api", "db", "shop", "web"}
	// What happens, and how often compared with the rest.
	actions = map[string]int{
		"create": 8, "scale": 10, "touch": 6, "opt out": 2, "opt in": 2, "delete": 4,
		"edit budget": 3, "delete budget": 4, "cut owner": 2, "foreign budget": 1,
		"end watches": 2, "cut connections": 3, "restart": 2, "compact": 2, "bookmarks": 2, "outage": 3,
		"watch fault": 5, "list fault": 3, "write fault": 5, "handler joins": 1, "handler leaves": 1,
	}
)

// newStory is the week of a seed.
func newStory(seed uint64) (story []scene) {
	r := rand.New(rand.NewPCG(seed, 7))
	var all []string
	for action, often := range actions {
		all = append(all, slices.Repeat([]string{action}, often)...)
	}
	slices.Sort(all)
	at := time.Duration(0)
	for range scenesOfAWeek {
		pause := time.Duration(r.Int64N(int64(2 * week / scenesOfAWeek)))
		if r.IntN(3) > 0 { // a burst
			pause = time.Duration(r.Int64N(int64(3 * time.Second)))
		}
		at += pause
		story = append(story, scene{at, all[r.IntN(len(all))], shops[r.IntN(len(shops))], r.IntN(6)})
	}
	return story
}

// cluster is one simulated week on its way.
type cluster struct {
	*fakeapi.Server
	t           *guard.T
	line        *trace.Recorder
	deployments cache.SharedIndexInformer
	budgets     cache.SharedIndexInformer
	watchers    []*historian
	// down counts the outages that are not over.
	down atomic.Int32
	// foreign are budgets that are somebody else's, as they have to stay.
	foreign map[string]*policyv1.PodDisruptionBudget
}

// simulate plays a story, and returns what was wrong in the end, or on the way.
func simulate(t *guard.T, story []scene) *problem {
	c := &cluster{Server: fakeapi.Start(t), t: t, line: trace.New(), foreign: map[string]*policyv1.PodDisruptionBudget{}}
	stop := c.start()
	began := time.Now()
	for _, s := range story {
		time.Sleep(time.Until(began.Add(s.at)))
		c.collect()
		c.do(s)
	}
	time.Sleep(time.Until(began.Add(week)))
	c.line.Note(trace.Server, nil, "the faults stop; three hours pass")
	c.ClearScripts()
	c.down.Store(-1000) // none of those that are not over brings the server up or down any more
	c.Up()
	for range 3 {
		time.Sleep(time.Hour)
		c.collect()
	}
	synctest.Wait()
	p := c.check()
	stop()
	if p == nil {
		p = c.checkEnd()
	}
	return p
}

// start puts the machine together and starts it.
func (c *cluster) start() (stop func()) {
	below := c.line.Wrap(below)
	config := c.Config()
	config.QPS = -1
	client, err := below.NewClient(config)
	require.NoError(c.t, err)
	informer := func(lw cache.ListerWatcher, example runtime.Object) cache.SharedIndexInformer {
		return controller.NewSharedIndexInformerOn(below, lw, example,
			cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
	}
	c.deployments = informer(client.Deployments(""), &appsv1.Deployment{})
	c.budgets = informer(client.Budgets(""), &policyv1.PodDisruptionBudget{})
	c.join(c.deployments)
	c.join(c.budgets)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	machine, err := controller.New(klog.Background(), controller.Config{
		Deployments: c.deployments, Budgets: c.budgets, Client: client.BudgetWriter, Recorder: &eventLog{}, Workers: 2, DrainTimeout: time.Minute,
		Queue: below.NewWorkQueue(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{}),
	})
	require.NoError(c.t, err)

	running, stopRunning := context.WithCancel(c.t.Context())
	informing, stopInforming := context.WithCancel(c.t.Context())
	ended := make(chan struct{})
	c.t.Go(func() { c.deployments.RunWithContext(informing) })
	c.t.Go(func() { c.budgets.RunWithContext(informing) })
	c.t.Go(func() {
		defer close(ended)
		machine.Run(running)
	})
	c.t.Cleanup(stopInforming)
	c.t.Cleanup(stopRunning)
	return func() {
		stopRunning()
		<-ended
		stopInforming()
		time.Sleep(5 * time.Minute) // client-go's Reflector may be in a wait that does not know the context
		synctest.Wait()
	}
}

// join adds a historian to an informer.
func (c *cluster) join(informer cache.SharedIndexInformer) {
	h := &historian{line: c.line, number: len(c.watchers) + 1, informer: informer, knows: map[string]int{}, seen: map[string]int{}}
	registration, err := informer.AddEventHandler(h)
	require.NoError(c.t, err)
	h.registration = registration
	c.watchers = append(c.watchers, h)
}

// collect is the garbage collector: budgets go whose Deployment has gone.
func (c *cluster) collect() {
	alive := map[string]bool{}
	for _, d := range c.Objects("deployments") {
		alive[string(d.GetUID())] = true
	}
	for _, b := range c.Objects("poddisruptionbudgets") {
		if owner := metav1.GetControllerOf(b); owner != nil && !alive[string(owner.UID)] {
			c.change("collected", b, c.Delete)
		}
	}
}

// change changes the server, and writes it down with the version that it got.
func (c *cluster) change(what string, obj fakeapi.Object, do func(...fakeapi.Object)) {
	do(obj)
	for _, now := range c.Objects(resourceOf(obj)) {
		if now.GetName() == obj.GetName() {
			obj = now
		}
	}
	c.line.Note(trace.Server, obj, "%s", what)
}

func resourceOf(obj fakeapi.Object) string {
	if _, ok := obj.(*appsv1.Deployment); ok {
		return "deployments"
	}
	return "poddisruptionbudgets"
}

// find returns what the server has of a name, nil if nothing.
func find[T fakeapi.Object](c *cluster, resource, name string) (found T, exists bool) {
	for _, obj := range c.Objects(resource) {
		if obj.GetName() == name {
			return obj.(T), true
		}
	}
	return found, false
}

// do makes a scene happen. One that makes no sense now, such as the deletion of what is not there, is left out.
func (c *cluster) do(s scene) {
	d, isThere := find[*appsv1.Deployment](c, "deployments", s.name)
	b, hasBudget := find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", s.name)
	_, isForeign := c.foreign[s.name]
	replicas := int32(s.n)
	switch s.action {
	case "create":
		if !isThere {
			d := deployment(s.name)
			d.Spec.Replicas = &replicas
			c.change(fmt.Sprintf("created, %d replicas", s.n), d, c.Create)
		}
	case "scale", "touch", "opt out", "opt in", "delete":
		if isThere {
			c.changeDeployment(s, d)
		}
	case "edit budget":
		if hasBudget && !isForeign {
			edited := intstr.FromInt32(0)
			b.Spec.MinAvailable = &edited
			c.change("edited by somebody: minAvailable 0", b, c.Update)
		}
	case "cut owner":
		if hasBudget && !isForeign {
			b.OwnerReferences = nil
			c.change("its owner reference cut by somebody", b, c.Update)
		}
	case "delete budget":
		if hasBudget {
			delete(c.foreign, s.name)
			c.change("deleted by somebody", b, c.Delete)
		}
	case "foreign budget":
		if !hasBudget {
			mine := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}}
			c.change("made by somebody else", mine, c.Create)
			c.foreign[s.name], _ = find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", s.name)
		}
	case "handler joins":
		c.join([]cache.SharedIndexInformer{c.deployments, c.budgets}[s.n%2])
	case "handler leaves":
		last := c.watchers[len(c.watchers)-1]
		if len(c.watchers) > 2 && !last.left() {
			last.leave(c.t)
		}
	default:
		c.goWrong(s)
	}
}

func (c *cluster) changeDeployment(s scene, d *appsv1.Deployment) {
	replicas := int32(s.n)
	switch s.action {
	case "scale":
		d.Spec.Replicas = &replicas
		c.change(fmt.Sprintf("scaled to %d", s.n), d, c.Update)
	case "touch":
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, "touched", time.Now().String())
		c.change("touched", d, c.Update)
	case "opt out":
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, controller.OptOutAnnotation, controller.OptOutValue)
		c.change("opts out", d, c.Update)
	case "opt in":
		delete(d.Annotations, controller.OptOutAnnotation)
		c.change("opts in", d, c.Update)
	case "delete":
		c.change("deleted", d, c.Delete)
	}
}

// goWrong is everything that a network and a server do to a client.
func (c *cluster) goWrong(s scene) {
	c.line.Note(trace.Server, nil, "%s (%d)", s.action, s.n)
	switch s.action {
	case "end watches":
		c.EndWatches()
	case "cut connections":
		c.Cut()
	case "restart":
		c.Restart()
	case "compact":
		c.Compact()
	case "bookmarks":
		c.SendBookmarks()
	case "outage":
		c.down.Add(1)
		c.Down()
		c.t.Go(func() {
			time.Sleep(time.Duration(s.n+1) * 40 * time.Second)
			if c.down.Add(-1) == 0 {
				c.Up()
			}
		})
	case "watch fault":
		c.Script("watch", []fakeapi.Fault{
			fakeapi.Event(410), fakeapi.Answer(429, "1"), fakeapi.Answer(500, ""), fakeapi.Cut(200), fakeapi.End(300), fakeapi.Event(500),
		}[s.n])
		c.EndWatches()
	case "list fault":
		c.Script("list", []fakeapi.Fault{
			fakeapi.Answer(500, ""), fakeapi.Answer(410, ""), fakeapi.Cut(100), fakeapi.Reset(false), fakeapi.Slow(30 * time.Second), fakeapi.Answer(429, "1"),
		}[s.n])
		c.Restart()
	case "write fault":
		c.Script([]string{"create", "update", "delete"}[s.n%3], []fakeapi.Fault{fakeapi.Answer(500, ""), fakeapi.Reset(true), fakeapi.Slow(10 * time.Second)}[s.n%2+s.n/4])
	}
}
