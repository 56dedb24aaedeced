package rewritingproxy_test

// Task 1: one object.

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"client-go-workshop/internal/testkit/guard"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

// show returns the result of Show for a view with Factor 3.
func show(t *guard.T, object string) string {
	t.Helper()
	t.Did("Show of %.300s", object)
	shown, err := view.Show([]byte(object))
	require.NoError(t, err, "the error of Show")
	return string(shown)
}

// store returns the result of Store for a view with Factor 3.
func store(t *guard.T, object string) string {
	t.Helper()
	t.Did("Store of %.300s", object)
	stored, err := view.Store([]byte(object))
	require.NoError(t, err, "the error of Store")
	return string(stored)
}

func TestTask1_Show_multiplies(t *testing.T) {
	guard.Test(t, "Show returns an object as the client sees it: spec.replicas is multiplied by Factor.",
		func(t *guard.T) {
			for stored, shown := range guard.InOrder(map[string]string{"0": "0", "1": "3", "2": "6", "1000": "3000", "-1": "-3"}) {
				requireJSON(t, `{"spec":{"replicas":`+shown+`}}`, show(t, `{"spec":{"replicas":`+stored+`}}`),
					"the object that Show returns")
			}
			one := rewritingproxy.View{Factor: 1}
			t.Did(`Show of {"spec":{"replicas":7}} with Factor 1`)
			shown, err := one.Show([]byte(`{"spec":{"replicas":7}}`))
			require.NoError(t, err, "the error of Show")
			requireJSON(t, `{"spec":{"replicas":7}}`, string(shown), "the object that Show returns")
		})
}

func TestTask1_Show_keeps_every_other_field(t *testing.T) {
	const (
		others = "Every other field stays as it is, also a field that this program does not know. A newer server has " +
			"fields that no Go type here has."
		numbers = "Every number keeps its digits. A float64 has 53 bits, and cannot hold every resourceVersion or " +
			"every number of a custom field."
	)
	guard.Test(t, others, func(t *guard.T) {
		const format = `{"kind":"Deployment","apiVersion":"apps/v9","metadata":{"name":"web","annotations":{"replicas":"2",` +
			`"note":"{\"spec\":{\"replicas\":2}} é <&> \u0000"},"managedFields":[{"fieldsV1":{"f:spec":{"f:replicas":{}}}}]},` +
			`"spec":{"novel":{"replicas":2},"replicas":%d,"template":{"spec":{"replicas":2}},"list":[{"replicas":2},[],{}]},` +
			`"replicas":2,"status":{"replicas":2,"readyReplicas":2},"nothing":null,"flag":true}`
		requireJSON(t, fmt.Sprintf(format, 6), show(t, fmt.Sprintf(format, 2)), "the object that Show returns")
		indented := strings.NewReplacer("{", "{\n\t", ":", " : ", ",", " ,\r\n")
		const plain = `{"spec":{"a":[1,2],"replicas":%d,"b":{}},"metadata":{}}`
		requireJSON(t, fmt.Sprintf(plain, 6), show(t, indented.Replace(fmt.Sprintf(plain, 2))),
			"the object that Show returns for JSON with white space")
		t.Rule(numbers)
		const large = `{"spec":{"replicas":%d,"a":9007199254740993,"b":1.10,"c":1e400,"d":-0.0},"e":12345678901234567890}`
		requireJSON(t, fmt.Sprintf(large, 6), show(t, fmt.Sprintf(large, 2)), "the object that Show returns")
	})
}

func TestTask1_Objects_without_replicas(t *testing.T) {
	guard.Test(t, "An object without a number of replicas stays as it is.", func(t *guard.T) {
		for _, object := range []string{
			`{}`, `{"spec":{}}`, `{"spec":null}`, `{"spec":{"replicas":null}}`, `{"metadata":{"name":"web"}}`,
			`{"kind":"Status","status":"Failure","code":410}`, `{"spec":"replicas"}`, `{"spec":["replicas",2]}`,
			`{"spec":{"paused":true},"replicas":2}`,
		} {
			requireJSON(t, object, show(t, object), "the object that Show returns")
		}
	})
}

func TestTask1_Show_stays_in_range(t *testing.T) {
	guard.Test(t, "A number above 2147483647 is shown as 2147483647, because replicas are an int32. A client that "+
		"cannot decode an object cannot list any.", func(t *guard.T) {
		for _, stored := range []string{"715827883", "2147483647", "6148914691236517206"} {
			requireJSON(t, `{"spec":{"replicas":2147483647}}`, show(t, `{"spec":{"replicas":`+stored+`}}`),
				"the object that Show returns")
		}
		requireJSON(t, `{"spec":{"replicas":2147483646}}`, show(t, `{"spec":{"replicas":715827882}}`),
			"the object that Show returns")
	})
}

