package rewritingproxy

// This file is the view of one object: how a client sees it, and which object a client's object stands for.

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// View is what a client sees instead of the stored objects.
type View struct {
	// Factor multiplies spec.replicas. It is at least 1.
	Factor int64
	// HiddenLabel is the key of a label. An object with this label is hidden, whatever the label's value. An empty
	// HiddenLabel hides nothing.
	HiddenLabel string
}

// Show returns an object as the client sees it: spec.replicas is multiplied by Factor. Every other field stays as it
// is, also a field that this program does not know. Every number keeps its digits. An object without a number of
// replicas stays as it is. A number above 2147483647 is shown as 2147483647, because replicas are an int32. If
// spec.replicas is not an integer, Show returns an error. Show does not change its argument.
//
//workshop:task 1
func (v View) Show(object []byte) ([]byte, error) {
	return replaceField(object, v.multiply, "spec", "replicas")
}

// multiply returns a number of replicas as the client sees it.
//
//workshop:omit
func (v View) multiply(stored []byte) ([]byte, error) {
	if string(stored) == "null" {
		return stored, nil
	}
	n, err := strconv.ParseInt(string(stored), 10, 64)
	if err != nil {
		return nil, notAnInteger(stored)
	}
	if n > math.MaxInt32/v.Factor {
		n = math.MaxInt32
	} else {
		n *= v.Factor
	}
	return strconv.AppendInt(nil, n, 10), nil
}

// Hides reports whether the client must not see an object: it has a label whose key is HiddenLabel. An annotation is
// not a label. JSON that cannot be read is an error, because the object may be a hidden one.
//
//workshop:task 1
func (v View) Hides(object []byte) (bool, error) {
	if v.HiddenLabel == "" {
		return false, nil
	}
	if !json.Valid(object) {
		return false, errors.New("it is not valid JSON")
	}
	label, err := field(object, "metadata", "labels", v.HiddenLabel)
	return label != nil, err
}

// Store returns the object that a client's object stands for: spec.replicas is divided by Factor. Every other field
// stays as it is. A number that Factor does not divide is refused: every stored number would be another one than the
// client sent. Any spec.replicas that is not an integer of 64 bits is refused. Null stays null. If a key appears twice,
// both values are divided or refused. A refusal is an API error with the code 422, and names spec.replicas. Store does
// not change its argument.
//
//workshop:task 1
func (v View) Store(object []byte) ([]byte, error) {
	return replaceField(object, v.divide, "spec", "replicas")
}

// divide returns the number of replicas to store for a number that a client sent.
//
//workshop:omit
func (v View) divide(shown []byte) ([]byte, error) {
	if string(shown) == "null" {
		return shown, nil
	}
	n, err := strconv.ParseInt(string(shown), 10, 64)
	if err != nil {
		return nil, notAnInteger(shown)
	}
	if n%v.Factor != 0 {
		return nil, notAMultiple(n, v.Factor)
	}
	return strconv.AppendInt(nil, n/v.Factor, 10), nil
}
