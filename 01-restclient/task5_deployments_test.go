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
	guard.Test(t, "web is a good Deployment", func(t *guard.T) {
		w, c := typed(t, "default")
		t.Did("Create web")
		d := deployment("web")
		d.Namespace = ""
		created, err := c.Create(t.Context(), d, metav1.CreateOptions{FieldValidation: "Strict"})
		require.NoError(t, err)
		t.Rule("a new object has no name in the path; options are query parameters")
		require.Equal(t, "POST /apis/apps/v1/namespaces/default/deployments?fieldValidation=Strict", w.last())
		t.Rule("what is returned is what the server stored")
		require.Equal(t, "default", created.Namespace)
		t.Rule("the caller's object stays as it is")
		require.Empty(t, d.UID)
		t.Did("Get web")
		got, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		t.Rule("it was created")
		require.NoError(t, err)
		require.Equal(t, created, got)
		t.Rule("an object is at namespace, resource and name")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web", w.last())
	})
}

func TestTask5_Create_says_what_is_wrong(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Create web, which is there already")
		_, err := c.Create(t.Context(), deployment("web"), metav1.CreateOptions{})
		t.Rule("the Status comes through all layers; got %s", short(err))
		require.True(t, apierrors.IsAlreadyExists(err))
		bad := deployment("bad")
		bad.Spec.Template.Labels = nil
		t.Did("Create a Deployment whose selector does not match its template")
		_, err = c.Create(t.Context(), bad, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err))
	})
}

func TestTask5_List_in_pages(t *testing.T) {
	guard.Test(t, "a list", func(t *guard.T) {
		w, c := typed(t, "default")
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.Create(deployment(name))
		}
		var all []string
		opts := metav1.ListOptions{Limit: 2}
		for {
			t.Did("List with Limit 2, Continue %t", opts.Continue != "")
			page, err := c.List(t.Context(), opts)
			require.NoError(t, err)
			t.Rule("the limit reaches the server")
			require.LessOrEqual(t, len(page.Items), 2)
			all = append(all, names(page)...)
			if opts.Continue = page.Continue; opts.Continue == "" {
				break
			}
		}
		t.Rule("each page says where the next one begins")
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, all)
	})
}

func TestTask5_List_of_a_selector_or_of_all_namespaces(t *testing.T) {
	guard.Test(t, "a list", func(t *guard.T) {
		w, c := typed(t, "default")
		other := deployment("c")
		other.Namespace = "other"
		w.Create(deployment("a"), deployment("b"), other)
		t.Did("List with a selector")
		list, err := c.List(t.Context(), metav1.ListOptions{LabelSelector: "app=b"})
		require.NoError(t, err)
		t.Rule("the server selects; a client that selects has had everything sent")
		require.Equal(t, []string{"b"}, names(list))
		t.Did("List of all namespaces")
		list, err = restclient.NewDeployments(w.client, "").List(t.Context(), metav1.ListOptions{})
		t.Rule("a list")
		require.NoError(t, err)
		t.Rule("an empty namespace is all of them")
		require.Equal(t, []string{"a", "b", "c"}, names(list))
	})
}

func TestTask5_Update_needs_the_newest_version(t *testing.T) {
	guard.Test(t, "it is there", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Get web, and Update it with 5 replicas")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		stale := d.DeepCopy()
		*d.Spec.Replicas = 5
		updated, err := c.Update(t.Context(), d, metav1.UpdateOptions{})
		t.Rule("nobody else has changed it")
		require.NoError(t, err)
		t.Rule("the name in the path is that of the object")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web", w.last())
		t.Rule("what is returned is what the server stored")
		require.EqualValues(t, 5, *updated.Spec.Replicas)
		t.Rule("each change has a version of its own")
		require.NotEqual(t, stale.ResourceVersion, updated.ResourceVersion)
		t.Did("Update web as it was before")
		_, err = c.Update(t.Context(), stale, metav1.UpdateOptions{})
		t.Rule("who changes what he has read long ago undoes what others did meanwhile; got %s", short(err))
		require.True(t, apierrors.IsConflict(err))
	})
}

func TestTask5_UpdateStatus_is_about_the_status(t *testing.T) {
	guard.Test(t, "it is there", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("UpdateStatus with 2 replicas in the status and 9 in the spec")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		d.Status.Replicas, *d.Spec.Replicas = 2, 9
		updated, err := c.UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
		t.Rule("nobody else has changed it")
		require.NoError(t, err)
		t.Rule("the status is a resource below the object, with rights of its own")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web/status", w.last())
		t.Rule("the server takes the status and leaves the rest")
		require.Equal(t, []int32{2, 2}, []int32{updated.Status.Replicas, *updated.Spec.Replicas})
	})
}

