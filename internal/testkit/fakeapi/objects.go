package fakeapi

// This file fills in what a client left out of an object, and validates objects. A real server checks far more; this
// one checks the most frequent mistakes.

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func fillDeployment(obj Object) {
	s := &obj.(*appsv1.Deployment).Spec
	s.Replicas = cmp.Or(s.Replicas, new(int32(1)))
	s.RevisionHistoryLimit = cmp.Or(s.RevisionHistoryLimit, new(int32(10)))
	s.ProgressDeadlineSeconds = cmp.Or(s.ProgressDeadlineSeconds, new(int32(600)))
	s.Strategy.Type = cmp.Or(s.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		rolling := cmp.Or(s.Strategy.RollingUpdate, new(appsv1.RollingUpdateDeployment))
		rolling.MaxUnavailable = cmp.Or(rolling.MaxUnavailable, new(intstr.FromString("25%")))
		rolling.MaxSurge = cmp.Or(rolling.MaxSurge, new(intstr.FromString("25%")))
		s.Strategy.RollingUpdate = rolling
	}
	fillPod(&s.Template.Spec)
}

func fillPod(s *corev1.PodSpec) {
	s.RestartPolicy = cmp.Or(s.RestartPolicy, corev1.RestartPolicyAlways)
	s.DNSPolicy = cmp.Or(s.DNSPolicy, corev1.DNSClusterFirst)
	s.SchedulerName = cmp.Or(s.SchedulerName, corev1.DefaultSchedulerName)
	s.TerminationGracePeriodSeconds = cmp.Or(s.TerminationGracePeriodSeconds,
		new(int64(corev1.DefaultTerminationGracePeriodSeconds)))
	s.SecurityContext = cmp.Or(s.SecurityContext, new(corev1.PodSecurityContext))
	for i := range s.Containers {
		fillContainer(&s.Containers[i])
	}
	for i := range s.InitContainers {
		fillContainer(&s.InitContainers[i])
	}
}

func fillContainer(c *corev1.Container) {
	c.TerminationMessagePath = cmp.Or(c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	c.TerminationMessagePolicy = cmp.Or(c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	c.ImagePullPolicy = cmp.Or(c.ImagePullPolicy, pullPolicy(c.Image))
	for i := range c.Ports {
		c.Ports[i].Protocol = cmp.Or(c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// pullPolicy returns Always for an image whose tag may be moved to another image.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if strings.Contains(name, "@") || tagged && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

// check refuses a new object, or the change of an object, with errors.
func (r *resource) check(obj, before Object) error {
	name := validation.ValidateNameFunc(validation.NameIsDNSSubdomain)
	errs := validation.ValidateObjectMetaAccessor(obj, true, name, field.NewPath("metadata"))
	if before != nil && before.GetDeletionTimestamp() != nil {
		added := validation.ValidateNoNewFinalizers(obj.GetFinalizers(), before.GetFinalizers(),
			field.NewPath("metadata", "finalizers"))
		errs = append(append(errs, added...), added...) // a real server checks twice, and reports both
	}
	if r.validate != nil {
		errs = append(errs, r.validate(obj, before)...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(r.gvk.GroupKind(), obj.GetName(), errs)
	}
	return nil
}

var versionRequired = field.ErrorList{
	field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update"),
}

func notNegative(path *field.Path, value int32) *field.Error {
	return field.Invalid(path, int64(value), validation.IsNegativeErrorMsg).WithOrigin("minimum")
}

func validateDeployment(obj, before Object) (errs field.ErrorList) {
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
	if before != nil {
		then := before.(*appsv1.Deployment).Spec.Selector
		errs = append(errs, validation.ValidateImmutableField(d.Spec.Selector, then, spec.Child("selector"))...)
	}
	return errs
}

func validateBudget(obj, _ Object) (errs field.ErrorList) {
	b, spec := obj.(*policyv1.PodDisruptionBudget), field.NewPath("spec")
	if b.Spec.MinAvailable != nil && b.Spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(spec, b.Spec, "minAvailable and maxUnavailable cannot be both set"))
	}
	return errs
}
