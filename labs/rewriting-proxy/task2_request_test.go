package rewritingproxy_test

// Task 2: the request to the API server.

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"client-go-workshop/internal/testkit/guard"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

// at returns a proxy for an API server at a URL. It sends no requests.
func at(t *guard.T, upstream string, view rewritingproxy.View) *rewritingproxy.Proxy {
	u, err := url.Parse(upstream)
	require.NoError(t, err)
	p, err := rewritingproxy.New(rewritingproxy.Config{
		Upstream: u, Transport: http.DefaultTransport, NewFrameReader: below.NewFrameReader, View: view,
	})
	require.NoError(t, err, "the error of New")
	return p
}

// each is one request of each kind that has no body to translate: a list, a watch, an object, its head, and deletions.
var each = []struct{ method, path string }{
	{"GET", collection}, {"GET", collection + "?watch=1"}, {"GET", collection + "/web"},
	{"HEAD", collection + "/web"}, {"DELETE", collection}, {"DELETE", collection + "/web"},
}

// asked returns the request that a proxy makes of a client's request. Each header is as "Accept: application/json". The
// body of a write is {}.
func asked(t *guard.T, view rewritingproxy.View, method, path string, headers ...string) *http.Request {
	t.Helper()
	t.Did("%s", strings.Join(append([]string{"Request of " + method + " " + path}, headers...), ", "))
	var body io.Reader
	if method == http.MethodPut || method == http.MethodPost || method == http.MethodPatch {
		body = strings.NewReader("{}")
	}
	in := httptest.NewRequest(method, "http://proxy"+path, body)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		in.Header.Add(name, value)
	}
	out, err := at(t, "http://upstream:6443", view).Request(in)
	require.NoError(t, err, "the error of Request")
	return out
}

func TestTask2_Request_goes_upstream(t *testing.T) {
	guard.Test(t, "It has the client's method, path, query and headers, but for those below, and goes to Upstream.",
		func(t *guard.T) {
			const path = collection + "/web/scale?dryRun=All&fieldManager=a%26b&new=2&new=1&old="
			out := asked(t, view, http.MethodDelete, path, "User-Agent: kubectl", "Audit-Id: 7", "Accept-Language: de")
			require.Equal(t, "DELETE", out.Method, "the method")
			require.Equal(t, "http://upstream:6443"+collection+"/web/scale", upTo(out.URL.String(), "?"), "the URL")
			require.Equal(t, collection+"/web/scale", out.URL.Path, "the path of the URL, which begins with a slash")
			require.Equal(t, "dryRun=All&fieldManager=a%26b&new=2&new=1&old=", out.URL.Query().Encode(), "the query")
			require.Equal(t, "kubectl", out.Header.Get("User-Agent"), "the header User-Agent")
			require.Equal(t, "7", out.Header.Get("Audit-Id"), "the header Audit-Id")
			require.Equal(t, "de", out.Header.Get("Accept-Language"), "the header Accept-Language")
			require.Equal(t, "", out.RequestURI, "RequestURI, which a client's request must not have")
			require.Equal(t, "upstream:6443", cmp.Or(out.Host, out.URL.Host), "the host that the request is for")

			t.Did("Upstream is https://host/k8s/clusters/c-1")
			for _, name := range []string{"/a%20b", "/a%2Fb"} {
				in := httptest.NewRequest(http.MethodGet, "http://proxy"+collection+name, nil)
				out, err := at(t, "https://host/k8s/clusters/c-1", view).Request(in)
				require.NoError(t, err, "the error of Request")
				require.Equal(t, "https://host/k8s/clusters/c-1"+collection+name, upTo(out.URL.String(), "?"), "the URL")
			}
		})
}

// upTo returns the part of a text before a separator.
func upTo(text, separator string) string {
	first, _, _ := strings.Cut(text, separator)
	return first
}