func TestTask1_Show_refuses_other_values(t *testing.T) {
	guard.Test(t, "If spec.replicas is not an integer, Show returns an error. A proxy that cannot multiply it must not "+
		"show it.", func(t *guard.T) {
		for _, value := range []string{`"2"`, `""`, `2.5`, `2.0`, `2e0`, `true`, `false`, `{}`, `[2]`} {
			for _, view := range []rewritingproxy.View{view, {Factor: 1}} {
				t.Did(`Show of {"spec":{"replicas":%s}} with Factor %d`, value, view.Factor)
				_, err := view.Show([]byte(`{"spec":{"replicas":` + value + `}}`))
				require.True(t, err != nil, "Show of spec.replicas %s returns an error", value)
			}
		}
	})
}

func TestTask1_Arguments_do_not_change(t *testing.T) {
	const (
		shows  = "Show does not change its argument. The bytes may be those of a buffer that the caller still reads."
		stores = "Store does not change its argument."
	)
	guard.Test(t, shows, func(t *guard.T) {
		const format = `{"metadata":{"name":"web"},"spec":{"replicas":%d,"paused":true}}`
		var text string
		var object []byte
		for _, stored := range []int{2, 9} { // the larger number has one more digit
			text = fmt.Sprintf(format, stored) + " rest"
			object = []byte(text)
			t.Did("Show of the first part of a buffer, an object with %d replicas", stored)
			shown, err := view.Show(object[:len(object)-5])
			require.NoError(t, err, "the error of Show")
			requireJSON(t, fmt.Sprintf(format, 3*stored), string(shown), "the result of Show")
			require.Equal(t, text, string(object), "the buffer after Show")
		}
		t.Rule(stores)
		t.Did("Store of the first part of a buffer")
		_, err := view.Store(object[:len(object)-5])
		require.NoError(t, err, "the error of Store")
		require.Equal(t, text, string(object), "the buffer after Store")
	})
}

func TestTask1_Hides(t *testing.T) {
	const (
		hides       = "Hides reports whether the client must not see an object: it has a label whose key is HiddenLabel."
		annotations = "An annotation is not a label. Neither is a label of the Pods in the template."
	)
	guard.Test(t, hides, func(t *guard.T) {
		for object, want := range guard.InOrder(map[string]bool{
			`{"metadata":{"labels":{"example.com/hidden":"true"}}}`:                           true,
			`{"metadata":{"labels":{"example.com/hidden":"false"}}}`:                          true,
			`{"metadata":{"labels":{"example.com/hidden":""}}}`:                               true,
			`{"metadata":{"labels":{"example.com/hidden":"0"}}}`:                              true,
			`{"metadata":{"labels":{"Example.com/Hidden":"true"}}}`:                           false,
			`{"metadata":{"labels":{"a":"b","example.com/hidden":"yes"},"name":"web"}}`:       true,
			`{"metadata":{"labels":{"example.com\/\u0068idden":"true"}}}`:                     true,
			`{"metadata":{"labels":{"example.com/hidden-not":"true"}}}`:                       false,
			`{"metadata":{"labels":{"a":"example.com/hidden"}}}`:                              false,
			`{"metadata":{"labels":null}}`:                                                    false,
			`{"metadata":{"name":"example.com/hidden"}}`:                                      false,
			`{"spec":{"replicas":2}}`:                                                         false,
			`{"metadata":{"annotations":{"example.com/hidden":"true"}}}`:                      false,
			`{"spec":{"template":{"metadata":{"labels":{"example.com/hidden":"true"}}}}}`:     false,
			`{"spec":{"selector":{"matchLabels":{"example.com/hidden":"true"}}}}`:             false,
			`{"metadata":{"name":"a"},"labels":{"example.com/hidden":"true"}}`:                false,
			`{"metadata":{"managedFields":[{"f:labels":{"f:example.com/hidden":{}}}]}}`:       false,
			`{"metadata":{"annotations":{"a":"{\"labels\":{\"example.com/hidden\":\"\"}}"}}}`: false,
		}) {
			t.Rule(hides)
			if !want {
				t.Rule(annotations)
			}
			t.Did("Hides of %s", object)
			got, err := view.Hides([]byte(object))
			require.NoError(t, err, "the error of Hides")
			require.Equal(t, want, got, "the result of Hides")
		}
	})
}

func TestTask1_Hides_nothing_without_a_label(t *testing.T) {
	const (
		hides  = "Hides reports whether the client must not see an object. Without a HiddenLabel the client sees all."
		unread = "JSON that cannot be read is an error, because the object may be a hidden one."
	)
	guard.Test(t, hides, func(t *guard.T) {
		t.Did(`Hides of an object with the label ""`)
		got, err := rewritingproxy.View{Factor: 3}.Hides([]byte(`{"metadata":{"labels":{"":"true"}}}`))
		require.NoError(t, err, "the error of Hides")
		require.Equal(t, false, got, "the result of Hides")
		t.Rule(unread)
		for _, object := range []string{
			``, `{"metadata":{"labels":{"a":"b"`, `{"metadata":`, `{"metadata":{}},}`, `<html>`, "k8s\x00",
		} {
			t.Did("Hides of %q", object)
			_, err := view.Hides([]byte(object))
			require.True(t, err != nil, "Hides of %q returns an error", object)
		}
	})
}

