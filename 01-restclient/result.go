package restclient

// This file turns an answer into an object, or into an error with the server's message. It mirrors the last part of
// client-go's rest/request.go.

import (
	"k8s.io/apimachinery/pkg/runtime"

	"client-go-workshop/internal/testkit/todo"
)

// Result is the outcome of a request: the answer, or the reason why there is none. It mirrors rest.Result.
type Result struct {
	body        []byte
	code        int
	contentType string
	decoder     *decoder
	err         error
}

// Raw returns the body as it came. It mirrors rest.Result.Raw.
func (r Result) Raw() ([]byte, error) { return r.body, r.err }

// Error returns nil after an answer of 2xx, and an error after any other answer or none.
//
// If the body is a Status whose status is Failure, the error is that Status, as an apierrors.StatusError. A Status
// without an apiVersion is a v1 Status.
//
// Any other body gives an error with the code's reason, and the name, group and resource of the request. Such an error
// satisfies apierrors.IsUnexpectedServerError, and suggests the delay of Retry-After. Its text contains the first 2 KiB
// of the body, if the content type begins with text/ or is missing.
//
// It mirrors rest.Result.Error.
func (r Result) Error() error {
	panic(todo.Task(2, "Result.Error"))
}

// Get returns the object in the answer, in the Go type of its kind.
//
// A Status other than Success is an error, whatever the code. An empty body is an error. A body that cannot be decoded
// is an error, and so is an unknown content type.
//
// It mirrors rest.Result.Get.
func (r Result) Get() (runtime.Object, error) {
	panic(todo.Task(2, "Result.Get"))
}

// Into decodes the object in the answer into obj. It returns the errors of Get. An object of another kind than obj is
// an error. A Result can be decoded any number of times.
//
// It mirrors rest.Result.Into.
func (r Result) Into(obj runtime.Object) error {
	panic(todo.Task(2, "Result.Into"))
}
