package restclient_test

// Task 5: a typed client for Deployments.

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// typed starts a server and returns the typed client of a namespace.
func typed(t *guard.T, namespace string) (world, restclient.DeploymentInterface) {
	w := newWorld(t)
	return w, restclient.NewDeployments(w.client, namespace)
}

// requireLast asserts that the last request that has arrived has this verb, and this path and query below the
// namespace's Deployments.
func (w world) requireLast(verb, rest string) {
	w.t.Helper()
	all := w.Requests("")
	want := verb + " /apis/apps/v1/namespaces/default/deployments" + rest
	require.Equal(w.t, want, all[len(all)-1].String(), "the last request")
}

const (
	inQuery       = "The options are query parameters"
	creates       = "Create stores a new Deployment, and returns the stored object"
	updates       = "Update replaces a Deployment, except for its status, and returns the stored object"
	patches       = "Patch changes part of a Deployment, or of the named subresource, and returns the stored object"
	updatesStatus = "UpdateStatus replaces the status of a Deployment and nothing else, and returns the stored " +
		"object"
	itsStatus = "The server's Status becomes an error that apierrors.IsNotFound and the others recognize"
)

func TestTask5_Create_and_Get(t *testing.T) {
	guard.Test(t, creates+": it is a POST, and its path has no name.", func(t *guard.T) {
		w, c := typed(t, "default")
		t.Did("Create web")
		d := deployment("web")
		d.Namespace = ""
		created, err := c.Create(t.Context(), d, metav1.CreateOptions{FieldValidation: "Strict"})
		require.NoError(t, err, "the error of Create")
		w.requireLast("POST", "?fieldValidation=Strict")
		t.Rule(creates + ".")
		require.Equal(t, "default", created.Namespace, "the namespace of the object that Create returns")
		t.Rule("The caller's object does not change.")
		require.Empty(t, d.UID, "the UID of the caller's object after Create")
		t.Rule("Get returns the Deployment with this name.")
		t.Did("Get web")
		got, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "the error of Get")
		require.Equal(t, created, got, "the object that Get returns")
		w.requireLast("GET", "/web")
	})
}

func TestTask5_List_in_pages(t *testing.T) {
	const (
		limit = "With a Limit, List returns a page, whose Continue goes into the options for the next one"
	)
	guard.Test(t, limit+".", func(t *guard.T) {
		w, c := typed(t, "default")
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.Create(deployment(name))
		}
		var all []string
		opts := metav1.ListOptions{Limit: 2}
		for {
			t.Did("List with Limit 2, Continue %t", opts.Continue != "")
			page, err := c.List(t.Context(), opts)
			require.NoError(t, err, "the error of List")
			require.LessOrEqual(t, len(page.Items), 2, "objects in a page")
			all = append(all, names(page)...)
			if page.Continue != "" {
				left := int64(5 - len(all))
				require.Equal(t, &left, page.RemainingItemCount, "the count of remaining objects in the page")
			}
			if opts.Continue = page.Continue; opts.Continue == "" {
				break
			}
		}
		t.Rule(limit + ". All pages together contain each object once.")
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, all, "names in all pages")
	})
}

func TestTask5_List_of_a_selector_or_of_all_namespaces(t *testing.T) {
	guard.Test(t, "List returns the Deployments that the options select: the server selects them, and sends no "+
		"others.", func(t *guard.T) {
		w, c := typed(t, "default")
		other := deployment("c")
		other.Namespace = "other"
		same := deployment("b")
		same.Namespace = "other"
		w.Create(deployment("a"), deployment("b"), other, same)
		t.Did("List with a selector")
		list, err := c.List(t.Context(), metav1.ListOptions{LabelSelector: "app=b"})
		require.NoError(t, err, "the error of List with a selector")
		require.Equal(t, []string{"default/b"}, keys(list), "objects in the list with a selector")
		t.Rule(inQuery + ", and no others.")
		w.requireLast("GET", "?labelSelector=app%3Db")
		t.Did("List with TimeoutSeconds 0")
		seconds := int64(0)
		_, err = c.List(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
		require.NoError(t, err, "the error of List with TimeoutSeconds 0")
		w.requireLast("GET", "?timeoutSeconds=0")
		t.Rule("List returns the Deployments that the options select: without a namespace, those of all namespaces.")
		t.Did("List of all namespaces")
		list, err = restclient.NewDeployments(w.client, "").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "the error of List of all namespaces")
		require.Equal(t, []string{"default/a", "default/b", "other/b", "other/c"}, keys(list),
			"objects in the list of all namespaces")
	})
}

