// Package customresource runs a network of Bitcoin nodes for each BitcoinNetwork, a resource that this package adds to
// the API of a cluster.
//
// The way of an object, from the user to the nodes:
//
//	user ──▶ API server: defaults, validation ──▶ informer ──▶ queue ──▶ Reconcile ──▶ Deployment
//	              ▲      (crd.go)                                          │  └──────▶ registry, outside the cluster
//	              └────────────────────────── status ──────────────────────┘
//
// The files:
//   - types.go: the Go types, with markers for the generators. They are given.
//   - register.go, zz_generated.deepcopy.go: the types in a scheme, and copies of objects.
//   - crd.go: the CustomResourceDefinition, by which the API server knows the resource.
//   - deployment.go: the Deployment of a network.
//   - status.go: the conditions that users and programs read.
//   - registry.go: an effect outside of the cluster, and the finalizer that undoes it.
//   - controller.go: the handlers, the queue, and one Reconcile that joins the steps. The loop around it is given.
//
// The clients in generated/ are made from types.go, too. The controller does not use them: they import this package.
//
// Left out: several versions with conversion, admission webhooks, metrics, and a node's own storage.
//
// +k8s:deepcopy-gen=package
// +groupName=bitcoin.example.com
package customresource
