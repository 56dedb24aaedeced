// Package election lets only one of several instances of a program work: the one that holds a Lease.
//
// client-go's elector brings every typed client of Kubernetes, 200 packages. So the programs have it only in a build
// with the tag elect, as their images do.
//
// The Lease is not a fence. A leader that was cut off or suspended can wake up after another has taken over, and send
// one more write. The controller makes that harmless: each write names the version it was decided on, so the server
// refuses the write of one of two leaders.
//
// Left out: a Lease whose times can be set, and Events about who leads.
package election

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// What Kubernetes' own controllers use.
const (
	leaseDuration = 15 * time.Second // others take over this long after the last renewal they saw
	renewDeadline = 10 * time.Second // the leader gives up after this long without one
	retryPeriod   = 2 * time.Second  // how often the leader tries; others wait up to 2.2 times as long
)

// Run waits until it holds the Lease of that name, and calls work with a context that ends with ctx or with the Lease.
// It returns work's error, or another if the Lease was lost. It has a client of its own, so that a renewal never waits
// behind work's requests in the rate limiter.
func Run(ctx context.Context, config *rest.Config, namespace, name string, work func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding the host name to sign the Lease with: %w", err)
	}
	// Two instances on one host must differ, and so must one and its restart.
	identity := resourcelock.ResourceLockConfig{Identity: host + "_" + rand.Text()}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, name, identity, config,
		renewDeadline)
	if err != nil {
		return err
	}
	return runAsLeader(ctx, lock, name, work)
}

// runAsLeader is Run with a given lock. It releases the Lease after work has returned, so that two leaders never work
// at the same time.
func runAsLeader(ctx context.Context, lock resourcelock.Interface, name string,
	work func(context.Context) error) error {
	logger := klog.FromContext(ctx)
	elected := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            name,
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { elected <- leading },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				logger.Info("Leader", "identity", identity, "me", identity == lock.Identity())
			},
		},
	})
	if err != nil {
		return fmt.Errorf("preparing the leader election: %w", err)
	}

	// The elector must renew the Lease while work stops, so it does not end with ctx.
	electorCtx, stopElector := context.WithCancel(context.WithoutCancel(ctx))
	released := make(chan struct{})
	go func() {
		defer close(released)
		elector.Run(electorCtx)
	}()
	defer func() {
		stopElector()
		<-released
	}()

	var leading context.Context // ends when the Lease is lost
	select {
	case leading = <-elected:
	case <-ctx.Done():
		return nil
	}
	workCtx, stopWork := context.WithCancel(leading)
	defer stopWork()
	defer context.AfterFunc(ctx, stopWork)()

	err = work(workCtx)
	if leading.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("lost the Lease %s, which was not renewed for %s (the log says why): "+
			"another instance may lead now, so this one has stopped; start it again",
			lock.Describe(), renewDeadline)
	}
	return err
}
