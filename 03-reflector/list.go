package reflector

// This file is the list: it replaces the store's contents by all objects of the server, at one version. A list comes
// first, and again after each watch that may have missed something.

import "client-go-workshop/internal/testkit/todo"

// expired reports whether the server has forgotten the requested version: the reason of err is Expired or Gone, or the
// code is 410 and the reason is not one that apierrors knows. The error may be wrapped.
func expired(err error) bool {
	panic(todo.Task(3, "expired"))
}

// tooLarge reports whether the server has not reached the requested version: err has a cause of type
// CauseTypeResourceVersionTooLarge. In the answer of an older server the reason is Timeout, and "Too large resource
// version" is the message of a cause (1.17.0 to 1.18.5), or in the message of the Status (before 1.17).
func tooLarge(err error) bool {
	panic(todo.Task(3, "tooLarge"))
}
