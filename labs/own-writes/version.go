package ownwrites

// This file compares versions.

import (
	"fmt"

	"client-go-workshop/internal/testkit/todo"
)

// InvalidVersionError reports a version that cannot be compared.
type InvalidVersionError struct{ Version string }

func (e InvalidVersionError) Error() string {
	return fmt.Sprintf("the resource version %q cannot be compared", e.Version)
}

// CompareResourceVersion returns -1 if a is older than b, 0 if they are the same, and 1 if a is newer. A version may
// have more digits than any integer type. A version that is not a positive decimal number without leading zeros is an
// error that names it. The two must be versions of the same resource on the same server.
//
// It mirrors resourceversion.CompareResourceVersion of k8s.io/apimachinery.
func CompareResourceVersion(a, b string) (int, error) {
	panic(todo.Task(1, "CompareResourceVersion"))
}
