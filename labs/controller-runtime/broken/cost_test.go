//go:build unix

package main

// This file measures what observe costs: the same manager of controller-runtime with it and without it, in turns. On
// two cores of a virtual machine it was 11 to 19 µs for each reconcile with a write. That is a tenth of this process:
// it does nothing else, and has the API server in it. A program with 1,000 such reconciles a second spends 1.5 % of a
// core.
//
//	go test ./broken -run NONE -bench Cost -benchtime 10x      from labs/controller-runtime

import (
	"context"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/observe"
)

// BenchmarkCost measures the processors' time of the whole process for each of 5,000 reconciles, each with a write and
// its event. The API server is in the process, too. The median counts.
func BenchmarkCost(b *testing.B) {
	used := map[bool][]float64{}
	for range b.N {
		for _, observed := range []bool{false, true} {
			var o *observe.Observer
			if observed {
				o = observe.New(10_000)
			}
			used[observed] = append(used[observed], reconcileOften(b, o, 5_000))
		}
	}
	middle := func(of []float64) float64 { slices.Sort(of); return of[len(of)/2] }
	bare, with := middle(used[false]), middle(used[true])
	b.ReportMetric(bare, "bare-µs")
	b.ReportMetric(with-bare, "more-µs")
	b.ReportMetric(100*(with-bare)/bare, "more-%")
}

// reconcileOften returns the processors' microseconds for each of so many reconciles.
func reconcileOften(b *testing.B, o *observe.Observer, times int) float64 {
	api := fakeapi.New()
	defer api.Close()
	api.Create(web())
	var writes atomic.Int64
	written := make(chan struct{})
	api.OnChange(func(fakeapi.Object, fakeapi.Object, int64) {
		if writes.Add(1) == int64(times) {
			close(written)
		}
	})
	config := api.Config()
	config.QPS = -1
	manager, err := newManager(config, o)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	before := processors()
	go func() { ended <- manager.Start(ctx) }()
	<-written
	used := processors() - before
	cancel()
	require.NoError(b, <-ended)
	return float64(used.Microseconds()) / float64(times)
}

// processors returns the time that this process has used.
func processors() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
