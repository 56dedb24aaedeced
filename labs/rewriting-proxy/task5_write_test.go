package rewritingproxy_test

// Task 5: writes.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	"client-go-workshop/internal/testkit/guard"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

const (
	object     = "application/json"
	mergePatch = "application/merge-patch+json"
	strategic  = "application/strategic-merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
	jsonPatch  = "application/json-patch+json"
)

const answers = "The answer to a write is rewritten too. "

func TestTask5_Objects_are_translated(t *testing.T) {
	const shapes = "The content type decides how to read it: application/json is an object, and an empty content type " +
		"too; a merge patch, a strategic merge patch and an apply patch have the shape of an object."
	const translated = "All of them are translated as Store does."
	guard.Test(t, shapes, func(t *guard.T) {
		for _, contentType := range []string{
			object, "", "application/json; charset=utf-8", mergePatch, strategic, applyPatch, "Application/JSON",
		} {
			const format = `{"metadata":{"name":"web","resourceVersion":"9007199254740993"},"spec":{"paused":true,` +
				`"replicas":%d,"$retainKeys":["replicas"],"$patch":"replace"},"status":{"replicas":6},"novel":9007199254740993}`
			t.Rule(shapes)
			t.Did("StoreBody of %q: an object with 6 replicas", contentType)
			stored, err := view.StoreBody(contentType, fmt.Appendf(nil, format, 6))
			require.NoError(t, err, "the error of StoreBody")
			requireJSON(t, fmt.Sprintf(format, 2), string(stored), "the result of StoreBody")
			t.Rule(translated)
			for _, body := range []string{`{"spec":{"replicas":null}}`, `{"metadata":{"labels":{"a":"b"}}}`, "\n{}"} {
				t.Did("StoreBody of %q: %s", contentType, body)
				stored, err := view.StoreBody(contentType, []byte(body))
				require.NoError(t, err, "the error of StoreBody")
				requireJSON(t, body, string(stored), "the result of StoreBody")
			}
			t.Did("StoreBody of %q: an object with 7 replicas", contentType)
			_, err = view.StoreBody(contentType, fmt.Appendf(nil, format, 7))
			require.Equal(t, http.StatusUnprocessableEntity, code(err), "the code of the error of StoreBody")
			stored, _ = view.StoreBody(contentType, []byte(`{"spec":{"\u0072eplicas":6}}`))
			requireJSON(t, `{"spec":{"replicas":2}}`, string(stored), "the result of StoreBody for a key with an escape")
		}
	})
}

func TestTask5_Bodies_that_cannot_be_read(t *testing.T) {
	const (
		yaml    = "An apply patch in YAML is refused with the code 415."
		other   = "Any other content type is refused with the code 415, protobuf among them."
		invalid = "A body that is not valid JSON is refused with the code 400."
		shape   = "JSON that is neither an object nor a JSON patch is refused with the code 400."
		never   = "A body is never passed on without a translation. Decoders accept more than one form of the same object."
	)
	guard.Test(t, yaml, func(t *guard.T) {
		for _, c := range []struct {
			rule, contentType, body string
			code                    int
		}{
			{yaml, applyPatch, "spec:\n  replicas: 6\n", 415},
			{yaml, applyPatch, "{spec: {replicas: 6}}", 415},
			{yaml, applyPatch, "{\"spec\": {\"replicas\": 6,}}", 415},
			{yaml, applyPatch, "# {}\n{\"spec\": {\"replicas\": 6}}", 415},
			{other, protobuf, "k8s\x00", 415},
			{other, protobuf, "", 415},
			{other, "application/yaml", `{"spec":{"replicas":6}}`, 415},
			{other, "application/cbor", "\xa1", 415},
			{other, "application/apply-patch+cbor", `{"spec":{"replicas":6}}`, 415},
			{other, "text/json", `{"spec":{"replicas":6}}`, 415},
			{other, "application/vnd.api+json", `{"spec":{"replicas":6}}`, 415},
			{other, "application/json; charset", `{"spec":{"replicas":6}}`, 415},
			{invalid, object, `{"spec":{"replicas":6}`, 400},
			{invalid, object, `{"spec":{}} {"spec":{"replicas":6}}`, 400},
			{invalid, mergePatch, `spec: {replicas: 6}`, 400},
			{invalid, jsonPatch, `{"op":"replace","path":"/spec/replicas","value":6}`, 400},
			{invalid, jsonPatch, `[{"op":"replace","path":7,"value":6}]`, 400},
			{invalid, jsonPatch, `[] [{"op":"replace","path":"/spec/replicas","value":6}]`, 400},
			{invalid, strategic, ``, 400},
			{shape, object, `[{"spec":{"replicas":6}}]`, 400},
			{shape, mergePatch, ` null`, 400},
			{shape, object, `null`, 400},
			{shape, strategic, `6`, 400},
			{shape, applyPatch, `"spec"`, 400},
		} {
			t.Rule("%s", c.rule)
			t.Did("StoreBody of %s: %q", c.contentType, c.body)
			stored, err := view.StoreBody(c.contentType, []byte(c.body))
			t.Rule(never)
			require.True(t, err != nil, "StoreBody returns an error, and not %q", stored)
			t.Rule("%s", c.rule)
			require.Equal(t, c.code, code(err), "the code of the error of StoreBody")
		}
	})
}