func TestTask2_Request_has_the_clients_context(t *testing.T) {
	guard.Test(t, "Its context is the client's, so it ends when the client goes away.", func(t *guard.T) {
		for _, c := range each {
			ctx, cancel := context.WithCancel(t.Context())
			t.Did("Request of %s %s", c.method, c.path)
			in := httptest.NewRequest(c.method, "http://proxy"+c.path, strings.NewReader("{}")).WithContext(ctx)
			out, err := at(t, "http://upstream", view).Request(in)
			require.NoError(t, err, "the error of Request")
			require.NoError(t, out.Context().Err(), "the error of the context before the client goes away")
			_, limited := out.Context().Deadline()
			require.False(t, limited, "the context has a deadline, which the client's has not")
			t.Did("the client of a %s %s goes away", c.method, c.path)
			cancel()
			require.ErrorIs(t, out.Context().Err(), context.Canceled, "the error of the context")
		}
	})
}

// forms are the forms in a header, without spaces.
func forms(header string) string { return strings.ReplaceAll(header, " ", "") }

func TestTask2_Accept_is_JSON(t *testing.T) {
	const (
		json = "Accept asks for JSON only: of the forms that the client accepts, those in JSON stay, in their order, " +
			"with their parameters. Typed clients of client-go prefer protobuf."
		objects = "The forms of an object are Table, PartialObjectMetadata and PartialObjectMetadataList; any other form " +
			"is removed."
		wildcard = "A wildcard becomes application/json, and keeps its weight."
		missing  = "A missing or empty header becomes application/json."
	)
	guard.Test(t, json, func(t *guard.T) {
		const (
			table1 = "application/json;as=Table;g=meta.k8s.io;v=v1"
			table2 = "application/json;as=Table;g=meta.k8s.io;v=v1beta1"
			meta   = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
			metas  = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		)
		for _, c := range []struct{ rule, accept, want string }{
			{json, "application/vnd.kubernetes.protobuf,application/json", "application/json"},
			{json, "application/json", "application/json"},
			{json, "application/json, application/yaml", "application/json"},
			{json, "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1," + meta, meta},
			{json, "application/cbor, application/json;q=0.9", "application/json;q=0.9"},
			{json, "text/;q=1, application/json;charset=utf-8", "application/json;charset=utf-8"},
			{json, "application/json;stream=watch,application/vnd.kubernetes.protobuf;stream=watch",
				"application/json;stream=watch"},
			{objects, table1 + "," + table2 + ",application/json", table1 + "," + table2 + ",application/json"},
			{objects, metas, metas},
			{objects, "application/json;as=Picture;g=meta.k8s.io;v=v1,application/json", "application/json"},
			{objects, "application/json;as=Scale;g=autoscaling;v=v1,application/json;as=PartialObject," + metas, metas},
			{wildcard, "*/*", "application/json"},
			{wildcard, "application/*;q=0.5", "application/json;q=0.5"},
			{wildcard, "*/*;as=Table;q=0.5", "application/json;q=0.5"},
			{wildcard, metas + ",*/*;q=0.1", metas + ",application/json;q=0.1"},
			{missing, "", "application/json"},
		} {
			t.Rule("%s", c.rule)
			out := asked(t, view, http.MethodGet, collection, "Accept: "+c.accept)
			require.Equal(t, c.want, forms(strings.Join(out.Header.Values("Accept"), ",")), "the header Accept")
		}
		t.Rule(json)
		for _, c := range each {
			out := asked(t, view, c.method, c.path, "Accept: "+protobuf+","+meta)
			require.Equal(t, meta, forms(strings.Join(out.Header.Values("Accept"), ",")), "the header Accept")
		}
		t.Rule(missing)
		out := asked(t, view, http.MethodGet, collection)
		require.Equal(t, "application/json", out.Header.Get("Accept"), "the header Accept")
		t.Rule(json)
		out = asked(t, view, http.MethodGet, collection, "Accept: "+meta, "Accept: application/yaml",
			"Accept: Application/JSON")
		require.Equal(t, strings.ToLower(meta)+",application/json",
			strings.ToLower(forms(strings.Join(out.Header.Values("Accept"), ","))), "the header Accept in lower case")
	})
}

