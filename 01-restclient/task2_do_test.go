package restclient_test

// Task 2: Do, Into, and the objects in answers.

import (
	"fmt"
	"io"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// getWeb sends a GET of the Deployment web.
func (w world) getWeb() restclient.Result { return w.do(w.on("GET").Name("web")) }

func TestTask2_Object_comes_back(t *testing.T) {
	guard.Test(t, "Into decodes the object in the answer into obj.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		d := &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(d), "the error of Into")
		require.Equal(t, "web", d.Name, "the name of the object")
		require.EqualValues(t, 2, *d.Spec.Replicas, "replicas of the object")
		t.Rule("The request goes to what URL returns, with the verb as its method.")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web", w.Requests("")[0].String(),
			"the request sent")
		r := w.on("GET").Name("a b?c#d").Param("x y", "#&?")
		w.do(r)
		sent := w.Requests("")[1]
		require.Equal(t, r.URL().Path, sent.Path, "the path of the 2nd request, not escaped")
		require.Equal(t, url.Values{"x y": {"#&?"}}, sent.Query, "the query of the 2nd request")
	})
}

func TestTask2_List_comes_back(t *testing.T) {
	guard.Test(t, "Into decodes the object in the answer into obj. A list is an object too, and a watch starts "+
		"from its version.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("b"), deployment("a"))
		list := &appsv1.DeploymentList{}
		require.NoError(t, w.do(w.on("GET")).Into(list), "the error of Into")
		require.Equal(t, []string{"a", "b"}, names(list), "names in the list")
		require.Equal(t, w.ResourceVersion(), list.ResourceVersion, "the version of the list")
	})
}

func TestTask2_Get_returns_the_Go_type_of_the_kind(t *testing.T) {
	guard.Test(t, "Get returns the object in the answer, in the Go type of its kind: the body names the kind, "+
		"and the scheme maps it to the type.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		obj, err := w.getWeb().Get()
		require.NoError(t, err, "the error of Get of an object")
		require.IsType(t, &appsv1.Deployment{}, obj, "the object that Get returns")
		obj, err = w.do(w.on("GET")).Get()
		require.NoError(t, err, "the error of Get of a list")
		require.IsType(t, &appsv1.DeploymentList{}, obj, "the list that Get returns")
	})
}

func TestTask2_Raw_is_what_came(t *testing.T) {
	guard.Test(t, "DoRaw sends the request as Do does, and returns the body of the answer as it came.", func(t *guard.T) {
		w := newWorld(t)
		const text = ` {"kind": "Deployment", "x": 1} ` + "\n\n"
		both := fakeapi.Times(2, fakeapi.Body("application/json", text))
		w.script("answers both requests with the same body", "", both...)
		t.Did("DoRaw")
		body, err := w.on("GET").Name("web").DoRaw(t.Context())
		require.NoError(t, err, "the error of DoRaw")
		require.Equal(t, text, string(body), "the body that DoRaw returns")
		body, err = w.getWeb().Raw()
		require.NoError(t, err, "the error of Raw")
		require.Equal(t, text, string(body), "the body that Raw returns")
		t.Rule("DoRaw sends the request as Do does, and returns the body of the answer as it came: metrics and logs " +
			"are plain text, which no decoder knows.")
		w.script("answers with plain text", "", fakeapi.Text(200, "ok"))
		t.Did("DoRaw")
		body, err = w.on("GET").DoRaw(t.Context())
		require.NoError(t, err, "the error of DoRaw for plain text")
		require.Equal(t, "ok", string(body), "the text that DoRaw returns")
	})
}

func TestTask2_Client_asks_for_what_its_config_says(t *testing.T) {
	const (
		anyForm = "The answer's content type says how to decode it. JSON and protobuf give the same object."
		asks    = "A client asks for the content type of its config."
	)
	guard.Test(t, anyForm, func(t *guard.T) {
		for _, contentType := range []string{"", "application/json", "application/vnd.kubernetes.protobuf"} {
			w := newWorld(t, func(c *rest.Config) { c.ContentType = contentType })
			t.Rule(anyForm)
			w.did("a client with content type %q", contentType)
			w.Create(deployment("web"))
			d := &appsv1.Deployment{}
			require.NoError(t, w.getWeb().Into(d), "the error of Into with content type %q", contentType)
			require.Equal(t, "web", d.Name, "the name of the object with content type %q", contentType)
			if contentType != "" {
				t.Rule(asks)
				accept := w.Requests("")[0].Header.Get("Accept")
				require.Contains(t, accept, contentType, "the Accept header of the request")
			}
		}
	})
}

