// deployment.go, in another correct design of the steps: the controller's fields are a list.
//
//   - Each owned field has a function that corrects it, and reports whether it had to. There is no comparison of whole
//     objects, and no copy without a need.
//   - The selector is an expression, and the Pods have a label that the selector does not name.
//   - status.go keeps transition times itself, without apimachinery's helper.
//
// It is correct because a field that is not in the list is never read or written.

package customresource

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkLabel is the label of a network's Deployment and Pods. Its value is the network's name.
const NetworkLabel = "bitcoin.example.com/network"

// NameTakenError says that a Deployment of the network's name belongs to another owner, or to none.
type NameTakenError struct{ Name string }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("Deployment %s is not this network's, and is left as it is", e.Name)
}

// settings are the fields of a Deployment that a network decides.
type settings struct {
	network  string
	replicas int32
	image    string
	args     []string
}

func settingsOf(network *BitcoinNetwork) settings {
	s := settings{network: network.Name, replicas: 3, image: "bitcoin/bitcoin:" + network.Spec.Version}
	if network.Spec.Nodes != nil {
		s.replicas = *network.Spec.Nodes
	}
	for _, peer := range network.Spec.Peers {
		s.args = append(s.args, "-addnode="+peer)
	}
	var options []string
	for name := range network.Spec.Options {
		options = append(options, name)
	}
	slices.Sort(options)
	for _, name := range options {
		s.args = append(s.args, fmt.Sprintf("-%s=%s", name, network.Spec.Options[name]))
	}
	s.args = append([]string{"-chain=" + chain(network)}, s.args...)
	return s
}

// chain returns the chain of a network.
func chain(network *BitcoinNetwork) string {
	if network.Spec.Chain == "" {
		return "regtest"
	}
	return network.Spec.Chain
}

// correct sets the fields of a Deployment, and reports whether one was wrong.
func (s settings) correct(d *appsv1.Deployment) (changed bool) {
	for _, meta := range []*metav1.ObjectMeta{&d.ObjectMeta, &d.Spec.Template.ObjectMeta} {
		if meta.Labels[NetworkLabel] != s.network {
			metav1.SetMetaDataLabel(meta, NetworkLabel, s.network)
			changed = true
		}
	}
	if d.Spec.Replicas == nil || *d.Spec.Replicas != s.replicas {
		d.Spec.Replicas, changed = new(int32), true
		*d.Spec.Replicas = s.replicas
	}
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		if c.Name != "bitcoind" {
			continue
		}
		if c.Image != s.image || !slices.Equal(c.Args, s.args) {
			c.Image, c.Args, changed = s.image, s.args, true
		}
		return changed
	}
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers,
		corev1.Container{Name: "bitcoind", Image: s.image, Args: s.args})
	return true
}

// NewDeployment corrects an empty Deployment.
func NewDeployment(network *BitcoinNetwork) *appsv1.Deployment {
	yes := true
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = network.Namespace, network.Name
	d.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: SchemeGroupVersion.String(), Kind: Kind, Name: network.Name, UID: network.UID, Controller: &yes,
		BlockOwnerDeletion: &yes,
	}}
	d.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: NetworkLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{network.Name},
	}}}
	d.Spec.Template.Labels = map[string]string{"app.kubernetes.io/name": "bitcoind"}
	settingsOf(network).correct(d)
	return d
}

// SyncDeployment creates the Deployment of a network, or corrects it.
func (c *Controller) SyncDeployment(ctx context.Context, network *BitcoinNetwork) (*appsv1.Deployment, error) {
	cached, err := c.deployments.Deployments(network.Namespace).Get(network.Name)
	var written *appsv1.Deployment
	switch {
	case apierrors.IsNotFound(err):
		written, err = c.deploymentWriter(network.Namespace).Create(ctx, NewDeployment(network), metav1.CreateOptions{})
	case err != nil:
	case !owns(network, cached):
		return nil, &NameTakenError{cached.Name}
	default:
		d := cached.DeepCopy()
		if d.DeletionTimestamp != nil || !settingsOf(network).correct(d) {
			return cached, nil
		}
		written, err = c.deploymentWriter(network.Namespace).Update(ctx, d, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("Deployment %q: %w", network.Name, err)
	}
	return written, nil
}

// owns reports whether the network controls a Deployment.
func owns(network *BitcoinNetwork, d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == network.UID && owner.Controller != nil && *owner.Controller
	})
}
