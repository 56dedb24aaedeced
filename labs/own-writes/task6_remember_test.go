package ownwrites_test

// Task 6: a new process after another one.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

func TestTask6_Writes_of_the_process_before(t *testing.T) {
	guard.Test(t, "Remember reads the Pods of all namespaces from the server, and records each as a write of the "+
		"Deployment that controls it.", func(t *guard.T) {
		w := newWorld(t, 10*time.Second)
		t.Did("the watch is 10 s late; another process has created web-a and web-b, and a user a Pod without an owner")
		w.add("web-a", "web-b")
		newest := w.newest()
		orphan := ownwrites.NewPod(w.web())
		orphan.Name, orphan.OwnerReferences = "orphan", nil
		w.create(orphan)
		owned := ownwrites.NewPod(w.web())
		owned.Name, owned.OwnerReferences[0].Controller = "owned", nil
		t.Did("the user also creates a Pod of which web is an owner, and which it does not control")
		w.create(owned)
		for kind, group := range guard.InOrder(map[string]string{"ReplicaSet": "apps/v1", "Deployment": "example.com/v1"}) {
			pod := ownwrites.NewPod(w.web())
			pod.Name, pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].APIVersion = "of-"+strings.ToLower(kind), kind, group
			w.create(pod)
		}
		t.Did("a ReplicaSet web and a web of another kind, example.com/v1 Deployment, have a Pod each")
		t.Did("Remember")
		require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
		require.Equal(t, newest, w.store.Written(web, pods), "the written version of web's Pods")
		require.Equal(t, 1, w.store.Owners(), "the number of owners in the store")
		w.behind()
		require.Len(t, w.names(), 6, "the server's Pods")
	})
}

func TestTask6_Each_Pod(t *testing.T) {
	guard.Test(t, "Remember reads the Pods of all namespaces from the server, and records each as a write of the "+
		"Deployment that controls it.", func(t *guard.T) {
		for _, phase := range []string{"is being deleted", "Succeeded", "Failed"} {
			w := newWorld(t, 0)
			w.add("web-a", "web-b")
			pod := w.Objects("pods")[1].(*unstructured.Unstructured)
			if phase == "is being deleted" {
				pod.SetFinalizers([]string{"example.com/wait"})
				w.Update(pod)
				w.Delete(pod)
				require.NotNil(t, w.stored()[1].DeletionTimestamp, "the deletion timestamp of web-b")
			} else {
				require.NoError(t, unstructured.SetNestedField(pod.Object, phase, "status", "phase"), "the error of a change")
				w.Update(pod)
				require.EqualValues(t, phase, w.stored()[1].Status.Phase, "the phase of web-b")
			}
			t.Did("the newest Pod of web, web-b: %s; Remember", phase)
			require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
			require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of web's Pods")
		}
		w := newWorld(t, 0)
		t.Did("there are 600 Pods, and the last one by name is the newest; Remember")
		for i := range 600 {
			w.add(fmt.Sprintf("web-%03d", i))
		}
		require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
		require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of web's Pods")
		t.Rule("If the read fails, Remember returns the error. A read in several pages fails if one of them does.")
		for succeed := range 3 {
			options := w.listed(succeed)
			t.Did("the server refuses the lists of Remember after the first %d; Remember", succeed)
			err := w.controller.Remember(t.Context())
			if len(*options) > succeed {
				require.True(t, apierrors.IsForbidden(err), "the error of Remember is the server's 403: %v", err)
			}
		}
	})
}

func TestTask6_Context(t *testing.T) {
	guard.Test(t, "Each request ends with the context of its caller. A process that stops must not wait for a list.",
		func(t *guard.T) {
			w := newWorld(t, 0)
			w.Script("list pods", held)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			t.Did("the server does not answer the list of Remember, whose context ends after a minute")
			start := time.Now()
			require.Error(t, w.controller.Remember(ctx), "the error of Remember")
			require.LessOrEqual(t, time.Since(start), time.Minute, "the time that Remember took")
		})
}

