package ownwrites

// This file has one Reconcile: may the cache be believed, which Pods are there, and which are missing?

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// Reconcile gives one Deployment the wanted number of Pods. A Deployment whose Replicas is nil wants one. Reconcile may
// run for different Deployments at once. It never changes a cached object.
//
// If EnsureReady returns an error, Reconcile writes nothing and returns that error (until Patience is over). When
// EnsureReady has returned nothing but errors for Patience (or longer), Reconcile calls Stale with the last one and
// reads the Pods from the server.
//
// After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady returns
// (Reconcile still calls it, and Patience goes on). Any error counts as a lost answer, except a status from 400 to 499.
// Only the end of Patience calls Stale. After a read from the server, the newest version of the Pods that listed
// returned replaces the Deployment's record, and Patience begins again with the next error.
//
// A Deployment that is not in the cache is gone, or the cache does not have it yet: Reconcile returns EnsureReady's
// error for it too, but after Patience it clears the record and reads nothing (so Stale is not called). It then forgets
// the Deployment (also when EnsureReady returns nil), so that memory does not grow.
//
// Reconcile creates the missing Pods, and records the version of each. A Pod that is being deleted does not count. Of
// surplus Pods it deletes the last by name, each with its UID as a precondition. It does not change their grace period.
// A Pod that is gone already is no error (a 409, because a new Pod has its name, may be returned). After an error it
// writes nothing more, and returns the error.
//
//workshop:task 4 Controller.Reconcile
func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	obj, exists, err := c.Deployments.GetIndexer().GetByKey(key.String())
	if err != nil {
		return fmt.Errorf("reading Deployment %s from the cache: %w", key, err)
	}
	if !exists {
		behind := c.Store.EnsureReady(key.AsNamespacedName())
		if behind != nil && !c.waitedLong(key, behind) {
			return behind
		}
		c.Store.Clear(key.AsNamespacedName(), "")
		c.settle(key)
		return nil
	}
	d := obj.(*appsv1.Deployment)
	pods, err := c.pods(ctx, key, d)
	if err != nil {
		return err
	}
	wanted := int(ptr.Deref(d.Spec.Replicas, 1))
	for range wanted - len(pods) {
		if err := c.create(ctx, key, d); err != nil {
			return err
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range pods[min(wanted, len(pods)):] {
		options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
		if err := c.Client(key.Namespace).Delete(ctx, pod.Name, options); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting Pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}

// pods returns the Pods of a Deployment: from the cache if it has seen the Deployment's writes, or from the server.
//
//workshop:omit
func (c *Controller) pods(ctx context.Context, key cache.ObjectName, d *appsv1.Deployment) ([]*corev1.Pod, error) {
	behind := c.Store.EnsureReady(key.AsNamespacedName())
	waited := c.waitedLong(key, behind)
	if !waited && !c.isUnsure(key) {
		if behind != nil {
			return nil, behind
		}
		return c.cached(d)
	}
	if waited {
		c.Stale(key, behind)
	}
	pods, err := c.listed(ctx, d)
	if err != nil {
		return nil, err
	}
	c.settle(key)
	c.Store.Clear(key.AsNamespacedName(), "")
	for _, pod := range pods {
		c.Store.WroteAt(key.AsNamespacedName(), d.UID, Pods, pod.ResourceVersion)
	}
	return staying(pods), nil
}

// waitedLong reports whether the cache has been behind for Patience. It notes when the wait began.
//
//workshop:omit
func (c *Controller) waitedLong(key cache.ObjectName, behind error) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if behind == nil {
		delete(c.waiting, key)
	} else if _, ok := c.waiting[key]; !ok {
		c.waiting[key] = time.Now()
	}
	return behind != nil && time.Since(c.waiting[key]) >= c.Patience
}

// isUnsure reports whether the result of a create is unknown.
//
//workshop:omit
func (c *Controller) isUnsure(key cache.ObjectName) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.unsure[key]
}

// settle forgets that a Deployment waits, or that the result of one of its writes is unknown.
//
//workshop:omit
func (c *Controller) settle(key cache.ObjectName) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.waiting, key)
	delete(c.unsure, key)
}

// create creates one Pod and records it.
//
//workshop:omit
func (c *Controller) create(ctx context.Context, key cache.ObjectName, d *appsv1.Deployment) error {
	pod, err := c.Client(key.Namespace).Create(ctx, NewPod(d), metav1.CreateOptions{})
	if err != nil {
		if !refused(err) {
			c.lock.Lock()
			c.unsure[key] = true
			c.lock.Unlock()
		}
		return fmt.Errorf("creating a Pod of Deployment %s: %w", key, err)
	}
	c.Store.WroteAt(key.AsNamespacedName(), d.UID, Pods, pod.ResourceVersion)
	return nil
}

// refused reports whether the server has answered that it did not do what was asked.
//
//workshop:omit
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) &&
		status.Status().Code >= http.StatusBadRequest && status.Status().Code < http.StatusInternalServerError
}