func TestTask5_Body_of_the_request(t *testing.T) {
	const (
		body    = "The body of a create, an update or a patch is what StoreBody returns for it."
		refuses = "If StoreBody returns an error, Request returns it."
		large   = "A body of more than 3 MiB is refused with the code 413."
		options = "The options of a deletion stay as they are."
	)
	guard.Test(t, body, func(t *guard.T) {
		p := at(t, "http://upstream", rewritingproxy.View{Factor: 3})
		ctx, cancel := context.WithCancel(t.Context())
		send := func(method, path, contentType, body string) (*http.Request, error) {
			t.Did("Request of %s %s, %s: %.200s", method, path, contentType, body)
			in := httptest.NewRequest(method, "http://proxy"+path, strings.NewReader(body)).WithContext(ctx)
			in.Header.Set("Content-Type", contentType)
			if method == http.MethodPatch {
				in.ContentLength = -1 // a body in chunks has no length
			}
			return p.Request(in)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch} {
			path := collection + "/web"
			if method == http.MethodPost {
				path = collection
			}
			t.Rule(body)
			out, err := send(method, path, object, `{"spec":{"replicas":12}}`)
			require.NoError(t, err, "the error of Request")
			text := make([]byte, 100)
			n, _ := out.Body.Read(text)
			requireJSON(t, `{"spec":{"replicas":4}}`, string(text[:n]), "the body of the request")
			if out.GetBody != nil { // a transport that sends the request again calls it
				again, err := out.GetBody()
				require.NoError(t, err, "the error of GetBody")
				all, _ := io.ReadAll(again)
				requireJSON(t, `{"spec":{"replicas":4}}`, string(all), "the body that GetBody returns")
			}
			require.Equal(t, int64(n), out.ContentLength, "the length of the body that the request states")
			t.Rule(refuses)
			_, err = send(method, path, object, `{"spec":{"replicas":13}}`)
			require.Equal(t, http.StatusUnprocessableEntity, code(err), "the code of the error of Request")
			_, err = send(method, path, object, "")
			require.Equal(t, http.StatusBadRequest, code(err), "the code of the error of Request for an empty body")
			t.Rule(large)
			full := `{"spec":{"replicas":12}` + strings.Repeat(" ", 3<<20-24) + "}"
			_, err = send(method, path, object, full)
			require.NoError(t, err, "the error of Request for a body of 3 MiB")
			_, err = send(method, path, object, full+" ")
			require.Equal(t, http.StatusRequestEntityTooLarge, code(err), "the code of the error of Request")
		}
		t.Rule(body + " Two clients may write at once.")
		first, err := send(http.MethodPatch, collection+"/web", mergePatch, `{"metadata":{"name":"first"}}`)
		require.NoError(t, err, "the error of Request")
		_, err = send(http.MethodPatch, collection+"/web", mergePatch, `{"metadata":{"name":"other"}}`)
		require.NoError(t, err, "the error of the second Request")
		all, _ := io.ReadAll(first.Body)
		requireJSON(t, `{"metadata":{"name":"first"}}`, string(all), "the body of the first request")
		t.Did("Request of a patch whose body breaks off")
		in := httptest.NewRequest(http.MethodPatch, "http://proxy"+collection+"/web",
			io.MultiReader(strings.NewReader(`{"metadata":{}}`), iotest.ErrReader(io.ErrUnexpectedEOF)))
		in.Header.Set("Content-Type", mergePatch)
		_, err = p.Request(in)
		require.True(t, err != nil, "Request returns an error, and no part of the body")
		t.Rule(options)
		const sent = `{"kind":"DeleteOptions","spec":{"replicas":7}}`
		out, err := send(http.MethodDelete, collection+"/web", protobuf, sent)
		require.NoError(t, err, "the error of Request")
		text := make([]byte, 100)
		n, _ := out.Body.Read(text)
		require.Equal(t, sent, string(text[:n]), "the body of the request")
		require.Equal(t, protobuf, out.Header.Get("Content-Type"), "the content type of the request")
		t.Rule("Its context is the client's, so it ends when the client goes away.")
		cancel()
		require.ErrorIs(t, first.Context().Err(), context.Canceled, "the error of the context of a patch")
	})
}

