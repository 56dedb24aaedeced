package fakeapi

// This file has patch and scale: changes of a part of an object, which cannot conflict unless they name a version.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

func (c *call) patch() error {
	change, err := c.patcher()
	if err != nil {
		return err
	}
	if c.subresource == "scale" {
		return c.patchScale(change)
	}
	patched, err := c.store.modify(c.res, c.key(), c.part(), func(obj Object) (Object, error) {
		into := c.res.new()
		if err := c.applyPatch(change, obj, into); err != nil {
			return nil, err
		}
		return into, c.place(into)
	})
	return c.answerOr(err, http.StatusOK, patched)
}

// patcher returns the function that applies the body to an object in JSON.
func (c *call) patcher() (func(doc []byte, like runtime.Object) ([]byte, error), error) {
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, err
	}
	contentType, _, _ := strings.Cut(c.r.Header.Get("Content-Type"), ";")
	switch types.PatchType(contentType) {
	case types.MergePatchType:
		if err := readable(body); err != nil {
			return nil, err
		}
		return func(doc []byte, _ runtime.Object) ([]byte, error) { return jsonpatch.MergePatch(doc, body) }, nil
	case types.StrategicMergePatchType:
		if err := readable(body); err != nil {
			return nil, err
		}
		return func(doc []byte, like runtime.Object) ([]byte, error) {
			return strategicpatch.StrategicMergePatch(doc, body, like)
		}, nil
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		return func(doc []byte, _ runtime.Object) ([]byte, error) {
			result, err := patch.Apply(doc)
			if err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "",
					err.Error(), 0, false)
			}
			return result, nil
		}, nil
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "415: Unsupported Media Type", Details: &metav1.StatusDetails{},
	}}
}

func readable(patch []byte) error {
	var into map[string]any
	if err := json.Unmarshal(patch, &into); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return nil
}

// applyPatch decodes the patched obj into an empty object of its type.
func (c *call) applyPatch(change func([]byte, runtime.Object) ([]byte, error), obj, into runtime.Object) error {
	var doc bytes.Buffer
	if err := encode(jsonInfo.Serializer, obj, &doc); err != nil {
		return err
	}
	patched, err := change(doc.Bytes(), into.DeepCopyObject())
	if err != nil {
		return err
	}
	_, _, err = jsonInfo.StrictSerializer.Decode(patched, nil, into)
	if err := c.validateFields(err); err != nil {
		return apierrors.NewInvalid(schema.GroupKind{}, "",
			field.ErrorList{field.Invalid(field.NewPath("patch"), string(patched), err.Error())})
	}
	return nil
}

func (c *call) patchScale(change func([]byte, runtime.Object) ([]byte, error)) error {
	obj, err := c.store.get(c.res, c.key())
	if err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{}
	if err := c.applyPatch(change, scaleOf(obj), scale); err != nil {
		return err
	}
	return c.applyScale(scale)
}

// scaleOf returns the Scale of a Deployment.
func scaleOf(obj Object) *autoscalingv1.Scale {
	d := obj.(*appsv1.Deployment)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name, Namespace: d.Namespace, UID: d.UID, ResourceVersion: d.ResourceVersion,
			CreationTimestamp: d.CreationTimestamp,
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: *d.Spec.Replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: d.Status.Replicas},
	}
	if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		scale.Status.Selector = selector.String()
	}
	return scale
}

// applyScale scales the call's object and answers with its new scale.
func (c *call) applyScale(scale *autoscalingv1.Scale) error {
	if scale.Spec.Replicas < 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: "autoscaling", Kind: "Scale"}, c.name,
			field.ErrorList{notNegative(field.NewPath("spec", "replicas"), scale.Spec.Replicas)})
	}
	updated, err := c.store.modify(c.res, c.key(), spec, func(obj Object) (Object, error) {
		obj.SetResourceVersion(cmp.Or(scale.ResourceVersion, obj.GetResourceVersion()))
		obj.(*appsv1.Deployment).Spec.Replicas = &scale.Spec.Replicas
		return obj, nil
	})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, scaleOf(updated))
}
