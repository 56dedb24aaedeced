package watchstream_test

// Task 2: events.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Event_has_a_type_and_an_object(t *testing.T) {
	guard.Test(t, "Decode returns the type and the object of the next event.", func(t *guard.T) {
		d := decode(t, pieces(event("ADDED", "web", "5")+event("MODIFIED", "web", "6")+event("DELETED", "web", "7")))
		for i, want := range []string{"ADDED web@5", "MODIFIED web@6", "DELETED web@7"} {
			require.Equal(t, want, d.next(), "result of Decode %d", i+1)
		}
		t.Did("Decode")
		_, _, err := d.Decode()
		t.Rule("Errors of the frame reader are returned as they are, not wrapped: io.EOF is the end of " +
			"the stream.")
		require.Equal(t, "EOF", asItIs(err, io.EOF), "the error of Decode 4")
	})
}

func TestTask2_Bookmark_is_an_event(t *testing.T) {
	guard.Test(t, "The type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. The object of a BOOKMARK has only a "+
		"version. Without it, the consumer watches again from an old version after the next break.", func(t *guard.T) {
		require.Equal(t, "BOOKMARK @99", decode(t, pieces(event("BOOKMARK", "", "99"))).next(), "result of Decode")
	})
}

func TestTask2_Error_carries_a_status(t *testing.T) {
	guard.Test(t, "The type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. An ERROR event is not an error of "+
		"the stream. Its Status has a reason: after 410 the consumer lists again.", func(t *guard.T) {
		for _, status := range []*metav1.Status{
			{Status: "Failure", Message: "too old", Reason: "Expired", Code: 410},
			{Status: "Failure", Message: "etcd has no leader", Reason: "InternalError", Code: 500},
		} {
			d := decode(t, pieces(fmt.Sprintf(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1",`+
				`"status":"Failure","message":%q,"reason":%q,"code":%d}}`, status.Message, status.Reason, status.Code)))
			t.Did("Decode of an ERROR with the code %d", status.Code)
			eventType, obj, err := d.Decode()
			require.NoError(t, err, "the error of Decode")
			require.Equal(t, watch.Error, eventType, "the type of the event")
			require.Equal(t, status, obj, "the object of the event")
		}
	})
}

func TestTask2_Kind_decides_the_Go_type(t *testing.T) {
	guard.Test(t, "The object's own kind and apiVersion decide its Go type. The kind of the previous object does "+
		"not matter.", func(t *guard.T) {
		d := decode(t, pieces(`{"type":"ADDED","object":{"kind":"ReplicaSet","apiVersion":"apps/v1",`+
			`"metadata":{"name":"a"}}}`+event("ADDED", "b", "1")+
			`{"type":"ADDED","object":{"kind":"DeploymentList","apiVersion":"apps/v1",`+
			`"items":[{"metadata":{"name":"c"}}]}}`))
		require.Equal(t, []string{"ADDED *v1.ReplicaSet", "ADDED b@1", "ADDED *v1.DeploymentList"},
			[]string{d.next(), d.next(), d.next()}, "results of three Decodes")
		t.Rule("Decode returns the type and the object of the next event. The type does not follow from the kind, or " +
			"the kind from the type.")
		for _, eventType := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
			t.Did("two events of type %s, with a Status and with a Deployment", eventType)
			d := decode(t, pieces(`{"type":"`+eventType+`","object":{"kind":"Status","apiVersion":"v1",`+
				`"message":"busy"}}`+event(eventType, "web", "1")))
			require.Equal(t, []string{eventType + " busy", eventType + " web@1"}, []string{d.next(), d.next()},
				"results of two Decodes")
		}
	})
}