func TestTask5_Options_of_Get_and_Update_are_sent(t *testing.T) {
	guard.Test(t, "it is there", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Get web, with ResourceVersion 0")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{ResourceVersion: "0"})
		require.NoError(t, err)
		t.Rule("options are query parameters; without this one the answer comes from etcd, and not from the " +
			"server's cache")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web?resourceVersion=0", w.last())
		t.Did("Update web, with DryRun")
		d, err = c.Update(t.Context(), d, metav1.UpdateOptions{DryRun: []string{"All"}, FieldManager: "me"})
		t.Rule("nobody else has changed it")
		require.NoError(t, err)
		t.Rule("options are query parameters; a trial whose option is lost is the real thing")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web?dryRun=All&fieldManager=me", w.last())
		t.Did("UpdateStatus of web, with DryRun")
		_, err = c.UpdateStatus(t.Context(), d, metav1.UpdateOptions{DryRun: []string{"All"}, FieldManager: "me"})
		t.Rule("nobody else has changed it")
		require.NoError(t, err)
		t.Rule("options are query parameters; a trial whose option is lost is the real thing")
		require.Equal(t, "PUT /apis/apps/v1/namespaces/default/deployments/web/status?dryRun=All&fieldManager=me", w.last())
	})
}

func TestTask5_Delete_with_its_options(t *testing.T) {
	guard.Test(t, "the options of Delete alone are no query parameters: they have conditions within them, and a "+
		"query is flat", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		uid := types.UID("another")
		t.Did("Delete web, if its UID is another")
		err := c.Delete(t.Context(), "web", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		t.Rule("the condition is in the body of the request; if it does not get there, somebody else's object "+
			"is deleted; got %s", short(err))
		require.True(t, apierrors.IsConflict(err))
		t.Rule("the options of Delete alone are no query parameters: they have conditions within them, and a " +
			"query is flat")
		require.Equal(t, "DELETE /apis/apps/v1/namespaces/default/deployments/web", w.last())
		t.Rule("the options of Delete are an object, sent as such")
		require.Contains(t, w.Requests("delete")[0].Body, `"uid":"another"`)
		t.Did("Delete web")
		t.Rule("it is there")
		require.NoError(t, c.Delete(t.Context(), "web", metav1.DeleteOptions{}))
		t.Rule("one object, by its name")
		require.Equal(t, "DELETE /apis/apps/v1/namespaces/default/deployments/web", w.last())
		t.Rule("it was deleted")
		require.Empty(t, w.Objects("deployments"))
		t.Did("Delete web again")
		t.Rule("who deletes twice hears of it")
		require.True(t, apierrors.IsNotFound(c.Delete(t.Context(), "web", metav1.DeleteOptions{})))
	})
}

func TestTask5_Delete_without_a_name_deletes_nothing(t *testing.T) {
	guard.Test(t, "that would be the path of all of them", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"), deployment("db"))
		t.Did(`Delete ""`)
		require.Error(t, c.Delete(t.Context(), "", metav1.DeleteOptions{}))
		require.Len(t, w.Objects("deployments"), 2)
	})
}

func TestTask5_Patch_of_an_object_and_of_its_status(t *testing.T) {
	guard.Test(t, "a merge patch", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Patch web with 7 replicas")
		patched, err := c.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{FieldManager: "me"})
		require.NoError(t, err)
		t.Rule("what is returned is what the server stored")
		require.EqualValues(t, 7, *patched.Spec.Replicas)
		t.Rule("options are query parameters")
		require.Equal(t, "PATCH /apis/apps/v1/namespaces/default/deployments/web?fieldManager=me", w.last())
		t.Rule("the type of the patch is the content type")
		require.Equal(t, "application/merge-patch+json", w.Requests("patch")[0].Header.Get("Content-Type"))
		t.Did(`Patch the "status" of web`)
		_, err = c.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status":{"replicas":7}}`), metav1.PatchOptions{}, "status")
		t.Rule("a merge patch")
		require.NoError(t, err)
		t.Rule("a subresource stands behind the name")
		require.Equal(t, "PATCH /apis/apps/v1/namespaces/default/deployments/web/status", w.last())
	})
}

func TestTask5_Watch_says_watch(t *testing.T) {
	guard.Test(t, "the server answers 200", func(t *guard.T) {
		w, c := typed(t, "default")
		version := w.ResourceVersion()
		w.Create(deployment("web"))
		t.Did("Watch from version %s", version)
		events, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
		require.NoError(t, err)
		t.Rule("without watch=true in the query it is a list, and its body no stream of events")
		require.Len(t, w.Requests("watch"), 1)
		t.Rule("what has happened since that version")
		require.Equal(t, "ADDED web", next(events))
		events.Stop()
		synctest.Wait()
		t.Rule("Stop ends it")
		require.Equal(t, 0, w.Watches())
	})
}
