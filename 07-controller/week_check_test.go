package controller_test

// This file checks a simulated week: the caches and budgets at its end, and the calls of each handler on the way.

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// problem is the first thing that is wrong.
type problem struct {
	log         *pipeline.Log
	rule        string
	value       string // the name of the value that is wrong
	wanted, got string
	kind, key   string
	version     string // of the object on the server, empty if it is not there
	gone        bool
	step        int64 // of the recording, at which a handler noticed it
}

// steps returns the trace of the object in question, with a mark at the layer that it did not reach.
func (p *problem) steps() (lines []string) {
	for _, r := range p.log.Timeline(p.key, 30) {
		lines = append(lines, r.String())
	}
	if layer := p.log.Lost(p.kind, p.key, p.version, p.gone); layer != "" && p.kind != "" {
		lines = append(lines, fmt.Sprintf("%13s✗ %-7s  this state never came here", "", layer))
	}
	return lines
}

// check compares the caches and the budgets with the server, and asks the handlers.
func (c *cluster) check() *problem {
	for _, h := range c.watchers {
		if p := h.problem(); p != nil {
			return p
		}
	}
	if p := c.checkCache("deployments", "Deployment", c.deployments); p != nil {
		return p
	}
	if p := c.checkCache("poddisruptionbudgets", "PodDisruptionBudget", c.budgets); p != nil {
		return p
	}
	for _, h := range c.watchers {
		if p := h.checkEnd(); p != nil {
			return p
		}
	}
	return c.checkBudgets()
}

func (c *cluster) checkCache(resource, kind string, informer cache.SharedIndexInformer) *problem {
	names := map[string]bool{}
	server, store := map[string]string{}, map[string]string{}
	for _, obj := range c.Objects(resource) {
		key := obj.GetNamespace() + "/" + obj.GetName()
		server[key], names[key] = obj.GetResourceVersion(), true
	}
	for _, obj := range informer.GetStore().List() {
		about, _ := meta.Accessor(obj)
		key := about.GetNamespace() + "/" + about.GetName()
		store[key], names[key] = about.GetResourceVersion(), true
	}
	for _, key := range sortedKeys(names) {
		if server[key] != store[key] {
			return &problem{
				log: c.rec.Log, kind: kind, key: key, version: server[key], gone: server[key] == "",
				rule:   "Three hours after the last fault the cache equals the server.",
				value:  key + " in the cache",
				wanted: at(kind, key, server[key]), got: at(kind, key, store[key]),
			}
		}
	}
	return nil
}

func at(kind, key, version string) string {
	if version == "" {
		return "no " + kind + " " + key
	}
	return kind + " " + key + "@" + version
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (c *cluster) checkBudgets() *problem {
	for _, name := range sortedKeys(c.foreign) {
		b, hasBudget := find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", name)
		if !hasBudget || !equality.Semantic.DeepEqual(c.foreign[name], b) {
			return c.wrongBudget(name, "Reconcile never writes to a foreign budget.",
				"the budget as it was made", "another one, or none")
		}
	}
	for _, name := range shops {
		if p := c.checkTwin(name); p != nil {
			return p
		}
		if _, isForeign := c.foreign[name]; isForeign {
			continue
		}
		if p := c.checkBudget(name); p != nil {
			return p
		}
	}
	return nil
}

func (c *cluster) wrongBudget(name, rule, wanted, got string) *problem {
	return &problem{
		log: c.rec.Log, key: "default/" + name, value: "the budget default/" + name + " on the server",
		rule: rule, wanted: wanted, got: got,
	}
}

// checkBudget checks the controller's budget of one Deployment.
func (c *cluster) checkBudget(name string) *problem {
	d, isThere := find[*appsv1.Deployment](c, "deployments", name)
	b, hasBudget := find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", name)
	_, hasSecond := c.foreign[secondOf(name)]
	wanted := isThere && d.Spec.Replicas != nil && *d.Spec.Replicas >= 2 &&
		d.Annotations[controller.OptOutAnnotation] != controller.OptOutValue
	switch {
	case wanted && hasSecond && hasBudget:
		return c.wrongBudget(name, "If ours exists beside such a budget, Reconcile removes ours: a Pod with two budgets "+
			"cannot be evicted.", "none, since a user has made one for the same Pods", "a budget")
	case wanted && hasSecond:
	case wanted && !hasBudget && c.rec.Log.Unseen("default/"+name):
		// A user deleted the budget that the controller had created before its informer came back with a list. That list
		// is the same as the one before, so the informer cannot know. A resync would help, and there is none here.
	case wanted && !hasBudget:
		return c.wrongBudget(name, "Each Deployment of two or more replicas has its budget.", "a budget", "none")
	case !isThere && hasBudget && len(b.OwnerReferences) == 0:
		// Orphaned: a user cut the reference, and the Deployment went before the cut was repaired. The budget must stay.
	case !wanted && hasBudget:
		return c.wrongBudget(name, "A Deployment that has fewer than two replicas, has opted out or is gone has no budget.",
			"none", "a budget")
	case wanted:
		if changes := controller.Conform(b.DeepCopy(), d); len(changes) > 0 {
			return c.wrongBudget(name, "Each budget is as its Deployment needs it.", "a right budget",
				fmt.Sprint("a wrong one; to repair it, set ", changes))
		}
	}
	return nil
}

// checkTwin checks the Deployment of the same name in another namespace, where nothing has happened.
func (c *cluster) checkTwin(name string) *problem {
	for _, obj := range c.Objects("poddisruptionbudgets") {
		b := obj.(*policyv1.PodDisruptionBudget)
		if b.Namespace == "other" && b.Name == name && b.Spec.MinAvailable.IntValue() == 8 {
			return nil
		}
	}
	p := c.wrongBudget(name, "A Deployment of an equal name in another namespace is another one.", "minAvailable 8",
		"another one, or none")
	p.key, p.value = "other/"+name, "the budget other/"+name+" on the server"
	return p
}

// checkEnd checks the cluster after everything has stopped.
func (c *cluster) checkEnd() *problem {
	if n := c.Watches(); n != 0 {
		return &problem{
			log: c.rec.Log, rule: "When Run returns, nothing is left running.",
			value: "open watches at the end", wanted: "0 watches", got: fmt.Sprint(n, " watches"),
		}
	}
	return nil
}

// historian is a handler that checks the order of its calls: for each object OnAdd, then OnUpdate, then OnDelete, each
// update from the state that it knows, and never backwards.
type historian struct {
	rec          *recorder.Recorder
	name         string // "handler 1", as it is recorded
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration

	lock  sync.Mutex
	knows map[string]int // versions
	seen  map[string]int // the newest version ever
	first *problem
	gone  bool
}

func (h *historian) note(obj any) (key string, version int) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	about, err := meta.Accessor(obj)
	if err != nil {
		return "", 0
	}
	version, _ = strconv.Atoi(about.GetResourceVersion())
	return about.GetNamespace() + "/" + about.GetName(), version
}

