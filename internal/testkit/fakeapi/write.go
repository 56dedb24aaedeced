package fakeapi

// This file has create, update and delete, and prepares objects for the store.

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
)

func (c *call) create() (runtime.Object, error) {
	obj, err := c.decode(c.res.gvk)
	if err = cmp.Or(err, checkSize(obj)); err != nil {
		return nil, err
	}
	c.code = http.StatusCreated
	if obj.GetResourceVersion() != "" {
		return nil, internal("resourceVersion should not be set on objects to be created")
	}
	if isTrue(c.query.Get("dryRun")) {
		return obj, c.res.prepareForCreate(obj)
	}
	return c.store.create(c.res, obj)
}

func (c *call) update() (runtime.Object, error) {
	if c.subresource == "scale" {
		sent, err := c.decode(scaleKind)
		if err != nil {
			return nil, err
		}
		return c.rescale(func(_, scale *autoscalingv1.Scale) error {
			*scale = *sent.(*autoscalingv1.Scale)
			return nil
		})
	}
	obj, err := c.decode(c.res.gvk)
	if err = cmp.Or(err, checkSize(obj)); err != nil {
		return nil, err
	}
	if _, err := c.store.get(c.res, c.key()); apierrors.IsNotFound(err) && c.res.createOnUpdate && c.subresource == "" {
		c.code = http.StatusCreated
		return c.store.create(c.res, obj)
	}
	return c.store.update(c.res, obj, c.part())
}

func (c *call) part() part {
	if c.subresource == "status" {
		return statusOnly
	}
	return spec
}

// decode decodes the body into an object of a kind and the URL's namespace and name. It refuses, warns of, or ignores
// unknown fields, as the query's fieldValidation says.
func (c *call) decode(gvk schema.GroupVersionKind) (Object, error) {
	if c.res.custom != nil {
		return c.decodeCustom()
	}
	mediaType, _, _ := strings.Cut(cmp.Or(c.r.Header.Get("Content-Type"), runtime.ContentTypeJSON), ";")
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		return nil, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: "+
				"application/json, application/yaml, application/vnd.kubernetes.protobuf", nil)
	}
	decoded, found, err := info.StrictSerializer.Decode(c.body, &gvk, nil)
	if err = c.validateFields(err); err == nil && found != nil && *found != gvk {
		err = fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion",
			found.Version, found.Kind, schema.ParseGroupResource(gvk.Group).Resource, gvk.Kind)
	}
	switch {
	case err == nil:
		obj := decoded.(Object)
		return obj, c.place(obj)
	case found == nil || found.Kind == "" || found.Version == "":
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
			gvk.Kind, err, cmp.Or(string(c.body), "<empty>")))
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
		found.Kind, found.Version, gvk.Kind, err))
}

// validateFields handles unknown and duplicate fields: it refuses, ignores or warns of them.
func (c *call) validateFields(err error) error {
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return err
	}
	switch c.query.Get("fieldValidation") {
	case metav1.FieldValidationStrict:
		return err
	case metav1.FieldValidationIgnore:
		return nil
	}
	for _, problem := range strict.Errors() {
		c.w.Header().Add("Warning", fmt.Sprintf("299 - %q", problem.Error()))
	}
	return nil
}

// place checks that the object has the namespace and name of the URL.
func (c *call) place(obj metav1.Object) error {
	obj.SetNamespace(cmp.Or(obj.GetNamespace(), c.namespace))
	switch {
	case obj.GetNamespace() != c.namespace:
		return apierrors.NewBadRequest(
			"the namespace of the provided object does not match the namespace sent on the request")
	case c.name == "" || obj.GetName() == c.name:
		return nil
	case obj.GetName() == "":
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided", c.name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
		obj.GetName(), c.name))
}

