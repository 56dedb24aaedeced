package controller_test

// Task 6: a step that fails. The server refuses it, or is ahead of the cache.

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
)

// noEvent requires that a step that changes nothing records nothing.
func (s *step) noEvent(t *guard.T) {
	t.Helper()
	t.Rule("A failed write records no Event: an Event reports what the controller has changed.")
	require.Empty(t, s.events.list(), "Events")
}

// In each of these the cache is one version behind the server.
func TestTask6_Cache_that_is_behind_does_no_harm(t *testing.T) {
	newer := webBudget(func(b *policyv1.PodDisruptionBudget) {
		b.ResourceVersion = "8"
		b.Spec.MinAvailable = ptr.To(intstr.FromInt32(9))
	})
	recreated := webBudget(func(b *policyv1.PodDisruptionBudget) { b.UID, b.ResourceVersion = "its-successor", "8" })
	const (
		overwrites = "The server refuses the update if it has a version that the cache has not seen: the update " +
			"carries the resourceVersion that it was decided on."
		deletes = "remove deletes this budget, and neither a newer version nor a successor of the same name: the " +
			"deletion has preconditions."
	)
	for name, test := range guard.InOrder(map[string]struct {
		deployment     *appsv1.Deployment
		cached, stored *policyv1.PodDisruptionBudget
		refused        metav1.StatusReason
		rule           string
	}{
		"create meets one that exists": {web(), nil, newer, metav1.StatusReasonAlreadyExists,
			"Reconcile never writes to a foreign budget: the cache has not seen this one, so it may be " +
				"foreign."},
		"update meets a newer version": {web(), webBudget(noLabel), newer, metav1.StatusReasonConflict, overwrites},
		"delete meets a newer version": {web(replicas(1)), webBudget(), newer, metav1.StatusReasonConflict, deletes},
		"delete meets a successor":     {web(replicas(1)), webBudget(), recreated, metav1.StatusReasonConflict, deletes},
		"delete of a kept budget":      {nil, webBudget(), newer, metav1.StatusReasonConflict, deletes},
		"update meets nothing": {web(), webBudget(noLabel), nil, metav1.StatusReasonNotFound,
			"Every other failed write is an error, except the removal of a budget that is gone: this is no removal."},
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, test.rule, func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.cached, server: newBudgetServer()}
				if test.stored != nil {
					s.server = newBudgetServer(test.stored)
				}
				err := s.run(t, test.rule)
				t.Rule("%s", test.rule)
				require.Equal(t, inWords(t, test.stored), inWords(t, s.server.get()), "the budget on the server")
				t.Rule("An error means that the key has to be tried again: Reconcile returns the server's refusal, wrapped " +
					"(%%w).")
				require.Error(t, err, "the error of Reconcile")
				require.Equal(t, test.refused, apierrors.ReasonForError(err), "the reason of Reconcile's error (%v)", err)
				s.noEvent(t)
				t.Rule("Reconcile corrects the budget of one Deployment with at most one write: a " +
					"second one would decide on the same stale cache.")
				require.Len(t, s.server.callLog(), 1, "writes to the server")
			})
		})
	}
}

func TestTask6_Deletion_of_what_is_gone(t *testing.T) {
	const rule = "A budget that is already gone is not an error, and records no Event: an error would only bring " +
		"the key back."
	for name, deployment := range guard.InOrder(map[string]*appsv1.Deployment{
		"unwanted": web(replicas(1)), "kept by an owner": nil,
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, rule, func(t *guard.T) {
				s := step{deployment: deployment, budget: webBudget(), server: newBudgetServer()}
				require.NoError(t, s.run(t, rule), "the error of Reconcile")
				require.Empty(t, s.events.list(), "Events")
			})
		})
	}
}