// wrong notes the first call that is wrong. The caller has the lock.
func (h *historian) wrong(key, call, wanted, got string) {
	if h.first == nil && !h.gone {
		h.rec.Log.Append(pipeline.Step{Seam: pipeline.Note, Verb: pipeline.Error, Key: key, Error: call})
		h.first = &problem{
			log: h.rec.Log, key: key, rule: "Each handler receives every change, in order, with no gaps and no duplicates.",
			value: call, wanted: wanted, got: got, step: h.rec.Step(),
		}
	}
}

func (h *historian) OnAdd(obj any, _ bool) {
	key, version := h.note(obj)
	h.lock.Lock()
	defer h.lock.Unlock()
	if known, ok := h.knows[key]; ok {
		h.wrong(key, "an addition of an object that it knows",
			"OnUpdate from "+strconv.Itoa(known), "OnAdd of "+strconv.Itoa(version))
	}
	h.move(key, version)
}

func (h *historian) OnUpdate(old, new any) {
	key, version := h.note(new)
	about, _ := meta.Accessor(old)
	from, _ := strconv.Atoi(about.GetResourceVersion())
	h.lock.Lock()
	defer h.lock.Unlock()
	if known, ok := h.knows[key]; !ok {
		h.wrong(key, "an update of an object that it does not know", "OnAdd", "OnUpdate")
	} else if known != from {
		h.wrong(key, "an update from another version than the one that it knows", strconv.Itoa(known), strconv.Itoa(from))
	}
	h.move(key, version)
}

func (h *historian) OnDelete(obj any) {
	key, version := h.note(obj)
	h.lock.Lock()
	defer h.lock.Unlock()
	if _, ok := h.knows[key]; !ok {
		h.wrong(key, "a deletion of an object that it does not know", "no call, or OnAdd before it", "OnDelete")
	}
	h.move(key, version)
	delete(h.knows, key)
}

// move takes a version, which must not be older than the newest one before.
func (h *historian) move(key string, version int) {
	if version < h.seen[key] {
		h.wrong(key, "a version that is older than one before",
			"not before "+strconv.Itoa(h.seen[key]), strconv.Itoa(version))
	}
	h.knows[key] = version
	h.seen[key] = max(h.seen[key], version)
}

func (h *historian) problem() *problem {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.first != nil {
		h.first.value = fmt.Sprintf("%s (%s)", h.first.value, h.name)
	}
	return h.first
}

func (h *historian) left() bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.gone
}

func (h *historian) leave(t *guard.T) {
	require.NoError(t, h.informer.RemoveEventHandler(h.registration), "the error of RemoveEventHandler")
	h.lock.Lock()
	defer h.lock.Unlock()
	h.gone = true
}

// checkEnd compares what the handler knows with the store.
func (h *historian) checkEnd() *problem {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.gone {
		return nil
	}
	names := map[string]bool{}
	store := map[string]int{}
	for _, obj := range h.informer.GetStore().List() {
		about, _ := meta.Accessor(obj)
		key := about.GetNamespace() + "/" + about.GetName()
		store[key], _ = strconv.Atoi(about.GetResourceVersion())
		names[key] = true
	}
	for key := range h.knows {
		names[key] = true
	}
	for _, key := range sortedKeys(names) {
		if store[key] != h.knows[key] {
			return &problem{
				log: h.rec.Log, key: key, rule: "Each handler has received the objects in the store.",
				value:  fmt.Sprintf("%s as %s knows it", key, h.name),
				wanted: fmt.Sprintf("%s@%d", key, store[key]), got: fmt.Sprintf("%s@%d", key, h.knows[key]),
			}
		}
	}
	return nil
}
