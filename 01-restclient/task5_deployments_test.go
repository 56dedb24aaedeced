package restclient_test

// Task 5: a typed client for Deployments.

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/guard"
)

// typed starts a server and returns the typed client of a namespace.
func typed(t *guard.T, namespace string) (world, restclient.DeploymentInterface) {
	w := newWorld(t)
	return w, restclient.NewDeployments(w.client, namespace)
}

// last is the last request that has arrived.
func (w world) last() string {
	all := w.Requests("")
	return all[len(all)-1].String()
}

func TestTask5_Create_and_Get(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		t.Did("Create web")
		d := deployment("web")
		d.Namespace = ""
		created, err := c.Create(t.Context(), d, metav1.CreateOptions{FieldValidation: "Strict"})
		require.NoError(t, err, "web is a good Deployment")
		require.Equal(t, "POST /apis/apps/v1/namespaces/default/deployments?fieldValidation=Strict", w.last(), "a new object has no name in the path; options are query parameters")
		require.Equal(t, "default", created.Namespace, "what is returned is what the server stored")
		require.Empty(t, d.UID, "the caller's object stays as it is")
		t.Did("Get web")
		got, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "it was created")
		require.Equal(t, created, got, "it was created")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web", w.last(), "an object is at namespace, resource and name")
	})
}

func TestTask5_Create_says_what_is_wrong(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Create web, which is there already")
		_, err := c.Create(t.Context(), deployment("web"), metav1.CreateOptions{})
		require.True(t, apierrors.IsAlreadyExists(err), "the Status comes through all layers; got %s", short(err))
		bad := deployment("bad")
		bad.Spec.Template.Labels = nil
		t.Did("Create a Deployment whose selector does not match its template")
		_, err = c.Create(t.Context(), bad, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "the Status comes through all layers; got %s", short(err))
	})
}

func TestTask5_List_in_pages(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.Create(deployment(name))
		}
		var all []string
		opts := metav1.ListOptions{Limit: 2}
		for {
			t.Did("List with Limit 2, Continue %t", opts.Continue != "")
			page, err := c.List(t.Context(), opts)
			require.NoError(t, err, "a list")
			require.LessOrEqual(t, len(page.Items), 2, "the limit reaches the server")
			all = append(all, names(page)...)
			if opts.Continue = page.Continue; opts.Continue == "" {
				break
			}
		}
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, all, "each page says where the next one begins")
	})
}

func TestTask5_List_of_a_selector_or_of_all_namespaces(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		other := deployment("c")
		other.Namespace = "other"
		w.Create(deployment("a"), deployment("b"), other)
		t.Did("List with a selector")
		list, err := c.List(t.Context(), metav1.ListOptions{LabelSelector: "app=b"})
		require.NoError(t, err, "a list")
		require.Equal(t, []string{"b"}, names(list), "the server selects; a client that selects has had everything sent")
		t.Did("List of all namespaces")
		list, err = restclient.NewDeployments(w.client, "").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "a list")
		require.Equal(t, []string{"a", "b", "c"}, names(list), "an empty namespace is all of them")
	})
}

func TestTask5_Update_needs_the_newest_version(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Get web, and Update it with 5 replicas")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "it is there")
		stale := d.DeepCopy()
		*d.Spec.Replicas = 5
		updated, err := c.Update(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err, "nobody else has changed it")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web", w.last(), "the name in the path is that of the object")
		require.EqualValues(t, 5, *updated.Spec.Replicas, "what is returned is what the server stored")
		require.NotEqual(t, stale.ResourceVersion, updated.ResourceVersion, "each change has a version of its own")
		t.Did("Update web as it was before")
		_, err = c.Update(t.Context(), stale, metav1.UpdateOptions{})
		require.True(t, apierrors.IsConflict(err), "who changes what he has read long ago undoes what others did meanwhile; got %s", short(err))
	})
}

func TestTask5_UpdateStatus_is_about_the_status(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("UpdateStatus with 2 replicas in the status and 9 in the spec")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "it is there")
		d.Status.Replicas, *d.Spec.Replicas = 2, 9
		updated, err := c.UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err, "nobody else has changed it")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web/status", w.last(), "the status is a resource below the object, with rights of its own")
		require.Equal(t, []int32{2, 2}, []int32{updated.Status.Replicas, *updated.Spec.Replicas}, "the server takes the status and leaves the rest")
	})
}

