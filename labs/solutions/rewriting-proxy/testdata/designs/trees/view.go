// Package rewritingproxy is the lab on decoded JSON. The solution finds fields in the bytes; here each object is
// decoded into maps, changed, and encoded again. That is slower, and the keys are sorted afterwards. It is correct
// because maps have every field, and because UseNumber keeps the digits of every number as text.
package rewritingproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
)

// View is what a client sees instead of the stored objects.
type View struct {
	Factor      int64
	HiddenLabel string
}

// decode decodes one value.
func decode(data []byte) (tree any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return tree, nil
}

// changed decodes, changes and encodes a value.
func changed(data []byte, change func(tree any) error) ([]byte, error) {
	tree, err := decode(data)
	if err == nil {
		err = change(tree)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// spec returns the map that has the number of replicas, or nil if there is no number.
func spec(object any) map[string]any {
	o, _ := object.(map[string]any)
	s, _ := o["spec"].(map[string]any)
	if s["replicas"] == nil {
		return nil
	}
	return s
}

// Show returns an object as the client sees it.
func (v View) Show(object []byte) ([]byte, error) { return changed(object, v.show) }

func (v View) show(object any) error {
	s := spec(object)
	if s == nil {
		return nil
	}
	n, err := integer(s["replicas"])
	if err != nil {
		return err
	}
	s["replicas"] = v.product(n)
	return nil
}

func (v View) product(n int64) int64 {
	if n > math.MaxInt32/v.Factor {
		return math.MaxInt32
	}
	return n * v.Factor
}

func integer(value any) (int64, error) {
	number, ok := value.(json.Number)
	n, err := strconv.ParseInt(string(number), 10, 64)
	if !ok || err != nil {
		text, _ := json.Marshal(value)
		return 0, notAnInteger(text)
	}
	return n, nil
}

// Hides reports whether the client must not see an object.
func (v View) Hides(object []byte) (bool, error) {
	tree, err := decode(object)
	return err == nil && v.hides(tree), err
}

func (v View) hides(object any) bool {
	o, _ := object.(map[string]any)
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	return v.HiddenLabel != "" && labels[v.HiddenLabel] != nil
}

// Store returns the object that a client's object stands for.
func (v View) Store(object []byte) ([]byte, error) { return changed(object, v.store) }

func (v View) store(object any) (err error) {
	if s := spec(object); s != nil {
		s["replicas"], err = v.divide(s["replicas"])
	}
	return err
}

func (v View) divide(value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	n, err := integer(value)
	if err == nil && n%v.Factor != 0 {
		err = notAMultiple(n, v.Factor)
	}
	return n / v.Factor, err
}
