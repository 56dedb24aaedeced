package election

// These tests say who may work when, with client-go's elector on a lock in memory.

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2/ktesting"
)

// lease is what all locks on it share.
type lease struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	down   error // the answer to everything while not nil
}

func (l *lease) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil {
		return ""
	}
	return l.record.HolderIdentity
}

func (l *lease) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = err
}

// lock is a resourcelock.Interface for one instance.
type lock struct {
	*lease
	identity string
}

func (l lock) Identity() string { return l.identity }
func (l lock) Describe() string { return "default/" + "demo" }
func (lock) RecordEvent(string) {}

func (l lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down != nil {
		return nil, nil, l.down
	}
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "demo")
	}
	record := *l.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down != nil {
		return l.down
	}
	l.record = &record
	return nil
}

func TestLeaderGivesTheLeaseBackOnlyAfterTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, logged := ktesting.NewTestContext(t)
		ctx, stop := context.WithCancel(logged)
		shared := &lease{}
		var holderAtTheEnd string
		done := make(chan error)
		go func() {
			done <- runAsLeader(ctx, lock{shared, "me"}, "demo", func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(20 * time.Second) // longer than a Lease lives without renewal
				holderAtTheEnd = shared.holder()
				return nil
			})
		}()
		time.Sleep(time.Hour)
		require.Equal(t, "me", shared.holder(), "the Lease must be taken and kept")
		stop()
		require.NoError(t, <-done, "being told to stop is no error")
		require.Equal(t, "me", holderAtTheEnd, "the Lease must be renewed until the work has ended, or two work at once")
		require.Empty(t, shared.holder(), "after the work the Lease must be given back, or the next leader waits 15 s for "+
			"nothing")
	})
}

func TestLeaderStopsWhenTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		shared := &lease{}
		began := time.Now()
		time.AfterFunc(time.Minute, func() { shared.fail(errors.New("connection refused")) })
		err := runAsLeader(ctx, lock{shared, "me"}, "demo", func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		require.ErrorContains(t, err, "lost the Lease default/demo",
			"a lost Lease must end the program with an error and a sentence")
		require.InDelta(t, 70, time.Since(began).Seconds(), 3,
			"the leader must give up 10 s after the last renewal, before others may take over")
	})
}

func TestOnlyOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, logged := ktesting.NewTestContext(t)
		shared := &lease{}
		working := make(chan string, 2)
		run := func(identity string) (stop context.CancelFunc, done chan error) {
			ctx, stop := context.WithCancel(logged)
			done = make(chan error, 1)
			go func() {
				done <- runAsLeader(ctx, lock{shared, identity}, "demo", func(ctx context.Context) error {
					working <- identity
					<-ctx.Done()
					return nil
				})
			}()
			synctest.Wait()
			return stop, done
		}
		stopFirst, first := run("first")
		stopSecond, second := run("second")
		stopThird, third := run("third")
		time.Sleep(time.Hour)
		require.Len(t, working, 1, "only the holder of the Lease may work")
		require.Equal(t, "first", <-working)

		stopThird()
		require.NoError(t, <-third, "one that waits must stop when told to")

		stopFirst()
		require.NoError(t, <-first)
		began := time.Now()
		require.Equal(t, "second", <-working)
		require.Less(t, time.Since(began), 5*time.Second,
			"a Lease that was given back is taken at the next try, not after it ran out")
		stopSecond()
		require.NoError(t, <-second)
	})
}

func TestLeaderTakesOverADeadOnesLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, logged := ktesting.NewTestContext(t)
		ctx, stop := context.WithCancel(logged)
		defer stop()
		shared := &lease{record: &resourcelock.LeaderElectionRecord{
			HolderIdentity: "dead", LeaseDurationSeconds: 15, RenewTime: metav1.Now(), AcquireTime: metav1.Now(),
		}}
		began := time.Now()
		failure := errors.New("the work's own")
		err := runAsLeader(ctx, lock{shared, "me"}, "demo", func(context.Context) error { return failure })
		require.ErrorIs(t, err, failure, "the error of the work must come out")
		require.InDelta(t, 17, time.Since(began).Seconds(), 3, "15 s without a renewal, and then the next try")
		require.Empty(t, shared.holder(), "work that fails gives the Lease back too")
	})
}
