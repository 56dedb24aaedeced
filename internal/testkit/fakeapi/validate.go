package fakeapi

// This file validates objects. A real server checks far more; this one checks the most frequent mistakes.

import (
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// check returns the errors in an object.
func (r *resource) check(obj Object) field.ErrorList {
	name := validation.ValidateNameFunc(validation.NameIsDNSSubdomain)
	errs := validation.ValidateObjectMetaAccessor(obj, true, name, field.NewPath("metadata"))
	if r.validate != nil {
		errs = append(errs, r.validate(obj)...)
	}
	return errs
}

var versionRequired = field.ErrorList{
	field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update"),
}

func notNegative(path *field.Path, value int32) *field.Error {
	return field.Invalid(path, int64(value), validation.IsNegativeErrorMsg).WithOrigin("minimum")
}

func validateDeployment(obj Object) (errs field.ErrorList) {
	d, spec := obj.(*appsv1.Deployment), field.NewPath("spec")
	if *d.Spec.Replicas < 0 {
		errs = append(errs, notNegative(spec.Child("replicas"), *d.Spec.Replicas))
	}
	template := spec.Child("template")
	if d.Spec.Selector == nil {
		errs = append(errs, field.Required(spec.Child("selector"), ""))
	} else {
		errs = append(errs, metavalidation.ValidateLabelSelector(d.Spec.Selector,
			metavalidation.LabelSelectorValidationOptions{}, spec.Child("selector"))...)
		if len(d.Spec.Selector.MatchLabels)+len(d.Spec.Selector.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(spec.Child("selector"), d.Spec.Selector,
				"empty selector is invalid for deployment"))
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err == nil && !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
		errs = append(errs, field.Invalid(template.Child("metadata", "labels"), d.Spec.Template.Labels,
			"`selector` does not match template `labels`"))
	}
	containers := template.Child("spec", "containers")
	if len(d.Spec.Template.Spec.Containers) == 0 {
		errs = append(errs, field.Required(containers, ""))
	}
	for i, c := range d.Spec.Template.Spec.Containers {
		if c.Name == "" {
			errs = append(errs, field.Required(containers.Index(i).Child("name"), ""))
		}
		if c.Image == "" {
			errs = append(errs, field.Required(containers.Index(i).Child("image"), ""))
		}
	}
	return errs
}

// validateDeploymentUpdate checks the fields that never change.
func validateDeploymentUpdate(obj, before Object) field.ErrorList {
	now, then := obj.(*appsv1.Deployment), before.(*appsv1.Deployment)
	return validation.ValidateImmutableField(now.Spec.Selector, then.Spec.Selector, field.NewPath("spec", "selector"))
}

func validateBudget(obj Object) (errs field.ErrorList) {
	b, spec := obj.(*policyv1.PodDisruptionBudget), field.NewPath("spec")
	if b.Spec.MinAvailable != nil && b.Spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(spec, b.Spec, "minAvailable and maxUnavailable cannot be both set"))
	}
	return errs
}
