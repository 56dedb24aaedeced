package main

// This file has everything that the page can ask for. A request names an action of this table, or it is refused.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/pipeline"
)

// order is a request of the page.
type order struct {
	Action string `json:"action"`
	Name   string `json:"name,omitempty"` // of a Deployment, a seam, a goal or a tour
	N      int    `json:"n,omitempty"`
	On     bool   `json:"on,omitempty"`
}

// An action belongs to a group of buttons. Those of the gate need a machine with a server in the process.
type action struct {
	Group, Name, Label string
	do                 func(m *machine, o order) error
}

// actions are the buttons, in their order. Those without a label have no button: the page has another control for them.
var actions = []action{
	{"gate", "pause", "", func(m *machine, _ order) error { m.rec.Gate.Pause(); return nil }},
	{"gate", "resume", "", func(m *machine, _ order) error { m.rec.Gate.Open(false); return nil }},
	{"gate", "step", "", func(m *machine, _ order) error { m.rec.Gate.Step(); return nil }},
	{"gate", "until", "", until},
	{"gate", "break", "", breakAt},
	{"change", "create", "Create a Deployment", create},
	{"change", "scale", "Scale it", on("deployments", "Deployment", scale)},
	{"change", "delete", "Delete it", on("deployments", "Deployment", remove)},
	{"change", "delete budget", "Delete its budget", on("poddisruptionbudgets", "budget",
		func(m *machine, _ order, b *policyv1.PodDisruptionBudget) error { return change(b, m.api.Delete) })},
	{"change", "edit budget", "Edit its budget", on("poddisruptionbudgets", "budget", editBudget)},
	{"change", "burst", "1,000 changes",
		func(m *machine, o order) error { return m.many(cmp.Or(min(o.N, 10_000), 1000), 100) }},
	{"change", "fill", "10,000 Deployments", func(m *machine, _ order) error { return m.many(10_000, 10_000) }},
	{"break", "end watch", "End the watches", fault("the watches end", (*fakeapi.Server).EndWatches)},
	{"break", "cut frame", "Cut a frame", fault("the next watch breaks in the middle of a frame",
		func(api *fakeapi.Server) {
			api.Script("watch", fakeapi.Cut(300), fakeapi.Cut(300))
			api.EndWatches()
		})},
	{"break", "silence", "Silence the watch of budgets", fault("the watches end, and the next one of budgets is silent",
		func(api *fakeapi.Server) {
			api.Script("watch poddisruptionbudgets", fakeapi.Silent)
			api.EndWatches()
		})},
	{"break", "refuse", "Answer with", refuse},
	{"break", "compact", "Compact the history", fault("the history is compacted", (*fakeapi.Server).Compact)},
	{"break", "restart", "Restart the server", fault("restart", (*fakeapi.Server).Restart)},
	{"break", "down", "Stop the server", fault("down", (*fakeapi.Server).Down)},
	{"break", "up", "Start the server", fault("up", (*fakeapi.Server).Up)},
	{"break", "slow", "Slow answers", fault("each of the next 10 answers takes a second",
		func(api *fakeapi.Server) { api.Script("", fakeapi.Times(10, fakeapi.Slow(time.Second))...) })},
	{"break", "fail writes", "Fail the next three writes", fault("the next three writes of budgets get 500",
		func(api *fakeapi.Server) {
			for _, verb := range []string{"create", "update", "delete"} {
				api.Script(verb, fakeapi.Times(3, fakeapi.Answer(500, ""))...)
			}
		})},
	{"break", "heal", "End all faults", fault("up", func(api *fakeapi.Server) {
		api.ClearScripts()
		api.Up()
		api.EndWatches() // a silent one, too
	})},
	{"hold", "slow handler", "Add a slow handler", func(m *machine, _ order) error { return m.addHandler(time.Second) }},
	{"hold", "stuck handler", "Add a stuck handler", func(m *machine, _ order) error { return m.addHandler(time.Hour) }},
	{"hold", "drop handler", "Remove that handler", func(m *machine, _ order) error { return m.removeHandler() }},
	{"hold", "hold workers", "Hold the workers", func(m *machine, _ order) error { m.rec.Workers.Set(true); return nil }},
	{"hold", "free workers", "Let the workers go",
		func(m *machine, _ order) error { m.rec.Workers.Set(false); return nil }},
	{"hold", "hold consumer", "Hold the consumer of the deltas",
		func(m *machine, _ order) error { m.rec.Consumer.Set(true); return nil }},
	{"hold", "free consumer", "Let the consumer go",
		func(m *machine, _ order) error { m.rec.Consumer.Set(false); return nil }},
}

// do carries out an order.
func (m *machine) do(o order) error {
	at := slices.IndexFunc(actions, func(a action) bool { return a.Name == o.Action })
	if at < 0 {
		return fmt.Errorf("there is no action %q", o.Action)
	}
	if m.api == nil {
		return fmt.Errorf("%s: this is a real cluster, which is only watched", o.Action)
	}
	if len(o.Name) > 63 || strings.ContainsFunc(o.Name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == ' ')
	}) {
		return fmt.Errorf("%s: %q is not a name", o.Action, o.Name)
	}
	m.asked.Store(true)
	return actions[at].do(m, o)
}

