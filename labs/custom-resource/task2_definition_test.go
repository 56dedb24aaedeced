package customresource_test

// Task 2: the definition. The tests send requests as kubectl does, to a server with the learner's definition.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

const collection = "/apis/bitcoin.example.com/v1alpha1/namespaces/default/bitcoinnetworks"

// requests sends requests to a server.
type requests struct {
	t      *guard.T
	client *http.Client
}

func serve(t *guard.T) *requests {
	t.Did("Manifest")
	return &requests{t, start(t, customresource.Manifest()).Client()}
}

// send sends a body. It returns the code, and the answer.
func (r *requests) send(method, path, body string) (int, map[string]any) {
	request, err := http.NewRequestWithContext(r.t.Context(), method, "http://in-memory"+path, strings.NewReader(body))
	require.NoError(r.t, err, "the error of making a request")
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	r.t.Did("%s %s %s", method, strings.TrimPrefix(path, collection), body)
	response, err := r.client.Do(request)
	require.NoError(r.t, err, "the error of sending a request")
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(r.t, err, "the error of reading an answer")
	answer := map[string]any{}
	require.NoError(r.t, json.Unmarshal(data, &answer), "the error of decoding the answer %s", data)
	return response.StatusCode, answer
}

// create creates a network of the given name and spec. It returns the code, and the answer.
func (r *requests) create(name, spec string) (int, map[string]any) {
	return r.send("POST", collection, fmt.Sprintf(`{"apiVersion":"bitcoin.example.com/v1alpha1","kind":"BitcoinNetwork",`+
		`"metadata":{"name":%q},"spec":%s}`, name, spec))
}

// mustCreate creates a network, and returns its spec as the server has it.
func (r *requests) mustCreate(spec string) map[string]any {
	code, answer := r.create("demo", spec)
	require.Equal(r.t, http.StatusCreated, code, "the status code; the server says %q", answer["message"])
	stored, _, _ := unstructured.NestedMap(answer, "spec")
	return stored
}

func TestTask2_Manifest_is_a_definition(t *testing.T) {
	guard.Test(t, "Manifest returns a CustomResourceDefinition in YAML: kubectl apply takes it.", func(t *guard.T) {
		t.Did("Manifest")
		start(t, customresource.Manifest())
	})
}

func TestTask2_Names_are_those_of_the_types(t *testing.T) {
	guard.Test(t, "Its names, group and version are those of the Go types: the generated client asks for them.",
		func(t *guard.T) {
			r := serve(t)
			code, answer := r.send("GET", "/apis/bitcoin.example.com/v1alpha1", "")
			require.Equal(t, http.StatusOK, code, "the status code of the discovery of the group and version")
			found := map[string]any{}
			for _, resource := range answer["resources"].([]any) {
				resource := resource.(map[string]any)
				found[resource["name"].(string)] = resource["kind"]
			}
			require.Equal(t, map[string]any{"bitcoinnetworks": "BitcoinNetwork", "bitcoinnetworks/status": "BitcoinNetwork"},
				found, "the resources and their kinds")
			var definition struct {
				Spec struct{ Names struct{ ListKind string } }
			}
			require.NoError(t, yaml.Unmarshal([]byte(customresource.Manifest()), &definition), "the error of decoding Manifest")
			require.Contains(t, []string{"", "BitcoinNetworkList"}, definition.Spec.Names.ListKind,
				"listKind; without it, it is the kind and List")
		})
}

func TestTask2_Defaults_are_filled_in(t *testing.T) {
	guard.Test(t, "A network without chain or nodes gets the defaults.", func(t *guard.T) {
		spec := serve(t).mustCreate(`{"version":"29.0"}`)
		require.Equal(t, map[string]any{"version": "29.0", "chain": "regtest", "nodes": 3.0}, spec, "the stored spec")
		spec = serve(t).mustCreate(`{"version":"29.0","chain":null,"nodes":null}`)
		require.Equal(t, map[string]any{"version": "29.0", "chain": "regtest", "nodes": 3.0}, spec,
			"the stored spec, if null was sent")
	})
}

func TestTask2_Zero_nodes_stay(t *testing.T) {
	guard.Test(t, "A network with 0 nodes keeps them: a default is for a field that is missing.", func(t *guard.T) {
		r := serve(t)
		data, err := json.Marshal(demo(func(n *customresource.BitcoinNetwork) { n.Spec.Nodes = ptr.To[int32](0) }).Spec)
		require.NoError(t, err, "the error of encoding a spec")
		require.Equal(t, 0.0, r.mustCreate(string(data))["nodes"], "the stored nodes")
	})
}

