package reflector_test

// Bonus task 7: streams into a store that transforms objects.

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// transforming is a store that transforms, as a DeltaFIFO does.
type transforming struct {
	*store
	transform cache.TransformFunc
}

func (s transforming) Transformer() cache.TransformFunc { return s.transform }

func TestTask7_Objects_are_transformed_as_they_come(t *testing.T) {
	bonus(t, "If the store is a cache.TransformingStore, each object is transformed when it arrives. A "+
		"transformer drops what the program does not need. A list that waits untransformed needs the "+
		"memory that the transformer should save.", func(t *guard.T) {
		var transformed atomic.Int64
		var r *reflector.Reflector
		st := transforming{&store{}, func(obj any) (any, error) {
			transformed.Add(1)
			r.LastSyncResourceVersion() // which any goroutine may call, so nothing is locked here
			d := obj.(*appsv1.Deployment).DeepCopy()
			d.Name += "-small"
			return d, nil
		}}
		s := &script{}
		c := s.channel(event(watch.Added, "a", "2"), event(watch.Added, "b", "3"), event(watch.Modified, "a", "4"),
			event(watch.Bookmark, "", "5"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		t.Did("a store with a transformer that renames; a stream brings a, b, a new a and a bookmark without the " +
			"annotation, and an hour later the bookmark that ends the list")
		var seen int64
		time.AfterFunc(time.Hour, func() { seen = transformed.Load(); c.send(allOfIt("7")) })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		r = newReflector(streaming{s}, st)
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, int64(3), seen, "calls of the transformer before the bookmark")
		require.Equal(t, int64(3), transformed.Load(), "calls of the transformer until the end")
		require.Equal(t, []string{"Replace [a-small@4 b-small@3] @7"}, st.calls(), "calls of the store")

		t.Rule("If the store is a cache.TransformingStore, each object is transformed when it arrives. Its " +
			"transformer may be nil.")
		s = &script{}
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"), allOfIt("7")))
		st = transforming{&store{}, nil}
		t.Did("a store whose transformer is nil")
		stream(t, s, st)
		require.Equal(t, []string{"Replace [a@2] @7"}, st.calls(), "calls of the store without a transformer")
	})
}

func TestTask7_Object_that_cannot_be_transformed(t *testing.T) {
	bonus(t, "If an object cannot be transformed, streamList returns the error. A Replace without that object would "+
		"delete it.", func(t *guard.T) {
		for _, c := range []struct {
			what   watch.EventType
			failed error
		}{
			{watch.Added, errors.New("b is too large")}, {watch.Modified, errors.New("b is too large")},
			// The server has not sent these:
			{watch.Added, busy}, {watch.Added, errRefused}, {watch.Added, errExpired}, {watch.Added, io.EOF},
		} {
			t.Story(8)
			s := &script{}
			st := transforming{&store{}, func(obj any) (any, error) {
				if obj.(*appsv1.Deployment).Name == "b" {
					return nil, c.failed
				}
				return obj, nil
			}}
			s.lists = append(s.lists, lists("8", "a", "b"))
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"), allOfIt("7"), expiredEvent()),
				s.sends(event(watch.Added, "a", "2"), event(c.what, "b", "3"), allOfIt("7")), s.sends())
			t.Did("RunWithContext; the second stream brings a and %s b; the transformer fails for b: %v", c.what, c.failed)
			runFor(t, newReflector(streaming{s}, st), time.Minute)
			require.Equal(t, []string{"watch@", "watch@7", "list@7", "watch@8"}, s.requests(), "requests to the source")
			require.Equal(t, []string{"Replace [a@2] @7", "Replace [a@1 b@1] @8"}, st.calls(), "calls of the store")
			require.Equal(t, 0, s.left(), "watches that were not stopped")
		}
	})
}
