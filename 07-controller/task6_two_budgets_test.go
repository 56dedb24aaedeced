package controller_test

// Task 6: foreign budgets that select the Deployment's Pods under another name. The API server refuses to evict a Pod
// that two budgets select, so a second one would stop every drain. The last test is about the words of all Events.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask6_Budget_that_selects_the_same_Pods(t *testing.T) {
	const none = "If a foreign budget selects the Deployment's Pods under another name, Reconcile creates none " +
		"and records a BudgetConflict Event: "
	const beside = "If ours exists beside such a budget, Reconcile removes ours: "
	const harmless = "Reconcile creates a budget for a Deployment that wants one and has none: the other one "
	selecting := func(selector *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = selector }
	}
	expression := selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"db", "web"}},
	}})
	invalid := selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: "Resembles", Values: []string{"web"}},
	}})
	going := func(b *policyv1.PodDisruptionBudget) { b.DeletionTimestamp = ptr.To(metav1.Now()) }
	elsewhere := func(b *policyv1.PodDisruptionBudget) { b.Namespace = "third" }
	renamed := func(b *policyv1.PodDisruptionBudget) { b.Name, b.UID = "copy-of-web", "copy-uid" }
	pods := map[string]string{"app": "web"}
	// Of another Deployment, whose selector happens to select web's Pods.
	overlapping := budgetOf(web(called("shop")), selecting(&metav1.LabelSelector{MatchLabels: pods}))
	overlappingOrphan := budgetOf(web(called("shop")), selecting(&metav1.LabelSelector{MatchLabels: pods}), noOwner)

	for name, test := range guard.InOrder(map[string]struct {
		case6
		other *policyv1.PodDisruptionBudget
	}{
		"by hand": {case6{web(), nil, nil, conflict, none + "it was made by hand."}, handmade("by-hand", pods)},
		"of another controller": {case6{web(), nil, nil, conflict, none + "another program's object controls it."},
			handmade("by-hand", pods, ownedByOther("StatefulSet", "db", "db-uid"))},
		"by an expression": {case6{web(), nil, nil, conflict, none + "its selector is an expression."},
			handmade("by-hand", nil, expression)},
		"every Pod": {case6{web(), nil, nil, conflict, none + "an empty selector selects every Pod of the namespace."},
			handmade("by-hand", nil, selecting(&metav1.LabelSelector{}))},
		"going": {case6{web(), nil, nil, conflict, none + "it counts until it is gone."}, handmade("by-hand", pods, going)},
		"a copy of ours": {case6{web(), nil, nil, conflict, none + "it is a copy of ours under another name."},
			webBudget(renamed)},
		"an orphan of ours": {case6{web(), nil, nil, conflict, none + "its Deployment is gone, and it was left behind."},
			overlappingOrphan},

		"beside a right one": {case6{web(), webBudget(), remove, removed, beside + "no Pod could be evicted."},
			handmade("by-hand", pods)},
		"beside a wrong one": {case6{web(replicas(9)), webBudget(noOwner), remove, removed, beside + "a " +
			"repair would not help."},
			handmade("by-hand", pods)},
		"beside a going one": {case6{web(), webBudget(), remove, removed, beside + "it counts until it is gone."},
			handmade("by-hand", pods, going)},
		"beside an unwanted one": {case6{web(replicas(1)), webBudget(), remove, removed,
			"Reconcile removes a budget of ours that the Deployment does not want: another one makes no difference."},
			handmade("by-hand", pods)},
		"none wanted": {case6{web(replicas(1)), nil, nil, nil,
			"A nil error means that there is nothing to do until the next event: no budget is wanted, so none is in the way."},
			handmade("by-hand", pods)},
		"beside a foreign one": {case6{web(), webBudget(noOwner, noLabel), nil, conflict,
			"Reconcile never writes to a foreign budget: two foreign budgets are one Event."},
			handmade("by-hand", pods)},

		"other Pods": {case6{web(), nil, create, created, harmless + "selects other Pods."},
			handmade("by-hand", map[string]string{"app": "db"})},
		"some other Pods": {case6{web(), nil, create, created, harmless + "asks for one label more than the Pods have."},
			handmade("by-hand", map[string]string{"app": "web", "tier": "front"})},
		"another namespace": {case6{web(), nil, create, created, harmless + "is in another namespace."},
			handmade("by-hand", pods, elsewhere)},
		"no selector": {case6{web(), nil, create, created, harmless + "has no selector, and selects no Pod."},
			handmade("by-hand", nil, selecting(nil))},
		"an invalid selector": {case6{web(), nil, create, created, harmless + "has a selector that no server accepts."},
			handmade("by-hand", nil, invalid)},
		"of another Deployment": {case6{web(), nil, create, created, harmless + "is one that the controller " +
			"made for another Deployment. If each of them were foreign to the other, the controller " +
			"would remove both."}, overlapping},
		"beside that of another Deployment": {case6{web(), webBudget(), nil, nil, "Reconcile does not write a budget that " +
			"is right: the other one is one that the controller made for another Deployment."}, overlapping},
	}) {
		t.Run(name, func(t *testing.T) { test.run(t, test.other) })
	}
}

