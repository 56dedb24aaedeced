// Package strategic lets the API servers of package fakeapi apply strategic merge patches. To import it is enough:
//
//	import _ "client-go-workshop/internal/testkit/fakeapi/strategic"
//
// It is a package of its own because Kubernetes' code for this patch imports 67 others, among them OpenAPI and all of
// protobuf. They take a sixth of the time that a chapter's first run compiles, and most chapters patch nothing.
package strategic

import (
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"client-go-workshop/internal/testkit/fakeapi"
)

func init() { fakeapi.StrategicMergePatch = strategicpatch.StrategicMergePatch }