func TestTask2_Nothing_that_can_be_rewritten(t *testing.T) {
	guard.Test(t, "If no form stays, Request returns an error with the code 406. The client then reports that, and "+
		"does not read objects that nobody has rewritten.", func(t *guard.T) {
		for _, accept := range []string{
			protobuf, "application/yaml", "application/cbor", protobuf + ";stream=watch", "text/html,image/*",
			"application/json-seq", "application/vnd.api+json",
			"application/json;as=Picture;g=meta.k8s.io;v=v1", protobuf + ";as=Table;v=v1;g=meta.k8s.io",
		} {
			for _, c := range each {
				t.Did("Request of %s %s, Accept: %s", c.method, c.path, accept)
				in := httptest.NewRequest(c.method, "http://proxy"+c.path, strings.NewReader("{}"))
				in.Header.Set("Accept", accept)
				_, err := at(t, "http://upstream", view).Request(in)
				require.Equal(t, http.StatusNotAcceptable, code(err), "the code of the error of Request")
			}
		}
	})
}

func TestTask2_Answers_are_not_compressed(t *testing.T) {
	guard.Test(t, "Accept-Encoding is removed, because a compressed answer cannot be rewritten. Without the header, "+
		"http.Transport asks for gzip itself, and decodes it.", func(t *guard.T) {
		for _, c := range each {
			out := asked(t, view, c.method, c.path, "Accept-Encoding: gzip, br")
			require.Equal(t, "", strings.Join(out.Header.Values("Accept-Encoding"), ","), "the header Accept-Encoding")
		}
	})
}

func TestTask2_Headers_of_the_connection(t *testing.T) {
	guard.Test(t, "Headers for one connection are removed, Upgrade among them. An API server serves watches over a "+
		"websocket too, and those events are not frames in JSON.", func(t *guard.T) {
		for _, c := range each {
			out := asked(t, view, c.method, c.path, "Connection: Upgrade, X-Note", "Upgrade: websocket",
				"Sec-Websocket-Version: 13", "X-Note: 1", "Keep-Alive: 5", "Te: trailers", "X-Kept: 2")
			for _, name := range []string{"Connection", "Upgrade", "X-Note", "Keep-Alive", "Te"} {
				require.Equal(t, "", out.Header.Get(name), "the header %s", name)
			}
			require.Equal(t, "2", out.Header.Get("X-Kept"), "the header X-Kept")
		}
		t.Rule("Headers for one connection are removed, Upgrade among them. A client that names Accept among them does not " +
			"remove the proxy's.")
		out := asked(t, view, http.MethodGet, collection, "Connection: Accept, X-Forwarded-For")
		require.Equal(t, "application/json", out.Header.Get("Accept"), "the header Accept")
		require.NotEmpty(t, out.Header.Get("X-Forwarded-For"), "the header X-Forwarded-For")
	})
}

func TestTask2_One_identity(t *testing.T) {
	const (
		identity = "Authorization and all Impersonate headers are removed: the API server must see one identity, that of " +
			"the proxy. With the proxy's credentials, a client could impersonate any user."
		forwarded = "X-Forwarded-For names the client, and only the client. The API server writes it to its audit log."
	)
	guard.Test(t, identity, func(t *guard.T) {
		for _, c := range each {
			t.Rule(identity)
			out := asked(t, view, c.method, c.path, "Authorization: Bearer abc", "Impersonate-User: admin",
				"Impersonate-Group: system:masters", "Impersonate-Uid: 7", "Impersonate-Extra-Scopes: all",
				"X-Forwarded-For: 10.1.1.1", "X-Real-Ip: 10.1.1.1")
			for _, name := range []string{"Authorization", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid",
				"Impersonate-Extra-Scopes"} {
				require.Equal(t, "", out.Header.Get(name), "the header %s", name)
			}
			t.Rule(forwarded)
			require.Equal(t, "192.0.2.1", strings.Join(out.Header.Values("X-Forwarded-For"), ","),
				"the header X-Forwarded-For")
			t.Rule("X-Real-Ip is removed, because the client could name another one in it. The audit log has it too.")
			require.Equal(t, "", out.Header.Get("X-Real-Ip"), "the header X-Real-Ip")
		}
		t.Rule(forwarded)
		for _, client := range []string{"127.0.0.1", "::1", "10.0.0.9"} {
			t.Did("Request of a GET from %s, X-Forwarded-For: 10.1.1.1", client)
			in := httptest.NewRequest(http.MethodGet, "http://proxy"+collection, nil)
			in.Header.Set("X-Forwarded-For", "10.1.1.1")
			in.RemoteAddr = net.JoinHostPort(client, "4711")
			out, err := at(t, "http://upstream", view).Request(in)
			require.NoError(t, err, "the error of Request")
			require.Equal(t, client, strings.Join(out.Header.Values("X-Forwarded-For"), ","), "the header X-Forwarded-For")
		}
	})
}

