package restclient

// This file is what an answer means: an object, or an error that says what the server said. It stands behind send.go.
// It mirrors the last part of client-go's rest/request.go.

import (
	"k8s.io/apimachinery/pkg/runtime"

	"client-go-workshop/internal/testkit/todo"
)

// Result is what came of a request: the answer, or why there is none. Mirrors rest.Result.
type Result struct {
	body []byte
	// code and contentType are those of the answer.
	code        int
	contentType string
	// decoder reads the body. It is nil if the content type is not one that can be read.
	decoder *decoder
	// err is why there is no object in the body. If the server answered, a Status in the body may say more.
	err error
}

// Raw returns the body as it came. Mirrors rest.Result.Raw.
func (r Result) Raw() ([]byte, error) { return r.body, r.err }

// Error returns why there is no object in the answer, nil if there may be one. If the server answered something other
// than 2xx and its body is a Status that says Failure (a v1 one, if it has no apiVersion), the error is that Status: an
// apierrors.StatusError, for which apierrors.IsNotFound and the others are made. If the body is something else, the
// error is made of the code (apierrors.NewGenericServerResponse), as one that nobody expected
// (apierrors.IsUnexpectedServerError), with the seconds of Retry-After, and with the body in it if that is text: its
// content type begins with text/, or it has none. Mirrors rest.Result.Error.
func (r Result) Error() error {
	panic(todo.Task(2, "Result.Error"))
}

// Get returns the object in the answer, of whatever kind it is. If that is a Status that does not say Success, it is
// the error, also if the code was 200. Mirrors rest.Result.Get.
func (r Result) Get() (runtime.Object, error) {
	panic(todo.Task(2, "Result.Get"))
}

// Into puts the object in the answer into obj. If the answer is a Status that does not say Success, it is the error,
// also if the code was 200. An empty body is an error: obj would look like an object whose fields all are empty. An
// object of another kind than obj leaves it as it is. Mirrors rest.Result.Into.
func (r Result) Into(obj runtime.Object) error {
	panic(todo.Task(2, "Result.Into"))
}
