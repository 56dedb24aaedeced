package rewritingproxy_test

// Task 3: answers with one body.

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	"client-go-workshop/internal/testkit/guard"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

const rewritten = "An answer with Deployments is rewritten: one object, a list or a page of it, and a Table. "

func TestTask3_Object_is_rewritten(t *testing.T) {
	guard.Test(t, rewritten+"The client sees one object with its number of replicas multiplied.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		for _, path := range []string{collection + "/web", collection + "/web/", collection + "/web?pretty=1"} {
			got := w.get(path)
			require.Equal(t, 200, got.code, "the code of the answer")
			want := strings.Replace(w.direct(collection+"/web").body, `"replicas":2`, `"replicas":6`, 1)
			requireJSON(t, want, got.body, "the object in the answer")
		}
	})
}

func TestTask3_Lists_are_rewritten(t *testing.T) {
	guard.Test(t, rewritten+"Each object of a list is rewritten, in every namespace.", func(t *guard.T) {
		elsewhere := deployment("c", 3)
		elsewhere.Namespace = "other"
		w := newWorld(t, view, deployment("a", 1), deployment("b", 2), elsewhere)
		got := w.get("/apis/apps/v1/deployments")
		require.Equal(t, []string{"a: 3", "b: 6", "c: 9"}, replicasIn(got.body), "the objects in the list")
		require.Equal(t, "DeploymentList", find(got.body, "kind"), "the kind of the list")
		got = w.get(collection + "?labelSelector=app%3Db")
		require.Equal(t, []string{"b: 6"}, replicasIn(got.body), "the objects in the list")
		got = w.get(collection + "?labelSelector=app+in+(b)%2Capp!%3Da")
		require.Equal(t, []string{"b: 6"}, replicasIn(got.body), "the objects in the list")
		got = w.get(collection + "?labelSelector=app%3Dnone")
		require.Equal(t, []string{}, replicasIn(got.body), "the objects in the empty list")
	})
}

