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
	guard.Test(t, "An event is a JSON object with a type and an object. The object has a kind, and the decoder knows "+
		"its Go type.", func(t *guard.T) {
		d := decode(t, pieces(event("ADDED", "web", "5")+event("MODIFIED", "web", "6")+event("DELETED", "web", "7")))
		for i, want := range []string{"ADDED web@5", "MODIFIED web@6", "DELETED web@7"} {
			require.Equal(t, want, d.next(), "result of Decode %d", i+1)
		}
		t.Did("Decode")
		_, _, err := d.Decode()
		t.Rule("The end of the stream is not an error of the decoder: io.EOF is returned as it is, not wrapped.")
		require.Equal(t, "EOF", asItIs(err, io.EOF), "the error of Decode 4")
	})
}

func TestTask2_Bookmark_passes(t *testing.T) {
	guard.Test(t, "A BOOKMARK is an event, with an object that has a version and no more. A consumer that does not "+
		"get it starts from an old version after the next break.", func(t *guard.T) {
		require.Equal(t, "BOOKMARK @99", decode(t, pieces(event("BOOKMARK", "", "99"))).next(), "result of Decode")
	})
}

func TestTask2_Error_carries_a_status(t *testing.T) {
	guard.Test(t, "An ERROR of the server is an event, not an error of the stream. Its Status has the reason: after "+
		"410 the consumer lists again.", func(t *guard.T) {
		d := decode(t, pieces(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",`+
			`"message":"too old","reason":"Expired","code":410}}`))
		t.Did("Decode")
		eventType, obj, err := d.Decode()
		require.NoError(t, err, "the error of Decode")
		require.Equal(t, watch.Error, eventType, "the type of the event")
		want := &metav1.Status{Status: "Failure", Message: "too old", Reason: "Expired", Code: 410}
		require.Equal(t, want, obj, "the object of the event")
	})
}

func TestTask2_Any_kind_can_be_told_of(t *testing.T) {
	guard.Test(t, "The object of an event is of the kind that it names, "+
		"whatever the kind of the event before.", func(t *guard.T) {
		d := decode(t, pieces(`{"type":"ADDED","object":{"kind":"ReplicaSet","apiVersion":"apps/v1",`+
			`"metadata":{"name":"a"}}}`+event("ADDED", "b", "1")+
			`{"type":"ADDED","object":{"kind":"DeploymentList","apiVersion":"apps/v1",`+
			`"items":[{"metadata":{"name":"c"}}]}}`))
		require.Equal(t, []string{"ADDED *v1.ReplicaSet", "ADDED b@1", "ADDED *v1.DeploymentList"},
			[]string{d.next(), d.next(), d.next()}, "results of three Decodes")
	})
}

func TestTask2_Order_and_space_and_other_fields_do_not_matter(t *testing.T) {
	guard.Test(t, "An event may be written in many ways: in any order, with spaces, with unknown fields. Of two "+
		"fields with one name the last one counts, and Type is not the name type.", func(t *guard.T) {
		metadata := `"metadata":{"name":"web","resourceVersion":"1"}`
		object := `{"kind":"Deployment","apiVersion":"apps/v1",` + metadata + `}`
		for _, frame := range []string{
			`{"object":` + object + `,"type":"ADDED"}`,
			"{ \"type\" :\t\"ADDED\",\n \"object\" : " + object + " }",
			`{"type":"ADDED","future":{"a":[1]},"object":` + object + `}`,
			`{"type":"MODIFIED","type":"ADDED","object":` + object + `}`,
			`{"type":"ADDED","object":` + object + `,"Type":"DELETED","OBJECT":{}}`,
			`{"type":"\u0041DDED","object":` + object + `}`,
			`{"type":"ADDED","object":{` + metadata + `,"future":"{","apiVersion":"apps/v1","kind":"Deployment"}}`,
			`{"type":"ADDED","object":{"kind":"ReplicaSet","kind":"Deployment","apiVersion":"apps/v1",` +
				metadata + `}}`,
			`{"type":"ADDED","object":{"kind":"Deploy\u006dent","apiVersion":"apps\/v1",` + metadata + `}}`,
		} {
			t.Did("%s", frame)
			require.Equal(t, "ADDED web@1", decode(t, pieces(frame)).next(), "result of Decode")
		}
	})
}