func TestTask2_Broken_request_is_not_sent(t *testing.T) {
	guard.Test(t, "Its first error is kept, and nothing is sent: Do and DoRaw return it.", func(t *guard.T) {
		w := newWorld(t)
		t.Did(`Name ".."`)
		r := w.on("GET").Name("..")
		require.ErrorContains(t, w.do(r).Error(), r.Error().Error(), "the error of Do")
		t.Did("DoRaw")
		_, err := r.DoRaw(t.Context())
		require.ErrorContains(t, err, r.Error().Error(), "the error of DoRaw")
		t.Rule(builderError + ", even if the namespace is empty too.")
		t.Did(`POST with Namespace "" and Name ".."`)
		r = w.client.Post().Namespace("").Resource("deployments").Name("..")
		require.ErrorContains(t, w.do(r).Error(), r.Error().Error(), "the error of Do")
		t.Rule("A method with a space in it is an error: it would change the first line of the request.")
		t.Did(`Verb "NO METHOD"`)
		err = w.do(w.client.Verb("NO METHOD").Resource("deployments")).Error()
		require.Error(t, err, `the error of Do with the method "NO METHOD"`)
		t.Rule(builderError + ": the request would ask for something else.")
		w.requireSent(0)
	})
}

func TestTask2_Empty_namespace_is_caught_before_sending(t *testing.T) {
	const emptyNamespace = `After Namespace(""), a POST is an error, and so is a GET, PUT or DELETE of a name. ` +
		"The program forgot to fill in a variable, and the server's answer would not say so."
	guard.Test(t, emptyNamespace, func(t *guard.T) {
		w := newWorld(t)
		t.Did(`POST with Namespace ""`)
		err := w.do(w.client.Post().Namespace("").Resource("deployments")).Error()
		require.Error(t, err, "the error of a POST")
		for _, verb := range []string{"GET", "PUT", "DELETE", "POST"} {
			for _, s := range senders[:2] {
				t.Did(`%s with Namespace "" and Name "web", and %s`, verb, s.name)
				err := s.send(w.client.Verb(verb).Namespace("").Resource("deployments").Name("web"), t.Context())
				require.Error(t, err, "the error of a %s of a name with %s", verb, s.name)
				t.Did(`%s with Namespace "", Name "web" and SubResource "status", and %s`, verb, s.name)
				r := w.client.Verb(verb).Namespace("").Resource("deployments").Name("web").SubResource("status")
				before := r.Error()
				require.Error(t, s.send(r, t.Context()), "the error of a %s of a status with %s", verb, s.name)
				t.Rule("Do does not change the request: its builder error is the same before and after.")
				require.Equal(t, short(before), short(r.Error()), "the error of the request after "+s.name)
				t.Rule("%s", emptyNamespace)
			}
		}
		t.Rule(`After Namespace(""), a POST is an error, and so is a GET, PUT or DELETE of a name. ` +
			"A builder error is returned, and nothing is sent: your error must come before the request.")
		w.requireSent(0)
		t.Rule("An empty namespace stands for all namespaces, and adds nothing to the path: a list may use it.")
		t.Did(`GET with Namespace "" and no name`)
		err = w.do(w.client.Get().Namespace("").Resource("deployments")).Error()
		require.NoError(t, err, "the error of a list of all namespaces")
	})
}

func TestTask2_Empty_namespace_is_no_error_elsewhere(t *testing.T) {
	guard.Test(t, `After Namespace(""), a POST is an error, and so is a GET, PUT or DELETE of a name. `+
		"Other requests are sent.", func(t *guard.T) {
		w := newWorld(t)
		sent := 0
		for _, s := range senders[:2] {
			for _, verb := range []string{"GET", "DELETE", "PUT"} {
				t.Did(`%s with Namespace "", without a name, and %s`, verb, s.name)
				s.send(w.client.Verb(verb).Namespace("").Resource("deployments"), t.Context())
				sent++
				w.requireSent(sent)
			}
			t.Did(`PATCH with Namespace "" and Name "web", and %s`, s.name)
			s.send(w.client.Verb("PATCH").Namespace("").Resource("deployments").Name("web"), t.Context())
			sent++
			w.requireSent(sent)
		}
	})
}

