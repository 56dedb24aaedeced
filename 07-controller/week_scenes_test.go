package controller_test

// This file plays the scenes of a simulated week: changes by users, and the faults of a network and a server.

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/pipeline"
)

// do plays a scene. It leaves out one that makes no sense now, such as the deletion of an object that does not exist.
func (c *cluster) do(s scene) {
	d, isThere := find[*appsv1.Deployment](c, "deployments", s.name)
	b, hasBudget := find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", s.name)
	_, isForeign := c.foreign[s.name]
	replicas := int32(s.n)
	switch s.action {
	case weekEnds:
	case "create":
		if !isThere {
			d := deployment(s.name)
			d.Spec.Replicas = &replicas
			c.change(fmt.Sprintf("created, %d replicas", s.n), d, c.Create)
		}
	case "scale", "touch", "opt out", "opt in", "delete":
		if isThere {
			c.changeDeployment(s, d)
		}
	case "edit budget":
		if hasBudget && !isForeign {
			edited := intstr.FromInt32(0)
			b.Spec.MinAvailable = &edited
			c.change("edited by a user: minAvailable 0", b, c.Update)
		}
	case "cut owner":
		if hasBudget && !isForeign {
			b.OwnerReferences = nil
			c.change("its owner reference cut by a user", b, c.Update)
		}
	case "delete budget":
		if hasBudget {
			delete(c.foreign, s.name)
			c.change("deleted by a user", b, c.Delete)
		}
	case "foreign budget":
		if !hasBudget {
			mine := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}}
			c.change("made by a user", mine, c.Create)
			c.foreign[s.name], _ = find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", s.name)
		}
	case "second budget":
		c.secondBudget(s.name)
	case "drop second":
		if second, exists := find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", secondOf(s.name)); exists {
			delete(c.foreign, second.Name)
			c.change("deleted by a user", second, c.Delete)
		}
	case "add owner":
		if hasBudget && !isForeign && len(b.OwnerReferences) < 2 {
			b.OwnerReferences = append(b.OwnerReferences, keeper)
			c.change("another owner, which lives forever", b, c.Update)
		}
	case "handler joins":
		c.join([]cache.SharedIndexInformer{c.deployments, c.budgets}[s.n%2])
	case "handler leaves":
		last := c.watchers[len(c.watchers)-1]
		if len(c.watchers) > 2 && !last.left() {
			last.leave(c.t)
		}
	default:
		c.goWrong(s)
	}
}

// keeper is an owner that keeps a budget from the garbage collector.
var keeper = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "App", Name: "shop", UID: "app"}

func secondOf(name string) string { return name + "-by-hand" }

// secondBudget makes a budget of a user under another name, which selects the Pods of a Deployment.
func (c *cluster) secondBudget(name string) {
	second := secondOf(name)
	if _, exists := find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", second); exists {
		return
	}
	c.change("made by a user, for the Pods of "+name, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: second},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: deployment(name).Spec.Selector},
	}, c.Create)
	c.foreign[second], _ = find[*policyv1.PodDisruptionBudget](c, "poddisruptionbudgets", second)
}

func (c *cluster) changeDeployment(s scene, d *appsv1.Deployment) {
	replicas := int32(s.n)
	switch s.action {
	case "scale":
		d.Spec.Replicas = &replicas
		c.change(fmt.Sprintf("scaled to %d", s.n), d, c.Update)
	case "touch":
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, "touched", time.Now().String())
		c.change("touched", d, c.Update)
	case "opt out":
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, controller.OptOutAnnotation, controller.OptOutValue)
		c.change("opts out", d, c.Update)
	case "opt in":
		delete(d.Annotations, controller.OptOutAnnotation)
		c.change("opts in", d, c.Update)
	case "delete":
		c.change("deleted", d, c.Delete)
	}
}

// goWrong plays the faults of a network and a server.
func (c *cluster) goWrong(s scene) {
	c.rec.Server(pipeline.Step{Verb: pipeline.Did, Text: fmt.Sprintf("%s (%d)", s.action, s.n)})
	switch s.action {
	case "end watches":
		c.EndWatches()
	case "cut connections":
		c.Cut()
	case "restart":
		c.Restart()
	case "compact":
		c.Compact()
	case "bookmarks":
		c.SendBookmarks()
	case "outage":
		c.down.Add(1)
		c.Down()
		c.t.Go(func() {
			time.Sleep(time.Duration(s.n+1) * 40 * time.Second)
			if c.down.Add(-1) == 0 {
				c.Up()
			}
		})
	case "watch fault":
		c.Script("watch", []fakeapi.Fault{
			fakeapi.Event(410), fakeapi.Answer(429, "1"), fakeapi.Answer(500, ""),
			fakeapi.Cut(200), fakeapi.End(300), fakeapi.Event(500),
		}[s.n])
		c.EndWatches()
	case "list fault":
		c.Script("list", []fakeapi.Fault{
			fakeapi.Answer(500, ""), fakeapi.Answer(410, ""), fakeapi.Cut(100),
			fakeapi.Reset(false), fakeapi.Slow(30 * time.Second), fakeapi.Answer(429, "1"),
		}[s.n])
		c.Restart()
	case "write fault":
		verb := []string{"create", "update", "delete"}[s.n%3]
		c.Script(verb, []fakeapi.Fault{
			fakeapi.Answer(500, ""), fakeapi.Reset(true), fakeapi.Slow(10 * time.Second),
		}[s.n%2+s.n/4])
	}
}
