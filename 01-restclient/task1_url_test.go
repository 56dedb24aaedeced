package restclient_test

// Task 1: the URL builder.

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Path_has_its_parts_in_order(t *testing.T) {
	guard.Test(t, "URL returns the server, the path of its host, the group and version, then "+
		"namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, and the query. The order of the calls does not "+
		"matter.", func(t *guard.T) {
		c := client(t, "http://api")
		want := "http://api/apis/apps/v1/namespaces/default/deployments/web/status"
		t.Did(`Get, Namespace "default", Resource "deployments", Name "web", SubResource "status"`)
		r := c.Get().Namespace("default").Resource("deployments").Name("web").SubResource("status")
		require.Equal(t, want, r.URL().String(), "the URL of the 1st request")
		t.Did(`Get, SubResource "status", Name "web", Resource "deployments", Namespace "default"`)
		r = c.Get().SubResource("status").Name("web").Resource("deployments").Namespace("default")
		require.Equal(t, want, r.URL().String(), "the URL of the 2nd request")
		t.Rule("Each argument is one segment of the path.")
		t.Did(`Get, Resource "deployments", Name "web", SubResource "proxy", "metrics"`)
		r = c.Get().Resource("deployments").Name("web").SubResource("proxy", "metrics")
		require.Equal(t, "http://api/apis/apps/v1/deployments/web/proxy/metrics", r.URL().String(),
			"the URL with two arguments of SubResource")
	})
}

func TestTask1_What_is_not_set_is_not_in_the_path(t *testing.T) {
	guard.Test(t, "A part that is not set is not in the path.", func(t *guard.T) {
		c := client(t, "http://api")
		t.Did("Get")
		require.Equal(t, "http://api/apis/apps/v1", c.Get().URL().String(), "the URL of Get")
		t.Did(`Get, Resource "deployments"`)
		r := c.Get().Resource("deployments")
		require.Equal(t, "http://api/apis/apps/v1/deployments", r.URL().String(), "the URL without a namespace")
		t.Rule("An empty namespace stands for all namespaces, and adds nothing to the path: it is metav1.NamespaceAll.")
		t.Did(`Get, Namespace "", Resource "deployments"`)
		r = c.Get().Namespace("").Resource("deployments")
		require.Equal(t, "http://api/apis/apps/v1/deployments", r.URL().String(), "the URL with an empty namespace")
		t.Rule("A part that is not set is not in the path.")
		t.Did(`Get, Resource "deployments", Name "web"`)
		r = c.Get().Resource("deployments").Name("web")
		require.Equal(t, "http://api/apis/apps/v1/deployments/web", r.URL().String(),
			"the URL of an object without a namespace")
		for set := range 1 << 4 {
			r, want := c.Get(), "http://api/apis/apps/v1"
			if set&1 != 0 {
				r, want = r.Namespace("default"), want+"/namespaces/default"
			}
			if set&2 != 0 {
				r, want = r.Resource("deployments"), want+"/deployments"
			}
			if set&4 != 0 {
				r, want = r.Name("web"), want+"/web"
			}
			if set&8 != 0 {
				r, want = r.SubResource("status"), want+"/status"
			}
			t.Did("a request whose URL is to be %s", want)
			require.Equal(t, want, r.URL().String(), "the URL: each part that is set, and no other")
		}
	})
}

func TestTask1_Core_group_is_under_api(t *testing.T) {
	guard.Test(t, "URL returns the server, the path of its host, the group and version, then "+
		"namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, and the query. The core group has no name, so its "+
		"path begins with /api.", func(t *guard.T) {
		config := &rest.Config{Host: "http://api", APIPath: "/api"}
		config.GroupVersion = &corev1.SchemeGroupVersion
		config.NegotiatedSerializer = restclient.Codecs.WithoutConversion()
		c, err := restclient.RESTClientFor(config)
		require.NoError(t, err, "the error of RESTClientFor")
		t.Did(`Get, Namespace "default", Resource "pods", of the group ""`)
		r := c.Get().Namespace("default").Resource("pods")
		require.Equal(t, "http://api/api/v1/namespaces/default/pods", r.URL().String(), "the URL of the request")
	})
}