func TestTask2_The_server_hides(t *testing.T) {
	const (
		selects = "A list, a watch and the deletion of a collection select the objects without HiddenLabel. The server " +
			"knows what it has sent to each client, and the proxy does not."
		both    = "The client's own selector holds too."
		nothing = "A list, a watch and the deletion of a collection select the objects without HiddenLabel. Other requests " +
			"do not use a selector."
	)
	guard.Test(t, selects, func(t *guard.T) {
		for _, c := range []struct{ rule, method, path, want string }{
			{selects, "GET", collection, "!example.com/hidden"},
			{selects, "GET", "/apis/apps/v1/deployments?limit=2&continue=abc", "!example.com/hidden"},
			{selects, "GET", collection + "/?watch=1&resourceVersion=7", "!example.com/hidden"},
			{selects, "GET", "/apis/apps/v1/watch/deployments", "!example.com/hidden"},
			{selects, "GET", "/apis/apps/v1/watch/namespaces/default/deployments/web", "!example.com/hidden"},
			{selects, "DELETE", collection, "!example.com/hidden"},
			{selects, "GET", collection + "?fieldSelector=metadata.name%3Dweb", "!example.com/hidden"},
			{selects, "GET", collection + "?fieldSelector=metadata.name%3Dweb&watch=1", "!example.com/hidden"},
			{selects, "GET", collection + "?resourceVersion=7&resourceVersionMatch=Exact", "!example.com/hidden"},
			{both, "GET", collection + "?labelSelector=app%3Dweb%2Ctier+in+(a%2Cb)", "!example.com/hidden,app=web,tier in " +
				"(a,b)"},
			{both, "DELETE", collection + "?labelSelector=app", "!example.com/hidden,app"},
			{both, "GET", collection + "?labelSelector=!app", "!example.com/hidden,!app"},
			{both, "GET", collection + "?labelSelector=example.com/hidden", "!example.com/hidden,example.com/hidden"},
			{both, "GET", collection + "?labelSelector=", "!example.com/hidden"},
			{nothing, "GET", collection + "/web?labelSelector=app", "app"},
			{nothing, "DELETE", collection + "/web", ""},
		} {
			t.Rule("%s", c.rule)
			out := asked(t, view, c.method, c.path)
			require.Equal(t, sortedSelector(c.want), sortedSelector(out.URL.Query().Get("labelSelector")), "the labelSelector")
		}
		t.Rule(selects)
		out := asked(t, view, "GET", collection+"?labelSelector=app&labelSelector=tier")
		require.Contains(t, out.URL.Query().Get("labelSelector"), "!example.com/hidden",
			"the first labelSelector, which is the one that counts")
		t.Rule(nothing)
		out = asked(t, rewritingproxy.View{Factor: 3}, "GET", collection+"?labelSelector=app")
		require.Equal(t, "app", out.URL.Query().Get("labelSelector"), "the labelSelector without a HiddenLabel")
		for path, want := range guard.InOrder(map[string]string{collection: "!example.com/hidden", collection + "/web": ""}) {
			t.Rule(selects)
			if want == "" {
				t.Rule(nothing)
			}
			t.Did("Request of GET %s, and Upstream is https://host/k8s/clusters/c-1", path)
			in := httptest.NewRequest(http.MethodGet, "http://proxy"+path, nil)
			out, err := at(t, "https://host/k8s/clusters/c-1", view).Request(in)
			require.NoError(t, err, "the error of Request")
			require.Equal(t, want, out.URL.Query().Get("labelSelector"), "the labelSelector")
		}
		t.Rule(selects)
		t.Did("Request of DELETE %s with options in its body", collection)
		in := httptest.NewRequest(http.MethodDelete, "http://proxy"+collection, strings.NewReader(`{"kind":"DeleteOptions"}`))
		out, err := at(t, "http://upstream", view).Request(in)
		require.NoError(t, err, "the error of Request")
		require.Equal(t, "!example.com/hidden", out.URL.Query().Get("labelSelector"), "the labelSelector")
		t.Rule(both)
		out = asked(t, view, "GET", collection+"?fieldSelector=metadata.name%3Dweb&watch=true")
		require.Equal(t, "metadata.name=web", out.URL.Query().Get("fieldSelector"), "the fieldSelector")
	})
}

