package fakeapi

// This file fills in what a client left out.

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
