package controller_test

// The simulated week: seven days of a small cluster in a bubble, driven by a seed. Deployments come, scale, opt out and
// go. Users edit and delete budgets. The API server refuses requests, breaks off answers, forgets its history and goes
// away. Then the faults stop, and everything has to be right.
//
//	go test ./07-controller -run SimulatedWeek
//	go test ./07-controller -run SimulatedWeek -seed 7 -weeks 1
//
// If a week goes wrong, the test looks for the shortest part of it that still goes wrong, and prints that part layer by
// layer.
//
// This file makes weeks and plays them. week_scenes_test.go has the scenes, week_check_test.go the checks, and
// week_record_test.go the recording of a week that goes wrong.

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the seed of the first simulated week")
	shrinkFor = flag.Duration("shrink", 20*time.Second,
		"how long, in real time, the test looks for a shorter story if a week goes wrong")
	weeks = flag.Int("weeks", usualWeeks(), "how many simulated weeks, each with the next seed")
)

// usualWeeks is what takes some seconds.
func usualWeeks() int {
	switch {
	case guard.Brief:
		return 1
	case guard.RaceDetector:
		return 5
	}
	return 15
}

const (
	week = 7 * 24 * time.Hour
	// scenesOfAWeek are spread over it by chance, and come in bursts.
	scenesOfAWeek = 120
	// weekEnds is the last scene, in which nothing happens.
	weekEnds = "the week ends"
)

const weekRule = "Three hours after the last fault of the week, the caches and the budgets are right."

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
			see := record(t, seed, story)
			guard.Test(t, weekRule, func(t *guard.T) {
				t.Story(60)
				t.See(see)
				p, _ := simulate(t, story, &yourStage)
				if p == nil {
					require.Fail(t, "the week went wrong, and went well when it was played again", "seed %d", seed)
				}
				for _, line := range p.steps() {
					t.Did("%s", line)
				}
				t.Rule("%s (Seed %d, shortened to %s.)", p.rule, seed, failure.Count(len(story), "scene"))
				require.Equal(t, p.wanted, p.got, "%s", p.value)
			})
		})
	}
}

// play simulates a story in a bubble of its own.
func play(t *testing.T, story []scene) (p *problem) {
	guard.Test(t, weekRule, func(t *guard.T) { p, _ = simulate(t, story, &yourStage) })
	return p
}

// shorten leaves out the pauses and scenes that the story does not need to go wrong.
func shorten(t *testing.T, story []scene) []scene {
	deadline := time.Now().Add(*shrinkFor)
	story = hurry(t, story)
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
	return hurry(t, story) // without the scenes there are longer pauses again
}

