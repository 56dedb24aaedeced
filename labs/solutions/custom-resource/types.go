package customresource

// This file is given. It has the Go types of the resource. A comment that begins with + is a marker: a generator reads
// it. A json tag is the name of the field in the API.

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BitcoinNetwork is a network of Bitcoin nodes.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BitcoinNetwork struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state. Users write it.
	Spec BitcoinNetworkSpec `json:"spec"`
	// Status is the observed state. The controller writes it, through the status subresource.
	Status BitcoinNetworkStatus `json:"status,omitempty"`
}

// BitcoinNetworkSpec is the desired state of a network.
type BitcoinNetworkSpec struct {
	// Chain is main, test or regtest, which is the default.
	Chain string `json:"chain,omitempty"`
	// Nodes is the number of nodes, from 0 to 20. The default is 3. It is a pointer because 0 differs from no value.
	Nodes *int32 `json:"nodes,omitempty"`
	// Version is the version of Bitcoin Core: two numbers with a dot between them, such as 29.0. It is required.
	Version string `json:"version"`
	// Peers are up to 8 addresses of nodes elsewhere.
	//
	// +listType=set
	Peers []string `json:"peers,omitempty"`
	// Options are options of bitcoind by name, without the dash.
	Options map[string]string `json:"options,omitempty"`
}

// BitcoinNetworkStatus is the observed state of a network.
type BitcoinNetworkStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyNodes is the number of nodes that are ready.
	ReadyNodes int32 `json:"readyNodes,omitempty"`
	// RegisteredChain is the chain under which the registry lists the network. It is empty if the registry does not.
	RegisteredChain string `json:"registeredChain,omitempty"`
	// Conditions are Ready and Registered.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BitcoinNetworkList is a list of networks.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BitcoinNetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BitcoinNetwork `json:"items"`
}
