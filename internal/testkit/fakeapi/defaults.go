package fakeapi

// This file is what a server fills in where a client has written nothing.

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func fillDeployment(obj Object) {
	s := &obj.(*appsv1.Deployment).Spec
	fill(&s.Replicas, 1)
	fill(&s.RevisionHistoryLimit, 10)
	fill(&s.ProgressDeadlineSeconds, 600)
	if s.Strategy.Type == "" {
		s.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		fill(&s.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		fill(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		fill(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	fillPod(&s.Template.Spec)
}

func fillPod(s *corev1.PodSpec) {
	fillText(&s.RestartPolicy, corev1.RestartPolicyAlways)
	fillText(&s.DNSPolicy, corev1.DNSClusterFirst)
	fillText(&s.SchedulerName, corev1.DefaultSchedulerName)
	fill(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	fill(&s.SecurityContext, corev1.PodSecurityContext{})
	for i := range s.Containers {
		fillContainer(&s.Containers[i])
	}
	for i := range s.InitContainers {
		fillContainer(&s.InitContainers[i])
	}
}

func fillContainer(c *corev1.Container) {
	fillText(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	fillText(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	fillText(&c.ImagePullPolicy, pullPolicy(c.Image))
	for i := range c.Ports {
		fillText(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// pullPolicy is Always for an image whose tag may come to mean another.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if strings.Contains(name, "@") {
		return corev1.PullIfNotPresent
	}
	if _, tag, tagged := strings.Cut(name, ":"); tagged && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func fill[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func fillText[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
