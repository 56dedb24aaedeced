//go:build unix

package recorder_test

// This file measures the price of recording: the same work on bare layers, on recorded ones, and with a reader who
// follows the log thirty times a second. It reports the time of the processors, which other programs change little.
//
//	go test ./internal/testkit/recorder -run NONE -bench Pipeline -benchtime 20x

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
	controller "client-go-workshop/solutions/07-controller"
)

// BenchmarkPipeline creates Deployments, and waits until each has its budget in the cache. The ways take turns, and the
// least time of each counts, so that a busy machine changes the result little.
func BenchmarkPipeline(b *testing.B) {
	ways := []string{"bare", "recorded", "watched"}
	least := map[string]time.Duration{}
	for range b.N {
		for _, way := range ways {
			if used := work(b, way); least[way] == 0 || used < least[way] {
				least[way] = used
			}
		}
	}
	for _, way := range ways {
		b.ReportMetric(float64(least[way].Microseconds())/deployments, way+"-µs/change")
	}
	for _, way := range ways[1:] {
		b.ReportMetric(100*(float64(least[way])/float64(least["bare"])-1), way+"-%")
	}
}

const deployments = 1000

// work does the work once, and returns the processors' time that it took.
func work(b *testing.B, name string) time.Duration {
	api := fakeapi.New()
	defer api.Close()
	config := api.Config()
	config.QPS = -1
	below, rec := sets["solutions"], recorder.New()
	client, err := below.NewClient(config)
	newQueue := below.NewWorkQueue
	informer := func(lw cache.ListerWatcher, example apiruntime.Object, kind string) cache.SharedIndexInformer {
		options := cache.SharedIndexInformerOptions{
			Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}}
		if name == "bare" {
			return newInformer(below, lw, example, options)
		}
		return rec.Informer(newInformer(rec.Wrap(below, kind), lw, example, options), kind)
	}
	if name != "bare" {
		client, err = rec.Client(below, config)
		newQueue = func(l layers.RateLimiter, c layers.WorkQueueConfig) layers.WorkQueue {
			return rec.WorkQueue(below, l, c)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	ds := informer(client.Deployments(""), &appsv1.Deployment{}, recorder.Deployment)
	bs := informer(client.Budgets(""), &policyv1.PodDisruptionBudget{}, recorder.Budget)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	c, err := controller.New(klog.Background(), controller.Config{Deployments: ds, Budgets: bs,
		Queue: newQueue(limiter, layers.WorkQueueConfig{}), Client: client.BudgetWriter,
		Recorder: &record.FakeRecorder{}, Workers: 2, DrainTimeout: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	seen := 0
	if _, err := bs.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		if seen++; seen == deployments {
			close(done)
		}
	}}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, run := range []func(context.Context){c.Run, ds.RunWithContext, bs.RunWithContext} {
		go run(ctx)
	}
	cache.WaitForCacheSync(ctx.Done(), ds.HasSynced, bs.HasSynced)
	if name == "watched" {
		go reader(ctx, rec)
	}
	runtime.GC()
	before := processors(b)
	for i := range deployments {
		api.Create(deployment(fmt.Sprintf("web-%04d", i), 2))
	}
	<-done
	return processors(b) - before
}

// processors returns the time that this process has used.
func processors(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// reader follows the log as a page does.
func reader(ctx context.Context, rec *recorder.Recorder) {
	var state *pipeline.State
	for tick := time.Tick(time.Second / 30); ctx.Err() == nil; <-tick {
		state = rec.Log.Follow(state)
		_ = state.View()
	}
}