func TestTask1_Base_path_survives(t *testing.T) {
	guard.Test(t, "URL returns the server, the path of its host, the group and version, then "+
		"namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, and the query. The host's own path belongs to a "+
		"proxy.", func(t *guard.T) {
		for _, host := range []string{"https://proxy/clusters/one", "https://proxy/clusters/one/"} {
			t.Did(`a client for %s: Get, Resource "deployments"`, host)
			u := client(t, host).Get().Resource("deployments").URL()
			require.Equal(t, "https://proxy/clusters/one/apis/apps/v1/deployments", u.String(), "the URL under "+host)
		}
	})
}

func TestTask1_Server_is_whole(t *testing.T) {
	guard.Test(t, "URL returns the server: its scheme, its host and its port, and also a user and a password, for a "+
		"proxy that asks for them.", func(t *guard.T) {
		for _, server := range []string{"http://api", "https://api:6443", "https://[2001:db8::1]:6443",
			"https://me:secret@proxy", "https://me@proxy:8443"} {
			t.Did(`a client for %s: Get, Resource "deployments"`, server)
			u := client(t, server+"/base").Get().Resource("deployments").URL()
			require.Equal(t, server+"/base/apis/apps/v1/deployments", u.String(), "the URL under "+server)
		}
	})
}

func TestTask1_Requests_are_independent(t *testing.T) {
	guard.Test(t, "Any number of goroutines may use a client: no request changes another.", func(t *guard.T) {
		const one = "http://api/base/apis/apps/v1/namespaces/one/deployments?limit=1"
		const two = "http://api/base/apis/apps/v1/namespaces/two/deployments?timeout=1s"
		c := client(t, "http://api/base")
		t.Did(`a request with Param "limit", and then another one with Timeout 1s`)
		a := c.Get().Namespace("one").Resource("deployments").Param("limit", "1")
		b := c.Get().Namespace("two").Resource("deployments").Timeout(time.Second)
		require.Equal(t, one, a.URL().String(), "the URL of the 1st request")
		require.Equal(t, two, b.URL().String(), "the URL of the 2nd request")
		t.Rule("The result belongs to the caller: changing it changes neither the request nor the client.")
		t.Did("the caller changes the result of URL")
		u := a.URL()
		u.Path, u.Host, u.RawQuery = "/", "elsewhere", ""
		require.Equal(t, one, a.URL().String(), "the URL of the 1st request, after the change")
		require.Equal(t, "http://api/base/apis/apps/v1", c.Get().URL().String(),
			"the URL of a new request, after the change")
		t.Did("the request changes after URL, and URL again")
		u = a.URL()
		b = a.Name("web")
		b.URL()
		require.Equal(t, one, u.String(), "the result of the earlier URL")
	})
}

func TestTask1_Parameters_add_up(t *testing.T) {
	guard.Test(t, "Existing parameters stay, even those with the same name.", func(t *guard.T) {
		c := client(t, "http://api")
		t.Did(`Param a=1, Param a=2, Param a=1, VersionedParams limit=5, VersionedParams labelSelector="app in (web,db)"`)
		u := c.Get().Resource("deployments").Param("a", "1").Param("a", "2").Param("a", "1").
			VersionedParams(&metav1.ListOptions{Limit: 5}, restclient.ParameterCodec).
			VersionedParams(&metav1.ListOptions{LabelSelector: "app in (web,db)"}, restclient.ParameterCodec).URL()
		want := url.Values{"a": {"1", "2", "1"}, "limit": {"5"}, "labelSelector": {"app in (web,db)"}}
		require.Equal(t, want, u.Query(), "the query of the URL")
	})
}

func TestTask1_Options_join_the_parameters_that_are_there(t *testing.T) {
	guard.Test(t, "VersionedParams adds the fields of obj to the query. Existing parameters stay, and a field may "+
		"have several values.", func(t *guard.T) {
		t.Did("Param dryRun=one, Param fieldManager=a, VersionedParams with DryRun two and three, and FieldManager b")
		opts := &metav1.CreateOptions{DryRun: []string{"two", "three"}, FieldManager: "b"}
		u := client(t, "http://api").Post().Resource("deployments").Param("dryRun", "one").Param("fieldManager", "a").
			VersionedParams(opts, restclient.ParameterCodec).URL()
		want := url.Values{"dryRun": {"one", "two", "three"}, "fieldManager": {"a", "b"}}
		require.Equal(t, want, u.Query(), "the query of the URL")
	})
}

