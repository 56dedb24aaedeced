// Package upstream has one test for each defect of client-go that this workshop found. A test shows the defect
// with client-go alone: it passes while the defect is there, and fails with "fixed" in the first version without it.
//
//   - doc_test.go, this one: what the tests share.
//   - one file for each defect: the promise of client-go, where it is broken, and the change that would repair it.
//
// README.md lists them by severity. Decisions of design that one may dislike are not here.
package upstream

import (
	"context"
	"io"
	"os/exec"
	"regexp"
	goruntime "runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// present ends the test with "fixed" unless the defect shows.
func present(t *testing.T, defect bool, good string) {
	t.Helper()
	if defect {
		return
	}
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/client-go").Output()
	if err != nil {
		t.Logf("asking for the version of client-go: %v", err)
	}
	t.Errorf("fixed in client-go %s: %s", strings.TrimSpace(string(version)), good)
}

// quiet returns a context whose logger writes nothing. Some tests make client-go log thousands of lines.
func quiet(t *testing.T) context.Context {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil // they limit their rate by the real clock, which is far ahead of a bubble's
	return klog.NewContext(t.Context(), klog.Logger{})
}

// server answers a Reflector's requests with functions.
type server struct {
	list  func() (runtime.Object, error)
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func (s server) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return s.list()
}

func (s server) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(ctx, options)
}

func (s server) List(metav1.ListOptions) (runtime.Object, error) { return s.list() }

func (s server) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(context.Background(), options)
}

// pod returns a Pod of this name and version.
func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}

// pods returns a list at version 1.
func pods(names ...string) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, name := range names {
		list.Items = append(list.Items, *pod(name, "1"))
	}
	return list
}

// stream returns a watch that delivers these events. With end, it closes after them.
func stream(end bool, events ...watch.Event) *watch.FakeWatcher {
	w := watch.NewFakeWithChanSize(len(events), false)
	for _, e := range events {
		w.Action(e.Type, e.Object)
	}
	if end {
		w.Stop()
	}
	return w
}

// added is the event of a Pod in a streamed list.
func added(name string) watch.Event { return watch.Event{Type: watch.Added, Object: pod(name, "1")} }

// endOfList is the bookmark after the last object of a streamed list.
func endOfList() watch.Event {
	p := pod("", "1")
	p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return watch.Event{Type: watch.Bookmark, Object: p}
}

// idleServer has one Pod, web, that never changes.
func idleServer() server {
	return server{
		list: func() (runtime.Object, error) { return pods("web"), nil },
		watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return stream(false, added("web"), endOfList()), nil
			}
			return stream(false), nil
		},
	}
}

var inWait = regexp.MustCompile(`\(\*WaitGroup\)\.Wait.*\n.*\n(.*Group\)\.Wait.*\n.*\n)?.*\(\*sharedProcessor\)\.run\(`)

// waiting counts the processors that wait for their handlers.
func waiting() int {
	stacks := make([]byte, 1<<20)
	return len(inWait.FindAll(stacks[:goruntime.Stack(stacks, true)], -1))
}