func TestTask5_Update_needs_the_newest_version(t *testing.T) {
	guard.Test(t, updates+": it is a PUT, and its path has the object's name.", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Get web, and Update it with 5 replicas")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "the error of Get")
		stale := d.DeepCopy()
		*d.Spec.Replicas = 5
		updated, err := c.Update(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err, "the error of Update")
		w.requireLast("PUT", "/web")
		t.Rule(updates + ".")
		require.EqualValues(t, 5, *updated.Spec.Replicas, "replicas of the object that Update returns")
		require.NotEqual(t, stale.ResourceVersion, updated.ResourceVersion,
			"the version of the object that Update returns")
		t.Rule(itsStatus + ": an Update of an old version is a conflict.")
		t.Did("Update web as it was before")
		_, err = c.Update(t.Context(), stale, metav1.UpdateOptions{})
		requireIs(t, apierrors.IsConflict, metav1.StatusReasonConflict, err, "Update of an old version")
	})
}

func TestTask5_UpdateStatus_is_about_the_status(t *testing.T) {
	guard.Test(t, updatesStatus+": the status is a subresource with permissions of its own.", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("UpdateStatus with 2 replicas in the status and 9 in the spec")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "the error of Get")
		d.Status.Replicas, *d.Spec.Replicas = 2, 9
		updated, err := c.UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err, "the error of UpdateStatus")
		w.requireLast("PUT", "/web/status")
		require.Equal(t, []int32{2, 2}, []int32{updated.Status.Replicas, *updated.Spec.Replicas},
			"replicas in the status and in the spec that UpdateStatus returns")
	})
}

func TestTask5_Options_of_Get_and_Update_are_sent(t *testing.T) {
	guard.Test(t, inQuery+": with resourceVersion=0 the server answers from its cache, not from "+
		"etcd.", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Get web, with ResourceVersion 0")
		d, err := c.Get(t.Context(), "web", metav1.GetOptions{ResourceVersion: "0"})
		require.NoError(t, err, "the error of Get")
		w.requireLast("GET", "/web?resourceVersion=0")
		t.Rule(inQuery + ": if the option of a dry run is lost, the change is real.")
		t.Did("Update web, with DryRun")
		d, err = c.Update(t.Context(), d, metav1.UpdateOptions{DryRun: []string{"All"}, FieldManager: "me"})
		require.NoError(t, err, "the error of Update")
		w.requireLast("PUT", "/web?dryRun=All&fieldManager=me")
		t.Did("UpdateStatus of web, with DryRun")
		_, err = c.UpdateStatus(t.Context(), d, metav1.UpdateOptions{DryRun: []string{"All"}, FieldManager: "me"})
		require.NoError(t, err, "the error of UpdateStatus")
		w.requireLast("PUT", "/web/status?dryRun=All&fieldManager=me")
	})
}

func TestTask5_Delete_with_its_options(t *testing.T) {
	guard.Test(t, "The options of Delete are the body of the request: if the condition on the UID does not arrive, "+
		"another object is deleted.", func(t *guard.T) {
		w, c := typed(t, "default")
		other := deployment("web")
		other.Namespace = "other"
		w.Create(deployment("web"), deployment("db"), other)
		uid := types.UID("another")
		t.Did("Delete web, if its UID is another")
		err := c.Delete(t.Context(), "web", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		requireIs(t, apierrors.IsConflict, metav1.StatusReasonConflict, err, "Delete with another UID")
		t.Rule("The options of Delete are the body of the request: they are nested, and a query is flat.")
		w.requireLast("DELETE", "/web")
		require.Contains(t, w.Requests("delete")[0].Body, `"uid":"another"`, "the body of the DELETE")
		t.Rule("Delete removes the Deployment with this name.")
		t.Did("Delete web")
		require.NoError(t, c.Delete(t.Context(), "web", metav1.DeleteOptions{}), "the error of Delete")
		w.requireLast("DELETE", "/web")
		t.Rule("The options of Delete are the body of the request: the caller's, and no others.")
		for _, option := range []string{"propagationPolicy", "gracePeriodSeconds", "preconditions", "dryRun"} {
			require.NotContains(t, w.Requests("delete")[1].Body, option, "the body of a DELETE without options")
		}
		t.Rule("Delete removes the Deployment with this name.")
		require.Equal(t, 2, len(w.Objects("deployments")), "Deployments on the server after Delete")
		t.Rule(itsStatus + ".")
		t.Did("Delete web again")
		err = c.Delete(t.Context(), "web", metav1.DeleteOptions{})
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, err, "the 2nd Delete")
		t.Rule("If the body is a Status whose status is Failure, the error is that Status, with its message.")
		require.EqualError(t, err, `deployments.apps "web" not found`, "the error of the 2nd Delete")
		t.Rule("The options of Delete are the body of the request: all of them.")
		seconds, now, policy := int64(7), int64(0), metav1.DeletePropagationOrphan
		for i, one := range []struct {
			sent string
			opts metav1.DeleteOptions
		}{
			{`"gracePeriodSeconds":7`, metav1.DeleteOptions{GracePeriodSeconds: &seconds}},
			{`"gracePeriodSeconds":0`, metav1.DeleteOptions{GracePeriodSeconds: &now}},
			{`"propagationPolicy":"Orphan"`, metav1.DeleteOptions{PropagationPolicy: &policy}},
			{`"dryRun":["All"]`, metav1.DeleteOptions{DryRun: []string{"All"}}},
		} {
			t.Did("Delete api, which does not exist, with the options %s alone", one.sent)
			c.Delete(t.Context(), "api", one.opts)
			require.Contains(t, w.Requests("delete")[i+3].Body, one.sent, "the body of the DELETE")
		}
	})
}