func TestTask6_Failures_are_returned(t *testing.T) {
	const rule = "The error names the budget (namespace/name) and wraps the server's error: so a worker can tell a " +
		"conflict from the rest."
	writes := map[string]func() *step{
		"create": func() *step { return &step{deployment: web()} },
		"update": func() *step { return &step{deployment: web(replicas(4)), budget: webBudget()} },
		"delete": func() *step { return &step{deployment: web(replicas(1)), budget: webBudget()} },
		"delete of a kept budget": func() *step {
			return &step{budget: webBudget()}
		},
	}
	for name, failure := range failures() {
		for verb, makeStep := range guard.InOrder(writes) {
			if verb != "create" && verb != "update" && apierrors.IsNotFound(failure) {
				continue // a deletion of what is gone
			}
			t.Run(verb+", "+name, func(t *testing.T) {
				guard.Test(t, rule, func(t *guard.T) {
					s := makeStep()
					s.server = newBudgetServer()
					s.server.before = func(context.Context, string) error { return failure }
					t.Did("the server answers: %v", failure)
					err := s.run(t, rule)
					t.Rule("Every other failed write is an error, except the removal of a budget that is gone: no answer of the " +
						"server is final.")
					require.Error(t, err, "the error of Reconcile")
					t.Rule(rule)
					require.ErrorIs(t, err, failure, "the error of Reconcile")
					require.ErrorContains(t, err, "default/web", "the error of Reconcile")
					s.noEvent(t)
				})
			})
		}
	}
}

func TestTask6_Context_that_ends(t *testing.T) {
	const rule = "A nil error means that there is nothing to do until the next event."
	writes := map[string]*step{
		"create": {deployment: web()},
		"update": {deployment: web(replicas(4)), budget: webBudget()},
		"delete": {deployment: web(replicas(1)), budget: webBudget()},
	}
	for verb, s := range guard.InOrder(writes) {
		t.Run("before the "+verb, func(t *testing.T) {
			guard.Test(t, rule, func(t *guard.T) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				t.Did("the context ends")
				s := step{deployment: s.deployment, budget: s.budget, ctx: ctx}
				if err := s.run(t, rule); len(s.server.callLog()) == 0 {
					require.Error(t, err, "the error of Reconcile, whose context had ended, and which wrote nothing")
				}
			})
		})
		t.Run("during the "+verb, func(t *testing.T) {
			guard.Test(t, rule, func(t *guard.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := step{deployment: s.deployment, budget: s.budget, ctx: ctx}
				if s.server = newBudgetServer(); s.budget != nil {
					s.server = newBudgetServer(s.budget)
				}
				s.server.before = func(context.Context, string) error { cancel(); return nil }
				t.Did("the context ends while the server writes")
				_ = s.run(t, rule)
				t.Rule("Each successful write records one Event.")
				require.Len(t, s.events.list(), 1, "Events")
			})
		})
	}
}

// failures are what a server, or the way to it, can answer. All of them may pass.
func failures() map[string]error {
	forbidden := func(why string) error { return apierrors.NewForbidden(budgetResource, "web", errors.New(why)) }
	budgetKind := policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget").GroupKind()
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 400, Status: metav1.StatusFailure,
		Message: `admission webhook "budgets.example.com" denied the request: the object has been modified, ` +
			`already exists, is not found, or its namespace is being terminated`}}
	return map[string]error{
		"no way":        errors.New("connection refused"),
		"no time":       context.DeadlineExceeded,
		"a stop":        context.Canceled,
		"500":           apierrors.NewInternalError(errors.New("etcd is away")),
		"503":           apierrors.NewServiceUnavailable("starting"),
		"504":           apierrors.NewTimeoutError("too slow", 1),
		"408":           apierrors.NewGenericServerResponse(408, "update", budgetResource, "web", "", 0, true),
		"500, later":    apierrors.NewServerTimeout(budgetResource, "update", 1),
		"it exists":     apierrors.NewAlreadyExists(budgetResource, "web"),
		"429":           apierrors.NewTooManyRequestsError("later"),
		"404":           apierrors.NewNotFound(corev1.Resource("namespaces"), "default"),
		"conflict":      apierrors.NewConflict(budgetResource, "web", errors.New("newer")),
		"a role":        forbidden("no role allows it"),
		"a quota":       forbidden("exceeded quota: budgets, requested: count/poddisruptionbudgets.policy=1, used: 5"),
		"a webhook":     webhook,
		"an expired":    apierrors.NewUnauthorized("token has expired"),
		"a broken rule": apierrors.NewInvalid(budgetKind, "web", nil),
	}
}

func TestTask6_Namespace_on_its_way_out_is_left_alone(t *testing.T) {
	const rule = "A namespace that is being deleted (corev1.NamespaceTerminatingCause) accepts no new budget, now or " +
		"later: this is not an error."
	guard.Test(t, rule, func(t *guard.T) {
		s := step{deployment: web(), server: newBudgetServer()}
		s.server.before = func(context.Context, string) error {
			err := apierrors.NewForbidden(budgetResource, "web", errors.New("no new content"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		}
		require.NoError(t, s.run(t, rule), "the error of Reconcile")
		s.noEvent(t)
	})
}