func TestTask2_Objects_without_a_namespace_can_be_sent(t *testing.T) {
	guard.Test(t, `After Namespace(""), a POST is an error, and so is a GET, PUT or DELETE of a name. `+
		"Callers do not call it for a Node, which has no namespace.", func(t *guard.T) {
		w := newWorld(t)
		for _, verb := range []string{"GET", "PUT", "DELETE"} {
			t.Did(`%s with Name "web", and no Namespace`, verb)
			w.do(w.client.Verb(verb).Resource("deployments").Name("web"))
		}
		t.Did("POST without Namespace")
		w.do(w.client.Post().Resource("deployments"))
		w.requireSent(4)
	})
}

func TestTask2_Answer_without_a_content_type(t *testing.T) {
	guard.Test(t, "An answer without a content type is decoded in the client's content type.", func(t *guard.T) {
		for contentType, body := range guard.InOrder(map[string]string{
			"application/json": string(manifest("web")),
			"application/yaml": "kind: Deployment\napiVersion: apps/v1\nmetadata:\n  name: web\n",
		}) {
			w := newWorld(t, func(c *rest.Config) {
				c.ContentType, c.AcceptContentTypes = contentType, "application/vnd.kubernetes.protobuf"
			})
			w.did("a client with content type %q, which accepts another one", contentType)
			w.script("200, with a Deployment, and without a content type", "", func(rw respond, _ *request, _ handler) {
				rw.Header()["Content-Type"] = nil
				io.WriteString(rw, body)
			})
			d := &appsv1.Deployment{}
			require.NoError(t, w.getWeb().Into(d), "the error of Into")
			require.Equal(t, "web", d.Name, "the name of the object")
			t.Did("200, with a Deployment, and a content type with a parameter")
			w.Script("", fakeapi.Body(contentType+"; charset=utf-8", body))
			require.NoError(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into with a parameter")
			t.Did("a PATCH, with the type of a merge patch")
			w.script("200, with a Deployment, and without a content type", "", func(rw respond, _ *request, _ handler) {
				rw.Header()["Content-Type"] = nil
				io.WriteString(rw, body)
			})
			r := w.client.Patch(types.MergePatchType).Namespace("default").Resource("deployments").Name("web")
			require.NoError(t, w.do(r).Into(&appsv1.Deployment{}), "the error of Into after a PATCH")
		}
	})
}

func TestTask2_Names_of_fields_are_case_sensitive(t *testing.T) {
	guard.Test(t, "Unknown fields are not an error: a newer server sends more fields.", func(t *guard.T) {
		w := newWorld(t)
		body := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","Namespace":"x"},` +
			`"future":{"a":[1,2]}}`
		w.script("a field name in the wrong case, and an unknown field", "", fakeapi.Body("application/json", body))
		d := &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(d), "the error of Into")
		t.Rule("Field names are case-sensitive: encoding/json accepts Namespace for namespace, and the API " +
			"does not.")
		require.Equal(t, metav1.ObjectMeta{Name: "web"}, d.ObjectMeta, "the metadata of the object")
	})
}

func TestTask2_Connection_is_used_again(t *testing.T) {
	guard.Test(t, nothingLeft+": unless an answer is read to its end and closed, the next request makes a new "+
		"connection, with a TLS handshake.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		for range 5 {
			require.NoError(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into for web")
			require.Error(t, w.do(w.on("GET").Name("db")).Error(), "the error of Do for db, which does not exist")
		}
		require.Equal(t, 1, w.connections(), "connections made")
	})
}

func TestTask2_Every_body_is_closed(t *testing.T) {
	guard.Test(t, nothingLeft+": an open body keeps its connection and two goroutines forever.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.Create(deployment("web"))
		w.getWeb()
		w.do(w.on("GET").Name("db"))
		w.script("a truncated answer", "", fakeapi.Cut(10))
		w.getWeb()
		t.Did("DoRaw of web, and of db, which does not exist")
		w.on("GET").Name("web").DoRaw(t.Context())
		w.on("GET").Name("db").DoRaw(t.Context())
		require.EqualValues(t, 0, bodies.open.Load(), "open bodies after five requests")
	})
}