func TestTask5_Delete_may_be_answered_with_the_Deployment(t *testing.T) {
	guard.Test(t, "Delete removes the Deployment with this name. While a finalizer keeps it, the server answers with the "+
		"Deployment, not with a Status, and that is not an error.", func(t *guard.T) {
		w, c := typed(t, "default")
		const success = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
		for _, answer := range []string{string(manifest("web")), success, ""} {
			if answer == "" {
				t.Rule("Delete removes the Deployment with this name: an answer of 200 without a body is not an error.")
			}
			w.script(fmt.Sprintf("200, with the body %.20q…", answer), "", fakeapi.Body("application/json", answer))
			t.Did("Delete web")
			err := c.Delete(t.Context(), "web", metav1.DeleteOptions{})
			require.Equal(t, "no error", short(err), "the error of Delete")
		}
	})
}

func TestTask5_Delete_without_a_name_deletes_nothing(t *testing.T) {
	guard.Test(t, "An empty name is an error, and nothing is sent: the path would mean all "+
		"Deployments.", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"), deployment("db"))
		t.Did(`Delete ""`)
		require.Error(t, c.Delete(t.Context(), "", metav1.DeleteOptions{}), `the error of Delete("")`)
		require.Equal(t, 2, len(w.Objects("deployments")), "Deployments on the server after Delete")
	})
}

func TestTask5_Patch_of_an_object_and_of_its_status(t *testing.T) {
	guard.Test(t, patches+".", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		t.Did("Patch web with 7 replicas, as the field manager me")
		data, opts := []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{FieldManager: "me"}
		patched, err := c.Patch(t.Context(), "web", types.MergePatchType, data, opts)
		require.NoError(t, err, "the error of Patch")
		require.EqualValues(t, 7, *patched.Spec.Replicas, "replicas of the object that Patch returns")
		t.Rule(inQuery + ", and no others.")
		w.requireLast("PATCH", "/web?fieldManager=me")
		t.Rule("The type of the patch is its content type.")
		require.Equal(t, "application/merge-patch+json", w.Requests("patch")[0].Header.Get("Content-Type"),
			"the content type of the request")
		t.Rule(patches + ". The path of a subresource follows the object's path.")
		t.Did(`Patch the "status" of web`)
		data = []byte(`{"status":{"replicas":7}}`)
		patched, err = c.Patch(t.Context(), "web", types.MergePatchType, data, metav1.PatchOptions{}, "status")
		require.NoError(t, err, "the error of Patch of the status")
		require.EqualValues(t, 7, patched.Status.Replicas, "replicas in the status of the object that Patch returns")
		w.requireLast("PATCH", "/web/status")
	})
}

func TestTask5_Watch_says_watch(t *testing.T) {
	guard.Test(t, "Watch sets watch=true, whatever the options say: without it the request is a list, and its "+
		"body is not a stream of events.", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("db"))
		version := w.ResourceVersion()
		w.Create(deployment("web"))
		t.Did("Watch from version %s", version)
		events, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
		require.NoError(t, err, "the error of Watch")
		require.Equal(t, 1, len(w.Requests("watch")), "watches that the server has received")
		t.Rule("Watch returns the changes of the Deployments that the options select: here those since a version.")
		require.Equal(t, "ADDED web", next(events), "the 1st event")
		t.Rule(inQuery + ", and no others.")
		w.requireLast("GET", "?resourceVersion="+version+"&watch=true")
		t.Did("Watch without options")
		all, err := c.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "the error of Watch")
		all.Stop()
		w.requireLast("GET", "?watch=true")
		t.Rule(nothingLeft + ": Stop also ends the watch on the server.")
		events.Stop()
		synctest.Wait()
		require.Equal(t, 0, w.Watches(), "open watches of the server after Stop")
	})
}