func TestTask2_Known_fields_are_stored(t *testing.T) {
	guard.Test(t, "A field of the Go types is stored as it was sent, with any value that its comment does not exclude: a "+
		"field that is missing in the schema disappears without an error.", func(t *guard.T) {
		r := serve(t)
		spec := `{"chain":"test","nodes":2,"version":"29.0","peers":["a:1","b:2"],"options":{"txindex":"1","dbcache":"9"}}`
		var wanted map[string]any
		require.NoError(t, json.Unmarshal([]byte(spec), &wanted), "the error of decoding")
		require.Equal(t, wanted, r.mustCreate(spec), "the stored spec")

		t.Did("a spec with values that are rare, and that no comment excludes")
		rare := demo(func(n *customresource.BitcoinNetwork) {
			n.Spec.Version = "1234567890.1234567890"
			n.Spec.Peers = []string{"[2001:db8::1]:8333", strings.Repeat("o", 56) + ".onion:8333", "Node.EXAMPLE.com"}
			n.Spec.Options = map[string]string{"listen": "", "uacomment": strings.Repeat("é, ", 100), "rpcbind": "[::1]:8332"}
			for i := range 100 {
				n.Spec.Options[fmt.Sprint("option", i)] = "1"
			}
		}).Spec
		data, err := json.Marshal(rare)
		require.NoError(t, err, "the error of encoding a spec")
		code, answer := r.create("rare", string(data))
		require.Equal(t, http.StatusCreated, code, "the status code; the server says %q", answer["message"])
		var stored customresource.BitcoinNetworkSpec
		data, err = json.Marshal(answer["spec"])
		require.NoError(t, err, "the error of encoding a spec")
		require.NoError(t, json.Unmarshal(data, &stored), "the error of decoding")
		require.Equal(t, rare, stored, "the stored spec")

		status := full().Status
		data, err = json.Marshal(map[string]any{"status": status})
		require.NoError(t, err, "the error of encoding a status")
		code, answer = r.send("PATCH", collection+"/demo/status", string(data))
		require.Equal(t, http.StatusOK, code, "the status code; the server says %q", answer["message"])
		var sent map[string]any
		require.NoError(t, json.Unmarshal(data, &sent), "the error of decoding")
		require.Equal(t, sent["status"], answer["status"], "the stored status")

		t.Did("a status with values that are rare, and that no comment excludes")
		status.ReadyNodes, status.RegisteredChain = 25, "signet"
		status.ObservedGeneration = 1 << 40
		other := status.Conditions[0]
		status.Conditions[0].Type, status.Conditions[0].Status = "Audited", metav1.ConditionUnknown
		status.Conditions[0].Reason, status.Conditions[0].ObservedGeneration = strings.Repeat("R", 100), 0
		for i := range 20 {
			other.Type = fmt.Sprint("Audited", i)
			status.Conditions = append(status.Conditions, other)
		}
		status.Conditions[1].Message, status.Conditions[1].ObservedGeneration = strings.Repeat("m", 2_000), 1<<40
		data, err = json.Marshal(map[string]any{"status": status})
		require.NoError(t, err, "the error of encoding a status")
		code, answer = r.send("PATCH", collection+"/demo/status", string(data))
		require.Equal(t, http.StatusOK, code, "the status code; the server says %q", answer["message"])
		sent = nil
		require.NoError(t, json.Unmarshal(data, &sent), "the error of decoding")
		require.Equal(t, sent["status"], answer["status"], "the stored status")
	})
}

func TestTask2_Status_may_have_any_of_its_fields(t *testing.T) {
	guard.Test(t, "A field of the Go types is stored as it was sent, with any value that its comment does not exclude: "+
		"omitempty drops zero values, so a status can have one field alone.", func(t *guard.T) {
		r := serve(t)
		for i, status := range []string{
			`{}`, `{"observedGeneration":0}`, `{"readyNodes":0}`, `{"registeredChain":""}`, `{"conditions":[]}`,
			`{"conditions":[{"type":"Ready","status":"True","observedGeneration":0,` +
				`"lastTransitionTime":"2026-01-02T03:04:05Z","reason":"R","message":""}]}`,
		} {
			name := fmt.Sprint("network-", i)
			code, answer := r.create(name, `{"version":"29.0"}`)
			require.Equal(t, http.StatusCreated, code, "the status code; the server says %q", answer["message"])
			code, answer = r.send("PATCH", collection+"/"+name+"/status", `{"status":`+status+`}`)
			require.Equal(t, http.StatusOK, code, "the status code for the status %s; the server says %q", status,
				answer["message"])
			var sent map[string]any
			require.NoError(t, json.Unmarshal([]byte(status), &sent), "the error of decoding")
			require.Equal(t, sent, answer["status"], "the stored status")
		}
	})
}

