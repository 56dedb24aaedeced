package reflector

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// period is the time between two resyncs. A nil period never ends.
type period struct {
	r     *Reflector
	timer clock.Timer
}

func (r *Reflector) startPeriod() *period {
	if r.resyncPeriod == 0 {
		return nil
	}
	return &period{r, r.clock.NewTimer(r.resyncPeriod)}
}

func (p *period) stop() {
	if p != nil {
		p.timer.Stop()
	}
}

// due receives when the period has passed.
func (p *period) due() <-chan time.Time {
	if p == nil {
		return nil
	}
	return p.timer.C()
}

// resync asks ShouldResync, calls Resync if it agrees, and starts the next period.
func (p *period) resync() error {
	if p.r.ShouldResync == nil || p.r.ShouldResync() {
		if err := p.r.store.Resync(); err != nil {
			return fmt.Errorf("resync: %v", err) // not wrapped: the store's 429 is not the server's
		}
	}
	p.timer.Reset(p.r.resyncPeriod)
	return nil
}

// sleepAndResync waits for the back-off or the end of the context, and resyncs meanwhile.
func (r *Reflector) sleepAndResync(ctx context.Context, p *period) error {
	timer := r.clock.NewTimer(r.delay())
	defer timer.Stop()
	for {
		select {
		case <-timer.C():
			return nil
		case <-ctx.Done():
			return nil
		case <-p.due():
			if err := p.resync(); err != nil {
				return err
			}
		}
	}
}
