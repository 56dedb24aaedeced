package customresource

// This file keeps one Deployment for each network. The Deployment's controller creates the Pods.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// NetworkLabel is the label of a network's Deployment and Pods. Its value is the network's name.
const NetworkLabel = "bitcoin.example.com/network"

// container is the name of the container that the controller owns.
const container = "bitcoind"

// NameTakenError says that a Deployment of the network's name belongs to another owner, or to none.
type NameTakenError struct{ Name string }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("Deployment %s is not this network's, and is left as it is", e.Name)
}

// NewDeployment returns the Deployment that a network wants. It has the network's name and namespace. The network is
// its controlling owner. Its Pods have NetworkLabel, and its selector selects by NetworkLabel alone. It has as many
// replicas as the network has nodes, or 3 without a number. Its container bitcoind runs the image bitcoin/bitcoin with
// the network's version as the tag. The arguments are -chain=CHAIN, then -addnode=PEER for each peer in the network's
// order, then -NAME=VALUE for each option, sorted by name. Without a chain it is regtest. Two calls for one network
// return equal Deployments, which share nothing with each other or the network.
//
//workshop:task 3
func NewDeployment(network *BitcoinNetwork) *appsv1.Deployment {
	labels := func() map[string]string { return map[string]string{NetworkLabel: network.Name} }
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: network.Namespace,
			Name:      network.Name,
			Labels:    labels(),
			// The kind is a constant: objects from a typed client or a cache have an empty one.
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(network, SchemeGroupVersion.WithKind(Kind)),
			},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(nodes(network)),
			Selector: &metav1.LabelSelector{MatchLabels: labels()},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels()},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  container,
					Image: "bitcoin/bitcoin:" + network.Spec.Version,
					Args:  arguments(network),
				}}},
			},
		},
	}
}

// nodes returns how many nodes a network wants. The API server fills in the default, except in objects that are older
// than the default.
//
//workshop:omit
func nodes(network *BitcoinNetwork) int32 { return ptr.Deref(network.Spec.Nodes, 3) }

// chain returns the chain of a network.
//
//workshop:omit
func chain(network *BitcoinNetwork) string { return cmp.Or(network.Spec.Chain, "regtest") }

// arguments returns the arguments of bitcoind.
//
//workshop:omit
func arguments(network *BitcoinNetwork) []string {
	args := []string{"-chain=" + chain(network)}
	for _, peer := range network.Spec.Peers {
		args = append(args, "-addnode="+peer)
	}
	// Sorted, because the order of a Go map changes from call to call, and each change would be a rollout.
	for _, name := range slices.Sorted(maps.Keys(network.Spec.Options)) {
		args = append(args, "-"+name+"="+network.Spec.Options[name])
	}
	return args
}

// SyncDeployment creates the Deployment of a network, or corrects it, with at most one write. It returns the Deployment
// as the server has it. It does not write a Deployment that is right, whatever other fields it has: defaults of the
// server, and labels, annotations and containers of other programs stay. It never writes to a Deployment that the
// network does not control: then the error is a NameTakenError. It returns the network's own Deployment without a write
// if that is being deleted. It never changes a cached object. Any other error names the Deployment and wraps the
// server's error. That includes AlreadyExists, because the cache may be behind the server.
//
//workshop:task 3
func (c *Controller) SyncDeployment(ctx context.Context, network *BitcoinNetwork) (*appsv1.Deployment, error) {
	wanted := NewDeployment(network)
	cached, err := c.deployments.Deployments(network.Namespace).Get(network.Name)
	if apierrors.IsNotFound(err) {
		created, err := c.deploymentWriter(network.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("creating Deployment %s/%s: %w", network.Namespace, network.Name, err)
		}
		return created, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Deployment %s/%s from the cache: %w", network.Namespace, network.Name, err)
	}
	if !metav1.IsControlledBy(cached, network) {
		return nil, &NameTakenError{cached.Name}
	}
	if cached.DeletionTimestamp != nil {
		return cached, nil
	}
	deployment := cached.DeepCopy()
	conform(deployment, wanted)
	if equality.Semantic.DeepEqual(deployment, cached) {
		return cached, nil
	}
	updated, err := c.deploymentWriter(network.Namespace).Update(ctx, deployment, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("updating Deployment %s/%s: %w", network.Namespace, network.Name, err)
	}
	return updated, nil
}

// conform sets the fields of a Deployment that the controller owns. The selector is not among them: it cannot change.
//
//workshop:omit
func conform(deployment, wanted *appsv1.Deployment) {
	metav1.SetMetaDataLabel(&deployment.ObjectMeta, NetworkLabel, wanted.Labels[NetworkLabel])
	metav1.SetMetaDataLabel(&deployment.Spec.Template.ObjectMeta, NetworkLabel, wanted.Labels[NetworkLabel])
	deployment.Spec.Replicas = wanted.Spec.Replicas
	pod, ours := &deployment.Spec.Template.Spec, wanted.Spec.Template.Spec.Containers[0]
	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 {
		pod.Containers = append(pod.Containers, ours)
		return
	}
	pod.Containers[i].Image, pod.Containers[i].Args = ours.Image, ours.Args
}
