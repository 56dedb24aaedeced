package ownwrites

// This file begins the life of a process: another one has written before it, and its own memory is empty.

import (
	"context"

	"client-go-workshop/internal/testkit/todo"
)

// Remember reads the Pods of all namespaces from the server, and records each as a write of the Deployment that
// controls it. The server's answer must not be older than the call. If the read fails, Remember returns the error. A
// record is kept by namespace and name, not by UID: if Pods of two Deployments share it, the newest version stays.
func (c *Controller) Remember(ctx context.Context) error {
	panic(todo.Task(6, "Controller.Remember"))
}
