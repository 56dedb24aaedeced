// Package ownwrites keeps a number of Pods for each Deployment, and never creates one too many: it remembers the
// version of each write, and does not act on a cache that has not seen it.
//
//	             ┌── WroteAt: Pods of web, version 8 ──▶ ConsistencyStore
//	             │                                            │ EnsureReady: has the cache of Pods seen version 8?
//	Reconcile ── create ──▶ API server ──▶ watch ──▶ cache ◀──┘
//	    ▲                                              │
//	    └──────────── queue ◀── handlers ◀─────────────┘
//
// The files:
//   - version.go: which of two versions is newer.
//   - store.go, ready.go: the ConsistencyStore, as kube-controller-manager has it since 1.36.
//   - controller.go: the handlers, the queue and the workers. They are given.
//   - reconcile.go: one Reconcile, and restart.go: the start of a new leader.
//   - expectations.go: the older way to the same end.
//
// Left out: the rollout of a Deployment, its ReplicaSets, its status, adoption, and a Deployment that is being deleted.
package ownwrites