func TestTask1_Values_are_escaped(t *testing.T) {
	guard.Test(t, "Param adds a query parameter, whatever characters are in its name and value: a selector has = and "+
		"commas, and a continue token has + and /.", func(t *guard.T) {
		values := []string{"a=b", "a&b", "a+b", "a b", "a,b!=c", "a/b", "a?b", "a#b", "a%2Fb", "a;b", "ü", "", " a "}
		for _, value := range values {
			c := client(t, "http://api")
			t.Did("Param labelSelector=%q, and Param with this name", value)
			text := c.Get().Resource("deployments").Param("labelSelector", value).Param("name "+value, "1").URL().String()
			sent, err := url.ParseRequestURI(text)
			require.NoError(t, err, "the error of a server that reads the URL "+text)
			require.Equal(t, url.Values{"labelSelector": {value}, "name " + value: {"1"}}, sent.Query(),
				"the query that a server reads in "+text)
			require.Equal(t, "/apis/apps/v1/deployments", sent.Path, "the path that a server reads in "+text)
		}
	})
}

func TestTask1_URL_has_what_was_set_after_an_earlier_URL(t *testing.T) {
	guard.Test(t, "URL does not change the request: what is set later is in the next URL.", func(t *guard.T) {
		r := client(t, "http://api").Get()
		want := "http://api/apis/apps/v1"
		for _, step := range []struct {
			name, adds string
			set        func()
		}{
			{`Namespace "default"`, "/namespaces/default", func() { r.Namespace("default") }},
			{`Resource "deployments"`, "/deployments", func() { r.Resource("deployments") }},
			{`Name "web"`, "/web", func() { r.Name("web") }},
			{`SubResource "scale"`, "/scale", func() { r.SubResource("scale") }},
			{"Param a=1", "?a=1", func() { r.Param("a", "1") }},
			{"Param b=2", "&b=2", func() { r.Param("b", "2") }},
			{"VersionedParams limit=5", "&limit=5", func() {
				r.VersionedParams(&metav1.ListOptions{Limit: 5}, restclient.ParameterCodec)
			}},
			{"Timeout 1s", "&timeout=1s", func() { r.Timeout(time.Second) }},
		} {
			t.Did("%s, and URL", step.name)
			step.set()
			want += step.adds
			require.Equal(t, want, r.URL().String(), "the URL after %s", step.name)
		}
	})
}

func TestTask1_Timeout_is_a_parameter_too(t *testing.T) {
	guard.Test(t, `The server receives it as the query parameter "timeout", and can stop working for a `+
		"client that has gone.", func(t *guard.T) {
		c := client(t, "http://api")
		t.Did("Timeout 90s")
		r := c.Get().Resource("deployments").Timeout(90 * time.Second)
		require.Equal(t, "timeout=1m30s", r.URL().RawQuery, "the query after Timeout")
		t.Rule("A Timeout of 0 means no limit, not an instant timeout.")
		t.Did("Timeout 0")
		require.Empty(t, c.Get().Timeout(0).URL().RawQuery, "the query after Timeout 0 alone")
		t.Rule("URL does not change the request.")
		t.Did("URL again")
		require.Equal(t, "timeout=1m30s", r.URL().RawQuery, "the query of the 2nd URL")
		t.Rule("A later Timeout replaces an earlier one, even after URL.")
		t.Did("Param a=1, Timeout 90s, URL, and then Timeout 0")
		r = c.Get().Param("a", "1").Timeout(90 * time.Second)
		r.URL()
		require.Equal(t, "a=1", r.Timeout(0).URL().RawQuery, "the query after Timeout 0")
		t.Rule("A later Timeout replaces an earlier one.")
		t.Did("Timeout 90s, and then Timeout 5s")
		require.Equal(t, "timeout=5s", c.Get().Timeout(90*time.Second).Timeout(5*time.Second).URL().RawQuery,
			"the query after Timeout 5s")
		t.Did("Timeout 5s, and then Timeout 90s")
		require.Equal(t, "timeout=1m30s", c.Get().Timeout(5*time.Second).Timeout(90*time.Second).URL().RawQuery,
			"the query after Timeout 90s")
		t.Rule(`The server receives it as the query parameter "timeout": the whole of it, also a part of a second.`)
		for _, d := range []time.Duration{1400 * time.Millisecond, 400 * time.Millisecond} {
			t.Did("Timeout %v", d)
			require.Equal(t, "timeout="+d.String(), c.Get().Timeout(d).URL().RawQuery, "the query after Timeout %v", d)
		}
		t.Rule(`The server receives it as the query parameter "timeout", and no other value of that parameter.`)
		t.Did("Param timeout=1h, and Timeout 5s")
		require.Equal(t, "timeout=5s", c.Get().Param("timeout", "1h").Timeout(5*time.Second).URL().RawQuery,
			"the query after Param and Timeout")
		t.Did("Timeout 5s, and Param timeout=1h")
		require.Equal(t, "timeout=5s", c.Get().Timeout(5*time.Second).Param("timeout", "1h").URL().RawQuery,
			"the query after Timeout and Param")
		t.Rule("Param adds a query parameter. Without a Timeout, that of the caller stays.")
		t.Did("Param timeout=1h alone")
		require.Equal(t, "timeout=1h", c.Get().Param("timeout", "1h").URL().RawQuery, "the query after Param")
	})
}

