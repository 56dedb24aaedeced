package pdbapp

// This file demonstrates the controller without a cluster, in half a minute. It starts an API server in the process
// (internal/testkit/fakeapi), makes changes there, and prints them together with the controller's answers.
//
// Left out: Pods. Nothing runs here, so the budgets protect nothing.

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic" // a learner's controller may send any patch
)

// pause is the time between two steps, for the reader to read and for the controller to answer.
const pause = 2500 * time.Millisecond

// runDemo runs the controller on an API server of its own until the last step is done, or ctx ends.
func runDemo(ctx context.Context, options options, out io.Writer) error {
	d := &demo{out: out, start: time.Now(), api: fakeapi.New()}
	defer d.api.Close()
	config := d.api.Config()
	config.QPS = -1
	// The outage is a part of the demonstration, so its errors are printed there and not logged.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{d.failed}
	defer func() { utilruntime.ErrorHandlers = handlers }()

	fmt.Fprintf(out, "No cluster was named (--kubeconfig), so this is a demonstration on an API server of its own.\n")
	words := options.layers.inWords()
	for i := 0; i < len(words); i += 2 {
		fmt.Fprintf(out, "  %-10s %s\n", words[i], words[i+1])
	}
	fmt.Fprintf(out, "\n   time  what happens in the cluster, and → what the controller does\n")

	// Without a log, which would appear between the lines.
	working, stop := context.WithCancel(klog.NewContext(ctx, klog.New(nil)))
	events := EventFunc(func(message string) { d.say("    → " + message) })
	ended := make(chan error, 1)
	go func() {
		defer stop() // a controller that cannot start ends the demonstration
		ended <- keepBudgets(working, config, events, options)
	}()
	for _, step := range d.steps() {
		if !wait(working) {
			break
		}
		if step.what != "" {
			d.say(step.what)
		}
		step.do()
	}
	complete := wait(working)
	d.lock.Lock()
	d.over = true
	d.lock.Unlock()
	stop()
	if err := <-ended; err != nil {
		return err
	}
	if !complete {
		fmt.Fprintf(out, "\nStopped after %.1fs, before the end.\n", time.Since(d.start).Seconds())
		return nil
	}
	fmt.Fprintf(out, "\n%s\n", d.ending())
	return nil
}

// wait waits for one pause, or until ctx ends. It reports whether the demonstration goes on.
func wait(ctx context.Context) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// demo prints the demonstration.
type demo struct {
	out   io.Writer
	start time.Time
	api   *fakeapi.Server

	// failing is set at the first error of an outage; later errors are not printed.
	failing atomic.Bool
	lock    sync.Mutex
	over    bool // stops all printing
}

type step struct {
	what string
	do   func()
}

func (d *demo) steps() []step {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	nothing := func() {}
	return []step{
		{"a Deployment comes: web, with 3 replicas", func() { d.api.Create(fakeapi.Deployment("web", 3)) }},
		{"web is scaled to 5", func() { d.api.Update(fakeapi.Deployment("web", 5)) }},
		{"a user deletes the budget", func() { d.api.Delete(budget) }},
		{"a second Deployment comes: db, with 1 replica", func() { d.api.Create(fakeapi.Deployment("db", 1)) }},
		{"the API server goes away. web is scaled to 2, its budget deleted", func() {
			d.api.Down()
			d.api.Delete(budget)
			d.api.Update(fakeapi.Deployment("web", 2))
		}},
		{"its history is compacted, and the API server is back", func() {
			d.api.Compact()
			d.failing.Store(false)
			d.api.Up()
		}},
		{"", nothing}, // the controller's back-off, after the outage and before the list: up to 9 seconds
		{"", nothing},
		{"", nothing},
		{"web is scaled to 1", func() { d.api.Update(fakeapi.Deployment("web", 1)) }},
	}
}

// ending describes the cluster after the last step.
func (d *demo) ending() string {
	budgets := d.api.Objects("poddisruptionbudgets")
	if len(budgets) == 0 {
		return "In the end there is no budget: a Deployment with one replica has none to spare.\n" +
			"On a real control plane: go tool workshop cluster up, and --kubeconfig .workshop/cluster/kubeconfig"
	}
	var left []string
	for _, b := range budgets {
		left = append(left, b.GetName())
	}
	return "There are budgets left: " + strings.Join(left, ", ")
}

func (d *demo) say(line string) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.over {
		return
	}
	fmt.Fprintf(d.out, "%6.1fs  %s\n", time.Since(d.start).Seconds(), line)
}

// failed prints the first error of an outage. It is client-go's error handler.
func (d *demo) failed(_ context.Context, err error, _ string, _ ...any) {
	if d.failing.Swap(true) {
		return
	}
	text := err.Error()
	if n := len(text) - 60; n > 0 {
		text = "…" + text[n:]
	}
	d.say("    → gets an error: " + text)
}
