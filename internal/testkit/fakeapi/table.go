package fakeapi

// This file is how objects look in kubectl get: the server makes the table, the client only prints it.

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// table is a resource's columns, and what stands in them.
type table struct {
	columns []metav1.TableColumnDefinition
	cells   func(obj Object) []any
}

// toTable makes a Table of an object or a list. Include says how much of each object goes with its row: Object, Metadata
// (the default) or None.
func (r *resource) toTable(obj runtime.Object, include string, columns bool) (runtime.Object, error) {
	t := &metav1.Table{Rows: []metav1.TableRow{}}
	if columns {
		t.ColumnDefinitions = r.table.columns
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		t.ListMeta = metav1.ListMeta{
			ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount(),
		}
	} else if o, ok := obj.(Object); ok {
		t.ResourceVersion = o.GetResourceVersion()
	}
	add := func(obj runtime.Object) error {
		o, ok := obj.(Object)
		if !ok {
			return fmt.Errorf("make a table row of %T: it has no metadata", obj)
		}
		row := metav1.TableRow{Cells: r.table.cells(o)}
		switch include {
		case string(metav1.IncludeObject):
			o = o.DeepCopyObject().(Object)
			o.GetObjectKind().SetGroupVersionKind(r.gvk())
			row.Object.Object = o
		case "", string(metav1.IncludeMetadata):
			row.Object.Object = toMeta(o)
		}
		t.Rows = append(t.Rows, row)
		return nil
	}
	if meta.IsListType(obj) {
		return t, meta.EachListItem(obj, add)
	}
	return t, add(obj)
}

// toMeta keeps the metadata of an object, or of each in a list.
func toMeta(obj runtime.Object) runtime.Object {
	if list, err := meta.ListAccessor(obj); err == nil && meta.IsListType(obj) {
		metas := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{}}
		metas.ListMeta = metav1.ListMeta{
			ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount(),
		}
		meta.EachListItem(obj, func(obj runtime.Object) error {
			item := toMeta(obj).(*metav1.PartialObjectMetadata)
			metas.Items = append(metas.Items, *item)
			return nil
		})
		return metas
	}
	o, ok := obj.(metav1.ObjectMetaAccessor)
	if !ok {
		return obj
	}
	m := o.GetObjectMeta().(*metav1.ObjectMeta)
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "PartialObjectMetadata"},
		ObjectMeta: *m.DeepCopy(),
	}
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

var deploymentTable = table{
	columns: []metav1.TableColumnDefinition{
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
		selector := ""
		if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
			selector = s.String()
		}
		return []any{
			d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, *d.Spec.Replicas), int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas),
			age(d.CreationTimestamp), strings.Join(names, ","), strings.Join(images, ","), selector,
		}
	},
}

var budgetTable = table{
	columns: []metav1.TableColumnDefinition{
		nameColumn,
		column("Min Available", 0, "The minimum number of pods that must be available."),
		column("Max Unavailable", 0, "The maximum number of pods that may be unavailable."),
		{Name: "Allowed Disruptions", Type: "integer", Description: "Calculated number of pods that may be disrupted at this time."},
		ageColumn,
	},
	cells: func(obj Object) []any {
		b := obj.(*policyv1.PodDisruptionBudget)
		return []any{b.Name, orNA(b.Spec.MinAvailable), orNA(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed), age(b.CreationTimestamp)}
	},
}

func orNA(value *intstr.IntOrString) string {
	if value == nil {
		return "N/A"
	}
	return value.String()
}

var eventTable = table{
	columns: []metav1.TableColumnDefinition{
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
		return []any{last, e.Type, e.Reason, object, e.InvolvedObject.FieldPath, source(e), strings.TrimSpace(e.Message), first, count, e.Name}
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

var leaseTable = table{
	columns: []metav1.TableColumnDefinition{nameColumn, column("Holder", 0, coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]), ageColumn},
	cells: func(obj Object) []any {
		l := obj.(*coordinationv1.Lease)
		holder := ""
		if l.Spec.HolderIdentity != nil {
			holder = *l.Spec.HolderIdentity
		}
		return []any{l.Name, holder, age(l.CreationTimestamp)}
	},
}

var configMapTable = table{
	columns: []metav1.TableColumnDefinition{nameColumn, {Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]}, ageColumn},
	cells: func(obj Object) []any {
		m := obj.(*corev1.ConfigMap)
		return []any{m.Name, int64(len(m.Data) + len(m.BinaryData)), age(m.CreationTimestamp)}
	},
}

// age is how long ago something was, as people say it.
func age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}
