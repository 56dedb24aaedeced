package election

// These tests check the answers of docs/learn about leaders. They are not beside the others, in
// solutions/07-controller, because a newcomer's first command compiles those, and the elector brings 200 packages.

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
)

// bubble runs a test in a bubble with a server. The context ends with the test, and has a logger that logs nothing.
func bubble(t *testing.T, test func(t *testing.T, ctx context.Context, api *fakeapi.Server)) {
	defer func(handlers []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = handlers }(utilruntime.ErrorHandlers)
	utilruntime.ErrorHandlers = nil
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.New(nil)))
		defer synctest.Wait()
		defer cancel()
		test(t, ctx, fakeapi.Start(t))
	})
}

// candidate runs for a Lease with the times of Kubernetes' own controllers.
type candidate struct {
	leading, stopped chan struct{}
	returned         chan struct{}
	resign           context.CancelFunc
}

func run(t *testing.T, ctx context.Context, api *fakeapi.Server, identity string, release bool) *candidate {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, "default", "demo",
		resourcelock.ResourceLockConfig{Identity: identity}, api.Config(), 10*time.Second)
	require.NoError(t, err)
	c := &candidate{make(chan struct{}), make(chan struct{}), make(chan struct{}), nil}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(c.leading) },
			OnStoppedLeading: func() { close(c.stopped) },
		},
	})
	require.NoError(t, err)
	ctx, c.resign = context.WithCancel(ctx)
	go func() {
		defer close(c.returned)
		elector.Run(ctx)
	}()
	return c
}

func TestQuestion_A_new_leader_waits(t *testing.T) {
	for _, test := range []struct {
		release           bool
		atLeast, lessThan time.Duration
	}{
		{release: false, atLeast: 15 * time.Second, lessThan: 20 * time.Second},
		{release: true, lessThan: time.Second},
	} {
		t.Run(fmt.Sprint("ReleaseOnCancel ", test.release), func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context, api *fakeapi.Server) {
				old := run(t, ctx, api, "old", test.release)
				<-old.leading
				time.Sleep(time.Minute)
				old.resign()
				<-old.returned
				time.Sleep(time.Hour)

				start := time.Now()
				<-run(t, ctx, api, "new", test.release).leading
				require.GreaterOrEqual(t, time.Since(start), test.atLeast)
				require.Less(t, time.Since(start), test.lessThan)
			})
		})
	}
}

func TestQuestion_A_lost_Lease_ends_Run_for_good(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context, api *fakeapi.Server) {
		leader := run(t, ctx, api, "me", true)
		<-leader.leading
		time.Sleep(time.Minute)
		api.Down()
		start := time.Now()
		<-leader.returned
		<-leader.stopped
		require.InDelta(t, 10, time.Since(start).Seconds(), 5, "the renew deadline")
		api.Up()
		renewed := func() string { return api.Objects("leases")[0].GetResourceVersion() }
		before := renewed()
		time.Sleep(time.Hour)
		require.Equal(t, before, renewed(), "the elector does not try again: end the process, or call Run again")
	})
}
