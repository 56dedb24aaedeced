package pdbapp

// This file is what the program does without a cluster: it brings an API server along (internal/testkit/fakeapi), and lets something
// happen there that a controller has to do with. All of it is printed, with what the controller does. It takes half
// a minute.
//
// Left out: Pods. Nothing runs here, and the budgets protect nobody.

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
)

// pause is how long a reader gets for each step, and the controller to answer it.
const pause = 2500 * time.Millisecond

// tellStory runs the controller on an API server of its own until the story is over, or ctx ends.
func tellStory(ctx context.Context, options options, out io.Writer) error {
	s := &teller{out: out, start: time.Now(), api: fakeapi.New()}
	defer s.api.Close()
	config := s.api.Config()
	config.QPS = -1
	// What goes wrong here is part of the story, and told in it.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) { s.failed(err) }}
	defer func() { utilruntime.ErrorHandlers = handlers }()

	fmt.Fprintf(out, "No cluster was named (--kubeconfig), so here is a story on an API server of this program's own.\n")
	words := options.layers.inWords()
	for i := 0; i < len(words); i += 2 {
		fmt.Fprintf(out, "  %-10s %s\n", words[i], words[i+1])
	}
	fmt.Fprintf(out, "\n   time  what happens in the cluster, and → what the controller does\n")

	// The log would stand between the lines.
	working, stop := context.WithCancel(klog.NewContext(ctx, klog.New(nil)))
	ended := make(chan error, 1)
	go func() { ended <- keepBudgets(working, config, s, options) }()
	for _, step := range s.steps() {
		if !s.wait(ctx, ended) {
			break
		}
		s.happens(step.what)
		step.do()
	}
	toldAll := s.wait(ctx, ended)
	s.lock.Lock()
	s.over = true
	s.lock.Unlock()
	stop()
	if err := <-ended; err != nil {
		return err
	}
	if !toldAll {
		fmt.Fprintf(out, "\nStopped after %.1fs, before the story's end.\n", time.Since(s.start).Seconds())
		return nil
	}
	fmt.Fprintf(out, "\n%s\n", s.ending())
	return nil
}

// wait gives the controller the time of one step. It returns false if the story is to end.
func (s *teller) wait(ctx context.Context, ended chan error) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
	case err := <-ended: // keepBudgets has failed, so that ended has to be read again
		ended <- err
	}
	return false
}

// teller tells it. It is the controller's record.EventRecorder: its Events are what the controller says of itself.
type teller struct {
	out   io.Writer
	start time.Time
	api   *fakeapi.Server

	lock sync.Mutex
	// failing is said once for each outage.
	failing, over bool
}

type step struct {
	what string
	do   func()
}

func (s *teller) steps() []step {
	away := func() {
		s.api.Down()
		s.api.Delete(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
		s.api.Update(shop("web", 2))
	}
	return []step{
		{"a Deployment comes: web, with 3 replicas", func() { s.api.Create(shop("web", 3)) }},
		{"web is scaled to 5", func() { s.api.Update(shop("web", 5)) }},
		{"somebody deletes the budget", func() {
			s.api.Delete(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
		}},
		{"a second Deployment comes: db, with 1 replica", func() { s.api.Create(shop("db", 1)) }},
		{"the API server goes away. web is scaled to 2, its budget deleted", away},
		{"its history is compacted, and the API server is back", func() {
			s.api.Compact()
			s.setFailing(false)
			s.api.Up()
		}},
		{"", func() {}}, // the controller's back-off, after the outage and before the list: up to 9 seconds
		{"", func() {}},
		{"", func() {}},
		{"web is scaled to 1", func() { s.api.Update(shop("web", 1)) }},
	}
}

// ending is how the cluster looks when all is told.
func (s *teller) ending() string {
	budgets := s.api.Objects("poddisruptionbudgets")
	if len(budgets) == 0 {
		return "In the end there is no budget: a Deployment with one replica has none to spare.\n" +
			"On a real control plane: go tool workshop cluster up, and --kubeconfig .workshop/cluster/kubeconfig"
	}
	var left []string
	for _, b := range budgets {
		left = append(left, b.(*policyv1.PodDisruptionBudget).Name)
	}
	return "There are budgets left: " + strings.Join(left, ", ")
}

func (s *teller) happens(what string) {
	if what != "" {
		s.say(what)
	}
}

func (s *teller) say(line string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.over {
		return
	}
	fmt.Fprintf(s.out, "%6.1fs  %s\n", time.Since(s.start).Seconds(), line)
}

func (s *teller) setFailing(failing bool) (changed bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	changed = s.failing != failing
	s.failing = failing
	return changed
}

// failed tells of the first error of an outage.
func (s *teller) failed(err error) {
	if s.setFailing(true) {
		s.say("    → is told: " + shorten(err.Error(), 60))
	}
}

func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return "…" + text[len(text)-n:]
}

func (s *teller) Event(_ runtime.Object, _, _, message string) { s.say("    → " + message) }

func (s *teller) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	s.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (s *teller) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	s.Eventf(object, kind, reason, format, args...)
}

var _ record.EventRecorder = (*teller)(nil)

// shop is a Deployment of so many replicas.
func shop(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}
