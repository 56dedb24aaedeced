package solutions

// This file imports what the tests of the chapters import, and uses none of it. So one go command has compiled
// all of it before TestSolutions starts others. Else several would compile the same packages at the same time, which
// doubles the time of a first `go test ./solutions/...`. A test of internal/authoring finds what is missing here.

import (
	_ "k8s.io/client-go/tools/cache/testing"
	_ "k8s.io/klog/v2/ktesting"
	_ "k8s.io/utils/clock/testing"

	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	_ "client-go-workshop/internal/testkit/gate"
	_ "client-go-workshop/internal/testkit/guardpage"
	_ "client-go-workshop/internal/testkit/layers/clientgo"
	_ "client-go-workshop/internal/testkit/layers/solutions"
	_ "client-go-workshop/internal/testkit/layers/yours"
	_ "client-go-workshop/internal/testkit/modeltest"
	_ "client-go-workshop/internal/testkit/pdbapp"
	_ "client-go-workshop/internal/testkit/recorder"
	_ "client-go-workshop/solutions/07-controller"
)