func TestTask3_Large_lists_are_rewritten(t *testing.T) {
	guard.Test(t, rewritten+"A list may have more bytes than any object.", func(t *guard.T) {
		items := strings.Repeat(`{"metadata":{"annotations":{"a":"`+strings.Repeat("x", 1<<20)+`"}}},`, 17)
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"DeploymentList","items":[`+items+`{"spec":{"replicas":2}}]}`)
		})
		t.Did("a list of 17 MiB")
		got := w.get(collection)
		require.Equal(t, 200, got.code, "the code of the answer")
		all := replicasIn(got.body)
		require.Equal(t, "<nil>: 6", all[len(all)-1], "the last object in the list")
		items = strings.Repeat(`{"spec":{"replicas":2}},`, 2_000)
		t.Did("a list of 2001 objects")
		shown := map[string]int{}
		for _, one := range replicasIn(w.get(collection).body) {
			shown[one]++
		}
		require.Equal(t, map[string]int{"<nil>: 6": 2_001}, shown, "how often each object is in the list")
	})
}

func TestTask3_Pages_are_rewritten(t *testing.T) {
	const (
		pages = rewritten + "Pages follow each other as without the proxy."
		meta  = "The version of a list, its continue token and the number of remaining items stay as they are."
	)
	guard.Test(t, pages, func(t *guard.T) {
		w := newWorld(t, rewritingproxy.View{Factor: 3})
		for i := range 5 {
			w.Create(deployment(fmt.Sprint("d", i), 2))
		}
		token, all := "", []string{}
		for range 3 {
			path := collection + "?limit=2&continue=" + url.QueryEscape(token)
			got, want := w.get(path).body, w.direct(path).body
			all = append(all, replicasIn(got)...)
			t.Rule(meta)
			for _, name := range []string{"resourceVersion", "continue", "remainingItemCount"} {
				require.Equal(t, find(want, "metadata", name), find(got, "metadata", name), "metadata.%s of the page", name)
			}
			t.Rule(pages)
			token = find(want, "metadata", "continue")
		}
		require.Equal(t, []string{"d0: 6", "d1: 6", "d2: 6", "d3: 6", "d4: 6"}, all, "the objects in three pages")
	})
}

// cells returns the cells of a column of a Table.
func cells(body, column string) (all []string) {
	table, _ := decoded(body).(map[string]any)
	index := -1
	definitions, _ := table["columnDefinitions"].([]any)
	for i, definition := range definitions {
		if definition.(map[string]any)["name"] == column {
			index = i
		}
	}
	rows, _ := table["rows"].([]any)
	for _, row := range rows {
		of, _ := row.(map[string]any)["cells"].([]any)
		if index >= 0 && index < len(of) {
			all = append(all, fmt.Sprint(of[index]))
		}
	}
	return all
}

func TestTask3_Tables_are_rewritten(t *testing.T) {
	const (
		rows  = "In a Table, the objects of the rows are rewritten, and the number behind the slash in the column Ready."
		other = rows + " No other cell changes."
	)
	guard.Test(t, rows, func(t *guard.T) {
		slash := deployment("b", 2)
		slash.Spec.Template.Spec.Containers[0].Image = "registry/1"
		w := newWorld(t, view, deployment("a", 1), slash)
		for _, path := range []string{collection + "?includeObject=Object", collection + "/b?includeObject=Object"} {
			got, want := w.get(path, "Accept: "+asTable).body, w.direct(path, "Accept: "+asTable).body
			ready, objects := []string{"0/3", "0/6"}, []string{"a: 3", "b: 6"}
			if strings.Contains(path, "/b") {
				ready, objects = ready[1:], objects[1:]
			}
			t.Rule(rows)
			require.Equal(t, "Table", find(got, "kind"), "the kind of the answer")
			require.Equal(t, ready, cells(got, "Ready"), "the cells in the column Ready")
			require.Equal(t, objects, replicasIn(got), "the objects in the rows")
			t.Rule(other)
			for _, column := range []string{"Name", "Up-to-date", "Available", "Containers", "Images", "Selector"} {
				require.Equal(t, cells(want, column), cells(got, column), "the cells in the column %s", column)
			}
		}
		t.Rule(rows)
		got := w.get(collection, "Accept: "+asTable).body
		require.Equal(t, []string{"0/3", "0/6"}, cells(got, "Ready"), "the cells in the column Ready")
		require.Equal(t, []string{"a: <nil>", "b: <nil>"}, replicasIn(got), "the metadata in the rows")
	})
}

func TestTask3_Metadata_stays(t *testing.T) {
	guard.Test(t, rewritten+"Metadata without a spec has no number to multiply.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		for _, path := range []string{collection, collection + "/web"} {
			got, want := w.get(path, "Accept: "+asMetadata), w.direct(path, "Accept: "+asMetadata)
			require.Equal(t, 200, got.code, "the code of the answer")
			requireJSON(t, want.body, got.body, "the metadata in the answer")
		}
	})
}

func TestTask3_Hidden_objects(t *testing.T) {
	const (
		gone  = "A GET of a hidden object is answered with 404, as if there were no such object."
		lists = "A list, a watch and the deletion of a collection select the objects without HiddenLabel. So a list " +
			"does not have hidden objects, and a page is full."
	)
	guard.Test(t, gone, func(t *guard.T) {
		w := newWorld(t, view, deployment("a", 1), hidden(deployment("b", 2)), deployment("c", 3))
		missing := strings.ReplaceAll(w.direct(collection+"/missing").body, "missing", "b")
		for _, accept := range []string{"application/json", asTable, asMetadata} {
			for _, query := range []string{"", "?includeObject=Object", "?includeObject=None"} {
				got := w.get(collection+"/b"+query, "Accept: "+accept)
				requireStatus(t, 404, got)
				for _, path := range [][]string{{"reason"}, {"message"}, {"details", "name"}, {"details", "kind"}} {
					require.Equal(t, find(missing, path...), find(got.body, path...), "%s in the Status", strings.Join(path, "."))
				}
			}
		}
		t.Rule(lists)
		require.Equal(t, []string{"a: 3", "c: 9"}, replicasIn(w.get(collection).body), "the objects in the list")
		require.Equal(t, []string{"0/3", "0/9"}, cells(w.get(collection, "Accept: "+asTable).body, "Ready"),
			"the cells in the column Ready")
		require.Equal(t, []string{"a: 3", "c: 9"}, replicasIn(w.get(collection+"?limit=2").body),
			"the objects in a page of two")
		w = newWorld(t, rewritingproxy.View{Factor: 1, HiddenLabel: hiddenLabel}, hidden(deployment("b", 2)))
		t.Did("a proxy with Factor 1 starts")
		require.Equal(t, []string{}, replicasIn(w.get(collection).body), "the objects in the list")
		t.Rule(gone)
		requireStatus(t, 404, w.get(collection+"/b"))
	})
}

func TestTask3_Errors_pass(t *testing.T) {
	guard.Test(t, "An error of the API server passes as it is.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		version := w.ResourceVersion()
		w.Update(deployment("web", 4))
		w.Compact()
		for _, path := range []string{
			collection + "/missing", collection + "?labelSelector=,,", "/apis/apps/v1/deployments?resourceVersion=" + version +
				"&resourceVersionMatch=Exact&limit=1", collection + "?continue=nonsense",
			collection + "?fieldSelector=spec.replicas%3D2",
		} {
			got, want := w.get(path), w.direct(path)
			require.Equal(t, want.code, got.code, "the code of the answer")
			require.Equal(t, find(want.body, "reason"), find(got.body, "reason"), "the reason in the Status")
			requireStatus(t, want.code, got)
		}
		t.Rule("An error of the API server passes as it is, and so does a Status of success. An API server answers most " +
			"deletions with one.")
		const success = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"web"}}`
		w = before(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, success)
		})
		got := w.write("DELETE", collection, "", "")
		require.Equal(t, 200, got.code, "the code of the answer")
		requireJSON(t, success, got.body, "the Status in the answer")
	})
}

func TestTask3_Typed_client(t *testing.T) {
	guard.Test(t, rewritten+"A typed client of client-go prefers protobuf, and must not receive objects that the proxy "+
		"cannot read.", func(t *guard.T) {
		w := newWorld(t, view, deployment("a", 1), hidden(deployment("b", 2)))
		client, err := typedappsv1.NewForConfig(w.through())
		require.NoError(t, err)
		t.Did("a typed client lists Deployments, and gets one")
		list, err := client.Deployments("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "the error of List")
		require.Equal(t, []string{"a: 3"}, typed(list.Items...), "the objects in the list")
		d, err := client.Deployments("default").Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err, "the error of Get")
		require.Equal(t, []string{"a: 3"}, typed(*d), "the object")
		_, err = client.Deployments("default").Get(t.Context(), "b", metav1.GetOptions{})
		require.Equal(t, 404, code(err), "the code of the error of Get for the hidden object")
		w.client.CloseIdleConnections()
	})
}

// typed returns the name and spec.replicas of objects.
func typed(all ...appsv1.Deployment) (names []string) {
	for _, d := range all {
		names = append(names, d.Name+": "+strconv.Itoa(int(*d.Spec.Replicas)))
	}
	return names
}