func TestTask2_Order_and_space_and_other_fields_do_not_matter(t *testing.T) {
	guard.Test(t, "An event may be written in any way that JSON allows: in any order, with spaces, with unknown "+
		"fields. If a field comes twice, the last one counts. A field Type is not the field type.", func(t *guard.T) {
		metadata := `"metadata":{"name":"web","resourceVersion":"1"}`
		object := `{"kind":"Deployment","apiVersion":"apps/v1",` + metadata + `}`
		for _, frame := range []string{
			`{"object":` + object + `,"type":"ADDED"}`,
			"{ \"type\" :\t\"ADDED\",\n \"object\" : " + object + " }",
			`{"type":"ADDED","future":{"a":[1]},"object":` + object + `}`,
			`{"type":"MODIFIED","type":"ADDED","object":` + object + `}`,
			`{"type":"ADDED","object":` + object + `,"Type":"DELETED","OBJECT":{}}`,
			`{"type":"\u0041DDED","object":` + object + `}`,
			`{"object":` + object + `,"future":1,"type":"ADDED"}`,
			`{"ty\u0070e":"ADDED","\u006fbject":` + object + `}`,
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
	guard.Test(t, "Field names are case-sensitive: encoding/json reads Name as name, but the API server does "+
		"not.", func(t *guard.T) {
		frame := `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1",` +
			`"metadata":{"name":"web","Name":"db","resourceVersion":"1","RESOURCEVERSION":"2"}}}`
		require.Equal(t, "ADDED web@1", decode(t, pieces(frame)).next(), "result of Decode")
	})
}

func TestTask2_Whole_object_is_decoded(t *testing.T) {
	guard.Test(t, "Decode returns the type and the object of the next event. The object has all its fields "+
		"except kind and apiVersion, because its Go type says both.", func(t *guard.T) {
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
	guard.Test(t, "An unknown type is an error, not an event. If a decoder guesses, or skips the event, a cache "+
		"becomes wrong.", func(t *guard.T) {
		for _, unknown := range []string{"added", "CREATED", "", " ADDED"} {
			t.Did("an event of type %q, and then a good one", unknown)
			d := decode(t, pieces(event(unknown, "web", "1")+event("ADDED", "web", "2")))
			d.requireError(fmt.Sprintf("the type %q", unknown))
		}
		const noType = `{"object":{"kind":"Deployment","apiVersion":"apps/v1"}}`
		t.Did("an event without a type")
		decode(t, pieces(noType)).requireError("an event without a type")
		for _, frame := range []string{`{}`, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":410}`} {
			t.Did("a frame without a type and without an object, and then a good event: %s", frame)
			decode(t, pieces(frame+event("ADDED", "web", "2"))).requireError("the frame " + frame)
		}
		for _, unknown := range []string{event("", "web", "2"), event("CREATED", "web", "2"), noType} {
			t.Did("a good event, and then %s", unknown)
			d := decode(t, pieces(event("DELETED", "web", "1")+unknown))
			require.Equal(t, "DELETED web@1", d.next(), "result of the 1st Decode")
			d.requireError(unknown + " after a good event")
		}
	})
}

func TestTask2_Objects_that_cannot_be_decoded_are_errors(t *testing.T) {
	guard.Test(t, "An object that cannot be decoded is an error, not an event. A cache must not receive half an "+
		"object, or miss one without an error.", func(t *guard.T) {
		for _, eventType := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
			for _, object := range []string{
				`{"kind":"Unknown","apiVersion":"apps/v1"}`,
				`{"kind":"Deployment","apiVersion":"apps/v9"}`,
				`{"metadata":{"name":"web"}}`,
				`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"three"}}`,
				`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":three}}`,
				`7`, `null`, `"web"`, `[]`, `{}`,
				`{"kind":"Deployment","apiVersion":"apps/v1",` +
					`"metadata":{"annotations":{"a":"connection reset by peer"}},"spec":{"replicas":"three"}}`,
			} {
				t.Story(8)
				t.Did("a good event, one of type %s with the object %s, and a good one", eventType, object)
				d := decode(t, pieces(event("ADDED", "web", "1")+`{"type":"`+eventType+`","object":`+object+`}`+
					event("ADDED", "web", "2")))
				_, _, err := d.Decode()
				require.NoError(t, err, "the error of the first Decode")
				d.requireError("the object " + object + " in an event of type " + eventType)
			}
		}
		for _, eventType := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
			t.Did("an event of type %s without an object", eventType)
			decode(t, pieces(`{"type":"`+eventType+`"}`)).requireError("an event without an object")
		}
	})
}

func TestTask2_Only_objects_are_events(t *testing.T) {
	guard.Test(t, "A frame that is not a JSON object is an error. The frame reader or the decoder may notice it.",
		func(t *guard.T) {
			object := `{"kind":"Deployment","apiVersion":"apps/v1"}`
			for _, frame := range []string{
				`["ADDED",{}]`, `["a"]`, `1 `, `"ADDED" `, `null `, `true `,
				`{type: ADDED, object: ` + object + `}`, `{"type":"ADDED","object":` + object + `,}`,
				`{"type":"ADDED","object":` + object + `]`,
			} {
				t.Did("%s arrives, and then a good event", frame)
				decode(t, pieces(frame+event("ADDED", "web", "1"))).requireError(frame)
			}
			whole := event("ADDED", "web", "1")
			for _, text := range []string{``, `null`, `[]`, `7`, `"ADDED"`, whole + whole, whole + ` 7`, `7 ` + whole} {
				t.Did("a frame reader returns the frame %q, and then a good event", text)
				d := decodeFrames(t, &framed{frames: []frame{{text: text}, {text: whole}}})
				d.requireError(fmt.Sprintf("the frame %q", text))
			}
		})
}

func TestTask2_Status_without_a_kind_is_an_error(t *testing.T) {
	guard.Test(t, "An object that cannot be decoded is an error, not an event, in an ERROR too. A server once "+
		"sent a Status without a kind, and clients waited forever for the next event (#46446).", func(t *guard.T) {
		d := decode(t, pieces(`{"type":"ERROR","object":{"status":"Failure","message":"too old","code":410}}`))
		d.requireError("a Status without a kind")
	})
}

func TestTask2_Large_events_get_a_larger_buffer(t *testing.T) {
	guard.Test(t, "A frame may have up to 16 MiB. A small frame after a large one has no bytes of the large "+
		"one.", func(t *guard.T) {
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

func TestTask2_Objects_do_not_change_later(t *testing.T) {
	guard.Test(t, "A later Decode does not change an object. If an object points into a buffer that is used "+
		"again, it changes in the cache.", func(t *guard.T) {
		const format = `{"type":%[2]q,"object":{"kind":"Deployment","apiVersion":"apps/v1",` +
			`"metadata":{"name":%[1]q,"annotations":{%[1]q:%[1]q},` +
			`"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{%[1]q:{}}}]}}}`
		want := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Name: "aaaa", Annotations: map[string]string{"aaaa": "aaaa"},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"aaaa":{}}`)},
			}},
		}}
		for _, eventType := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
			t.Did("Decode of two events of type %s", eventType)
			d := decode(t, pieces(fmt.Sprintf(format, "aaaa", eventType)+fmt.Sprintf(format, "bbbb", eventType)))
			_, first, err := d.Decode()
			require.NoError(t, err, "the error of the 1st Decode")
			_, _, err = d.Decode()
			require.NoError(t, err, "the error of the 2nd Decode")
			require.Equal(t, want, first, "the object of the 1st event, after the 2nd Decode")
		}
		const failure = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","message":%q}}`
		d := decode(t, pieces(fmt.Sprintf(failure, "first")+fmt.Sprintf(failure, "second")))
		t.Did("Decode of two ERROR events")
		_, status, err := d.Decode()
		require.NoError(t, err, "the error of the 1st Decode")
		_, _, err = d.Decode()
		require.NoError(t, err, "the error of the 2nd Decode")
		require.Equal(t, "first", status.(*metav1.Status).Message, "the message of the 1st Status, after the 2nd Decode")
		f := watchstream.NewFrameReader(pieces(event("ADDED", "aaaa", "1") + event("ADDED", "bbbb", "2")))
		defer f.Close()
		d = notedDecoder{watchstream.NewDecoder(f, keeping{}), t}
		t.Did("Decode of two events, with a decoder whose objects keep the bytes that it receives")
		_, kept, err := d.Decode()
		require.NoError(t, err, "the error of the 1st Decode")
		_, _, err = d.Decode()
		require.NoError(t, err, "the error of the 2nd Decode")
		require.Contains(t, string(kept.(*runtime.Unknown).Raw), `"aaaa"`, "the 1st object, after the 2nd Decode")
	})
}

// keeping is a decoder of objects that keep the bytes, as runtime.Unknown may.
type keeping struct{ runtime.Decoder }

func (keeping) Decode(data []byte, _ *schema.GroupVersionKind, _ runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	return &runtime.Unknown{Raw: data}, nil, nil
}

// asItIs returns the text of an error. If the error is not the wanted one, it adds the error's type.
func asItIs(err, want error) string {
	if err == want {
		return fmt.Sprint(want)
	}
	if err == nil {
		return "no error"
	}
	return fmt.Sprintf("a %T: %v", err, err)
}

func TestTask2_Errors_of_the_stream_are_returned_as_they_are(t *testing.T) {
	guard.Test(t, "Errors of the frame reader are returned as they are, not wrapped: utilnet.IsProbableEOF does "+
		"not recognize a wrapped io.EOF or io.ErrUnexpectedEOF.", func(t *guard.T) {
		t.Did("the stream ends in the middle of an event")
		_, _, err := decode(t, pieces(event("ADDED", "web", "1")[:30])).Decode()
		require.Equal(t, "unexpected EOF", asItIs(err, io.ErrUnexpectedEOF), "the error of Decode in the "+
			"middle of an event")
		broken := errors.New("the connection is gone")
		s := pieces()
		s.err = broken
		t.Did("the stream fails")
		_, _, err = decode(t, s).Decode()
		require.Equal(t, "the connection is gone", asItIs(err, broken), "the error of Decode of a stream that fails")
		for _, text := range []string{event("ADDED", "web", "1"), large(9_000)} {
			t.Did("the frame reader returns %d bytes, the last of them together with io.EOF", len(text))
			d := decodeFrames(t, &framed{frames: []frame{{text: text, err: io.EOF}}})
			_, _, err = d.Decode()
			require.Equal(t, "EOF", asItIs(err, io.EOF), "the error of Decode of bytes that come with io.EOF")
		}
		t.Rule("Errors of the frame reader are returned as they are, not wrapped. A Decode that reads again may begin " +
			"in the middle of a frame.")
		for _, failure := range []error{os.ErrDeadlineExceeded, io.ErrNoProgress, io.ErrClosedPipe} {
			t.Did("the frame reader fails, and would have an event after it: %v", failure)
			d := decodeFrames(t, &framed{frames: []frame{{err: failure}, {text: event("ADDED", "web", "1")}}})
			_, _, err = d.Decode()
			require.Equal(t, failure.Error(), asItIs(err, failure), "the error of Decode of a frame reader that fails")
		}
	})
}

func TestTask2_Close_ends_a_Decode_that_waits(t *testing.T) {
	guard.Test(t, "Close makes a waiting Decode return an error. Otherwise the goroutine that decodes never "+
		"ends.", func(t *guard.T) {
		r, w := io.Pipe()
		defer w.Close()
		d := decode(t, r)
		result := "nothing, Decode waits"
		t.Did("Decode, while no byte arrives")
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
