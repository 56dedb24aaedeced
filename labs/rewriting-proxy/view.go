package rewritingproxy

// This file is the view of one object: how a client sees it, and which object a client's object stands for.

import "client-go-workshop/internal/testkit/todo"

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
func (v View) Show(object []byte) ([]byte, error) {
	panic(todo.Task(1, "View.Show"))
}

// Hides reports whether the client must not see an object: it has a label whose key is HiddenLabel. An annotation is
// not a label. JSON that cannot be read is an error, because the object may be a hidden one.
func (v View) Hides(object []byte) (bool, error) {
	panic(todo.Task(1, "View.Hides"))
}

// Store returns the object that a client's object stands for: spec.replicas is divided by Factor. Every other field
// stays as it is. A number that Factor does not divide is refused: every stored number would be another one than the
// client sent. Any spec.replicas that is not an integer of 64 bits is refused. Null stays null. If a key appears twice,
// both values are divided or refused. A refusal is an API error with the code 422, and names spec.replicas. Store does
// not change its argument.
func (v View) Store(object []byte) ([]byte, error) {
	panic(todo.Task(1, "View.Store"))
}
