// events_test.go tests that the last Events are written before the program ends.

package pdbapp

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"
)

// slowSink takes its time for each Event.
type slowSink struct {
	delay time.Duration
	mu    sync.Mutex
	names []string
}

func (s *slowSink) Create(event *corev1.Event) (*corev1.Event, error) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, event.InvolvedObject.Name)
	return event, nil
}

func (s *slowSink) Update(event *corev1.Event) (*corev1.Event, error) { return s.Create(event) }
func (s *slowSink) Patch(event *corev1.Event, _ []byte) (*corev1.Event, error) {
	return s.Create(event)
}

func (s *slowSink) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.names...)
}

// record sends n Events about Deployments web-0, web-1, … and flushes; it says how long that took.
func recordAndFlush(t *testing.T, sink *slowSink, n int) time.Duration {
	_, ctx := ktesting.NewTestContext(t)
	recorder, flush := startRecorder(ctx, sink)
	for i := range n {
		web := &corev1.ObjectReference{Kind: "Deployment", Namespace: "default", Name: fmt.Sprint("web-", i)}
		recorder.Event(web, corev1.EventTypeNormal, "BudgetCreated", "made")
	}
	began := time.Now()
	flush()
	return time.Since(began)
}

func TestFlushWritesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &slowSink{delay: 100 * time.Millisecond}
		took := recordAndFlush(t, sink, 3)
		require.Equal(t, []string{"web-0", "web-1", "web-2"}, sink.written(),
			"all that was recorded before flush must be written, and no marker")
		require.Equal(t, 300*time.Millisecond, took, "and flush waits no longer than that")
	})
}

func TestFlushIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &slowSink{delay: time.Hour}
		require.Equal(t, 3*time.Second, recordAndFlush(t, sink, 3),
			"an API server that does not answer must not keep the program from ending")
		time.Sleep(4 * time.Hour) // after Shutdown it may still begin with what is queued
	})
}
