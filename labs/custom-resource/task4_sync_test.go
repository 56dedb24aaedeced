package customresource_test

// Task 4: writing the status.

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

// syncStatus calls SyncStatus, and waits for the caches. It returns the writes.
func (w *world) syncStatus(observed customresource.Observed) ([]string, error) {
	w.t.Helper()
	since := len(w.Requests(""))
	w.t.Did("SyncStatus")
	err := w.controller.SyncStatus(w.t.Context(), w.cached(), observed)
	settle()
	return w.writes(since), err
}

var writesStatus = []string{"update bitcoinnetworks/demo/status"}

func TestTask4_Status_is_written(t *testing.T) {
	guard.Test(t, "SyncStatus writes the status of a network for an observed state.", func(t *guard.T) {
		w := newWorld(t, demo())
		writes, err := w.syncStatus(ready())
		require.NoError(t, err, "the error of SyncStatus")
		require.Equal(t, writesStatus, writes, "the writes")
		require.Equal(t, int32(2), w.stored().Status.ReadyNodes, "the ready nodes on the server")
		require.Len(t, w.stored().Status.Conditions, 2, "the conditions on the server")
	})
}

func TestTask4_Right_status_is_not_written(t *testing.T) {
	guard.Test(t, "SyncStatus does not write a status that is right: each write is an event, and each event another "+
		"look.", func(t *guard.T) {
		w := newWorld(t, demo())
		_, err := w.syncStatus(ready())
		require.NoError(t, err, "the error of SyncStatus")
		writes, err := w.syncStatus(ready())
		require.NoError(t, err, "the error of the second SyncStatus")
		require.Empty(t, writes, "the writes of the second SyncStatus")
		t.Rule("SyncStatus writes the status of a network for an observed state. Each difference is one.")
		for name, edit := range guard.InOrder(map[string]func(*customresource.Observed){
			"chain":       func(o *customresource.Observed) { o.RegisteredChain = "test" },
			"registry":    func(o *customresource.Observed) { o.RegistryError = errAway },
			"ready nodes": func(o *customresource.Observed) { o.Deployment.Status.ReadyReplicas = 1 },
			"reason":      func(o *customresource.Observed) { o.DeploymentError = errAway },
		}) {
			_, err := w.syncStatus(ready())
			require.NoError(t, err, "the error of SyncStatus before a change of the %s", name)
			writes, err := w.syncStatus(ready(edit))
			require.NoError(t, err, "the error of SyncStatus after a change of the %s", name)
			require.Equal(t, writesStatus, writes, "the writes after a change of the %s", name)
		}
	})
}

func TestTask4_Each_difference_is_written(t *testing.T) {
	guard.Test(t, "SyncStatus writes the status of a network for an observed state. Each difference is one.",
		func(t *guard.T) {
			w := newWorld(t, demo())
			none := ready(func(o *customresource.Observed) { o.Deployment, o.RegisteredChain = nil, "" })
			type status = customresource.BitcoinNetworkStatus
			of := func(s *status, name string) *metav1.Condition { return meta.FindStatusCondition(s.Conditions, name) }
			for name, edit := range guard.InOrder(map[string]func(*status){
				"observed generation":      func(s *status) { s.ObservedGeneration-- },
				"number of ready nodes":    func(s *status) { s.ReadyNodes++ },
				"registered chain":         func(s *status) { s.RegisteredChain = "main" },
				"reason of Ready":          func(s *status) { of(s, "Ready").Reason = "NameTaken" },
				"message of Registered":    func(s *status) { of(s, "Registered").Message += "?" },
				"generation of Ready":      func(s *status) { of(s, "Ready").ObservedGeneration-- },
				"generation of Registered": func(s *status) { of(s, "Registered").ObservedGeneration-- },
				"list of conditions":       func(s *status) { s.Conditions = s.Conditions[:1] },
			}) {
				for _, observed := range []customresource.Observed{ready(), none} {
					_, err := w.syncStatus(observed)
					require.NoError(t, err, "the error of SyncStatus")
					network := w.cached().DeepCopy()
					edit(&network.Status)
					since := len(w.Requests(""))
					t.Did("SyncStatus of a network with another %s", name)
					require.NoError(t, w.controller.SyncStatus(t.Context(), network, observed), "the error of SyncStatus")
					require.Equal(t, writesStatus, w.writes(since), "the writes for another %s", name)
					settle()
				}
			}
		})
}

func TestTask4_Status_alone_is_written(t *testing.T) {
	guard.Test(t, "It writes the status alone, through the status subresource: a controller that writes the whole object "+
		"undoes what a user has just changed.", func(t *guard.T) {
		w := newWorld(t, demo())
		generation := w.stored().Generation
		writes, err := w.syncStatus(ready())
		require.NoError(t, err, "the error of SyncStatus")
		require.Equal(t, writesStatus, writes, "the writes")
		require.Equal(t, generation, w.stored().Generation, "the generation on the server")
	})
}

func TestTask4_Stale_status_is_refused(t *testing.T) {
	guard.Test(t, "An error names the network and wraps the server's error: a status that is about an old spec is a "+
		"conflict.", func(t *guard.T) {
		w := newWorld(t, demo())
		old := w.cached()
		t.Did("a user changes the number of nodes, which the cache does not have yet")
		changed := w.stored()
		changed.Spec.Nodes = ptr.To[int32](5)
		w.Update(generic(t, changed))
		t.Did("SyncStatus")
		err := w.controller.SyncStatus(t.Context(), old, ready())
		require.True(t, apierrors.IsConflict(err), "the error is a conflict: %v", err)
		require.Equal(t, int64(0), w.stored().Status.ObservedGeneration, "the observed generation on the server")
		settle()
		for _, code := range []int{403, 404, 422} {
			t.Did("the server refuses the next update with %d", code)
			w.Script("update", fakeapi.Answer(code, ""))
			_, err = w.syncStatus(ready())
			var refused apierrors.APIStatus
			require.ErrorAs(t, err, &refused, "the error of SyncStatus")
			require.Equal(t, int32(code), refused.Status().Code, "the code of the server's error")
			require.ErrorContains(t, err, "demo", "the error of SyncStatus")
		}
	})
}

func TestTask4_Cached_network_stays(t *testing.T) {
	guard.Test(t, "It never changes a cached object.", func(t *guard.T) {
		w := newWorld(t, demo())
		network := w.cached()
		before := network.DeepCopy()
		_, err := w.syncStatus(ready())
		require.NoError(t, err, "the error of SyncStatus")
		require.Equal(t, before, network, "the network that the cache had")
	})
}

func TestTask4_Generation_alone_is_written(t *testing.T) {
	guard.Test(t, "ObservedGeneration is the network's generation, in the status and in each condition: also if nothing "+
		"else of the status changes.", func(t *guard.T) {
		w := newWorld(t, demo())
		_, err := w.syncStatus(ready())
		require.NoError(t, err, "the error of SyncStatus")
		network := w.stored()
		network.Spec.Options = nil
		t.Did("a user removes the options")
		w.put(network)
		_, err = w.syncStatus(ready())
		require.NoError(t, err, "the error of SyncStatus")
		require.Equal(t, w.stored().Generation, w.stored().Status.ObservedGeneration, "the observed generation")
	})
}