// refusals are segments that would change the path around them.
var refusals = []string{".", "..", "a/b", "../../secrets", "a%2fb", "/", "100%", "%"}

func TestTask1_Segments_that_would_change_the_path_are_refused(t *testing.T) {
	guard.Test(t, "A segment of one or two dots, or one that contains a slash or a percent sign, is an error. "+
		"Names come from users and other objects, and such a segment could send the request to another "+
		"resource: here, or behind a proxy that decodes the path again.", func(t *guard.T) {
		c := client(t, "http://api")
		for _, s := range refusals {
			t.Did("Namespace, Resource, Name and SubResource with %q", s)
			require.Error(t, c.Get().Namespace(s).Error(), "the error of Namespace(%q)", s)
			require.Error(t, c.Get().Resource(s).Error(), "the error of Resource(%q)", s)
			require.Error(t, c.Get().Name(s).Error(), "the error of Name(%q)", s)
			require.Error(t, c.Get().SubResource(s).Error(), "the error of SubResource(%q)", s)
			require.Error(t, c.Get().SubResource("proxy", "a", s).Error(), `the error of SubResource("proxy", "a", %q)`, s)
			require.Error(t, c.Get().SubResource(s, "status").Error(), `the error of SubResource(%q, "status")`, s)
		}
	})
}

func TestTask1_Names_with_dots_and_colons_are_fine(t *testing.T) {
	guard.Test(t, "A segment of one or two dots, or one that contains a slash or a percent sign, is an error. "+
		"Any other segment is valid: role names contain colons, and dots inside a name are "+
		"harmless.", func(t *guard.T) {
		for _, s := range []string{"system:node..x", "...", "..a", "a..", ".a", `a\b`, "a b", "a+b", "a;b", "~", "ü",
			" a ", strings.Repeat("a", 253)} {
			t.Did("Namespace, Resource, Name and SubResource with %q", s)
			r := client(t, "http://api").Get().Namespace(s).Resource(s).Name(s).SubResource("proxy", s)
			require.NoError(t, r.Error(), "the error of the request")
			require.Equal(t, fmt.Sprintf("/apis/apps/v1/namespaces/%s/%[1]s/%[1]s/proxy/%[1]s", s), r.URL().Path,
				"the path of the URL, not escaped")
		}
	})
}

func TestTask1_Names_do_not_begin_a_query(t *testing.T) {
	guard.Test(t, "The path is escaped: otherwise the text after a ? or # in a name becomes options that the "+
		"caller did not choose.", func(t *guard.T) {
		t.Did(`Delete, Resource "deployments", Name "web?dryRun=All#x", Param a=1`)
		r := client(t, "http://api").Delete().Resource("deployments").Name("web?dryRun=All#x").Param("a", "1")
		require.NoError(t, r.Error(), "the error of the request")
		require.Equal(t, "/apis/apps/v1/deployments/web?dryRun=All#x", r.URL().Path, "the path of the URL, not escaped")
		require.Equal(t, "http://api/apis/apps/v1/deployments/web%3FdryRun=All%23x?a=1", r.URL().String(), "the URL")
	})
}

