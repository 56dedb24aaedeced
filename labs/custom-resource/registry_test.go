package customresource_test

// This file has the registry of the tests: a world outside of the cluster that notes each call.

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	customresource "client-go-workshop/labs/custom-resource"
)

// registry is a customresource.Registry in memory.
type registry struct {
	lock    sync.Mutex
	entries map[types.UID]customresource.Entry
	calls   []string // "register demo on regtest", "remove demo-uid", in order
	// before is called before each call, and its error is the call's. After is called when the call has had its effect.
	before, after func(call string) error
	// hold, if it is set, holds each call until its context ends.
	hold bool
}

func newRegistry() *registry { return &registry{entries: map[types.UID]customresource.Entry{}} }

func (r *registry) Register(ctx context.Context, entry customresource.Entry) error {
	return r.call(ctx, fmt.Sprintf("register %s on %s", entry.Name, entry.Chain), func() { r.entries[entry.ID] = entry })
}

func (r *registry) Remove(ctx context.Context, id types.UID) error {
	name := r.entry(id).Name
	return r.call(ctx, "remove "+name, func() { delete(r.entries, id) })
}

func (r *registry) call(ctx context.Context, call string, do func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.lock.Lock()
	r.calls = append(r.calls, call)
	before, after := r.before, r.after
	if r.hold {
		r.lock.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	r.lock.Unlock()
	if before != nil {
		if err := before(call); err != nil {
			return err
		}
	}
	r.lock.Lock()
	do()
	r.lock.Unlock()
	if after != nil {
		return after(call)
	}
	return nil
}

func (r *registry) entry(id types.UID) customresource.Entry {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.entries[id]
}

// list returns the entries as "demo on regtest", sorted.
func (r *registry) list() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	list := []string{}
	for _, entry := range r.entries {
		list = append(list, entry.Namespace+"/"+entry.Name+" on "+entry.Chain)
	}
	slices.Sort(list)
	return list
}

func (r *registry) callLog() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return append([]string{}, r.calls...)
}