func TestTask1_Store_divides(t *testing.T) {
	const (
		divides = "Store returns the object that a client's object stands for: spec.replicas is divided by Factor."
		others  = "Every other field stays as it is, in what is stored too."
		null    = "Null stays null. In a merge patch it removes the field, and the server sets its default."
	)
	guard.Test(t, divides, func(t *guard.T) {
		for shown, stored := range guard.InOrder(map[string]string{
			"0": "0", "3": "1", "6": "2", "3000": "1000", "-3": "-1", "6442450941": "2147483647",
		}) {
			requireJSON(t, `{"spec":{"replicas":`+stored+`}}`, store(t, `{"spec":{"replicas":`+shown+`}}`),
				"the object that Store returns")
		}
		t.Rule(others)
		const format = `{"metadata":{"resourceVersion":"9007199254740993","annotations":{"replicas":"6"}},` +
			`"spec":{"replicas":%d,"novel":9007199254740993},"status":{"replicas":6}}`
		requireJSON(t, fmt.Sprintf(format, 2), store(t, fmt.Sprintf(format, 6)), "the object that Store returns")
		t.Rule(null)
		requireJSON(t, `{"spec":{"replicas":null}}`, store(t, `{"spec":{"replicas":null}}`), "the object that Store returns")
	})
}

// requireRefused asserts that Store refuses an object.
func requireRefused(t *guard.T, object string) {
	t.Helper()
	t.Did("Store of %s", object)
	stored, err := view.Store([]byte(object))
	require.True(t, err != nil, "Store of %s returns an error, and not %s", object, stored)
}

func TestTask1_Store_refuses_what_it_cannot_divide(t *testing.T) {
	const (
		multiple = "A number that Factor does not divide is refused: every stored number would be another one than the " +
			"client sent. A controller that sends 7 and reads 6 sends 7 again, forever."
		integers = "Any spec.replicas that is not an integer of 64 bits is refused. The server would store 6.0 in a " +
			"strategic merge patch as 6."
		refusals = "A refusal is an API error with the code 422, and names spec.replicas."
	)
	guard.Test(t, multiple, func(t *guard.T) {
		for _, value := range []string{"1", "2", "7", "-1", "2147483647", "6442450942"} {
			requireRefused(t, `{"spec":{"replicas":`+value+`}}`)
		}
		t.Rule(integers)
		for _, value := range []string{`"6"`, `""`, `6.0`, `6e0`, `true`, `false`, `{}`, `99999999999999999999999`} {
			requireRefused(t, `{"spec":{"replicas":`+value+`}}`)
			t.Did(`Store of {"spec":{"replicas":%s}} with Factor 1`, value)
			_, err := rewritingproxy.View{Factor: 1}.Store([]byte(`{"spec":{"replicas":` + value + `}}`))
			require.True(t, err != nil, "Store of spec.replicas %s returns an error", value)
		}
		t.Rule(refusals)
		for _, value := range []string{`7`, `6.0`} {
			t.Did(`Store of {"spec":{"replicas":%s}}`, value)
			_, err := view.Store([]byte(`{"spec":{"replicas":` + value + `}}`))
			require.Equal(t, http.StatusUnprocessableEntity, code(err), "the code of the error")
			require.True(t, strings.Contains(err.Error(), "spec.replicas"), "the error names spec.replicas: %v", err)
		}
	})
}

// code returns the code of an API error, or 0.
func code(err error) int {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return 0
	}
	return int(status.Status().Code)
}

func TestTask1_Store_of_a_key_that_appears_twice(t *testing.T) {
	guard.Test(t, "If a key appears twice, both values are divided or refused. The server takes one of them, and the "+
		"proxy must not rely on which.", func(t *guard.T) {
		for _, object := range []string{
			`{"spec":{"replicas":6,"replicas":7}}`, `{"spec":{"replicas":7,"replicas":6}}`,
			`{"spec":{"replicas":7},"spec":{"paused":true}}`, `{"spec":{"replicas":7},"spec":null}`,
			`{"spec":{"paused":true},"spec":{"replicas":7}}`,
		} {
			t.Did("Store of %s", object)
			stored, err := view.Store([]byte(object))
			require.True(t, err != nil || !strings.Contains(string(stored), "7"),
				"Store of %s does not pass on 7, but returns %s", object, stored)
		}
		for _, object := range []string{
			`{"spec":{"replicas":6,"replicas":6}}`, `{"spec":{"replicas":6},"spec":{"paused":true}}`,
			`{"spec":{"replicas":6,"\u0072eplicas":6}}`, `{"spec":{"paused":true},"spec":{"replicas":6}}`,
		} {
			t.Did("Store of %s", object)
			stored, err := view.Store([]byte(object))
			require.True(t, err != nil || !strings.Contains(string(stored), "6"),
				"Store of %s does not pass on 6, but returns %s", object, stored)
		}
	})
}
