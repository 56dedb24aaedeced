package fakeapi

// This file makes two answers comparable: it writes down what matters of them, and replaces what differs from run to
// run, in a way that keeps what is equal equal.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// headers are those that matter.
var headers = []string{"Content-Type", "Retry-After", "Warning", "Cache-Control", "Allow", "X-Content-Type-Options"}

// describe writes an answer down: the status code, the headers that matter, and the body as JSON with sorted keys.
func describe(t *testing.T, r *http.Response, body []byte) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.StatusCode)
	for _, name := range headers {
		for _, value := range r.Header.Values(name) {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteString("\n")
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case mediaType == runtime.ContentTypeProtobuf && len(body) > 0:
		b.WriteString(fromProtobuf(t, body))
	case mediaType == runtime.ContentTypeYAML:
		data, err := yaml.YAMLToJSON(body)
		require.NoError(t, err)
		b.WriteString(indented(t, data))
	case mediaType == runtime.ContentTypeJSON:
		b.WriteString(indented(t, body))
	default:
		b.Write(body)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// fromProtobuf writes an object that came as protobuf as JSON.
func fromProtobuf(t *testing.T, body []byte) string {
	obj, _, err := codecs.UniversalDeserializer().Decode(body, nil, nil)
	require.NoError(t, err)
	text, err := json.Marshal(obj)
	require.NoError(t, err)
	return indented(t, text)
}

// indented writes each JSON document of a stream again.
func indented(t *testing.T, body []byte) string {
	var b bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	for d.More() {
		var v any
		require.NoError(t, d.Decode(&v), "%s", body)
		clean(v)
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		require.NoError(t, e.Encode(v))
	}
	return b.String()
}

// clean takes out who wrote which field, which is left out of the fake.
func clean(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "managedFields")
		for _, child := range v {
			clean(child)
		}
	case []any:
		for _, child := range v {
			clean(child)
		}
	}
}

// mask replaces versions, UIDs, names that were made up, times and tokens. The same value is replaced by the same text
// throughout a case.
type mask struct {
	ns   string
	seen map[string]string
	n    map[string]int
	same map[string]string // versions, each with the one whose text it gets
}

func newMask(ns string) *mask {
	return &mask{ns, map[string]string{}, map[string]int{}, map[string]string{}}
}

// masks are what is replaced: the second group of each is the value.
var masks = []struct {
	kind string
	is   *regexp.Regexp
}{
	{"version", regexp.MustCompile(`("resourceVersion": ")(\d+)(")`)},
	{"uid", regexp.MustCompile(`()([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})()`)},
	{"time", regexp.MustCompile(`()(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)()`)},
	{"token", regexp.MustCompile(`("continue": ")([^"]+)(")`)},
	{"generated", regexp.MustCompile(`()(made-up-[a-z0-9]{5})()`)},
	{"number", regexp.MustCompile(`(resource version: |current: |resource version: N \()(\d+)()`)},
	{"number", regexp.MustCompile(`(version: \S+ \()(\d+)(\))`)},
	{"number", regexp.MustCompile(`(the ResourceVersion in (?:the precondition|record) \()(\d+)(\))`)},
	{"age", regexp.MustCompile(`(")(\d+[smhdy](?:\d+[smhdy])?|<invalid>)(")`)},
}

func (m *mask) text(text string) string {
	text = strings.ReplaceAll(text, m.ns, "{ns}")
	for _, mask := range masks {
		text = mask.is.ReplaceAllStringFunc(text, func(match string) string {
			groups := mask.is.FindStringSubmatch(match)
			return groups[1] + m.name(mask.kind, groups[2]) + groups[3]
		})
	}
	return text
}

func (m *mask) name(kind, value string) string {
	switch kind {
	case "version":
		if value == "0" {
			return value
		}
		value = cmp.Or(m.same[value], value)
	case "time", "number", "age":
		return "(" + kind + ")"
	}
	if m.seen[kind+value] == "" {
		m.n[kind]++
		m.seen[kind+value] = fmt.Sprintf("(%s %d)", kind, m.n[kind])
	}
	return m.seen[kind+value]
}
