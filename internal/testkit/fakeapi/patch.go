package fakeapi

// This file has patch and scale: changes of a part of an object, which cannot conflict unless they name a version.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// patcher applies a patch to an object in JSON. Like is an empty object of the same type.
type patcher func(doc []byte, like runtime.Object) ([]byte, error)

func (c *call) patch() (runtime.Object, error) {
	patch, err := c.patcher()
	if err != nil {
		return nil, err
	}
	if c.subresource == "scale" {
		return c.rescale(func(now, scale *autoscalingv1.Scale) error { return c.applyPatch(patch, now, scale) })
	}
	return c.store.modify(c.res, c.key(), c.part(), func(obj Object) (Object, error) {
		into := c.res.new()
		if err := c.applyPatch(patch, obj, into); err != nil {
			return nil, err
		}
		return into, cmp.Or(c.place(into), checkSize(into))
	})
}

// StrategicMergePatch applies a strategic merge patch to an object in JSON; the JSON tags of the type of like say how.
// Package strategic sets it before main. While it is nil, a server refuses such patches.
var StrategicMergePatch func(original, patch []byte, like any) ([]byte, error)

const maxPatchOperations = 10_000

func init() {
	// A patch of a few kilobytes can copy one value again and again. Real API servers have the same limit.
	jsonpatch.AccumulatedCopySizeLimit = maxBody
}

// patcher returns the patch in the body.
func (c *call) patcher() (patcher, error) {
	contentType, _, _ := strings.Cut(c.r.Header.Get("Content-Type"), ";")
	var err error
	var apply patcher
	switch types.PatchType(contentType) {
	case types.MergePatchType:
		err = json.Unmarshal(c.body, &map[string]any{})
		apply = func(doc []byte, _ runtime.Object) ([]byte, error) { return jsonpatch.MergePatch(doc, c.body) }
	case types.StrategicMergePatchType:
		if c.res.custom != nil {
			return nil, customPatchType
		}
		if StrategicMergePatch == nil {
			return nil, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
				"this program has no strategic merge patches: it does not import fakeapi/strategic", nil)
		}
		err = json.Unmarshal(c.body, &map[string]any{})
		apply = func(doc []byte, like runtime.Object) ([]byte, error) {
			return StrategicMergePatch(doc, c.body, like)
		}
	case types.JSONPatchType:
		var patch jsonpatch.Patch
		patch, err = jsonpatch.DecodePatch(c.body)
		if len(patch) > maxPatchOperations {
			return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
				"The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(patch)))
		}
		apply = func(doc []byte, _ runtime.Object) ([]byte, error) {
			result, err := patch.Apply(doc)
			if err != nil {
				return nil, serverResponse(http.StatusUnprocessableEntity, err.Error())
			}
			return result, nil
		}
	default:
		return nil, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"415: Unsupported Media Type", &metav1.StatusDetails{})
	}
	switch {
	case err != nil && !json.Valid(c.body):
		return nil, apierrors.NewBadRequest("invalid JSON patch")
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return apply, nil
}

// applyPatch decodes the patched obj into an empty object of its type.
func (c *call) applyPatch(patch patcher, obj, into runtime.Object) error {
	doc, err := encode(jsonInfo.Serializer, obj)
	if err != nil {
		return err
	}
	patched, err := patch(doc, into.DeepCopyObject())
	if err != nil {
		return err
	}
	if u, ok := into.(*unstructured.Unstructured); ok {
		if err := u.UnmarshalJSON(patched); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		err = c.prune(u.Object)
	} else {
		_, _, err = jsonInfo.StrictSerializer.Decode(patched, nil, into)
		err = c.validateFields(err)
	}
	if err != nil {
		return apierrors.NewInvalid(schema.GroupKind{}, "",
			field.ErrorList{field.Invalid(field.NewPath("patch"), string(patched), err.Error())})
	}
	return nil
}

// scaleOf returns the Scale of a Deployment.
func scaleOf(obj Object) *autoscalingv1.Scale {
	d := obj.(*appsv1.Deployment)
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	utilruntime.Must(err) // it was validated
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name, Namespace: d.Namespace, UID: d.UID, ResourceVersion: d.ResourceVersion,
			CreationTimestamp: d.CreationTimestamp,
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: *d.Spec.Replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: d.Status.Replicas, Selector: selector.String()},
	}
}

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// rescale scales the call's object. Change gets its scale and sets the new one, which rescale returns.
func (c *call) rescale(change func(now, scale *autoscalingv1.Scale) error) (runtime.Object, error) {
	updated, err := c.store.modify(c.res, c.key(), spec, func(obj Object) (Object, error) {
		scale := &autoscalingv1.Scale{}
		if err := change(scaleOf(obj), scale); err != nil {
			return nil, err
		}
		if scale.Spec.Replicas < 0 {
			return nil, apierrors.NewInvalid(scaleKind.GroupKind(), c.name,
				field.ErrorList{notNegative(field.NewPath("spec", "replicas"), scale.Spec.Replicas)})
		}
		obj.SetResourceVersion(cmp.Or(scale.ResourceVersion, obj.GetResourceVersion()))
		obj.(*appsv1.Deployment).Spec.Replicas = &scale.Spec.Replicas
		return obj, nil
	})
	if err != nil {
		return nil, err
	}
	return scaleOf(updated), nil
}