// prepareForCreate fills in the metadata and defaults of a new object, and validates it.
func (r *resource) prepareForCreate(obj Object) error {
	forgetKind(obj)
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + utilrand.String(5))
	}
	if r.hasGenerations() {
		obj.SetGeneration(1)
	}
	if r.status {
		copySection(obj, r.new(), "Status")
	}
	if r.fill != nil {
		r.fill(obj)
	}
	obj.SetUID(types.UID(uuid.NewUUID()))
	obj.SetCreationTimestamp(now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetManagedFields(nil)
	return r.check(obj, nil)
}

// prepareForUpdate merges into obj the parts of before that the update must not change, and validates it.
func (r *resource) prepareForUpdate(obj, before Object, part part) error {
	if part != everything && obj.GetResourceVersion() == "" && !r.unconditional {
		return apierrors.NewInvalid(schema.GroupKind{Group: r.gvr.Group, Kind: r.gvr.Resource}, obj.GetName(),
			versionRequired)
	}
	forgetKind(obj)
	keepMeta(obj, before)
	kept := before.DeepCopyObject().(Object)
	switch {
	case part == spec && r.status:
		copySection(obj, kept, "Status")
	case part == statusOnly && r.custom != nil: // it changes nothing else, not even a label
		copySection(kept, obj, "Status")
		kept.SetResourceVersion(obj.GetResourceVersion())
		obj.(*unstructured.Unstructured).Object = content(kept)
	case part == statusOnly:
		copySection(obj, kept, "Spec")
		obj.SetLabels(kept.GetLabels())
	}
	if r.fill != nil {
		r.fill(obj)
	}
	annotated := r.annotations && part != statusOnly &&
		!equality.Semantic.DeepEqual(obj.GetAnnotations(), before.GetAnnotations())
	if annotated || r.hasGenerations() && !equality.Semantic.DeepEqual(r.desired(obj), r.desired(before)) {
		obj.SetGeneration(before.GetGeneration() + 1)
	}
	return r.check(obj, before)
}

// forgetKind clears the kind, because objects are stored without it. Answers have it, except in the items of lists.
func forgetKind(obj Object) { obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) }

// keepMeta restores the metadata that only the server writes.
func keepMeta(obj, before metav1.Object) {
	obj.SetUID(before.GetUID())
	obj.SetCreationTimestamp(before.GetCreationTimestamp())
	obj.SetDeletionTimestamp(before.GetDeletionTimestamp())
	obj.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	obj.SetGeneration(before.GetGeneration())
	obj.SetGenerateName(before.GetGenerateName())
	obj.SetManagedFields(nil)
}

func (c *call) delete() (runtime.Object, error) {
	options, err := c.deleteOptions()
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	last, err := c.store.delete(c.res, c.key(), options)
	if err != nil {
		return nil, err
	}
	if len(last.GetFinalizers()) > 0 {
		return last, nil // they hold it back
	}
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: c.name, Group: c.res.gvr.Group, Kind: c.res.gvr.Resource, UID: last.GetUID()},
	}, nil
}

// deleteOptions decodes the options of a deletion, which are in the body or in the query.
func (c *call) deleteOptions() (options metav1.DeleteOptions, err error) {
	if len(c.body) == 0 {
		err = metav1.Convert_url_Values_To_v1_DeleteOptions(&c.query, &options, nil)
		return options, err
	}
	gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	_, _, err = codecs.UniversalDeserializer().Decode(c.body, &gvk, &options)
	return options, err
}

func (c *call) deleteCollection() (runtime.Object, error) {
	_, selected, err := c.options()
	if err != nil {
		return nil, err
	}
	objs, at, _ := c.store.list(c.res, latest)
	var deleted []runtime.Object
	for _, obj := range objs {
		if !selected.has(c.res, obj) {
			continue
		}
		last, err := c.store.delete(c.res, key(obj), metav1.DeleteOptions{})
		if err == nil { // otherwise another client has deleted it
			deleted = append(deleted, last)
		}
	}
	return c.res.listOf(deleted, at), nil
}
