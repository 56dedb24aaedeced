// Package fastjson reads JSON objects of the Kubernetes API in one pass, with the same outcome as client-go's serializers.
//
// Those read a body twice: first for its kind and version alone, and then, when they know the Go type, for all the rest.
// Both times they look at every byte, and the first time costs nearly as much as the second. An event of a watch is read
// once more, since the object is within another one. Here, kind and version are found by skipping what stands between
// (scan.go), and then the object is read once, by the same function that the serializer uses.
//
// It is for the plain serializers that typed clients have, which neither convert nor set defaults, and for what is written
// as usual. For all else, and whenever something is wrong, the serializer itself is asked, so that the outcome is always
// the same: the fuzz tests of chapters 01 and 02 compare.
//
// It is given to both chapters. What it leaves out: protobuf, which carries its kind in front.
package fastjson

import (
	"encoding/json"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	kjson "sigs.k8s.io/json"
)

// Decoder reads objects. It may be used by any number of goroutines.
type Decoder struct {
	general runtime.Decoder
	fast    bool
	// targets remembers which Go type a kind is read into: target to reflect.Type.
	targets sync.Map
}

// NewDecoder returns a decoder that gives the same objects and errors as general does.
func NewDecoder(general runtime.Decoder) *Decoder {
	return &Decoder{general: general, fast: plain(general)}
}

// Fast says whether there is a faster way than to ask the general decoder.
func (d *Decoder) Fast() bool { return d.fast }

// plain says whether a decoder is one that only reads JSON, and takes the version away, as those of typed clients.
func plain(d runtime.Decoder) bool {
	plain, ok := d.(runtime.WithoutVersionDecoder)
	if !ok {
		return false
	}
	s, ok := plain.Decoder.(*serializer.Serializer)
	if !ok {
		return false
	}
	var options struct{ Name, Yaml, Strict string }
	err := json.Unmarshal([]byte(s.Identifier()), &options)
	return err == nil && options.Name == "json" && options.Yaml == "false" && options.Strict == "false"
}

// Decode reads an object, into the given one if that has its kind. Without one it makes one.
func (d *Decoder) Decode(body []byte, into runtime.Object) (runtime.Object, error) {
	if d.fast {
		if obj := d.decode(body, into); obj != nil {
			return obj, nil
		}
	}
	obj, _, err := d.general.Decode(body, nil, into)
	return obj, err
}

// decode returns nil if the body has to be read in the general way.
func (d *Decoder) decode(body []byte, into runtime.Object) runtime.Object {
	head, ok := headOf(body)
	if !ok {
		return nil
	}
	t := d.target(target{kind: head.kind, version: head.version, into: typeOf(into)})
	if t == nil {
		return nil
	}
	obj := into
	if obj == nil {
		obj = reflect.New(t).Interface().(runtime.Object)
	} else if !reflect.ValueOf(obj).Elem().IsZero() {
		return nil // what is in it already may stay, and which parts of it do is the serializer's to say
	}
	// A slice that grows while it is read is copied again and again, and the copies are garbage: half of all memory. No
	// object is shorter than 64 bytes, but a body full of commas can be sent by anybody.
	if n := min(head.items, len(body)/64); n > 0 {
		if items := reflect.ValueOf(obj).Elem().FieldByName("Items"); items.Kind() == reflect.Slice {
			items.Set(reflect.MakeSlice(items.Type(), 0, n))
		}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, obj); err != nil {
		reflect.ValueOf(obj).Elem().SetZero()
		return nil
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as serializers without conversion do
	return obj
}

// target is a kind as it stands in a body, and the type of the object that it is to be read into, nil for none.
type target struct {
	kind, version string
	into          reflect.Type
}

// target returns the Go type that a kind is read into by the general decoder, nil if that is not into the given object, or
// not plainly so. It asks the decoder once, with an object that is empty but for its kind.
func (d *Decoder) target(of target) reflect.Type {
	if known, ok := d.targets.Load(of); ok {
		return known.(reflect.Type)
	}
	t := d.probe(of)
	if t != nil { // of others there is no end: whoever answers may make up kinds
		d.targets.Store(of, t)
	}
	return t
}

func (d *Decoder) probe(of target) reflect.Type {
	body, err := json.Marshal(map[string]string{"kind": of.kind, "apiVersion": of.version})
	if err != nil {
		return nil
	}
	var into runtime.Object
	if of.into != nil {
		into = reflect.New(of.into).Interface().(runtime.Object)
	}
	obj, _, err := d.general.Decode(body, nil, into)
	if err != nil || into != nil && obj != into {
		return nil
	}
	if _, custom := obj.(interface{ UnmarshalJSON([]byte) error }); custom {
		return nil
	}
	if v := reflect.ValueOf(obj).Elem(); v.Kind() == reflect.Struct && v.IsZero() {
		return v.Type()
	}
	return nil
}

func typeOf(obj runtime.Object) reflect.Type {
	if obj == nil {
		return nil
	}
	return reflect.TypeOf(obj).Elem()
}
