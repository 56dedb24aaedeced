package fakeapi

// This file has create, update and delete, and prepares objects for the store.

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
)

func (c *call) create() error {
	obj, err := c.decode()
	if err != nil {
		return err
	}
	if err := c.place(obj); err != nil {
		return err
	}
	if obj.GetResourceVersion() != "" {
		return internal("resourceVersion should not be set on objects to be created")
	}
	if isTrue(c.query.Get("dryRun")) {
		return c.answerOr(c.res.prepareForCreate(obj), http.StatusCreated, obj)
	}
	created, err := c.store.create(c.res, obj)
	return c.answerOr(err, http.StatusCreated, created)
}

func (c *call) update() error {
	if c.subresource == "scale" {
		return c.updateScale()
	}
	obj, err := c.decode()
	if err != nil {
		return err
	}
	if err := c.place(obj); err != nil {
		return err
	}
	if _, err := c.store.get(c.res, c.key()); apierrors.IsNotFound(err) && c.res.createOnUpdate && c.subresource == "" {
		created, err := c.store.create(c.res, obj)
		return c.answerOr(err, http.StatusCreated, created)
	}
	updated, err := c.store.update(c.res, obj, c.part())
	return c.answerOr(err, http.StatusOK, updated)
}

func (c *call) part() part {
	if c.subresource == "status" {
		return statusOnly
	}
	return spec
}

// decode decodes the body into an object of the call's resource. It refuses, warns of, or ignores unknown fields, as
// the query's fieldValidation says.
func (c *call) decode() (Object, error) {
	obj, err := c.decodeAs(c.res.new(), c.res.gvk)
	if err != nil {
		return nil, err
	}
	return obj.(Object), nil
}

func (c *call) decodeAs(into runtime.Object, gvk schema.GroupVersionKind) (runtime.Object, error) {
	mediaType, _, _ := strings.Cut(cmp.Or(c.r.Header.Get("Content-Type"), runtime.ContentTypeJSON), ";")
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !ok || mediaType == runtime.ContentTypeCBOR {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
			Message: "the body of the request was in an unknown format - " +
				"accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
		}}
	}
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, err
	}
	obj, found, err := info.StrictSerializer.Decode(body, &gvk, nil)
	if err = c.validateFields(err); err != nil {
		return nil, c.undecodable(body, found, gvk, err)
	}
	if found != nil && *found != gvk {
		return nil, c.undecodable(body, found, gvk, fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion",
			found.Version, found.Kind, schema.ParseGroupResource(gvk.Group).Resource, gvk.Kind))
	}
	return obj, nil
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

func (c *call) undecodable(body []byte, found *schema.GroupVersionKind, wanted schema.GroupVersionKind,
	err error) error {
	if found == nil || found.Kind == "" || found.Version == "" {
		text := cmp.Or(string(body), "<empty>")
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
			wanted.Kind, err, text))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", found.Kind, found.Version,
		wanted.Kind, err))
}

// place checks that the object has the namespace and name of the URL.
func (c *call) place(obj metav1.Object) error {
	obj.SetNamespace(cmp.Or(obj.GetNamespace(), c.namespace))
	if obj.GetNamespace() != c.namespace {
		return apierrors.NewBadRequest(
			"the namespace of the provided object does not match the namespace sent on the request")
	}
	if c.name == "" {
		return nil
	}
	if obj.GetName() == "" {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided", c.name))
	}
	if obj.GetName() != c.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			obj.GetName(), c.name))
	}
	return nil
}

// prepareForCreate fills in the metadata and defaults of a new object, and validates it.
func (r *resource) prepareForCreate(obj Object) error {
	forgetKind(obj)
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + utilrand.String(5))
	}
	if r.fill != nil {
		r.fill(obj)
	}
	if r.status {
		obj.SetGeneration(1)
		statusOf(obj).SetZero()
	}
	obj.SetUID(types.UID(uuid.NewUUID()))
	obj.SetCreationTimestamp(now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetManagedFields(nil)
	if errs := r.check(obj); len(errs) > 0 {
		return apierrors.NewInvalid(r.gvk.GroupKind(), obj.GetName(), errs)
	}
	return nil
}

// prepareForUpdate merges into obj the parts of before that the update must not change, and validates it.
func (r *resource) prepareForUpdate(obj, before Object, part part) error {
	if part != everything && obj.GetResourceVersion() == "" && !r.unconditional {
		return apierrors.NewInvalid(schema.GroupKind{Group: r.gvr.Group, Kind: r.gvr.Resource}, obj.GetName(),
			versionRequired)
	}
	forgetKind(obj)
	keepMeta(obj, before)
	if r.status && part == spec {
		statusOf(obj).Set(statusOf(before.DeepCopyObject().(Object)))
	}
	if part == statusOnly {
		specOf(obj).Set(specOf(before.DeepCopyObject().(Object)))
		obj.SetLabels(before.GetLabels())
	}
	if r.fill != nil {
		r.fill(obj)
	}
	if r.status && !sameSpec(obj, before) {
		obj.SetGeneration(before.GetGeneration() + 1)
	}
	errs := r.check(obj)
	if r.validateUpdate != nil {
		errs = append(errs, r.validateUpdate(obj, before)...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(r.gvk.GroupKind(), obj.GetName(), errs)
	}
	return nil
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

func (c *call) delete() error {
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	before, err := c.store.get(c.res, c.key())
	if err != nil {
		return err
	}
	last, err := c.store.delete(c.res, c.key(), options)
	if err != nil {
		return err
	}
	if _, err := c.store.get(c.res, c.key()); err == nil {
		return c.answer(http.StatusOK, last) // finalizers hold it back
	}
	return write(c.w, negotiatePlain(c.r), http.StatusOK, &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: c.name, Group: c.res.gvr.Group, Kind: c.res.gvr.Resource, UID: before.GetUID()},
	})
}

// deleteOptions decodes the options of a deletion, which are in the body or in the query.
func (c *call) deleteOptions() (options metav1.DeleteOptions, err error) {
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return options, err
	}
	if len(body) == 0 {
		err = metav1.Convert_url_Values_To_v1_DeleteOptions(&c.query, &options, nil)
	} else {
		gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
		_, _, err = codecs.UniversalDeserializer().Decode(body, &gvk, &options)
	}
	if err != nil {
		return options, apierrors.NewBadRequest(err.Error())
	}
	return options, nil
}

func (c *call) deleteCollection() error {
	_, selected, err := c.options()
	if err != nil {
		return err
	}
	objs, at, err := c.store.list(c.res, latest)
	if err != nil {
		return err
	}
	var deleted []runtime.Object
	for _, obj := range objs {
		if !selected.has(c.res, obj) {
			continue
		}
		last, err := c.store.delete(c.res, key(obj), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil {
			deleted = append(deleted, last)
		}
	}
	return c.answer(http.StatusOK, c.res.listOf(deleted, at))
}

func (c *call) updateScale() error {
	gvk := autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	obj, err := c.decodeAs(&autoscalingv1.Scale{}, gvk)
	if err != nil {
		return err
	}
	scale := obj.(*autoscalingv1.Scale)
	if err := c.place(scale); err != nil {
		return err
	}
	return c.applyScale(scale)
}