// goals are the steps to which a run can go.
var goals = map[string]func(pipeline.Step) bool{
	"delta":     func(s pipeline.Step) bool { return s.Seam == pipeline.Delta && s.Verb == pipeline.Pop },
	"handler":   func(s pipeline.Step) bool { return s.Seam == pipeline.Handler },
	"reconcile": func(s pipeline.Step) bool { return s.Seam == pipeline.Worker && s.Verb == pipeline.Begins },
	"write":     func(s pipeline.Step) bool { return s.Seam == pipeline.Worker && s.Verb == pipeline.Writes },
	"error": func(s pipeline.Step) bool {
		return s.Error != "" || s.Verb == "ERROR" || s.Verb == pipeline.AddRateLimited
	},
}

func until(m *machine, o order) error {
	goal := goals[o.Name]
	if goal == nil {
		return fmt.Errorf("run to %q: it is delta, handler, reconcile, write or error", o.Name)
	}
	m.rec.Gate.Until(goal)
	return nil
}

func breakAt(m *machine, o order) error {
	if !slices.Contains(pipeline.Seams, pipeline.Seam(o.Name)) {
		return fmt.Errorf("break at %q: there is no such seam", o.Name)
	}
	m.rec.Gate.Break(pipeline.Seam(o.Name), o.On)
	return nil
}

// fault returns an action that does something to the API server. Text is its step in the log.
func fault(text string, do func(*fakeapi.Server)) func(*machine, order) error {
	return func(m *machine, _ order) error {
		m.rec.Server(pipeline.Step{Verb: pipeline.Did, Text: text})
		do(m.api)
		return nil
	}
}

func refuse(m *machine, o order) error {
	if !slices.Contains([]int{410, 429, 500}, o.N) {
		return fmt.Errorf("refuse: the code is 410, 429 or 500, not %d", o.N)
	}
	text := fmt.Sprintf("the watches end, and the next watch of Deployments gets %d", o.N)
	return fault(text, func(api *fakeapi.Server) {
		api.Script("watch deployments", fakeapi.Answer(o.N, ""))
		api.EndWatches()
	})(m, o)
}

// change changes one object. The recorder sees it at the server.
func change(obj fakeapi.Object, do func(...fakeapi.Object)) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	do(obj)
	return nil
}

// find returns the server's object of a name, or the first one for the name "", or nil.
func (m *machine) find(resource, name string) fakeapi.Object {
	for _, obj := range m.api.Objects(resource) {
		if name == "" || obj.GetName() == name {
			return obj
		}
	}
	return nil
}

func create(m *machine, o order) error {
	name := o.Name
	if name == "" {
		names := []string{"web", "db", "api", "blog", "cart", "auth", "shop", "mail"}
		free := slices.IndexFunc(names, func(name string) bool { return m.find("deployments", name) == nil })
		name = names[max(free, 0)]
	}
	if m.find("deployments", name) != nil {
		return fmt.Errorf("create %s: it exists", name)
	}
	return change(fakeapi.Deployment(name, int32(cmp.Or(o.N, 3))), m.api.Create)
}

// on returns an action on the object that an order names, or on the first one of its resource.
func on[T fakeapi.Object](resource, what string, do func(*machine, order, T) error) func(*machine, order) error {
	return func(m *machine, o order) error {
		obj, found := m.find(resource, o.Name).(T)
		if !found {
			return fmt.Errorf("%s: there is no %s %s", o.Action, what, o.Name)
		}
		return do(m, o, obj)
	}
}

func scale(m *machine, o order, d *appsv1.Deployment) error {
	d.Spec.Replicas = ptr.To(int32(cmp.Or(o.N, int(ptr.Deref(d.Spec.Replicas, 1))%5+1)))
	return change(d, m.api.Update)
}

// remove deletes a Deployment. As in a cluster, the garbage collector soon deletes the budget that it owned, and again
// if the controller has made another one on a stale cache.
func remove(m *machine, _ order, d *appsv1.Deployment) error {
	if err := change(d, m.api.Delete); err != nil {
		return err
	}
	m.running.Go(func() { m.collect(d) })
	return nil
}

// collect is the garbage collector for one Deployment.
func (m *machine) collect(owner *appsv1.Deployment) {
	for range 20 {
		select {
		case <-time.After(250 * time.Millisecond):
		case <-m.stopped:
			return
		}
		if budget := m.find("poddisruptionbudgets", owner.Name); budget != nil && metav1.IsControlledBy(budget, owner) {
			_ = change(budget, m.api.Delete) // an error means that it has gone meanwhile
		}
	}
}

func editBudget(m *machine, _ order, b *policyv1.PodDisruptionBudget) error {
	b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
	return change(b, m.api.Update)
}

// many makes so many changes of so many Deployments, in the background. It creates those that are missing. It looks
// once which exist: 10,000 updates that fail would keep the page from pausing.
func (m *machine) many(changes, objects int) error {
	known := map[string]bool{}
	for _, obj := range m.api.Objects("deployments") {
		known[obj.GetName()] = true
	}
	m.rec.Server(pipeline.Step{Verb: pipeline.Did, Text: fmt.Sprintf("%d changes of %d Deployments", changes, objects)})
	m.running.Go(func() {
		for i := range changes {
			select {
			case <-m.stopped:
				return
			default:
			}
			d := fakeapi.Deployment(fmt.Sprintf("burst-%02d", i%objects), int32(1+i/100%3))
			if known[d.Name] {
				_ = change(d, m.api.Update) // a reader may have deleted it
			} else {
				known[d.Name] = true
				_ = change(d, m.api.Create)
			}
		}
	})
	return nil
}

// buttons returns the actions of a group that have a label.
func buttons(group string) []action {
	return slices.DeleteFunc(slices.Clone(actions), func(a action) bool { return a.Group != group || a.Label == "" })
}