func TestTask2_Names_of_fields_are_case_sensitive(t *testing.T) {
	guard.Test(t, "The names of fields are case-sensitive: encoding/json would take Name for name, and the API does "+
		"not.", func(t *guard.T) {
		frame := `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1",` +
			`"metadata":{"name":"web","Name":"db","resourceVersion":"1","RESOURCEVERSION":"2"}}}`
		require.Equal(t, "ADDED web@1", decode(t, pieces(frame)).next(), "result of Decode")
	})
}

func TestTask2_Whole_object_is_read(t *testing.T) {
	guard.Test(t, "Decode reads every field of the object. It does not keep kind and apiVersion: the Go type has "+
		"them.", func(t *guard.T) {
		t.Did("Decode")
		frame := `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1",` +
			`"metadata":{"name":"web","annotations":{"a":"\"{é\u00e9"}},"spec":{"replicas":3}}}`
		_, obj, err := decode(t, pieces(frame)).Decode()
		require.NoError(t, err, "the error of Decode")
		three := int32(3)
		require.Equal(t, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"a": "\"{éé"}},
			Spec:       appsv1.DeploymentSpec{Replicas: &three},
		}, obj, "the object of the event")
	})
}

func TestTask2_Unknown_types_are_errors(t *testing.T) {
	guard.Test(t, "An unknown type is an error, and no event: a decoder that guesses, or skips the event, makes a "+
		"cache wrong.", func(t *guard.T) {
		for _, unknown := range []string{"added", "CREATED", ""} {
			t.Did("an event of type %q, and then a good one", unknown)
			d := decode(t, pieces(event(unknown, "web", "1")+event("ADDED", "web", "2")))
			d.requireError(fmt.Sprintf("the type %q", unknown))
		}
		t.Did("an event without a type")
		d := decode(t, pieces(`{"object":{"kind":"Deployment","apiVersion":"apps/v1"}}`))
		d.requireError("an event without a type")
	})
}

func TestTask2_Objects_that_cannot_be_read_are_errors(t *testing.T) {
	guard.Test(t, "An object that cannot be read is an error, and no event: a cache must not get half of it, and "+
		"must not lack it unnoticed.", func(t *guard.T) {
		for _, object := range []string{
			`{"kind":"Unknown","apiVersion":"apps/v1"}`,
			`{"kind":"Deployment","apiVersion":"apps/v9"}`,
			`{"metadata":{"name":"web"}}`,
			`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"three"}}`,
			`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":three}}`,
			`7`, `null`, `"web"`, `[]`,
		} {
			t.Did("an event with the object %s, and then a good one", object)
			d := decode(t, pieces(`{"type":"ADDED","object":`+object+`}`+event("ADDED", "web", "1")))
			d.requireError("the object " + object)
		}
		t.Did("an event without an object")
		decode(t, pieces(`{"type":"ADDED"}`)).requireError("an event without an object")
	})
}

func TestTask2_Status_without_a_kind_is_an_error(t *testing.T) {
	guard.Test(t, "An object without a kind is an error, in an ERROR, too: a server once sent such Statuses, and "+
		"clients waited forever for the next event (#46446).", func(t *guard.T) {
		d := decode(t, pieces(`{"type":"ERROR","object":{"status":"Failure","message":"too old","code":410}}`))
		d.requireError("a Status without a kind")
	})
}

func TestTask2_Large_events_get_a_larger_buffer(t *testing.T) {
	guard.Test(t, "The buffer grows with the frame: an object may have a megabyte and more. A small frame after a "+
		"large one is only as long as it is.", func(t *guard.T) {
		d := decode(t, pieces(large(100)+large(5_000)+large(1<<20)+large(100)))
		require.Equal(t, []string{"ADDED web@100", "ADDED web@5000", "ADDED web@1048576", "ADDED web@100"},
			[]string{d.next(), d.next(), d.next(), d.next()}, "results of four Decodes")
	})
}

// large returns an event whose object has an annotation of this many bytes, and the same number as its version.
func large(size int) string {
	const format = `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1",` +
		`"metadata":{"name":"web","resourceVersion":"%d","annotations":{"a":"%s"}}}}`
	return fmt.Sprintf(format, size, strings.Repeat("x", size))
}

