package reflector

// This file is the list: everything that the server has, at one version, and the store is made equal to it. It comes
// first, and again whenever a watch has ended in such a way that something may have been missed.

import "client-go-workshop/internal/testkit/todo"

// expired says whether the server has forgotten the version that it was asked for: reason Expired, or the older Gone.
func expired(err error) bool {
	panic(todo.Task(3, "expired"))
}

// tooLarge says whether the server has not heard of the version that it was asked for. There may be several servers,
// and this one may be behind. Its Status has a cause for that.
func tooLarge(err error) bool {
	panic(todo.Task(3, "tooLarge"))
}
