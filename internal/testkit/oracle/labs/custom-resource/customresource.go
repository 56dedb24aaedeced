// Package customresource runs the lab's tests over client-go's informers, queue and clients. The types, the definition
// and the controller are the solution's, because client-go has none of this kind. It only names things, and puts
// client-go below. If this fails a test, the test is wrong.
package customresource

import (
	"os"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	solution "client-go-workshop/labs/solutions/custom-resource"
)

type (
	BitcoinNetwork       = solution.BitcoinNetwork
	BitcoinNetworkList   = solution.BitcoinNetworkList
	BitcoinNetworkSpec   = solution.BitcoinNetworkSpec
	BitcoinNetworkStatus = solution.BitcoinNetworkStatus
	Config               = solution.Config
	Controller           = solution.Controller
	DeploymentWriter     = solution.DeploymentWriter
	Entry                = solution.Entry
	FileRegistry         = solution.FileRegistry
	NameTakenError       = solution.NameTakenError
	NetworkWriter        = solution.NetworkWriter
	Observed             = solution.Observed
	Registry             = solution.Registry
)

const (
	ConditionReady            = solution.ConditionReady
	ConditionRegistered       = solution.ConditionRegistered
	Finalizer                 = solution.Finalizer
	Kind                      = solution.Kind
	NetworkLabel              = solution.NetworkLabel
	ReasonNameTaken           = solution.ReasonNameTaken
	ReasonNodesReady          = solution.ReasonNodesReady
	ReasonNodesStarting       = solution.ReasonNodesStarting
	ReasonRegistered          = solution.ReasonRegistered
	ReasonRegistryUnavailable = solution.ReasonRegistryUnavailable
	ReasonWriteFailed         = solution.ReasonWriteFailed
	ReconcileTimeout          = solution.ReconcileTimeout
	RegistryTimeout           = solution.RegistryTimeout
)

var (
	Networks           = solution.Networks
	SchemeGroupVersion = solution.SchemeGroupVersion
)

func AddToScheme(scheme *runtime.Scheme) error { return solution.AddToScheme(scheme) }

func Concerned(states ...any) []cache.ObjectName { return solution.Concerned(states...) }

func Manifest() string { return solution.Manifest() }

func NewDeployment(network *BitcoinNetwork) *appsv1.Deployment {
	return solution.NewDeployment(network)
}

func NewStatus(network *BitcoinNetwork, observed Observed) BitcoinNetworkStatus {
	return solution.NewStatus(network, observed)
}

func Resource(resource string) schema.GroupResource { return solution.Resource(resource) }

func New(config Config) (*Controller, error) { return solution.New(config) }

// init chooses client-go's layers in the flags of the test binary.
func init() { os.Args = append(os.Args, "-on", "client-go") }
