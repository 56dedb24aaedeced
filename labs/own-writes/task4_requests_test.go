package ownwrites_test

// Task 4: clients whose requests fail, and one whose answer arrives as the context ends.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// failing is a client whose creates fail.
type failing struct {
	ownwrites.PodClient
	err error
}

func (c failing) Create(context.Context, *corev1.Pod, metav1.CreateOptions) (*corev1.Pod, error) {
	return nil, c.err
}

// ending is a client whose deletions return the errors in turn, for any Pod, and then nil.
type ending struct {
	ownwrites.PodClient
	errs    []error
	deletes int
}

func (c *ending) Delete(context.Context, string, metav1.DeleteOptions) (err error) {
	if c.deletes < len(c.errs) {
		err = c.errs[c.deletes]
	}
	c.deletes++
	return err
}

func TestTask4_Errors_of_deletions(t *testing.T) {
	const gone = "A Pod that is gone already is no error."
	guard.Test(t, gone, func(t *guard.T) {
		notFound := apierrors.NewNotFound(pods, "web-c")
		for _, failure := range []struct {
			text    string
			err     error
			deletes int
		}{
			{"404", notFound, 2},
			{"a status 404 inside another error", fmt.Errorf("a proxy: %w", notFound), 2},
			{"422", status(http.StatusUnprocessableEntity), 1},
			{"a broken connection", errors.New("the connection is broken"), 1},
			{"a context that has ended", context.DeadlineExceeded, 1},
		} {
			client := &ending{errs: []error{failure.err}}
			config := withoutServer(client)
			d := fakeapi.Deployment("web", 1)
			require.NoError(t, config.Deployments.GetStore().Add(d), "the error of filling a cache")
			for _, name := range []string{"web-a", "web-b", "web-c"} {
				pod := ownwrites.NewPod(d)
				pod.Name = name
				require.NoError(t, config.Pods.GetStore().Add(pod), "the error of filling a cache")
			}
			t.Did("there are two Pods too many; the first deletion fails with %s", failure.text)
			err := ownwrites.New(config).Reconcile(t.Context(), cache.NewObjectName("default", "web"))
			if failure.deletes == 2 {
				t.Rule(gone)
				require.NoError(t, err, "the error of Reconcile")
			} else {
				t.Rule("After an error it writes nothing more, and returns the error.")
				require.ErrorIs(t, err, failure.err, "the error of Reconcile")
			}
			require.Equal(t, failure.deletes, client.deletes, "the number of deletions")
		}
	})
}

// answered is a client that calls a function after the answer to each create.
type answered struct {
	ownwrites.PodClient
	then func()
}

func (c answered) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	defer c.then()
	return c.PodClient.Create(ctx, pod, o)
}

func TestTask4_Context_ends_after_the_answer(t *testing.T) {
	guard.Test(t, "Reconcile creates the missing Pods, and records the version of each: also of one whose answer arrives "+
		"as the context ends.", func(t *guard.T) {
		w := newWorld(t, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		config := w.config()
		client := config.Client
		config.Client = func(namespace string) ownwrites.PodClient { return answered{client(namespace), cancel} }
		w.controller = ownwrites.New(config)
		t.Did("Reconcile default/web with a context that ends after the answer to the first create")
		require.Error(t, w.reconcileOf(ctx, "web"), "the error of Reconcile")
		require.Len(t, w.names(), 1, "the server's Pods")
		require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
	})
}

// status returns an error of a server.
func status(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: "of a test"}}
}

// terminating returns the error of a create in a namespace that is being deleted.
func terminating() error {
	err := apierrors.NewForbidden(pods, "", errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func TestTask4_Errors_of_a_client(t *testing.T) {
	const rule = "Any error counts as a lost answer, except a status from 400 to 499."
	guard.Test(t, rule, func(t *guard.T) {
		for _, failure := range []struct {
			text  string
			err   error
			reads int
		}{
			{"a status without a code", status(0), 1},
			{"a status 302", status(http.StatusFound), 1},
			{"a status 504 inside another error", fmt.Errorf("a proxy: %w", status(http.StatusGatewayTimeout)), 1},
			{"a status 403 inside another error", fmt.Errorf("a proxy: %w", status(http.StatusForbidden)), 0},
			{"a taken name", apierrors.NewAlreadyExists(pods, "web-a"), 0},
			{"a missing namespace", apierrors.NewNotFound(pods, "default"), 0},
			{"a namespace that is being deleted", terminating(), 0},
		} {
			w := newWorld(t, 0)
			config := w.config()
			broken, client := true, config.Client
			config.Client = func(namespace string) ownwrites.PodClient {
				if broken {
					return failing{client(namespace), failure.err}
				}
				return client(namespace)
			}
			w.controller = ownwrites.New(config)
			t.Rule("After an error it writes nothing more, and returns the error.")
			t.Did("the client's creates fail with %s", failure.text)
			require.ErrorIs(t, w.reconcile(), failure.err, "the error of Reconcile")
			t.Rule(rule)
			broken = false
			lists := len(w.sent("list"))
			require.NoError(t, w.reconcile(), "the error of the next Reconcile")
			require.Len(t, w.sent("list"), lists+failure.reads, "the lists of Pods")
		}
	})
}
