package rewritingproxy_test

// Task 5: an object that is written back, the second time, two at once, and a client that goes away during a question.

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Read_and_written_back(t *testing.T) {
	guard.Test(t, answers+"A client that writes an object back as it read it changes nothing.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		read := w.get(collection + "/web").body
		got := w.write(http.MethodPut, collection+"/web", object, read)
		require.Equal(t, 200, got.code, "the code of the answer")
		requireJSON(t, read, got.body, "the object in the answer")
		require.Equal(t, []string{"web: 2"}, w.stored(), "what is stored")
	})
}

func TestTask5_Hidden_later(t *testing.T) {
	guard.Test(t, "To the client, a hidden object does not exist: writes, deletions and subresources answer 404. An "+
		"object can be hidden after many writes.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 1))
		const patch = `{"metadata":{"annotations":{"a":"1"}}}`
		for range 3 {
			code := w.write(http.MethodPatch, collection+"/web", "application/merge-patch+json", patch).code
			require.Equal(t, http.StatusOK, code, "the code of a write to web")
		}
		t.Did("web gets the label")
		w.Update(hidden(deployment("web", 1)))
		requireStatus(t, 404, w.write(http.MethodPatch, collection+"/web", "application/merge-patch+json", patch))
		t.Rule(answers + "So is the answer to the write that hides an object.")
		w.Create(deployment("db", 2))
		const label = `{"metadata":{"labels":{"` + hiddenLabel + `":"true"}}}`
		got := w.write(http.MethodPatch, collection+"/db", "application/merge-patch+json", label)
		require.Equal(t, http.StatusOK, got.code, "the code of the write that hides db")
		require.Equal(t, "6", find(got.body, "spec", "replicas"), "spec.replicas in the answer")
	})
}

func TestTask5_Client_goes_away_during_the_question(t *testing.T) {
	guard.Test(t, "When the client goes away, the request to the API server ends, also the question whether an object is "+
		"hidden.", func(t *guard.T) {
		ended := make(chan error, 1)
		w := before(t, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			ended <- r.Context().Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("a client deletes web, and the API server does not answer the question about web")
		t.Go(func() { _, _ = w.client.Do(request(ctx, t, http.MethodDelete, collection+"/web", "")) })
		synctest.Wait()
		t.Did("the client goes away")
		cancel()
		synctest.Wait()
		require.Len(t, ended, 1, "questions that have ended")
	})
}

// table is a Table of web, with 0 of 1 Pods, whose second column has this name.
func table(column string) string {
	return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[{"name":"Name"},{"name":"` +
		column + `"}],"rows":[{"cells":["web","1/1"],"object":{"kind":"PartialObjectMetadata","metadata":{"name":"web"}}}]}`
}

func TestTask5_Tables_of_two_clients(t *testing.T) {
	guard.Test(t, "In a Table, the objects of the rows are rewritten, and the number behind the slash in the column "+
		"Ready. Each Table has its own columns.", func(t *guard.T) {
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			text := table(r.URL.Query().Get("fieldSelector"))
			if r.URL.Query().Has("watch") {
				text = `{"type":"ADDED","object":` + text + "}\n"
			}
			io.WriteString(w, text)
		})
		for _, c := range []struct{ column, want string }{{"Ready", "1/3"}, {"Other", "1/1"}, {"Ready", "1/3"}} {
			query := collection + "?fieldSelector=" + c.column
			require.Contains(t, w.get(query, "Accept: "+asTable).body, `"`+c.want+`"`, "the list with the column %s", c.column)
			events := w.watch(query+"&watch=1", "Accept: "+asTable).next()
			require.Contains(t, events[len(events)-1], `"`+c.want+`"`, "the event with the column %s", c.column)
		}
	})
}

func TestTask5_Table_of_a_Scale(t *testing.T) {
	guard.Test(t, "In the Table of a Scale, the number is the cell in the column Desired. kubectl get "+
		"--subresource=scale prints it.", func(t *guard.T) {
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			text := `{"kind":"PartialObjectMetadata","metadata":{"name":"web"}}`
			if strings.HasSuffix(r.URL.Path, "/scale") {
				text = `{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Desired"},{"name":"Available"}],` +
					`"rows":[{"cells":["web",2,1],"object":` + text + `}]}`
			}
			io.WriteString(w, text)
		})
		got := w.get(collection+"/web/scale", "Accept: "+asTable).body
		require.Equal(t, []string{"6"}, cells(got, "Desired"), "the cells in the column Desired")
		require.Equal(t, []string{"1"}, cells(got, "Available"), "the cells in the column Available")
	})
}