func TestTask6_Two_budgets_in_the_way_are_one_Event(t *testing.T) {
	pods := map[string]string{"app": "web"}
	const rule = "If a foreign budget selects the Deployment's Pods under another name, Reconcile creates none and " +
		"records a BudgetConflict Event: two of them are one Event, always of the same one."
	case6{web(), nil, nil, conflict, rule}.run(t, handmade("b", pods), handmade("a", pods))
	t.Run("each time", func(t *testing.T) {
		guard.Test(t, rule, func(t *guard.T) {
			var first []string
			for range 20 {
				s := step{deployment: web(), more: []*policyv1.PodDisruptionBudget{handmade("b", pods), handmade("a", pods)}}
				require.NoError(t, s.run(t, rule), "the error of Reconcile")
				if first == nil {
					first = s.events.messages
				}
				require.Equal(t, first, s.events.messages, "the messages of the Events, as at the first time")
			}
		})
	})
}

func TestTask6_Events_say_what_was_done(t *testing.T) {
	const rule = "The Event says why the budget was removed. Other Events say what the controller did."
	inTheWay := func(whose string) string {
		return "PodDisruptionBudget web is not this Deployment's (" + whose + ") and is left as it is; " +
			`delete or rename it, or set the annotation client-go-workshop/pdb to "disabled"`
	}
	covered := handmade("by-hand", map[string]string{"app": "web"})
	for name, test := range guard.InOrder(map[string]struct {
		deployment *appsv1.Deployment
		budget     *policyv1.PodDisruptionBudget
		other      *policyv1.PodDisruptionBudget
		want       string // … stands for the learner's words
	}{
		"created": {web(), nil, nil, "Created PodDisruptionBudget web with minAvailable 2"},
		"repaired": {web(replicas(4)), webBudget(noLabel), nil, "Repaired PodDisruptionBudget web: " +
			"set minAvailable to 3, label app.kubernetes.io/managed-by to pdb-controller"},
		"shrunk": {web(replicas(1)), webBudget(), nil, "Removed PodDisruptionBudget web: spec.replicas is 1"},
		"opted": {web(annotated("disabled")), webBudget(), nil,
			`Removed PodDisruptionBudget web: the annotation client-go-workshop/pdb is "disabled"`},
		"gone":      {nil, webBudget(), nil, "Removed PodDisruptionBudget web: …Deployment"},
		"not alone": {web(), webBudget(), covered, "Removed PodDisruptionBudget web: …by-hand"},
		"foreign": {web(), webBudget(ownedByOther("StatefulSet", "db", "db-uid")), nil,
			inTheWay("StatefulSet db controls it")},
		"by hand": {web(), webBudget(noOwner, noLabel), nil, inTheWay("nothing controls it")},
		"another name": {web(), nil, covered, "PodDisruptionBudget by-hand selects this Deployment's Pods (nothing " +
			"controls it), and a Pod with two budgets cannot be evicted, so this Deployment gets none; delete it or narrow " +
			`its selector, or set the annotation client-go-workshop/pdb to "disabled"`},
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, rule, func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.budget}
				if test.other != nil {
					s.more = append(s.more, test.other)
				}
				require.NoError(t, s.run(t, rule), "the error of Reconcile")
				if begin, names, free := strings.Cut(test.want, "…"); free && len(s.events.messages) == 1 {
					why := strings.TrimPrefix(s.events.messages[0], begin)
					t.Rule("The Event says why the budget was removed: it names the other object that is the reason.")
					require.Contains(t, why, names, "the reason in the Event")
					t.Rule(rule)
					test.want = begin + why
				}
				require.Equal(t, []string{test.want}, s.events.messages, "the messages of the Events")
			})
		})
	}
}