func TestTask2_Unknown_fields_are_dropped(t *testing.T) {
	guard.Test(t, "A field that the Go types do not have is not stored: a typing error must not look like a setting.",
		func(t *guard.T) {
			r := serve(t)
			spec := r.mustCreate(`{"version":"29.0","chain":"test","nodes":2,"node":5,"storage":{"size":"1Gi"}}`)
			require.Equal(t, map[string]any{"version": "29.0", "chain": "test", "nodes": 2.0}, spec, "the stored spec")
			code, answer := r.send("PATCH", collection+"/demo/status", `{"status":{"readyNodes":1,"ready":"yes"}}`)
			require.Equal(t, http.StatusOK, code, "the status code; the server says %q", answer["message"])
			require.Equal(t, map[string]any{"readyNodes": 1.0}, answer["status"], "the stored status")
			code, answer = r.send("PATCH", collection+"/demo/status", `{"status":{"conditions":[{"type":"Ready",`+
				`"status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"R","message":"","since":1}]}}`)
			require.Equal(t, http.StatusOK, code, "the status code; the server says %q", answer["message"])
			require.NotContains(t, answer["status"].(map[string]any)["conditions"].([]any)[0], "since", "the stored condition")
			code, answer = r.send("PATCH", collection+"/demo", `{"owner":"me"}`)
			require.Equal(t, http.StatusOK, code, "the status code; the server says %q", answer["message"])
			require.NotContains(t, answer, "owner", "the stored network")
		})
}

func TestTask2_Version_is_required(t *testing.T) {
	guard.Test(t, "A network without a version is refused: no default can be right for years.", func(t *guard.T) {
		r := serve(t)
		for _, spec := range []string{`{}`, `{"nodes":1}`} {
			code, answer := r.create("demo", spec)
			require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for the spec %s", spec)
			require.Equal(t, `BitcoinNetwork.bitcoin.example.com "demo" is invalid: spec.version: Required value`,
				answer["message"], "the message")
		}
		code, _ := r.send("POST", collection,
			`{"apiVersion":"bitcoin.example.com/v1alpha1","kind":"BitcoinNetwork","metadata":{"name":"demo"}}`)
		require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for a network without a spec")
		t.Rule("A network without a version is refused: neither an empty text nor null is a version.")
		for _, spec := range []string{`{"version":""}`, `{"version":null}`, `null`} {
			code, _ := r.create("demo", spec)
			require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for the spec %s", spec)
		}
	})
}

func TestTask2_Excluded_values_are_refused(t *testing.T) {
	guard.Test(t, "A network with a value that its field's comment excludes is refused: the message is for the user, at "+
		"the moment of the mistake.", func(t *guard.T) {
		r := serve(t)
		for _, spec := range []string{
			`{"version":"29.0","chain":"moon"}`, `{"version":"29.0","chain":""}`, `{"version":"29.0","chain":"signet"}`,
			`{"version":"29.0","chain":"mainnet"}`, `{"version":"29.0","chain":"testnet4"}`,
			`{"version":"29.0","chain":"my-regtest"}`, `{"version":"29.0","chain":"MAIN"}`,
			`{"version":"29"}`, `{"version":"29,0"}`, `{"version":"29:0"}`, `{"version":" 29.0"}`, `{"version":"29.0 "}`,
			`{"version":"29.0\n30.0"}`,
			`{"version":"29.0","nodes":-1}`, `{"version":"29.0","nodes":21}`, `{"version":"29.0","nodes":"two"}`,
			`{"version":"latest"}`, `{"version":"29.0-rc1"}`, `{"version":"v29.0"}`, `{"version":"29."}`,
			`{"version":"..."}`, `{"version":29}`, `{"version":"29x0"}`, `{"version":".0"}`, `{"version":"29.0.1"}`,
			`{"version":"29.0rc1"}`,
			`{"version":"29.0","peers":["a","b","c","d","e","f","g","h","i"]}`, `{"version":"29.0","peers":["a","a"]}`,
			`{"version":"29.0","options":{"txindex":1}}`,
		} {
			code, _ := r.create("demo", spec)
			require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for the spec %s", spec)
		}
		for i, spec := range []string{
			`{"version":"29.0","chain":"main","nodes":20}`, `{"version":"0.10","chain":"test","nodes":0}`,
			`{"version":"29.0","peers":["a","b","c","d","e","f","g","h"]}`, `{"version":"29.0","peers":[],"options":{}}`,
		} {
			code, answer := r.create(fmt.Sprint("right-", i), spec)
			require.Equal(t, http.StatusCreated, code, "the status code for the spec %s; the server says %q", spec,
				answer["message"])
		}
	})
}

