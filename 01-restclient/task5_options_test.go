package restclient_test

// Task 5: each option and each argument of each method.

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// method is a method of the typed client, called with the name web and with all options set.
type method struct {
	name string
	call func(context.Context, restclient.DeploymentInterface, *appsv1.Deployment) error
	opts runtime.Object
	sent string // the method and the path below the namespace
}

func methods() []method {
	create, update, get, patch := filled[metav1.CreateOptions](), filled[metav1.UpdateOptions](),
		filled[metav1.GetOptions](), filled[metav1.PatchOptions]()
	list, remove := filled[metav1.ListOptions](), filled[metav1.DeleteOptions]()
	type deployments = restclient.DeploymentInterface
	return []method{
		{"Create", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			_, err := c.Create(ctx, d, *create)
			return err
		}, create, "POST /deployments"},
		{"Update", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			_, err := c.Update(ctx, d, *update)
			return err
		}, update, "PUT /deployments/web"},
		{"UpdateStatus", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			_, err := c.UpdateStatus(ctx, d, *update)
			return err
		}, update, "PUT /deployments/web/status"},
		{"Delete", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			return c.Delete(ctx, d.Name, *remove)
		}, remove, "DELETE /deployments/web"},
		{"Get", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			_, err := c.Get(ctx, d.Name, *get)
			return err
		}, get, "GET /deployments/web"},
		{"List", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			_, err := c.List(ctx, *list)
			return err
		}, list, "GET /deployments"},
		{"Watch", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			events, err := c.Watch(ctx, *list)
			if err == nil {
				events.Stop()
			}
			return err
		}, list, "GET /deployments"},
		{"Patch", func(ctx context.Context, c deployments, d *appsv1.Deployment) error {
			_, err := c.Patch(ctx, d.Name, types.MergePatchType, []byte(`{}`), *patch)
			return err
		}, patch, "PATCH /deployments/web"},
	}
}

// filled returns options in which each field has a value.
func filled[T any]() *T {
	opts := new(T)
	fill(reflect.ValueOf(opts).Elem(), "")
	return opts
}

func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.ToLower(name))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Type != reflect.TypeFor[metav1.TypeMeta]() {
				fill(v.Field(i), field.Name)
			}
		}
	}
}

func TestTask5_Every_option_reaches_the_server(t *testing.T) {
	const (
		inTheQuery = inQuery + ": every field of them, in every method. Without its option a dry run is a " +
			"real change, and without its selector a list returns everything."
		inTheBody = "The options of Delete are the body of the request: every field of them. Without the " +
			"condition on the UID, Delete removes another object."
	)
	guard.Test(t, inTheQuery, func(t *guard.T) {
		w, c := typed(t, "default")
		for i, m := range methods() {
			w.script("answers with an empty Deployment", "", emptyAnswer(m.name))
			t.Rule(inTheQuery)
			t.Did("%s, with a value in each field of its options", m.name)
			before := m.opts.DeepCopyObject()
			m.call(t.Context(), c, deployment("web"))
			w.requireSent(i + 1)
			sent := w.Requests("")[i]
			t.Rule("Each method passes its context and all of its options on, and does not change its arguments: " +
				"the caller may use them again.")
			require.Equal(t, before, m.opts, "the caller's options after "+m.name)
			t.Rule(inTheQuery)
			if m.name == "Delete" {
				t.Rule(inTheBody)
				got := &metav1.DeleteOptions{}
				require.NoError(t, json.Unmarshal([]byte(sent.Body), got), "the error of reading the body of Delete")
				got.TypeMeta = metav1.TypeMeta{}
				require.Equal(t, m.opts, got, "the options in the body of Delete")
				continue
			}
			want, err := restclient.ParameterCodec.EncodeParameters(m.opts, appsv1.SchemeGroupVersion)
			require.NoError(t, err, "the error of EncodeParameters")
			sent.Query.Del("timeout") // from TimeoutSeconds
			require.Equal(t, want.Encode(), sent.Query.Encode(), "the query of "+m.name)
		}
	})
}