func TestTask5_Every_verb(t *testing.T) {
	guard.Test(t, answers+"It has the numbers that the client has sent.", func(t *guard.T) {
		w := newWorld(t, view)
		for _, c := range []struct {
			method, path, contentType, body string
			shown, stored                   string
		}{
			{"POST", collection, object, inJSON(deployment("web", 6)), "6", "web: 2"},
			{"PUT", collection + "/web", object, inJSON(deployment("web", 9)), "9", "web: 3"},
			{"PATCH", collection + "/web", mergePatch, `{"spec":{"replicas":12}}`, "12", "web: 4"},
			{"PATCH", collection + "/web", strategic, `{"spec":{"replicas":15}}`, "15", "web: 5"},
			{"PATCH", collection + "/web", jsonPatch, `[{"op":"test","path":"/spec/replicas","value":15},` +
				`{"op":"replace","path":"/spec/replicas","value":18}]`, "18", "web: 6"},
			{"PATCH", collection + "/web", mergePatch, `{"spec":{"replicas":null}}`, "3", "web: 1"},
			{"PATCH", collection + "/web", mergePatch, `{"spec":{"paused":true}}`, "3", "web: 1"},
			{"GET", collection + "/web/scale", "", "", "3", "web: 1"},
			{"PATCH", collection + "/web/scale", mergePatch, `{"spec":{"replicas":21}}`, "21", "web: 7"},
			{"PUT", collection + "/web/scale", object, `{"kind":"Scale","apiVersion":"autoscaling/v1",` +
				`"metadata":{"namespace":"default","name":"web"},"spec":{"replicas":24}}`, "24", "web: 8"},
			{"PATCH", collection + "/web/status", mergePatch, `{"status":{"replicas":5}}`, "24", "web: 8"},
			{"PATCH", collection + "/web", mergePatch, `{"metadata":{"finalizers":["example.com/a"]}}`, "24", "web: 8"},
			{"DELETE", collection + "/web", "", "", "24", "web: 8"}, // the finalizer keeps it
		} {
			got := w.write(c.method, c.path, c.contentType, c.body)
			require.True(t, got.code == 200 || got.code == 201, "the code of the answer is 200 or 201: %d %s", got.code,
				got.body)
			require.Equal(t, c.shown, find(got.body, "spec", "replicas"), "spec.replicas in the answer")
			require.Equal(t, []string{c.stored}, w.stored(), "what is stored")
		}
		require.Equal(t, "5", find(w.get(collection+"/web").body, "status", "replicas"),
			"status.replicas, which controllers write")
	})
}

