package reflector

// This file is the list: it replaces the store's contents by all objects of the server, at one version. A list comes
// first, and again after each watch that may have missed something.
//
//workshop:file omit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// list replaces the store's contents by a list, and then moves the version to that of the list. It returns nil if the
// context ends.
//
// If the server refuses the version, as forgotten or as larger than its own, list asks at once without one. So do later
// lists, until one succeeds.
func (r *Reflector) list(ctx context.Context) error {
	list, err := r.fetch(ctx)
	if refused(err) {
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
	// WithAlloc is needed here too: pointers into a list in one piece would keep all of it in memory.
	items, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return fmt.Errorf("failed to list: got %T: %w", list, err)
	}
	objs := make([]any, len(items))
	for i, item := range items {
		objs[i] = item
	}
	if err := r.store.Replace(objs, listMeta.GetResourceVersion()); err != nil {
		return fmt.Errorf("replace the store's contents by the list: %w", err)
	}
	r.setVersion(listMeta.GetResourceVersion())
	return nil
}

// fetch sends the requests for one list. ListWithAlloc copies each object out of its page, which one object would
// otherwise keep in memory (#113305). If the token of a page has expired, the pager asks for the whole list in one
// piece.
func (r *Reflector) fetch(ctx context.Context) (runtime.Object, error) {
	options := metav1.ListOptions{ResourceVersion: r.listVersion()}
	p := pager.New(r.lw.ListWithContext)
	exact := options.ResourceVersion != "" && options.ResourceVersion != "0"
	switch {
	case r.WatchListPageSize != 0:
		p.PageSize = r.WatchListPageSize
	case exact && !r.paged:
		p.PageSize = 0 // every server with a watch cache answers a list in one piece from memory
	}
	list, paged, err := p.ListWithAlloc(ctx, options)
	if options.ResourceVersion == "0" && paged {
		r.paged = true // a watch cache ignores the page size at "0", so this list came from etcd
	}
	return list, err
}

// listVersion returns the version that a list asks for. The first list asks for "0", which is any version that the
// server has in memory.
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

// refused reports whether the server has refused the requested version. An error without a Status does not come from
// the server.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (expired(err) || tooLarge(err))
}

// expired reports whether the server has forgotten the requested version: the reason of err is Expired or Gone, or the
// code is 410 and the reason is not one that apierrors knows. The error may be wrapped.
//
//workshop:task 3
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// tooLarge reports whether the server has not reached the requested version: err has a cause of type
// CauseTypeResourceVersionTooLarge. In the answer of an older server the reason is Timeout, and "Too large resource
// version" is the message of a cause (1.17.0 to 1.18.5), or in the message of the Status (before 1.17).
//
//workshop:task 3
func tooLarge(err error) bool {
	const words = "Too large resource version"
	var status apierrors.APIStatus
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge):
		return true
	case !apierrors.IsTimeout(err) || !errors.As(err, &status):
		return false
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Message == words {
				return true
			}
		}
	}
	return strings.Contains(status.Status().Message, words)
}