func TestTask2_Less_than_16_MiB_is_an_event(t *testing.T) {
	guard.Test(t, "The buffer doubles until it has 16 MiB: a smaller frame fits.", func(t *guard.T) {
		t.Did("an event of 15 MiB comes")
		head := `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1",` +
			`"metadata":{"name":"web","resourceVersion":"1","annotations":{"a":"`
		d := decode(t, pieces(head, strings.Repeat("x", 15<<20), `"}}}}`))
		require.Equal(t, "ADDED web@1", d.next(), "result of Decode")
	})
}

func TestTask2_More_than_16_MiB_is_too_much(t *testing.T) {
	guard.Test(t, "A frame of more than 16 MiB is streaming.ErrObjectTooLarge: without a limit, one server can use "+
		"up the memory of all its clients.", func(t *guard.T) {
		t.Did("an event of 17 MiB comes, and then a small one")
		d := decode(t, pieces(`{"type":"ADDED","object":{"kind":"Deployment","a":"`, strings.Repeat("x", 17<<20), `"}}`,
			event("ADDED", "web", "1")))
		t.Did("Decode")
		_, _, err := d.Decode()
		require.ErrorIs(t, err, streaming.ErrObjectTooLarge, "the error of the 1st Decode")
		t.Rule("After a frame that is too large, the next Decode returns the event behind it: the rest of the large " +
			"frame is read and thrown away.")
		require.Equal(t, "ADDED web@1", d.next(), "result of the 2nd Decode")
	})
}

func TestTask2_Objects_do_not_change_afterwards(t *testing.T) {
	guard.Test(t, "No part of an object points into the buffer: it is used again for the next frame, and the object "+
		"would change in the cache.", func(t *guard.T) {
		d := decode(t, pieces(event("ADDED", "aaaa", "1111")+event("ADDED", "bbbb", "2222")))
		t.Did("Decode, twice")
		_, first, err := d.Decode()
		require.NoError(t, err, "the error of the 1st Decode")
		_, _, err = d.Decode()
		require.NoError(t, err, "the error of the 2nd Decode")
		require.Equal(t, "ADDED aaaa@1111", describe(watch.Event{Type: watch.Added, Object: first}),
			"the 1st event, after the 2nd Decode")
	})
}

// asItIs returns the text of an error, and its type, too, if it is not the wanted one.
func asItIs(err, want error) string {
	if err == want {
		return fmt.Sprint(want)
	}
	return fmt.Sprintf("a %T: %v", err, err)
}

func TestTask2_Errors_of_the_stream_are_passed_on(t *testing.T) {
	guard.Test(t, "Errors of the frame reader are returned as they are, not wrapped: utilnet.IsProbableEOF does not "+
		"find io.EOF or io.ErrUnexpectedEOF within another error.", func(t *guard.T) {
		t.Did("the stream breaks off in an event")
		_, _, err := decode(t, pieces(event("ADDED", "web", "1")[:30])).Decode()
		require.Equal(t, "unexpected EOF", asItIs(err, io.ErrUnexpectedEOF), "the error of Decode in a cut event")
		broken := errors.New("the connection is gone")
		s := pieces()
		s.err = broken
		t.Did("the stream fails")
		_, _, err = decode(t, s).Decode()
		require.Equal(t, "the connection is gone", asItIs(err, broken), "the error of Decode of a stream that fails")
	})
}

func TestTask2_Close_ends_a_Decode_that_waits(t *testing.T) {
	guard.Test(t, "Close makes a Decode that waits return an error: the goroutine that decodes ends only if its "+
		"source is closed.", func(t *guard.T) {
		r, w := io.Pipe()
		defer w.Close()
		d := decode(t, r)
		result := "nothing, Decode waits"
		t.Did("Decode, while nothing comes")
		t.Go(func() {
			if _, _, err := d.Decode(); err == nil {
				result = "an event"
			} else {
				result = "an error"
			}
		})
		synctest.Wait()
		t.Did("Close")
		d.Close()
		synctest.Wait()
		require.Equal(t, "an error", result, "result of Decode after Close")
	})
}
