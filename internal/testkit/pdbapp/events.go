package pdbapp

// This file writes Events to the API server in the background, as client-go's record
// package does, and sees to it that the last ones are not lost.
//
// record's Shutdown promises less than it seems to: what is queued is handed on, but the
// goroutine that writes is stopped at the same moment. Those Events would be the ones
// about the work finished while stopping. So flush sends a marker down the same queue,
// and when it comes out at the sink, all that went before it has been written.

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// startRecorder returns a recorder and the function that ends it, which waits up to three
// seconds for what is queued. Events are for people; nobody should wait long for them. They
// have a client of their own, so that they never hold up work in the rate limiter.
func startRecorder(ctx context.Context, config *rest.Config) (recorder record.EventRecorder, flush func(), err error) {
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for Events: %w", err)
	}
	recorder, flush = startRecorderTo(ctx, &typedcorev1.EventSinkImpl{Interface: client.Events(metav1.NamespaceAll)})
	return recorder, flush, nil
}

func startRecorderTo(ctx context.Context, sink record.EventSink) (record.EventRecorder, func()) {
	// Not ctx itself: it ends before the last Events are recorded.
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	marked := &markedSink{EventSink: sink, seen: make(chan struct{})}
	broadcaster.StartRecordingToSink(marked)
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: name})

	return recorder, func() {
		recorder.Event(&corev1.ObjectReference{Kind: "Marker", Name: name}, corev1.EventTypeNormal, markerReason, "end of the queue")
		select {
		case <-marked.seen:
		case <-time.After(3 * time.Second):
			klog.FromContext(ctx).Info("The last Events could not be written in time and are lost")
		}
		broadcaster.Shutdown()
	}
}

const markerReason = "FlushMarker"

// markedSink writes all Events but the marker.
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
