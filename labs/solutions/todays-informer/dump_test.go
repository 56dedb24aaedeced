package todaysinformer_test

// This file checks what the README says about a goroutine dump: where an idle informer of client-go waits.

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
)

func TestIdle_informer_waits_in_PopBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fcache.NewFakeControllerSource()
		informer := cache.NewSharedIndexInformer(plain{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
		t.Cleanup(server.Shutdown)
		go informer.RunWithContext(t.Context())
		synctest.Wait()
		dump := make([]byte, 1<<20)
		dump = dump[:runtime.Stack(dump, true)]
		require.True(t, strings.Contains(string(dump), "cache.(*RealFIFO).PopBatch("), "the dump:\n%s", dump)
	})
}

// plain cannot stream its first list.
type plain struct{ *fcache.FakeControllerSource }

func (plain) IsWatchListSemanticsUnSupported() bool { return true }
