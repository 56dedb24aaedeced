package fakeapi

// This file makes the tables of kubectl get: the server fills them in, the client only prints them.

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/ptr"
)

// columns are a resource's columns and the function that returns an object's cells.
type columns struct {
	head  []metav1.TableColumnDefinition
	cells func(obj Object) []any
}

// age returns how long ago something was, as in "5m".
var age = table.ConvertToHumanReadableDateType

// toTable makes a Table of an object or a list. Include says how much of each object is in its row: Object, Metadata
// (the default) or None.
func (r *resource) toTable(obj runtime.Object, include string, withHead bool) (runtime.Object, error) {
	t := &metav1.Table{ListMeta: listMeta(obj)}
	if withHead {
		t.ColumnDefinitions = r.table.head
	}
	var err error
	t.Rows, err = table.MetaToTableRow(obj, func(obj runtime.Object, _ metav1.Object, _, _ string) ([]any, error) {
		return r.table.cells(obj.(Object)), nil
	})
	for i := range t.Rows {
		of := &t.Rows[i].Object
		switch include {
		case string(metav1.IncludeObject):
			of.Object = of.Object.DeepCopyObject()
			of.Object.GetObjectKind().SetGroupVersionKind(r.gvk)
		case "", string(metav1.IncludeMetadata):
			of.Object = toMeta(of.Object)
		default:
			of.Object = nil
		}
	}
	return t, err
}

// toMeta keeps the metadata of an object, or of each in a list.
func toMeta(obj runtime.Object) runtime.Object {
	if meta.IsListType(obj) {
		list := &metav1.PartialObjectMetadataList{ListMeta: listMeta(obj), Items: []metav1.PartialObjectMetadata{}}
		utilruntime.Must(meta.EachListItem(obj, func(obj runtime.Object) error {
			list.Items = append(list.Items, *toMeta(obj).(*metav1.PartialObjectMetadata))
			return nil
		}))
		return list
	}
	m := meta.AsPartialObjectMetadata(obj.(metav1.Object))
	m.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	return m
}

// listMeta returns the metadata of a list, or what a list with one object has.
func listMeta(obj runtime.Object) metav1.ListMeta {
	if list, err := meta.ListAccessor(obj); err == nil {
		return metav1.ListMeta{ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(),
			RemainingItemCount: list.GetRemainingItemCount()}
	}
	return metav1.ListMeta{ResourceVersion: obj.(Object).GetResourceVersion()}
}

var (
	nameDoc    = metav1.ObjectMeta{}.SwaggerDoc()["name"]
	createdDoc = metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]
	nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: nameDoc}
	ageColumn  = column("Age", 0, createdDoc)
)

func column(name string, priority int32, doc string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Priority: priority, Description: doc}
}

var deploymentTable = columns{
	head: []metav1.TableColumnDefinition{
		nameColumn,
		column("Ready", 0, "Number of the pod with ready state"),
		column("Up-to-date", 0, appsv1.DeploymentStatus{}.SwaggerDoc()["updatedReplicas"]),
		column("Available", 0, appsv1.DeploymentStatus{}.SwaggerDoc()["availableReplicas"]),
		ageColumn,
		column("Containers", 1, "Names of each container in the template."),
		column("Images", 1, "Images referenced by each container in the template."),
		column("Selector", 1, appsv1.DeploymentSpec{}.SwaggerDoc()["selector"]),
	},
	cells: func(obj Object) []any {
		d := obj.(*appsv1.Deployment)
		var names, images []string
		for _, c := range d.Spec.Template.Spec.Containers {
			names, images = append(names, c.Name), append(images, c.Image)
		}
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		utilruntime.Must(err) // it was validated
		return []any{
			d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, *d.Spec.Replicas), int64(d.Status.UpdatedReplicas),
			int64(d.Status.AvailableReplicas), age(d.CreationTimestamp), strings.Join(names, ","), strings.Join(images, ","),
			selector.String(),
		}
	},
}

var budgetTable = columns{
	head: []metav1.TableColumnDefinition{
		nameColumn,
		column("Min Available", 0, "The minimum number of pods that must be available."),
		column("Max Unavailable", 0, "The maximum number of pods that may be unavailable."),
		{Name: "Allowed Disruptions", Type: "integer",
			Description: "Calculated number of pods that may be disrupted at this time."},
		ageColumn,
	},
	cells: func(obj Object) []any {
		b := obj.(*policyv1.PodDisruptionBudget)
		return []any{b.Name, orNA(b.Spec.MinAvailable), orNA(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed),
			age(b.CreationTimestamp)}
	},
}

func orNA(value *intstr.IntOrString) string {
	if value == nil {
		return "N/A"
	}
	return value.String()
}

var eventTable = columns{
	head: []metav1.TableColumnDefinition{
		column("Last Seen", 0, corev1.Event{}.SwaggerDoc()["lastTimestamp"]),
		column("Type", 0, corev1.Event{}.SwaggerDoc()["type"]),
		column("Reason", 0, corev1.Event{}.SwaggerDoc()["reason"]),
		column("Object", 0, corev1.Event{}.SwaggerDoc()["involvedObject"]),
		column("Subobject", 1, corev1.Event{}.InvolvedObject.SwaggerDoc()["fieldPath"]),
		column("Source", 1, corev1.Event{}.SwaggerDoc()["source"]),
		column("Message", 0, corev1.Event{}.SwaggerDoc()["message"]),
		column("First Seen", 1, corev1.Event{}.SwaggerDoc()["firstTimestamp"]),
		column("Count", 1, corev1.Event{}.SwaggerDoc()["count"]),
		{Name: "Name", Type: "string", Format: "name", Priority: 1, Description: nameDoc},
	},
	cells: func(obj Object) []any {
		e := obj.(*corev1.Event)
		object := strings.ToLower(e.InvolvedObject.Kind)
		if e.InvolvedObject.Name != "" {
			object += "/" + e.InvolvedObject.Name
		}
		first, last := age(e.FirstTimestamp), age(e.LastTimestamp)
		if e.FirstTimestamp.IsZero() {
			first = age(metav1.Time(e.EventTime))
		}
		if e.LastTimestamp.IsZero() {
			last = first
		}
		count := int64(max(e.Count, 1))
		return []any{last, e.Type, e.Reason, object, e.InvolvedObject.FieldPath, source(e), strings.TrimSpace(e.Message),
			first, count, e.Name}
	},
}

func source(e *corev1.Event) string {
	component, instance := e.Source.Component, e.Source.Host
	if component == "" {
		component, instance = e.ReportingController, e.ReportingInstance
	}
	if instance == "" {
		return component
	}
	return component + ", " + instance
}

var leaseTable = columns{
	head: []metav1.TableColumnDefinition{
		nameColumn, column("Holder", 0, coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]), ageColumn,
	},
	cells: func(obj Object) []any {
		l := obj.(*coordinationv1.Lease)
		return []any{l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), age(l.CreationTimestamp)}
	},
}

var configMapTable = columns{
	head: []metav1.TableColumnDefinition{
		nameColumn, column("Data", 0, corev1.ConfigMap{}.SwaggerDoc()["data"]), ageColumn,
	},
	cells: func(obj Object) []any {
		m := obj.(*corev1.ConfigMap)
		return []any{m.Name, int64(len(m.Data) + len(m.BinaryData)), age(m.CreationTimestamp)}
	},
}
