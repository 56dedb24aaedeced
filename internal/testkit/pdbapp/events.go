package pdbapp

// This file writes Events to the API server in the background, with client-go's record package, and does not lose the
// last ones.
//
// record's Shutdown passes on the Events in its queue, but stops the goroutine that writes them at the same moment. The
// lost Events would be those of the work that was finished while stopping. So flush sends a marker through the same
// queue: when the marker reaches the sink, all Events before it are written.

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
)

// EventFunc is a record.EventRecorder that is called with the message of each Event.
type EventFunc func(message string)

var _ record.EventRecorder = EventFunc(nil)

// Event calls f.
func (f EventFunc) Event(_ runtime.Object, _, _, message string) { f(message) }

// Eventf calls f.
func (f EventFunc) Eventf(_ runtime.Object, _, _, format string, args ...any) {
	f(fmt.Sprintf(format, args...))
}

// AnnotatedEventf calls f.
func (f EventFunc) AnnotatedEventf(_ runtime.Object, _ map[string]string, _, _, format string, args ...any) {
	f(fmt.Sprintf(format, args...))
}

// startRecorder returns a recorder and the function that ends it, which waits up to three seconds for the Events in the
// queue.
func startRecorder(ctx context.Context, sink record.EventSink) (recorder record.EventRecorder, flush func()) {
	// Not ctx itself: it ends before the last Events are recorded.
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	marked := &markedSink{EventSink: sink, seen: make(chan struct{})}
	broadcaster.StartRecordingToSink(marked)
	recorder = broadcaster.NewRecorder(layers.Scheme, corev1.EventSource{Component: name})

	return recorder, func() {
		recorder.Event(&corev1.ObjectReference{Kind: "Marker", Name: name}, corev1.EventTypeNormal, markerReason,
			"end of the queue")
		select {
		case <-marked.seen:
		case <-time.After(3 * time.Second):
			klog.FromContext(ctx).Info("The last Events could not be written in time and are lost")
		}
		broadcaster.Shutdown()
	}
}

const markerReason = "FlushMarker"

// markedSink writes all Events except the marker.
type markedSink struct {
	record.EventSink
	seen chan struct{} // closed when the marker arrives
}

func (s *markedSink) Create(event *corev1.Event) (*corev1.Event, error) {
	if event.Reason == markerReason {
		close(s.seen)
		return event, nil
	}
	return s.EventSink.Create(event)
}

// eventSink writes Events. The one in client-go's typed client brings every group of the API.
type eventSink struct {
	ctx    context.Context // for the requests; it never ends
	client rest.Interface
}

// newEventSink returns a sink with a client of its own.
func newEventSink(ctx context.Context, config *rest.Config) (record.EventSink, error) {
	config = layers.ConfigFor(config, corev1.SchemeGroupVersion)
	config.APIPath = "/api"
	client, err := rest.RESTClientFor(config)
	return eventSink{context.WithoutCancel(ctx), client}, err
}

func (s eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	return s.send(s.client.Post().Namespace(event.Namespace).Body(event))
}

func (s eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.send(s.client.Put().Namespace(event.Namespace).Name(event.Name).Body(event))
}

func (s eventSink) Patch(event *corev1.Event, patch []byte) (*corev1.Event, error) {
	return s.send(s.client.Patch(types.StrategicMergePatchType).Namespace(event.Namespace).Name(event.Name).Body(patch))
}

func (s eventSink) send(request *rest.Request) (*corev1.Event, error) {
	result := &corev1.Event{}
	return result, request.Resource("events").Do(s.ctx).Into(result)
}
