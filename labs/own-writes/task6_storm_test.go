package ownwrites_test

// Task 6: the storm. Late watches, lost answers, restarts of the server and changes of the leader, over simulated time.
// This is a large one:
//
//	go test ./labs/own-writes -run Task6_Storm -v -seeds 5 -owners 100 -storm 1h

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/podapp"
	ownwrites "client-go-workshop/labs/own-writes"
)

var (
	firstSeed = flag.Int64("seed", 1, "the first seed of the storm")
	seeds     = flag.Int64("seeds", 3, "the number of seeds")
	owners    = flag.Int("owners", 10, "the number of Deployments in the storm")
	stormTime = flag.Duration("storm", 20*time.Minute, "how long the storm blows, in simulated time")
)

// stormPods is the number of Pods that each Deployment wants.
const stormPods = 3

// storm is a server, and two processes of the controller of which one is the leader.
type storm struct {
	*world
	random   *rand.Rand
	newStore func(ofPods cache.Store) ownwrites.ConsistencyStore
	leads    int // which of the two
	standby  [2]struct{ deployments, pods cache.SharedIndexInformer }
	retire   func() // ends the leader

	counts  sync.Mutex // guards the fields below
	owned   map[types.UID]int
	surplus int // Pods that were created beyond the wanted ones
	created int
}

// newStorm makes a storm in calm weather.
func newStorm(t *guard.T, seed int64, newStore func(ofPods cache.Store) ownwrites.ConsistencyStore) *storm {
	s := &storm{random: rand.New(rand.NewSource(seed)), newStore: newStore, owned: map[types.UID]int{}}
	s.world = &world{Server: fakeapi.Start(t), t: t}
	podapp.ServePods(s.Server)
	for i := range *owners {
		s.Create(fakeapi.Deployment(fmt.Sprintf("web-%d", i), stormPods))
	}
	delays := rand.New(rand.NewSource(seed))
	var lock sync.Mutex
	podapp.Late(s.Server, func() time.Duration {
		lock.Lock()
		defer lock.Unlock()
		return time.Duration(delays.Int63n(int64(2 * time.Second)))
	})
	s.OnChange(s.count)
	var err error
	s.clients, err = podapp.Connect(below, s.Config())
	require.NoError(t, err, "the error of making clients")
	for i := range s.standby {
		s.standby[i].deployments, s.standby[i].pods = s.informers()
	}
	s.lead()
	return s
}

// count counts the Pods of each owner.
func (s *storm) count(before, now fakeapi.Object, _ int64) {
	s.counts.Lock()
	defer s.counts.Unlock()
	owner := func(obj fakeapi.Object) *metav1.OwnerReference {
		if obj == nil {
			return nil
		}
		return metav1.GetControllerOf(obj)
	}
	if was, is := owner(before), owner(now); was == nil && is != nil {
		s.created++
		if s.owned[is.UID]++; s.owned[is.UID] > stormPods {
			s.surplus++
		}
	} else if was != nil && is == nil {
		s.owned[was.UID]--
	}
}

// podsCreated returns how many Pods were created so far.
func (s *storm) podsCreated() int {
	s.counts.Lock()
	defer s.counts.Unlock()
	return s.created
}

// lead starts the leader, with an empty memory and with informers that ran before.
func (s *storm) lead() {
	s.world.deployments, s.world.pods = s.standby[s.leads].deployments, s.standby[s.leads].pods
	config := s.config()
	config.Store = s.newStore(s.world.pods.GetStore())
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	s.t.Go(func() {
		defer close(ended)
		_ = ownwrites.New(config).Run(ctx)
	})
	s.retire = func() {
		cancel()
		<-ended
	}
}

// blow lets one thing happen.
func (s *storm) blow() {
	chosen := s.Objects("deployments")
	victim := chosen[s.random.Intn(len(chosen))]
	switch s.random.Intn(10) {
	case 0, 1, 2:
		s.kill(victim.GetUID(), 1+s.random.Intn(stormPods))
	case 3:
		for _, d := range chosen[:*owners/5] {
			s.kill(d.GetUID(), 1)
		}
	case 4:
		s.Script("create", fakeapi.Times(1+s.random.Intn(3), fakeapi.Reset(true))...)
	case 5:
		s.Script("create", fakeapi.Answer(http.StatusForbidden, ""), fakeapi.Answer(http.StatusInternalServerError, ""),
			fakeapi.Slow(time.Hour))
	case 6:
		s.Restart()
	case 7:
		s.Compact()
		s.EndWatches()
	case 8:
		before := s.podsCreated()
		s.Delete(victim)
		s.kill(victim.GetUID(), stormPods)
		s.Create(fakeapi.Deployment(victim.GetName(), stormPods))
		// The next leader begins when there are Pods. Its cache may not have their Deployment yet.
		for end := time.Now().Add(4 * time.Second); s.podsCreated() == before && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		s.change()
	case 9:
		s.change()
	}
}

// change makes the other process the leader.
func (s *storm) change() {
	s.retire()
	s.leads = 1 - s.leads
	s.lead()
}

// kill deletes up to n Pods of an owner.
func (s *storm) kill(owner types.UID, n int) {
	for _, pod := range s.Objects("pods") {
		if ref := metav1.GetControllerOf(pod); n > 0 && ref != nil && ref.UID == owner {
			s.Delete(pod)
			n--
		}
	}
}

// run lets the storm blow, and then waits until it is calm again.
func (s *storm) run() {
	for start := time.Now(); time.Since(start) < *stormTime; {
		time.Sleep(time.Duration(s.random.Int63n(int64(time.Minute))))
		s.blow()
	}
	s.ClearScripts()
	time.Sleep(10 * time.Minute)
	s.retire()
}

func realStore(ofPods cache.Store) ownwrites.ConsistencyStore {
	return ownwrites.NewConsistencyStore(map[schema.GroupResource]ownwrites.LastSyncRVGetter{pods: ofPods})
}

func noStore(cache.Store) ownwrites.ConsistencyStore { return ownwrites.NoopConsistencyStore{} }

func TestTask6_Storm(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		const rule = "A Deployment never has more Pods than it wants, however late the watches of Pods are."
		guard.Test(t, rule, func(t *guard.T) {
			t.Did("the storm with -seed %d", seed)
			with := newStorm(t, seed, realStore)
			with.run()
			require.Equal(t, 0, with.surplus, "the Pods beyond three for a Deployment")
			for _, d := range with.Objects("deployments") {
				require.Equal(t, stormPods, with.owned[d.GetUID()], "the Pods of %s when the storm is over", d.GetName())
			}
			without := newStorm(t, seed, noStore)
			without.run()
			t.Logf("seed %d: with the store %d Pods were created, without it %d, and %d of them were too many",
				seed, with.created, without.created, without.surplus)
			require.Positive(t, without.surplus, "the Pods beyond three for a Deployment, without a store")
		})
	}
}