// hurry returns the story without pauses of more than ten minutes, if it still goes wrong.
func hurry(t *testing.T, story []scene) []scene {
	hurried := slices.Clone(story)
	before, left := time.Duration(0), time.Duration(0)
	for i, s := range story {
		left += max(0, s.at-before-10*time.Minute)
		before = s.at
		hurried[i].at -= left
	}
	if *shrinkFor == 0 || play(t, hurried) == nil {
		return story
	}
	return hurried
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
	// actions are the possible scenes, each with its weight.
	actions = map[string]int{
		"create": 8, "scale": 10, "touch": 6, "opt out": 2, "opt in": 2, "delete": 4,
		"edit budget": 3, "delete budget": 4, "cut owner": 2, "foreign budget": 1,
		"second budget": 2, "drop second": 2, "add owner": 2,
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
	return append(story, scene{at: max(at, week), action: weekEnds})
}

// cluster is one simulated week on its way.
type cluster struct {
	*fakeapi.Server
	stage
	t           *guard.T
	rec         *recorder.Recorder
	deployments cache.SharedIndexInformer
	budgets     cache.SharedIndexInformer
	watchers    []*historian
	// down counts the outages that are not over.
	down atomic.Int32
	// foreign holds the budgets that are not the controller's, as they have to stay.
	foreign map[string]*policyv1.PodDisruptionBudget
}

// simulate plays a story. It returns the first problem, nil if there is none, and what was recorded.
func simulate(t *guard.T, story []scene, on *stage) (*problem, *pipeline.Log) {
	c := &cluster{
		Server: fakeapi.Start(t), t: t, rec: recorder.New(), stage: *on, foreign: map[string]*policyv1.PodDisruptionBudget{},
	}
	c.rec.Serve(c.Server)
	for _, name := range shops { // the same names in another namespace, where nothing happens
		twin := deployment(name)
		twin.Namespace, twin.Spec.Replicas = "other", ptr.To[int32](9)
		c.change("created, 9 replicas", twin, c.Create)
	}
	stop := c.start()
	began := time.Now()
	for _, s := range story {
		time.Sleep(time.Until(began.Add(s.at)))
		c.collect()
		c.do(s)
	}
	c.rec.Server(pipeline.Step{Verb: pipeline.Did, Text: "the faults stop; three hours pass"})
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
	return p, c.rec.Log
}

// start builds the machine and starts it.
func (c *cluster) start() (stop func()) {
	below := c.below()
	config := c.Config()
	config.QPS = -1
	client, err := c.rec.Client(below, config)
	require.NoError(c.t, err, "the error of NewClient")
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	informer := func(lw cache.ListerWatcher, example runtime.Object, kind string) cache.SharedIndexInformer {
		return c.rec.Informer(c.newInformer(c.rec.Wrap(below, kind), lw, example,
			cache.SharedIndexInformerOptions{Indexers: byNamespace}), kind)
	}
	c.deployments = informer(client.Deployments(""), &appsv1.Deployment{}, recorder.Deployment)
	c.budgets = informer(client.Budgets(""), &policyv1.PodDisruptionBudget{}, recorder.Budget)
	c.join(c.deployments)
	c.join(c.budgets)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	machine, err := c.newController(klog.Background(), controller.Config{
		Deployments: c.deployments, Budgets: c.budgets, Client: client.BudgetWriter, Recorder: &eventLog{},
		Workers: 2, DrainTimeout: time.Minute,
		Queue: c.rec.WorkQueue(below, limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{}),
	})
	require.NoError(c.t, err, "the error of New")

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
	h := &historian{
		rec: c.rec, informer: informer, knows: map[string]int{}, seen: map[string]int{},
	}
	registration, err := informer.AddEventHandler(h)
	require.NoError(c.t, err, "the error of AddEventHandler")
	h.lock.Lock()
	defer h.lock.Unlock()
	h.registration, h.name = registration, recorder.HandlerName(informer, registration)
	c.watchers = append(c.watchers, h)
}

// collect is the garbage collector: budgets go whose owners have all gone. From the others it cuts what is gone.
func (c *cluster) collect() {
	alive := map[types.UID]bool{keeper.UID: true}
	for _, d := range c.Objects("deployments") {
		alive[d.GetUID()] = true
	}
	for _, obj := range c.Objects("poddisruptionbudgets") {
		b := obj.(*policyv1.PodDisruptionBudget)
		living := slices.DeleteFunc(slices.Clone(b.OwnerReferences),
			func(owner metav1.OwnerReference) bool { return !alive[owner.UID] })
		switch {
		case len(living) == len(b.OwnerReferences):
		case len(living) == 0:
			c.change("collected", b, c.Delete)
		default:
			b.OwnerReferences = living
			c.change("kept by another owner", b, c.Update)
		}
	}
}

// change changes the server, and records what the change is.
func (c *cluster) change(what string, obj fakeapi.Object, do func(...fakeapi.Object)) {
	c.rec.Server(pipeline.Step{Verb: pipeline.Did, Kind: reflect.TypeOf(obj).Elem().Name(),
		Key: obj.GetNamespace() + "/" + obj.GetName(), Text: what})
	do(obj)
}

// find returns the server's object of a name in the namespace default, and whether there is one.
func find[T fakeapi.Object](c *cluster, resource, name string) (found T, exists bool) {
	for _, obj := range c.Objects(resource) {
		if obj.GetName() == name && obj.GetNamespace() == "default" {
			return obj.(T), true
		}
	}
	return found, false
}