// emptyAnswer answers a method with 200 and an almost empty object of its kind.
func emptyAnswer(method string) fakeapi.Fault {
	kind := map[string]string{"List": "DeploymentList", "Delete": "Status"}[method]
	if kind == "" {
		kind = "Deployment"
	}
	body := `{"kind":"` + kind + `","apiVersion":"apps/v1"}`
	if kind == "Deployment" {
		body = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"stored"}}`
	}
	switch method {
	case "Delete":
		body = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	case "Watch":
		body = ""
	}
	return fakeapi.Body("application/json", body)
}

const unchanged = "The caller's object does not change: it may come from a cache that other goroutines read."

func TestTask5_Every_argument_reaches_the_server(t *testing.T) {
	const (
		anywhere = "Every argument and every option of a typed method reaches the server: the client's " +
			"namespace and the name, in every method. Another namespace may have an object with the same " +
			"name."
		whole = "Every argument and every option of a typed method reaches the server: the whole object, " +
			"with labels, annotations, finalizers, owners and status. An Update removes every field that " +
			"it does not send."
	)
	guard.Test(t, anywhere, func(t *guard.T) {
		for _, namespace := range []string{"default", "other"} {
			w, c := typed(t, namespace)
			for i, m := range methods() {
				w.script("answers with an empty object", "", emptyAnswer(m.name))
				d := furnished("web")
				d.Namespace = namespace
				before := d.DeepCopy()
				t.Rule(anywhere)
				t.Did("%s in the namespace %s", m.name, namespace)
				m.call(t.Context(), c, d)
				w.requireSent(i + 1)
				sent := w.Requests("")[i]
				verb, path, _ := strings.Cut(m.sent, " ")
				require.Equal(t, verb+" /apis/apps/v1/namespaces/"+namespace+path, sent.Method+" "+sent.Path,
					"the method and the path of "+m.name)
				if m.name == "Create" || verb == "PUT" {
					t.Rule(whole)
					got := &appsv1.Deployment{}
					require.NoError(t, json.Unmarshal([]byte(sent.Body), got), "the error of reading the body of "+m.name)
					got.TypeMeta = metav1.TypeMeta{}
					require.Equal(t, before, got, "the object in the body of "+m.name)
				}
				t.Rule(unchanged)
				require.Equal(t, before, d, "the caller's object after "+m.name)
			}
		}
	})
}

func TestTask5_Namespace_is_the_clients(t *testing.T) {
	const clients = "A client of a namespace works in this namespace only, whatever namespace its argument has: the " +
		"server refuses an object of another one."
	guard.Test(t, clients, func(t *guard.T) {
		for _, other := range []string{"", "other"} {
			w, c := typed(t, "default")
			for i, m := range methods() {
				w.script("answers with an empty object", "", emptyAnswer(m.name))
				d := deployment("web")
				d.Namespace = other
				t.Did("%s, with an object of the namespace %q", m.name, other)
				m.call(t.Context(), c, d)
				w.requireSent(i + 1)
				t.Rule(unchanged)
				require.Equal(t, other, d.Namespace, "the namespace of the caller's object after "+m.name)
				t.Rule(clients)
				require.Contains(t, w.Requests("")[i].Path, "/namespaces/default/deployments", "the path of "+m.name)
			}
		}
	})
}

// furnished is a Deployment with metadata of all kinds, as other programs leave it, and with a status.
func furnished(name string) *appsv1.Deployment {
	d := deployment(name)
	yes := true
	d.ResourceVersion, d.UID = "7", "of-"+types.UID(name)
	d.Annotations = map[string]string{"who": "somebody else"}
	d.Finalizers = []string{"example.com/other"}
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Update"}}
	d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: "a", UID: "u",
		Controller: &yes}}
	d.Status.Replicas = 2
	return d
}

func TestTask5_Patch_sends_its_type_its_data_and_its_path(t *testing.T) {
	const (
		itsType = "The type of the patch is its content type: the same bytes have another meaning in another " +
			"type."
		itsPath = "Each argument is one segment of the path: all of them follow the name."
	)
	guard.Test(t, itsType, func(t *guard.T) {
		w, c := typed(t, "default")
		for i, pt := range []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType,
			types.ApplyYAMLPatchType} {
			w.script("answers with an empty Deployment", "", emptyAnswer("Patch"))
			subresources := []string{"a", "b", "c"}[:i]
			t.Did("Patch of the type %s, of the subresources %q", pt, subresources)
			_, err := c.Patch(t.Context(), "web", pt, []byte(`[ 1 ]`), metav1.PatchOptions{}, subresources...)
			require.NoError(t, err, "the error of Patch")
			sent := w.Requests("")[i]
			t.Rule(itsType)
			require.Equal(t, string(pt), sent.Header.Get("Content-Type"), "the content type of the request")
			t.Rule("A []byte and an io.Reader are sent as they are: Patch does not decode the data.")
			require.Equal(t, `[ 1 ]`, sent.Body, "the body of the request")
			t.Rule(itsPath)
			w.requireLast("PATCH", strings.Join(append([]string{"/web"}, subresources...), "/"))
		}
		t.Rule("A []byte and an io.Reader are sent as they are: the server refuses an empty patch.")
		t.Did("Patch without data")
		c.Patch(t.Context(), "web", types.MergePatchType, nil, metav1.PatchOptions{})
		w.requireSent(5)
		require.Empty(t, w.Requests("")[4].Body, "the body of the request")
	})
}

func TestTask5_Server_receives_the_TimeoutSeconds_twice(t *testing.T) {
	const (
		list  = "The TimeoutSeconds of a list also limit the request: the server receives both parameters."
		watch = "The TimeoutSeconds are also the Timeout of the request: the server of a watch receives both parameters."
	)
	guard.Test(t, list, func(t *guard.T) {
		w, c := typed(t, "default")
		for _, limit := range []struct {
			seconds int64
			text    string
		}{{90, "1m30s"}, {1, "1s"}, {100000, "27h46m40s"}} {
			t.Did("List and Watch with TimeoutSeconds %d", limit.seconds)
			before := w.sent()
			_, err := c.List(t.Context(), metav1.ListOptions{TimeoutSeconds: &limit.seconds})
			require.NoError(t, err, "the error of List")
			events, err := c.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &limit.seconds})
			require.NoError(t, err, "the error of Watch")
			events.Stop()
			for i, name := range []string{"List", "Watch"} {
				t.Rule("%s", []string{list, watch}[i])
				query := w.Requests("")[before+i].Query
				require.Equal(t, []string{fmt.Sprint(limit.seconds), limit.text},
					[]string{query.Get("timeoutSeconds"), query.Get("timeout")},
					"the parameters timeoutSeconds and timeout of "+name)
			}
		}
	})
}

func TestTask5_Empty_name_is_never_sent(t *testing.T) {
	guard.Test(t, "An empty name is an error, and nothing is sent: the path would mean all Deployments.",
		func(t *guard.T) {
			w, c := typed(t, "default")
			for _, m := range methods() {
				if strings.Contains(m.sent, "/web") {
					t.Did(`%s of a Deployment with the name ""`, m.name)
					require.Error(t, m.call(t.Context(), c, &appsv1.Deployment{}), "the error of "+m.name)
					w.requireSent(0)
				}
			}
		})
}