func TestTask5_Options_of_Get_and_Update_are_sent(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Get web, with ResourceVersion 0")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{ResourceVersion: "0"})
		require.NoError(t, err, "it is there")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web?resourceVersion=0", w.last(), "options are query parameters; without this one the answer comes from etcd, and not from the server's cache")
		t.Did("Update web, with DryRun")
		d, err = c.Update(t.Context(), d, metav1.UpdateOptions{DryRun: []string{"All"}, FieldManager: "me"})
		require.NoError(t, err, "nobody else has changed it")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web?dryRun=All&fieldManager=me", w.last(), "options are query parameters; a trial whose option is lost is the real thing")
		t.Did("UpdateStatus of web, with DryRun")
		_, err = c.UpdateStatus(t.Context(), d, metav1.UpdateOptions{DryRun: []string{"All"}, FieldManager: "me"})
		require.NoError(t, err, "nobody else has changed it")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web/status?dryRun=All&fieldManager=me", w.last(), "options are query parameters; a trial whose option is lost is the real thing")
	})
}

func TestTask5_Delete_with_its_options(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		uid := types.UID("another")
		t.Did("Delete web, if its UID is another")
		err := c.Delete(t.Context(), "web", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		require.True(t, apierrors.IsConflict(err), "the condition is in the body of the request; if it does not get there, somebody else's object is deleted; got %s", short(err))
		require.Equal(t, "DELETE /apis/apps/v1/namespaces/default/deployments/web", w.last(), "the options of Delete alone are no query parameters: they have conditions within them, and a query is flat")
		require.Contains(t, w.Requests("delete")[0].Body, `"uid":"another"`, "the options of Delete are an object, sent as such")
		t.Did("Delete web")
		require.NoError(t, c.Delete(t.Context(), "web", metav1.DeleteOptions{}), "it is there")
		require.Equal(t, "DELETE /apis/apps/v1/namespaces/default/deployments/web", w.last(), "one object, by its name")
		require.Empty(t, w.Objects("deployments"), "it was deleted")
		t.Did("Delete web again")
		require.True(t, apierrors.IsNotFound(c.Delete(t.Context(), "web", metav1.DeleteOptions{})), "who deletes twice hears of it")
	})
}

func TestTask5_Delete_without_a_name_deletes_nothing(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"), deployment("db"))
		t.Did(`Delete ""`)
		require.Error(t, c.Delete(t.Context(), "", metav1.DeleteOptions{}), "that would be the path of all of them")
		require.Len(t, w.Objects("deployments"), 2, "that would be the path of all of them")
	})
}

func TestTask5_Patch_of_an_object_and_of_its_status(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Patch web with 7 replicas")
		patched, err := c.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{FieldManager: "me"})
		require.NoError(t, err, "a merge patch")
		require.EqualValues(t, 7, *patched.Spec.Replicas, "what is returned is what the server stored")
		require.Equal(t, "PATCH /apis/apps/v1/namespaces/default/deployments/web?fieldManager=me", w.last(), "options are query parameters")
		require.Equal(t, "application/merge-patch+json", w.Requests("patch")[0].Header.Get("Content-Type"), "the type of the patch is the content type")
		t.Did(`Patch the "status" of web`)
		_, err = c.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status":{"replicas":7}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err, "a merge patch")
		require.Equal(t, "PATCH /apis/apps/v1/namespaces/default/deployments/web/status", w.last(), "a subresource stands behind the name")
	})
}

func TestTask5_Watch_says_watch(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w, c := typed(t, "default")
		version := w.ResourceVersion()
		w.Create(deployment("web"))
		t.Did("Watch from version %s", version)
		events, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
		require.NoError(t, err, "the server answers 200")
		require.Len(t, w.Requests("watch"), 1, "without watch=true in the query it is a list, and its body no stream of events")
		require.Equal(t, "ADDED web", next(events), "what has happened since that version")
		events.Stop()
		synctest.Wait()
		require.Equal(t, 0, w.Watches(), "Stop ends it")
	})
}
