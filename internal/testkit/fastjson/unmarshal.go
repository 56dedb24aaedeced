package fastjson

// This file decodes JSON into Go values. An error here has no good text: the general decoder finds a better one.

import (
	"bytes"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// options are those of the serializers: the rules of encoding/json, with exact names. Without the old error texts, the
// parser need not check the whole input first.
var options = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	jsonv1.ReportErrorsWithLegacySemantics(false),
	json.MatchCaseInsensitiveNames(false),
	json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(unmarshalTime),
		json.UnmarshalFromFunc(unmarshalAny),
	)),
)

// unmarshalTime does what metav1.Time.UnmarshalJSON does.
func unmarshalTime(d *jsontext.Decoder, t *metav1.Time) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return t.UnmarshalJSON(value)
	}
	parsed, err := time.Parse(time.RFC3339, string(value[1:len(value)-1]))
	if err != nil {
		return err
	}
	t.Time = parsed.Local()
	return nil
}

// unmarshalAny decodes into a field without a type, where the serializers make an int64 of a whole number.
func unmarshalAny(d *jsontext.Decoder, v *any) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(value, v)
}

// unmarshalObject decodes a body, whose head is known, into an empty object.
func unmarshalObject(body []byte, head head, obj kruntime.Object) error {
	if len(head.items) == 0 || !isList(reflect.TypeOf(obj).Elem()) {
		return json.Unmarshal(body, obj, options)
	}
	if err := json.Unmarshal(slices.Concat(head.before, []byte("[]"), head.after), obj, options); err != nil {
		return err
	}
	items := reflect.ValueOf(obj).Elem().FieldByName("Items")
	items.Set(reflect.MakeSlice(items.Type(), len(head.items), len(head.items)))
	return unmarshalItems(head.items, items)
}

// isList reports whether the member "items" of an object is the slice Items of the Go type.
func isList(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	field, ok := t.FieldByName("Items")
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return ok && name == "items" && len(field.Index) == 1 && field.Type.Kind() == reflect.Slice
}

// unmarshalItems decodes each text into the element at its index, on all cores.
func unmarshalItems(texts [][]byte, items reflect.Value) error {
	workers := min(runtime.GOMAXPROCS(0), 1+len(texts)/smallestShare)
	errs := make([]error, workers)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			first, end := worker*len(texts)/workers, (worker+1)*len(texts)/workers
			for i := first; i < end && errs[worker] == nil; i++ {
				errs[worker] = json.Unmarshal(texts[i], items.Index(i).Addr().Interface(), options)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// smallestShare is the number of items that are worth a goroutine of their own: about a millisecond of work.
const smallestShare = 50
