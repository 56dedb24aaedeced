// Package fastjson decodes JSON objects of the Kubernetes API with the same outcome as client-go's serializers, in
// about a third of the time.
//
// Four things save time. Each was measured on a list of 10,000 Deployments.
//
//  1. One pass instead of two. A serializer decodes a body for its kind and version alone, then, into the Go type, for
//     everything, and both passes parse every byte. The object in a watch event is parsed once more, because it is
//     inside another object. A Decoder finds kind and version by skipping what is between them (scan.go).
//  2. Another parser: the coming encoding/json/v2, as a module. It does not check the whole text before it decodes it,
//     and it does not call reflect again for each field. Its options say that names are exact and all else is as in v1.
//  3. The time stamps. An object has about five, and each is a JSON text that metav1.Time gives to encoding/json, which
//     allocates a parser for it. Here the text is parsed where it stands.
//  4. The items of a list. A slice that grows is copied several times, so it is made in its full length; and because
//     the borders between items are known then, all cores decode items.
//
// It is for the plain serializers of typed clients, which neither convert nor set defaults, and for JSON written in the
// usual way. For all other JSON, and after every error, the serializer itself decodes, so the outcome is always the
// same: the fuzz tests of chapters 01 and 02 compare them.
//
// Both chapters get this package as given. What it leaves out: protobuf, which has its kind in front.
package fastjson

import (
	"encoding/json"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// Decoder decodes objects. Any number of goroutines may use it.
type Decoder struct {
	general runtime.Decoder
	fast    bool
	// targets caches the Go type that a kind is decoded into: target to reflect.Type.
	targets sync.Map
}

// NewDecoder returns a Decoder that returns the same objects and errors as general.
func NewDecoder(general runtime.Decoder) *Decoder {
	return &Decoder{general: general, fast: plain(general)}
}

// Fast reports whether the Decoder is faster than the general one.
func (d *Decoder) Fast() bool { return d.fast }

// plain reports whether a decoder only decodes JSON and clears the version, as those of typed clients do.
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

// Decode decodes body into the given object if that has the right type, otherwise into a new object. into may be nil.
func (d *Decoder) Decode(body []byte, into runtime.Object) (runtime.Object, error) {
	if d.fast {
		if obj := d.decode(body, into); obj != nil {
			return obj, nil
		}
	}
	obj, _, err := d.general.Decode(body, nil, into)
	return obj, err
}

// decode returns nil if only the general decoder can decode the body.
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
		return nil // the serializer decides which of the old values stay
	}
	if err := unmarshalObject(body, head, obj); err != nil {
		reflect.ValueOf(obj).Elem().SetZero()
		return nil
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as serializers without conversion do
	return obj
}

// target is the kind that a body names, and the type of the object to decode into, nil for none.
type target struct {
	kind, version string
	into          reflect.Type
}

// target returns the Go type that the general decoder decodes a kind into. It returns nil if the decoder does not use
// the given object, or if the type decodes itself. It finds out by decoding an object that has a kind and nothing else.
func (d *Decoder) target(of target) reflect.Type {
	if known, ok := d.targets.Load(of); ok {
		return known.(reflect.Type)
	}
	t := d.probe(of)
	if t != nil { // a server can make up any number of unknown kinds: they are not cached
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
