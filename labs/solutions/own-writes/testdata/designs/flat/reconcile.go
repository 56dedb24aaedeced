package ownwrites

// Reconcile of this design is one sequence: it chooses where to read, reads, and then writes one Pod after the other. It
// is correct because each step ends with a return if it fails, and because it takes a mark away only after a read.

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	owner := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	obj, exists, err := c.Deployments.GetStore().GetByKey(key.String())
	if err != nil {
		return err
	}
	behind := c.Store.EnsureReady(owner)
	since, unsure := c.marks(key)
	if behind == nil {
		since = time.Time{}
	} else if since.IsZero() {
		since = time.Now()
	}
	c.mark(key, since, unsure)
	impatient := behind != nil && time.Since(since) >= c.Patience
	if behind != nil && !impatient && !(unsure && exists) {
		return behind
	}
	if !exists {
		c.Store.Clear(owner, "")
		c.mark(key, time.Time{}, false)
		return nil
	}
	d := obj.(*appsv1.Deployment)

	var pods []*corev1.Pod
	if impatient || unsure {
		if impatient {
			c.Stale(key, behind)
		}
		if pods, err = c.readServer(ctx, owner, d); err != nil {
			return err
		}
		c.mark(key, time.Time{}, false)
	} else if pods, err = c.cached(d); err != nil {
		return err
	}
	return c.correct(ctx, key, d, pods)
}

func (c *Controller) marks(key cache.ObjectName) (time.Time, bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.waiting[key], c.unsure[key]
}

func (c *Controller) mark(key cache.ObjectName, since time.Time, unsure bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.waiting[key], c.unsure[key] = since, unsure
	if since.IsZero() {
		delete(c.waiting, key)
	}
	if !unsure {
		delete(c.unsure, key)
	}
}

// readServer reads the Pods, and makes the newest one the Deployment's only record.
func (c *Controller) readServer(ctx context.Context, owner types.NamespacedName,
	d *appsv1.Deployment) ([]*corev1.Pod, error) {
	pods, err := c.listed(ctx, d)
	if err != nil {
		return nil, err
	}
	newest := ""
	for _, pod := range pods {
		if order, err := CompareResourceVersion(pod.ResourceVersion, newest); err != nil || order > 0 {
			newest = pod.ResourceVersion
		}
	}
	c.Store.Clear(owner, "")
	c.Store.WroteAt(owner, d.UID, Pods, newest)
	return staying(pods), nil
}

// correct creates or deletes one Pod after the other.
func (c *Controller) correct(ctx context.Context, key cache.ObjectName, d *appsv1.Deployment,
	pods []*corev1.Pod) error {
	client := c.Client(key.Namespace)
	wanted := 1
	if d.Spec.Replicas != nil {
		wanted = int(*d.Spec.Replicas)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(b.Name, a.Name) })
	for len(pods) > wanted {
		uid := pods[0].UID
		err := client.Delete(ctx, pods[0].Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		pods = pods[1:]
	}
	for n := len(pods); n < wanted; n++ {
		created, err := client.Create(ctx, NewPod(d), metav1.CreateOptions{})
		var answer *apierrors.StatusError
		switch {
		case err == nil:
			c.Store.WroteAt(key.AsNamespacedName(), d.UID, Pods, created.ResourceVersion)
		case errors.As(err, &answer) && answer.ErrStatus.Code/100 == 4:
			return err
		default:
			c.mark(key, time.Time{}, true)
			return err
		}
	}
	return nil
}
