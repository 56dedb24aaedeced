package watchstream_test

// Task 2: events.

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Event_has_a_type_and_an_object(t *testing.T) {
	guard.Test(t, "the object says its kind, and the decoder knows the Go type", func(t *guard.T) {
		d := decode(t, pieces(event("ADDED", "web", "5")+event("MODIFIED", "web", "6")+event("DELETED", "web", "7")))
		for _, want := range []string{"ADDED web@5", "MODIFIED web@6", "DELETED web@7"} {
			require.Equal(t, want, d.next())
		}
		t.Did("Decode")
		_, _, err := d.Decode()
		t.Rule("the end of the stream is passed on as it is: it is no mistake")
		require.Equal(t, "EOF", asItIs(err, io.EOF))
	})
}

func TestTask2_Bookmark_passes(t *testing.T) {
	guard.Test(t, "a bookmark is an object with a version and nothing else; who drops it begins from an old "+
		"version after the next break", func(t *guard.T) {
		require.Equal(t, "BOOKMARK @99", decode(t, pieces(event("BOOKMARK", "", "99"))).next())
	})
}

func TestTask2_Error_carries_a_status(t *testing.T) {
	guard.Test(t, "the server's error is an event, and not one of the stream", func(t *guard.T) {
		d := decode(t, pieces(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410}}`))
		t.Did("Decode")
		kind, obj, err := d.Decode()
		require.NoError(t, err)
		t.Rule("the type is ERROR")
		require.Equal(t, watch.Error, kind)
		t.Rule("the Status says what to do: 410 is to list again")
		require.Equal(t, &metav1.Status{Status: "Failure", Message: "too old", Reason: "Expired", Code: 410}, obj)
	})
}

func TestTask2_Any_kind_can_be_told_of(t *testing.T) {
	guard.Test(t, "each event says its kind anew: that of the one before says nothing", func(t *guard.T) {
		d := decode(t, pieces(`{"type":"ADDED","object":{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"a"}}}`+event("ADDED", "b", "1")+
			`{"type":"ADDED","object":{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"c"}}]}}`))
		require.Equal(t, []string{"ADDED *v1.ReplicaSet", "ADDED b@1", "ADDED *v1.DeploymentList"}, []string{d.next(), d.next(), d.next()})
	})
}

func TestTask2_Order_and_space_and_other_fields_do_not_matter(t *testing.T) {
	guard.Test(t, "all of that is JSON for the same event; of two fields with one name the last one counts, and "+
		"Type is not the name type", func(t *guard.T) {
		object := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","resourceVersion":"1"}}`
		for _, frame := range []string{
			`{"object":` + object + `,"type":"ADDED"}`,
			"{ \"type\" :\t\"ADDED\",\n \"object\" : " + object + " }",
			`{"type":"ADDED","future":{"a":[1]},"object":` + object + `}`,
			`{"type":"MODIFIED","type":"ADDED","object":` + object + `}`,
			`{"type":"ADDED","object":` + object + `,"Type":"DELETED","OBJECT":{}}`,
			`{"type":"\u0041DDED","object":` + object + `}`,
			`{"type":"ADDED","object":{"metadata":{"name":"web","resourceVersion":"1"},"future":"{","apiVersion":"apps/v1","kind":"Deployment"}}`,
			`{"type":"ADDED","object":{"kind":"ReplicaSet","kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","resourceVersion":"1"}}}`,
			`{"type":"ADDED","object":{"kind":"Deploy\u006dent","apiVersion":"apps\/v1","metadata":{"name":"web","resourceVersion":"1"}}}`,
		} {
			t.Did("%s", frame)
			require.Equal(t, "ADDED web@1", decode(t, pieces(frame)).next())
		}
	})
}

func TestTask2_Names_of_fields_are_case_sensitive(t *testing.T) {
	guard.Test(t, "encoding/json would take Name for name; the API does not", func(t *guard.T) {
		require.Equal(t, "ADDED web@1", decode(t, pieces(`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","Name":"db","resourceVersion":"1","RESOURCEVERSION":"2"}}}`)).next())
	})
}

func TestTask2_Whole_object_is_read(t *testing.T) {
	guard.Test(t, "a good event", func(t *guard.T) {
		t.Did("Decode")
		_, obj, err := decode(t, pieces(`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","annotations":{"a":"\"{é\u00e9"}},"spec":{"replicas":3}}}`)).Decode()
		require.NoError(t, err)
		three := int32(3)
		t.Rule("every field, and kind and apiVersion are not kept: the Go type says them")
		require.Equal(t, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"a": "\"{éé"}}, Spec: appsv1.DeploymentSpec{Replicas: &three},
		}, obj)
	})
}

func TestTask2_Unknown_types_are_errors(t *testing.T) {
	guard.Test(t, "who guesses what was meant has a cache that is wrong, and does not know it", func(t *guard.T) {
		for _, kind := range []string{"added", "CREATED", ""} {
			t.Did("an event of type %q, and then a good one", kind)
			require.Equal(t, "error", decode(t, pieces(event(kind, "web", "1")+event("ADDED", "web", "2"))).next())
		}
		t.Did("an event without a type")
		t.Rule("who guesses what was meant has a cache that is wrong")
		require.Equal(t, "error", decode(t, pieces(`{"object":{"kind":"Deployment","apiVersion":"apps/v1"}}`)).next())
	})
}