func TestTask1_Nothing_is_set_twice(t *testing.T) {
	guard.Test(t, "A second call is an error: it is a mistake in the program.", func(t *guard.T) {
		c := client(t, "http://api")
		for _, second := range []string{"b", "a"} {
			t.Did(`Namespace, Resource, Name and SubResource with "a", and then with %q`, second)
			require.Error(t, c.Get().Namespace("a").Namespace(second).Error(), "the error of the 2nd Namespace")
			require.Error(t, c.Get().Resource("a").Resource(second).Error(), "the error of the 2nd Resource")
			require.Error(t, c.Get().Name("a").Name(second).Error(), "the error of the 2nd Name")
			require.Error(t, c.Get().SubResource("a").SubResource(second).Error(), "the error of the 2nd SubResource")
		}
		t.Rule("A second call is an error, even after an empty namespace.")
		t.Did(`Namespace "", Namespace "b"`)
		require.Error(t, c.Get().Namespace("").Namespace("b").Error(), "the error of Namespace after an empty one")
		t.Did(`Resource "a", Namespace "", twice`)
		require.Error(t, c.Get().Resource("a").Namespace("").Namespace("").Error(), "the error of the 2nd empty Namespace")
		t.Rule("A second call is an error, even if the second namespace is empty.")
		t.Did(`Namespace "a", Namespace ""`)
		require.Error(t, c.Get().Namespace("a").Namespace("").Error(), "the error of an empty Namespace after another")
		t.Rule("SubResource without arguments changes nothing: Patch without subresources calls it like this.")
		t.Did("SubResource without arguments, and with one")
		r := c.Get().Resource("deployments").Name("web").SubResource().SubResource("status")
		require.NoError(t, r.Error(), "the error of SubResource after one without arguments")
		require.Equal(t, "/apis/apps/v1/deployments/web/status", r.URL().Path, "the path of the URL")
		t.Did("SubResource without arguments, after one with an argument")
		if r.SubResource(); r.Error() == nil { // client-go returns an error
			require.Equal(t, "/apis/apps/v1/deployments/web/status", r.URL().Path, "the path of the URL after it")
		}
	})
}

func TestTask1_Empty_name_is_an_error(t *testing.T) {
	guard.Test(t, "An empty name is an error: without a name the path means all objects, and a DELETE removes "+
		"them all.", func(t *guard.T) {
		t.Did(`Delete, Resource "deployments", Name ""`)
		r := client(t, "http://api").Delete().Namespace("default").Resource("deployments").Name("")
		require.Error(t, r.Error(), `the error of Name("")`)
		t.Did(`Name "web", and then Name ""`)
		r = client(t, "http://api").Delete().Resource("deployments").Name("web").Name("")
		require.Error(t, r.Error(), `the error of Name("") after Name("web")`)
	})
}

func TestTask1_First_error_stays(t *testing.T) {
	guard.Test(t, "Its first error is kept, and nothing is sent: later errors are often its "+
		"consequence.", func(t *guard.T) {
		t.Did(`Name "", then Namespace "..", then Resource "a/b", then Name "web"`)
		r := client(t, "http://api").Get().Name("")
		first := r.Error()
		require.Error(t, first, `the error of Name("")`)
		last := r.Namespace("..").Resource("a/b").Name("web").Param("a", "b").Timeout(time.Second).
			VersionedParams(&metav1.ListOptions{}, restclient.ParameterCodec).Error()
		require.Equal(t, fmt.Sprint(first), fmt.Sprint(last), `the error of a request that begins with Name("")`)
		for i, begin := range mistakes {
			for j, next := range mistakes {
				t.Did("mistake %d, then mistake %d, of Namespace, Resource, Name, SubResource and VersionedParams", i+1, j+1)
				r := begin(client(t, "http://api").Get())
				first := r.Error()
				require.Error(t, first, "the error of mistake %d", i+1)
				require.Equal(t, first.Error(), fmt.Sprint(next(r).Error()), "the error after mistakes %d and %d", i+1, j+1)
			}
		}
	})
}

// mistakes are calls that make a request invalid, at least one of each method.
var mistakes = []func(*restclient.Request) *restclient.Request{
	func(r *restclient.Request) *restclient.Request { return r.Namespace("..") },
	func(r *restclient.Request) *restclient.Request { return r.Namespace("a").Namespace("b") },
	func(r *restclient.Request) *restclient.Request { return r.Resource("a/b") },
	func(r *restclient.Request) *restclient.Request { return r.Resource("a").Resource("b") },
	func(r *restclient.Request) *restclient.Request { return r.Name("") },
	func(r *restclient.Request) *restclient.Request { return r.Name("%") },
	func(r *restclient.Request) *restclient.Request { return r.SubResource("status", ".") },
	func(r *restclient.Request) *restclient.Request { return r.SubResource("a").SubResource("b") },
	func(r *restclient.Request) *restclient.Request {
		return r.VersionedParams(&corev1.PodLogOptions{}, restclient.ParameterCodec)
	},
}