func TestTask6_All_namespaces(t *testing.T) {
	guard.Test(t, "Remember reads the Pods of all namespaces from the server, and records each as a write of the "+
		"Deployment that controls it.", func(t *guard.T) {
		w := newWorld(t, 0)
		pod := ownwrites.NewPod(w.web())
		pod.Namespace, pod.Name, pod.GenerateName = "shop", "web-a", ""
		pod.Labels = nil
		w.create(pod)
		t.Did("the namespace shop has a Pod of a Deployment web, without a label and a GenerateName; Remember")
		require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
		inShop := web
		inShop.Namespace = "shop"
		require.Equal(t, w.newest(), w.store.Written(inShop, pods), "the written version of the Pods of shop/web")
		require.Empty(t, w.store.Written(web, pods), "the written version of the Pods of default/web")
	})
}

func TestTask6_Deployment_that_was_created_again(t *testing.T) {
	guard.Test(t, "A record is kept by namespace and name, not by UID: if Pods of two Deployments share it, the "+
		"newest version stays. The Pods of the deleted one may still be there.", func(t *guard.T) {
		w := newWorld(t, 10*time.Second)
		t.Did("the Deployment web has web-b; a Pod web-c of a deleted Deployment web is older, and web-a is newer than both")
		create := func(name string, uid types.UID) {
			pod := ownwrites.NewPod(w.web())
			pod.Name, pod.OwnerReferences[0].UID = name, uid
			w.create(pod)
		}
		create("web-c", "old-uid")
		create("web-b", w.web().UID)
		create("web-a", "old-uid")
		t.Did("Remember")
		require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
		require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of web's Pods")
	})
}

func TestTask6_Answer_is_not_old(t *testing.T) {
	guard.Test(t, "The server's answer must not be older than the call. A server may answer a list at version 0 from a "+
		"cache that is as late as yours.", func(t *guard.T) {
		w := newWorld(t, 0)
		since := len(w.Requests("list"))
		t.Did("Remember")
		require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
		lists := w.Requests("list")[since:]
		require.NotEmpty(t, lists, "the lists of Pods")
		require.False(t, slices.ContainsFunc(lists, func(r fakeapi.Request) bool {
			return r.Query.Get("resourceVersion") != ""
		}), "a list asks for a resourceVersion")
	})
}

// listing is a client whose lists note their options, and fail with a 403 after a number of them.
type listing struct {
	ownwrites.PodClient
	options *[]metav1.ListOptions
	succeed int
}

func (c listing) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	if *c.options = append(*c.options, options); len(*c.options) > c.succeed {
		return nil, status(http.StatusForbidden)
	}
	return c.PodClient.List(ctx, options)
}

// listed gives the controller clients whose lists fail after a number of them, and returns the options of their lists.
func (w *world) listed(succeed int) *[]metav1.ListOptions {
	options, config := &[]metav1.ListOptions{}, w.config()
	client := config.Client
	config.Client = func(namespace string) ownwrites.PodClient { return listing{client(namespace), options, succeed} }
	w.controller = ownwrites.New(config)
	return options
}

func TestTask6_No_Pod_is_left_out(t *testing.T) {
	guard.Test(t, "Remember reads the Pods of all namespaces from the server, and records each as a write of the "+
		"Deployment that controls it. A selector leaves Pods out, whatever their state is now.", func(t *guard.T) {
		w := newWorld(t, 0)
		options := w.listed(1000)
		t.Did("Remember")
		require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
		require.NotEmpty(t, *options, "the lists of Pods")
		for _, o := range *options {
			require.Empty(t, o.FieldSelector, "the fieldSelector of a list")
			require.Empty(t, o.LabelSelector, "the labelSelector of a list")
		}
	})
}

func TestTask6_Read_fails(t *testing.T) {
	guard.Test(t, "If the read fails, Remember returns the error.", func(t *guard.T) {
		w := newWorld(t, 0)
		w.Script("list pods", fakeapi.Answer(http.StatusForbidden, ""))
		t.Did("the server refuses the list; Remember")
		require.True(t, apierrors.IsForbidden(w.controller.Remember(t.Context())), "the error of Remember is the server's 403")
		w.add("web-a")
		t.Did("Remember, once more, as Run calls it")
		require.NoError(t, w.controller.Remember(t.Context()), "the error of Remember")
		require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of web's Pods")
	})
}
