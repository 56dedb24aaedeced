package reflector

// This file is the list: everything that the server has, at one version, and the store is made equal to it. It comes
// first, and again whenever a watch has ended in such a way that something may have been missed.
//
//workshop:file omit

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// list lists and replaces what is in the store. The version is the list's, once the store has it.
//
// The first list asks for "0": whatever the server has at hand will do. Every other one asks for the last version that
// was seen, so that it is not older than what the store has. If the server refuses that version, as forgotten or as one
// that it has not heard of, list asks at once for "", which is the newest. That stays so until a list has succeeded.
//
// It comes in pages if WatchListPageSize says so, or if it is at "0" or "". If the context ends, it returns nil.
func (r *Reflector) list(ctx context.Context) error {
	list, err := r.fetch(ctx)
	if expired(err) || tooLarge(err) {
		r.setUnavailable(true)
		list, err = r.fetch(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to list: %w", err)
	}
	r.setUnavailable(false)
	listMeta, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("failed to list: got %T: %w", list, err)
	}
	// With Alloc: pointers into the list would keep all of it alive as long as one object lives (#113305).
	items, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return fmt.Errorf("failed to list: got %T: %w", list, err)
	}
	objs := make([]any, len(items))
	for i, item := range items {
		objs[i] = item
	}
	if err := r.store.Replace(objs, listMeta.GetResourceVersion()); err != nil {
		return fmt.Errorf("replace what is in the store by the list: %w", err)
	}
	r.setVersion(listMeta.GetResourceVersion())
	return nil
}

// fetch sends the requests for one list.
func (r *Reflector) fetch(ctx context.Context) (runtime.Object, error) {
	options := metav1.ListOptions{ResourceVersion: r.listVersion()}
	p := pager.New(r.lw.ListWithContext)
	exact := options.ResourceVersion != "" && options.ResourceVersion != "0"
	switch {
	case r.WatchListPageSize != 0:
		p.PageSize = r.WatchListPageSize
	case exact && !r.paged:
		p.PageSize = 0 // pages come from etcd, the whole comes from the server's memory
	}
	list, paged, err := p.ListWithAlloc(ctx, options)
	if options.ResourceVersion == "0" && paged {
		r.paged = true
	}
	return list, err
}

func (r *Reflector) listVersion() string {
	r.lock.RLock()
	defer r.lock.RUnlock()
	switch {
	case r.unavailable:
		return ""
	case r.version == "":
		return "0"
	}
	return r.version
}

// expired says whether the server has forgotten the version that it was asked for: reason Expired, or the older Gone.
//
//workshop:task 3
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// tooLarge says whether the server has not heard of the version that it was asked for. There may be several servers,
// and this one may be behind. Its Status has a cause for that.
//
//workshop:task 3
func tooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