func TestTask2_Objects_that_cannot_be_read_are_errors(t *testing.T) {
	guard.Test(t, "an object that is half read must not get into a cache; and if it is skipped the cache lacks "+
		"it, and nobody knows", func(t *guard.T) {
		for _, object := range []string{
			`{"kind":"Unknown","apiVersion":"apps/v1"}`, `{"kind":"Deployment","apiVersion":"apps/v9"}`, `{"metadata":{"name":"web"}}`,
			`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"three"}}`, `{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":three}}`, `7`, `null`, `"web"`, `[]`,
		} {
			t.Did("an event with the object %s, and then a good one", object)
			require.Equal(t, "error", decode(t, pieces(`{"type":"ADDED","object":`+object+`}`+event("ADDED", "web", "1"))).next())
		}
		t.Did("an event without an object")
		t.Rule("an object that is not there must not get into a cache")
		require.Equal(t, "error", decode(t, pieces(`{"type":"ADDED"}`)).next())
	})
}

func TestTask2_Status_without_a_kind_is_an_error(t *testing.T) {
	guard.Test(t, "a server once sent such Statuses, and clients waited for ever for the event behind it (#46446)", func(t *guard.T) {
		require.Equal(t, "error", decode(t, pieces(`{"type":"ERROR","object":{"status":"Failure","message":"too old","code":410}}`)).next())
	})
}

func TestTask2_Large_events_get_a_larger_buffer(t *testing.T) {
	guard.Test(t, "an object may have a megabyte and more; and a small one behind it is only as long as it is", func(t *guard.T) {
		large := func(size int) string {
			return fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","resourceVersion":"%d","annotations":{"a":"%s"}}}}`, size, strings.Repeat("x", size))
		}
		d := decode(t, pieces(large(100)+large(5_000)+large(1<<20)+large(100)))
		require.Equal(t, []string{"ADDED web@100", "ADDED web@5000", "ADDED web@1048576", "ADDED web@100"}, []string{d.next(), d.next(), d.next(), d.next()})
	})
}

func TestTask2_Less_than_16_MiB_is_an_event(t *testing.T) {
	guard.Test(t, "the buffer doubles until it has 16 MiB; what is smaller than that fits", func(t *guard.T) {
		t.Did("an event of 15 MiB comes")
		d := decode(t, pieces(`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","resourceVersion":"1","annotations":{"a":"`, strings.Repeat("x", 15<<20), `"}}}}`))
		require.Equal(t, "ADDED web@1", d.next())
	})
}

func TestTask2_More_than_16_MiB_is_too_much(t *testing.T) {
	guard.Test(t, "without a limit, one server can eat the memory of all its clients", func(t *guard.T) {
		t.Did("an event of 17 MiB comes, and then a small one")
		d := decode(t, pieces(`{"type":"ADDED","object":{"kind":"Deployment","a":"`, strings.Repeat("x", 17<<20), `"}}`, event("ADDED", "web", "1")))
		t.Did("Decode")
		_, _, err := d.Decode()
		require.ErrorIs(t, err, streaming.ErrObjectTooLarge)
		t.Rule("what is left of it is not taken for the next event")
		require.Equal(t, "ADDED web@1", d.next())
	})
}

func TestTask2_Objects_do_not_change_afterwards(t *testing.T) {
	guard.Test(t, "a good event", func(t *guard.T) {
		d := decode(t, pieces(event("ADDED", "aaaa", "1111")+event("ADDED", "bbbb", "2222")))
		t.Did("Decode, twice")
		_, first, err := d.Decode()
		require.NoError(t, err)
		_, _, err = d.Decode()
		require.NoError(t, err)
		t.Rule("the buffer is used again for the next frame; an object that points into it changes in the cache")
		require.Equal(t, "ADDED aaaa@1111", say(watch.Event{Type: watch.Added, Object: first}))
	})
}

// asItIs writes an error down, and its type if it is not the one that was wanted.
func asItIs(err, want error) string {
	if err == want {
		return fmt.Sprint(want)
	}
	return fmt.Sprintf("a %T: %v", err, err)
}

func TestTask2_Errors_of_the_stream_are_passed_on(t *testing.T) {
	guard.Test(t, "whoever watches has to know an end from an error, and IsProbableEOF compares: within another "+
		"error it knows neither io.EOF nor io.ErrUnexpectedEOF", func(t *guard.T) {
		t.Did("the stream breaks off in an event")
		_, _, err := decode(t, pieces(event("ADDED", "web", "1")[:30])).Decode()
		require.Equal(t, "unexpected EOF", asItIs(err, io.ErrUnexpectedEOF))
		broken := errors.New("the connection is gone")
		s := pieces()
		s.err = broken
		t.Did("the stream fails")
		_, _, err = decode(t, s).Decode()
		require.Equal(t, "the connection is gone", asItIs(err, broken))
	})
}

func TestTask2_Close_ends_a_Decode_that_waits(t *testing.T) {
	guard.Test(t, "the goroutine that decodes can only be ended by closing what it reads from", func(t *guard.T) {
		r, w := io.Pipe()
		defer w.Close()
		d := decode(t, r)
		answer := "nothing: it waits"
		t.Did("Decode, while nothing comes")
		t.Go(func() {
			_, _, err := d.Decode()
			answer = fmt.Sprint("error: ", err != nil)
		})
		synctest.Wait()
		t.Did("Close")
		d.Close()
		synctest.Wait()
		require.Equal(t, "error: true", answer)
	})
}