func TestTask2_Conditions_have_a_type_once(t *testing.T) {
	guard.Test(t, "A network with a value that its field's comment excludes is refused: the marker of the conditions says "+
		"that each type is in the list once.", func(t *guard.T) {
		r := serve(t)
		r.mustCreate(`{"version":"29.0"}`)
		const ready = `{"type":"Ready","status":%q,"lastTransitionTime":"2026-01-02T03:04:05Z","reason":"R","message":""}`
		code, _ := r.send("PATCH", collection+"/demo/status", fmt.Sprintf(`{"status":{"conditions":[`+ready+`,`+ready+`]}}`,
			"True", "False"))
		require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for two conditions of the type Ready")
		code, _ = r.send("PATCH", collection+"/demo/status", fmt.Sprintf(`{"status":{"conditions":[`+ready+`,`+
			strings.Replace(ready, `"R"`, `"Other"`, 1)+`]}}`, "True", "False"))
		require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for two of the type Ready, with two reasons")
		nameless := strings.Replace(fmt.Sprintf(ready, "True"), `"type":"Ready",`, "", 1)
		code, _ = r.send("PATCH", collection+"/demo/status", `{"status":{"conditions":[`+nameless+`]}}`)
		require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for a condition without a type")
	})
}

func TestTask2_Stored_networks_can_be_decoded(t *testing.T) {
	guard.Test(t, "A network with a value that its field's comment excludes is refused, and so is one that the Go types "+
		"cannot decode: a client that lists the networks fails at the first of these, and sees none.", func(t *guard.T) {
		r := serve(t)
		code, _ := r.create("demo", `{"version":"29.0","nodes":2.5}`)
		require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for 2.5 nodes")
		r.mustCreate(`{"version":"29.0"}`)
		code, _ = r.send("PATCH", collection+"/demo/status", `{"status":{"conditions":[{"type":"Ready","status":"True",`+
			`"lastTransitionTime":"yesterday","reason":"NodesReady","message":""}]}}`)
		require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for the transition time yesterday")
		for _, status := range []string{
			`{"observedGeneration":1.5}`, `{"readyNodes":1.5}`, `{"conditions":[{"type":"Ready","status":"True",` +
				`"observedGeneration":1.5,"lastTransitionTime":"2026-01-02T03:04:05Z","reason":"R","message":""}]}`,
		} {
			code, _ = r.send("PATCH", collection+"/demo/status", `{"status":`+status+`}`)
			require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for the status %s", status)
		}
		code, _ = r.send("PATCH", collection+"/demo/status", `{"status":{"readyNodes":3000000000}}`)
		require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for more ready nodes than 32 bits can count")
	})
}

func TestTask2_Status_and_spec_are_apart(t *testing.T) {
	guard.Test(t, "An update of a network never changes its status, and an update of the status never changes anything "+
		"else: a user cannot report readiness, and a controller cannot overwrite a user's change.", func(t *guard.T) {
		r := serve(t)
		r.mustCreate(`{"version":"29.0","nodes":1}`)
		both := `{"metadata":{"labels":{"team":"chain"}},"spec":{"nodes":2},"status":{"readyNodes":%d}}`
		code, answer := r.send("PATCH", collection+"/demo", fmt.Sprintf(both, 7))
		require.Equal(t, http.StatusOK, code, "the status code of the update; the server says %q", answer["message"])
		require.Equal(t, 2.0, answer["spec"].(map[string]any)["nodes"], "the nodes after the update")
		require.Nil(t, answer["status"], "the status after the update of the network")

		code, answer = r.send("PATCH", collection+"/demo/status", strings.Replace(fmt.Sprintf(both, 1), "2", "9", 1))
		require.Equal(t, http.StatusOK, code, "the status code of the update of the status")
		require.Equal(t, map[string]any{"readyNodes": 1.0}, answer["status"], "the status after its update")
		require.Equal(t, 2.0, answer["spec"].(map[string]any)["nodes"], "the nodes after the update of the status")
		meta := answer["metadata"].(map[string]any)
		require.Equal(t, 2.0, meta["generation"], "the generation: one creation, one change of the spec")
	})
}

func TestTask2_Name_fits_a_label(t *testing.T) {
	guard.Test(t, "A network's name has at most 63 characters, because the name becomes the value of a label.",
		func(t *guard.T) {
			r := serve(t)
			code, answer := r.create(strings.Repeat("n", 63), `{"version":"29.0"}`)
			require.Equal(t, http.StatusCreated, code, "the status code for 63 characters; the server says %q",
				answer["message"])
			code, _ = r.create(strings.Repeat("n", 64), `{"version":"29.0"}`)
			require.Equal(t, http.StatusUnprocessableEntity, code, "the status code for 64 characters")
			t.Rule("A network with a value that its field's comment excludes is refused. A name begins with any letter or " +
				"digit.")
			code, answer = r.create("21-coins.v2", `{"version":"29.0"}`)
			require.Equal(t, http.StatusCreated, code, "the status code for a name; the server says %q", answer["message"])
		})
}