func TestTask2_Result_can_be_decoded_again(t *testing.T) {
	guard.Test(t, "A Result can be decoded any number of times.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		result := w.getWeb()
		first, second := &appsv1.Deployment{}, &appsv1.Deployment{}
		t.Did("Into, Get, Into, and Raw of the same Result")
		require.NoError(t, result.Into(first), "the error of the 1st Into")
		obj, err := result.Get()
		require.NoError(t, err, "the error of Get")
		require.NoError(t, result.Into(second), "the error of the 2nd Into")
		require.Equal(t, first, obj, "the object that Get returns")
		require.Equal(t, first, second, "the object of the 2nd Into")
		raw, err := result.Raw()
		require.NoError(t, err, "the error of Raw")
		require.Contains(t, string(raw), `"name":"web"`, "the body that Raw returns")
	})
}

func TestTask2_Results_share_nothing(t *testing.T) {
	guard.Test(t, "A Result can be decoded any number of times: its body and its objects are its own, whatever later "+
		"requests bring.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		result := w.getWeb()
		first := &appsv1.Deployment{}
		require.NoError(t, result.Into(first), "the error of the 1st Into")
		raw, err := result.Raw()
		require.NoError(t, err, "the error of Raw")
		before := string(raw)
		t.Did("the caller changes a label of the object")
		first.Labels["app"] = "changed"
		second := &appsv1.Deployment{}
		t.Did("Into of the same Result")
		require.NoError(t, result.Into(second), "the error of the 2nd Into")
		require.Equal(t, map[string]string{"app": "web"}, second.Labels, "the labels of the 2nd object")
		second.Labels["app"] = "changed"
		third := &appsv1.Deployment{}
		require.NoError(t, result.Into(third), "the error of the 3rd Into")
		require.Equal(t, map[string]string{"app": "web"}, third.Labels, "the labels of the 3rd object")
		third = &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(third), "the error of Into of another request")
		require.Equal(t, map[string]string{"app": "web"}, third.Labels, "the labels of the object of another request")
		t.Did("Get of two other requests, and twice of the first one")
		for _, result := range []restclient.Result{w.getWeb(), w.getWeb(), result, result} {
			obj, err := result.Get()
			require.NoError(t, err, "the error of Get")
			labels := obj.(*appsv1.Deployment).Labels
			require.Equal(t, map[string]string{"app": "web"}, labels, "the labels of the object that Get returns")
			labels["app"] = "changed"
		}
		t.Did("20 other requests, with other answers")
		w.Create(deployment("another-deployment-with-a-long-name"))
		for range 20 {
			require.NoError(t, w.do(w.on("GET")).Error(), "the error of Do")
		}
		require.Equal(t, before, string(raw), "the bytes that Raw returned before")
		short := func(text string, known bool) fakeapi.Fault {
			return func(rw respond, _ *request, _ handler) {
				if !known {
					flush(rw)
				}
				io.WriteString(rw, text)
			}
		}
		var answers []fakeapi.Fault
		var raws [20][]byte
		for i := range raws {
			answers = append(answers, short(fmt.Sprintf("answer %02d", i), i%2 == 0))
		}
		w.script("answers of a few bytes, every other one without a length", "", answers...)
		t.Did("DoRaw of the same request, 20 times")
		r := w.on("GET")
		for i := range raws {
			raws[i], err = r.DoRaw(t.Context())
			require.NoError(t, err, "the error of DoRaw")
		}
		for i, raw := range raws {
			require.Equal(t, fmt.Sprintf("answer %02d", i), string(raw), "the bytes that an earlier DoRaw returned")
		}
	})
}

func TestTask2_Answers_can_be_freed(t *testing.T) {
	guard.Test(t, nothingLeft+": a client that runs for months keeps none of its requests and answers.",
		func(t *guard.T) {
			w := newWorld(t)
			page := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"` + strings.Repeat("x", 200<<10) + `"}}`
			read := func() {
				w.Script("", fakeapi.Body("application/json", page))
				token := strings.Repeat("x", 100<<10) + strconv.Itoa(w.sent())
				require.NoError(t, w.client.Get().Resource("deployments").Param("continue", token).Do(t.Context()).
					Into(&appsv1.Deployment{}), "the error of Into")
			}
			read()
			before := memory()
			t.Did("Do and Into of a request of 100 KiB and an answer of 200 KiB, 40 times")
			for range 40 {
				read()
			}
			got := "less than 6 MiB"
			if held := memory() - before; held >= 6<<20 {
				got = fmt.Sprintf("%d KiB", held>>10)
			}
			require.Equal(t, "less than 6 MiB", got, "the memory that is still in use")
			runtime.KeepAlive(w.client)
		})
}

// memory returns the bytes in use after a garbage collection.
func memory() int {
	var stats runtime.MemStats
	for range 3 { // what is in a pool is freed by the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