// sortedSelector sorts the requirements of a selector, which may stand in any order and form.
func sortedSelector(selector string) string {
	requirements, err := labels.ParseToRequirements(selector)
	if err != nil {
		return selector
	}
	var all []string
	for _, requirement := range requirements {
		all = append(all, requirement.String())
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func TestTask2_Request_is_a_copy(t *testing.T) {
	guard.Test(t, "Request does not change the client's request. A handler in front of the proxy may still log its URL.",
		func(t *guard.T) {
			const path = "http://proxy" + collection + "?includeObject=None"
			in := httptest.NewRequest(http.MethodGet, path, nil)
			in.Header.Set("Accept", protobuf+",application/json")
			in.Header.Set("Authorization", "Bearer abc")
			for _, name := range []string{"Accept-Encoding", "X-Forwarded-For", "Connection", "Upgrade", "X-Note"} {
				in.Header.Set(name, "X-Note")
			}
			sent := in.Header.Clone()
			t.Did("Request of GET %s", path)
			_, err := at(t, "http://upstream:6443", view).Request(in)
			require.NoError(t, err, "the error of Request")
			require.Equal(t, path, in.URL.String(), "the URL of the client's request")
			require.Equal(t, protobuf+",application/json", in.Header.Get("Accept"),
				"the header Accept of the client's request")
			require.Equal(t, "Bearer abc", in.Header.Get("Authorization"),
				"the header Authorization of the client's request")
			require.Equal(t, sent, in.Header, "all headers of the client's request")
		})
}

func TestTask2_Rows_have_objects(t *testing.T) {
	guard.Test(t, "A Table without objects in its rows would not show which of them are hidden, so includeObject=None "+
		"becomes Metadata.", func(t *guard.T) {
		for sent, want := range guard.InOrder(map[string]string{"None": "Metadata", "Object": "Object", "Metadata": "Metadata"}) {
			out := asked(t, view, "GET", collection+"/web?includeObject="+sent, "Accept: "+asTable)
			require.Equal(t, want, out.URL.Query().Get("includeObject"), "includeObject of the request")
		}
		out := asked(t, view, "GET", collection+"?watch=1&includeObject=None", "Accept: "+asTable)
		require.Equal(t, "Metadata", out.URL.Query().Get("includeObject"), "includeObject of the request for a watch")
		out = asked(t, view, "GET", collection+"?includeObject=None&includeObject=Object", "Accept: "+asTable)
		require.Equal(t, "Metadata", out.URL.Query().Get("includeObject"),
			"the first includeObject, which is the one that counts")
		out = asked(t, view, "GET", collection+"/web", "Accept: "+asTable)
		require.Equal(t, "", out.URL.Query().Get("includeObject"), "includeObject of the request")
	})
}