func TestTask5_Refused_writes_store_nothing(t *testing.T) {
	const (
		refuses = "If StoreBody returns an error, Request returns it. The client receives it as a Status, and nothing " +
			"is stored."
		dryRun = answers + "A dry run is no exception."
	)
	guard.Test(t, refuses, func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		for _, c := range []struct {
			method, path, contentType, body string
			code                            int
		}{
			{"PUT", collection + "/web", object, inJSON(deployment("web", 7)), 422},
			{"POST", collection, object, inJSON(deployment("new", 7)), 422},
			{"PATCH", collection + "/web", strategic, `{"spec":{"replicas":6.0}}`, 422},
			{"PATCH", collection + "/web/scale", mergePatch, `{"spec":{"replicas":1}}`, 422},
			{"PATCH", collection + "/web/status", mergePatch, `{"spec":{"replicas":1},"status":{}}`, 422},
			{"PUT", collection + "/web/status", protobuf, "k8s\x00", 415},
			{"PUT", collection + "/web/novel", protobuf, "k8s\x00", 415},
			{"POST", collection + "/web/novel/part", object, `{"spec":{"replicas":7}}`, 422},
			{"PATCH", collection + "/web?fieldManager=a&force=true", applyPatch, "spec: {replicas: 6}", 415},
			{"PUT", collection + "/web", protobuf, "k8s\x00", 415},
			{"POST", collection, "application/yaml", "kind: Deployment", 415},
		} {
			requireStatus(t, c.code, w.write(c.method, c.path, c.contentType, c.body))
			require.Equal(t, []string{"web: 2"}, w.stored(), "what is stored")
		}
		t.Rule(dryRun)
		got := w.write("POST", collection+"?dryRun=All", object, inJSON(deployment("new", 9)))
		require.Equal(t, "9", find(got.body, "spec", "replicas"), "spec.replicas in the answer")
		require.Equal(t, []string{"web: 2"}, w.stored(), "what is stored")
	})
}

func TestTask5_Hidden_objects_cannot_be_written(t *testing.T) {
	const (
		gone       = "To the client, a hidden object does not exist: writes, deletions and subresources answer 404."
		collection = "A list, a watch and the deletion of a collection select the objects without HiddenLabel. A " +
			"client must not delete what it cannot see."
	)
	guard.Test(t, gone, func(t *guard.T) {
		w := newWorld(t, view, hidden(deployment("apps", 2)), hidden(deployment("dark", 2)), hidden(deployment("scale", 2)),
			deployment("web", 1))
		at := "/apis/apps/v1/namespaces/default/deployments"
		for _, c := range []struct{ method, path, contentType, body string }{
			{"PUT", at + "/dark", object, inJSON(deployment("dark", 9))},
			{"PATCH", at + "/dark", mergePatch, `{"spec":{"replicas":9}}`},
			{"PATCH", at + "/dark/", mergePatch, `{"metadata":{"labels":null}}`},
			{"PATCH", at + "/dark", jsonPatch, `[{"op":"remove","path":"/metadata/labels"}]`},
			{"GET", at + "/dark/scale", "", ""},
			{"GET", at + "/dark/status", "", ""},
			{"PATCH", at + "/dark/scale", mergePatch, `{"spec":{"replicas":9}}`},
			{"PATCH", at + "/dark/scale/", mergePatch, `{"spec":{"replicas":9}}`},
			{"PATCH", at + "/dark/status/", mergePatch, `{"status":{"replicas":9}}`},
			{"DELETE", at + "/dark", "", ""},
			{"DELETE", at + "/scale?dryRun=All", "", ""},
			{"PATCH", at + "/scale/scale", mergePatch, `{"spec":{"replicas":9}}`},
			{"DELETE", at + "/apps", "", ""}, // a part of the path has this name, too
		} {
			for _, accept := range []string{"*/*", asTable} {
				requireStatus(t, 404, w.send(w.client, c.method, c.path, c.body, "Content-Type: "+c.contentType, "Accept: "+accept))
				require.Equal(t, []string{"apps: 2", "dark: 2", "scale: 2", "web: 1"}, w.stored(), "what is stored")
			}
		}
		t.Rule(collection)
		require.Equal(t, 200, w.write("DELETE", at, "", "").code, "the code of the answer")
		require.Equal(t, []string{"apps: 2", "dark: 2", "scale: 2"}, w.stored(), "what is stored")
	})
}

func TestTask5_Objects_that_do_not_exist(t *testing.T) {
	const (
		passes = "An object that does not exist passes, because an apply patch creates it."
		unsure = "If the API server refuses to show the object, this refusal is the error. A proxy that may not read " +
			"an object must not write it."
	)
	guard.Test(t, passes, func(t *guard.T) {
		refusal, patches, page := 404, 0, ""
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet && refusal == 502 { // it breaks off
				w.Header().Set("Content-Length", "100")
				io.WriteString(w, "{}")
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			if r.Method == http.MethodGet && refusal == 0 { // it breaks off before the head
				panic(http.ErrAbortHandler)
			}
			if r.Method == http.MethodGet {
				w.WriteHeader(refusal)
				const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":"Why",` +
					`"details":{"retryAfterSeconds":7}}`
				io.WriteString(w, cmp.Or(page, fmt.Sprintf(status, refusal)))
				return
			}
			patches++
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"kind":"Deployment","spec":{"replicas":2}}`)
		})
		apply := func() answer {
			return w.write("PATCH", collection+"/new?fieldManager=a", applyPatch, `{"spec":{"replicas":6}}`)
		}
		got := apply()
		require.Equal(t, http.StatusCreated, got.code, "the code of the answer")
		require.Equal(t, "6", find(got.body, "spec", "replicas"), "spec.replicas in the answer")
		t.Rule(unsure)
		for _, refusal = range []int{403, 500, 429, 410, 502} {
			t.Did("the API server answers a GET of the object with %d; 502 is an answer that breaks off", refusal)
			got := apply()
			requireStatus(t, refusal, got)
			if refusal != 502 {
				require.Equal(t, "Why 7", find(got.body, "reason")+" "+find(got.body, "details", "retryAfterSeconds"),
					"the reason and retryAfterSeconds in the Status")
			}
			require.Equal(t, 1, patches, "the patches that the API server has received")
		}
		for page, refusal = range guard.InOrder(map[string]int{
			`{"metadata":`: 200, `<html>`: 200, "k8s\x00": 200, `{"error":"busy"}`: 503, `{}`: 307, `moved`: 301, "": 0,
		}) {
			t.Did("the API server answers a GET of the object with %d and %q", refusal, page)
			got, want := apply(), 502
			if got.code == refusal { // a refusal without a Status may keep its code
				want = refusal
			}
			requireStatus(t, want, got)
			require.Equal(t, 1, patches, "the patches that the API server has received")
		}
	})
}

func TestTask5_Typed_client(t *testing.T) {
	const (
		writes = answers + "client-go's typed client writes through the proxy if it is configured for JSON."
		other  = "Any other content type is refused with the code 415, protobuf among them. client-go's typed clients " +
			"prefer it."
	)
	guard.Test(t, writes, func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 1))
		config := w.through()
		config.ContentType = "application/json"
		client, err := typedappsv1.NewForConfig(config)
		require.NoError(t, err)
		all := client.Deployments("default")
		t.Did("Get, change, Update")
		d, err := all.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "the error of Get")
		*d.Spec.Replicas *= 2
		d, err = all.Update(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err, "the error of Update")
		require.Equal(t, []string{"web: 6"}, typed(*d), "the object that Update returns")
		require.Equal(t, []string{"web: 2"}, w.stored(), "what is stored")
		t.Did("GetScale, change, UpdateScale")
		scale, err := all.GetScale(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "the error of GetScale")
		require.Equal(t, int32(6), scale.Spec.Replicas, "the replicas of the Scale")
		scale.Spec.Replicas = 9
		_, err = all.UpdateScale(t.Context(), "web", scale, metav1.UpdateOptions{})
		require.NoError(t, err, "the error of UpdateScale")
		require.Equal(t, []string{"web: 3"}, w.stored(), "what is stored")
		t.Did("Patch")
		patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"replicas": 12}})
		d, err = all.Patch(t.Context(), "web", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err, "the error of Patch")
		require.Equal(t, []string{"web: 12"}, typed(*d), "the object that Patch returns")
		require.Equal(t, []string{"web: 4"}, w.stored(), "what is stored")
		t.Rule(other)
		preferring, err := typedappsv1.NewForConfig(w.through())
		require.NoError(t, err)
		t.Did("Create with a typed client that prefers protobuf")
		_, err = preferring.Deployments("default").Create(t.Context(), deployment("new", 3), metav1.CreateOptions{})
		require.Equal(t, http.StatusUnsupportedMediaType, code(err), "the code of the error of Create")
	})
}
