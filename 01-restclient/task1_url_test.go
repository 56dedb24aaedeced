package restclient_test

// Task 1: the URL builder.

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Path_has_its_parts_in_order(t *testing.T) {
	guard.Test(t, "the API's paths are /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE", func(t *guard.T) {
		c := client(t, "http://api")
		t.Did(`Get, Namespace "default", Resource "deployments", Name "web", SubResource "status"`)
		require.Equal(t, "http://api/apis/apps/v1/namespaces/default/deployments/web/status",
			c.Get().Namespace("default").Resource("deployments").Name("web").SubResource("status").URL().String())
		t.Did(`Get, SubResource "status", Name "web", Resource "deployments", Namespace "default"`)
		t.Rule("the order of the calls is the caller's business; the order in the path is the server's")
		require.Equal(t, "http://api/apis/apps/v1/namespaces/default/deployments/web/status",
			c.Get().SubResource("status").Name("web").Resource("deployments").Namespace("default").URL().String())
	})
}

func TestTask1_What_is_not_set_is_not_in_the_path(t *testing.T) {
	guard.Test(t, "that is what a client asks to find out which resources there are", func(t *guard.T) {
		c := client(t, "http://api")
		t.Did("Get")
		require.Equal(t, "http://api/apis/apps/v1", c.Get().URL().String())
		t.Did(`Get, Resource "deployments"`)
		t.Rule("without a namespace: those of all")
		require.Equal(t, "http://api/apis/apps/v1/deployments", c.Get().Resource("deployments").URL().String())
		t.Did(`Get, Namespace "", Resource "deployments"`)
		t.Rule("an empty namespace stands for all of them (metav1.NamespaceAll); an empty segment would be " +
			"another path")
		require.Equal(t, "http://api/apis/apps/v1/deployments", c.Get().Namespace("").Resource("deployments").URL().String())
		t.Did(`Get, Resource "deployments", Name "web"`)
		t.Rule("cluster-scoped objects have a name and no namespace")
		require.Equal(t, "http://api/apis/apps/v1/deployments/web", c.Get().Resource("deployments").Name("web").URL().String())
	})
}

func TestTask1_Core_group_is_under_api(t *testing.T) {
	guard.Test(t, "the config is complete", func(t *guard.T) {
		c, err := restclient.RESTClientFor(&rest.Config{Host: "http://api", APIPath: "/api", ContentConfig: rest.ContentConfig{
			GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: restclient.Codecs.WithoutConversion(),
		}})
		require.NoError(t, err)
		t.Did(`Get, Namespace "default", Resource "pods", of the group ""`)
		t.Rule("the first group has no name, and its path no place for one; the client's config knows it")
		require.Equal(t, "http://api/api/v1/namespaces/default/pods", c.Get().Namespace("default").Resource("pods").URL().String())
	})
}

func TestTask1_Base_path_survives(t *testing.T) {
	guard.Test(t, "an API server behind a proxy has a path of its own, and all others are below it", func(t *guard.T) {
		for _, host := range []string{"https://proxy/clusters/one", "https://proxy/clusters/one/"} {
			t.Did(`a client for %s: Get, Resource "deployments"`, host)
			require.Equal(t, "https://proxy/clusters/one/apis/apps/v1/deployments", client(t, host).Get().Resource("deployments").URL().String())
		}
	})
}

func TestTask1_Requests_do_not_know_of_each_other(t *testing.T) {
	guard.Test(t, "a client is for any number of requests at once", func(t *guard.T) {
		c := client(t, "http://api/base")
		t.Did(`two requests, begun one after the other`)
		a := c.Get().Namespace("one").Resource("deployments").Param("limit", "1")
		b := c.Get().Namespace("two").Resource("deployments").Timeout(time.Second)
		require.Equal(t, "http://api/base/apis/apps/v1/namespaces/one/deployments?limit=1", a.URL().String())
		require.Equal(t, "http://api/base/apis/apps/v1/namespaces/two/deployments?timeout=1s", b.URL().String())
		t.Did("the caller changes what URL returned")
		u := a.URL()
		u.Path, u.Host, u.RawQuery = "/", "elsewhere", ""
		t.Rule("the URL belongs to the caller: it is a copy")
		require.Equal(t, "http://api/base/apis/apps/v1/namespaces/one/deployments?limit=1", a.URL().String())
		t.Rule("the client's own URL is never handed out")
		require.Equal(t, "http://api/base/apis/apps/v1", c.Get().URL().String())
	})
}

func TestTask1_Parameters_add_up(t *testing.T) {
	guard.Test(t, "each call adds to what is there: options from the caller and from the client's own code go "+
		"together", func(t *guard.T) {
		c := client(t, "http://api")
		t.Did(`Param a=1, Param a=2, VersionedParams limit=5, VersionedParams labelSelector="app in (web,db)"`)
		u := c.Get().Resource("deployments").Param("a", "1").Param("a", "2").
			VersionedParams(&metav1.ListOptions{Limit: 5}, restclient.ParameterCodec).
			VersionedParams(&metav1.ListOptions{LabelSelector: "app in (web,db)"}, restclient.ParameterCodec).URL()
		require.Equal(t, url.Values{"a": {"1", "2"}, "limit": {"5"}, "labelSelector": {"app in (web,db)"}}, u.Query())
	})
}

func TestTask1_Empty_options_add_nothing(t *testing.T) {
	guard.Test(t, "what nobody has asked for is not in the query: the codec leaves out what is empty", func(t *guard.T) {
		t.Did("VersionedParams of empty ListOptions")
		u := client(t, "http://api").Get().Resource("deployments").VersionedParams(&metav1.ListOptions{}, restclient.ParameterCodec).URL()
		require.Equal(t, "http://api/apis/apps/v1/deployments", u.String())
	})
}

func TestTask1_Timeout_is_a_parameter_too(t *testing.T) {
	guard.Test(t, "the server stops working on what nobody waits for any more, if it is told", func(t *guard.T) {
		c := client(t, "http://api")
		t.Did("Timeout 90s")
		r := c.Get().Resource("deployments").Timeout(90 * time.Second)
		require.Equal(t, "timeout=1m30s", r.URL().RawQuery)
		t.Did("URL again")
		t.Rule("URL only looks; called twice it says the same")
		require.Equal(t, "timeout=1m30s", r.URL().RawQuery)
		t.Did("Param a=1, Timeout 90s, URL, and then Timeout 0")
		r = c.Get().Param("a", "1").Timeout(90 * time.Second)
		r.URL()
		t.Rule("URL only looks: what it puts together is a copy, and not kept in the request")
		require.Equal(t, "a=1", r.Timeout(0).URL().RawQuery)
		t.Did("Timeout 0")
		t.Rule("0 is no limit, and not one of no time")
		require.Empty(t, c.Get().Timeout(0).URL().RawQuery)
	})
}

// refusals are segments that would change the path around them.
var refusals = []string{".", "..", "a/b", "../../secrets", "a%2fb", "/"}

func TestTask1_Segments_that_would_change_the_path_are_refused(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		c := client(t, "http://api")
		why := "a name comes from a user, or from another object; with %q in it the request could go to another resource, here or behind a proxy that decodes the path once more"
		for _, s := range refusals {
			t.Did("Namespace, Resource, Name and SubResource with %q", s)
			t.Rule("Namespace: "+why, s)
			require.Error(t, c.Get().Namespace(s).Error())
			t.Rule("Resource: "+why, s)
			require.Error(t, c.Get().Resource(s).Error())
			t.Rule("Name: "+why, s)
			require.Error(t, c.Get().Name(s).Error())
			t.Rule("SubResource: "+why, s)
			require.Error(t, c.Get().SubResource(s).Error())
			t.Rule("the second segment of SubResource: "+why, s)
			require.Error(t, c.Get().SubResource("proxy", s).Error())
		}
	})
}

func TestTask1_Names_with_dots_and_colons_are_fine(t *testing.T) {
	guard.Test(t, "names of roles have colons, and dots are harmless within a name", func(t *guard.T) {
		t.Did(`Name "system:node..x" and SubResource "proxy", "a b"`)
		r := client(t, "http://api").Get().Resource("deployments").Name("system:node..x").SubResource("proxy", "a b")
		require.NoError(t, r.Error())
		t.Rule("only the whole of a segment can be . or ..")
		require.Equal(t, "/apis/apps/v1/deployments/system:node..x/proxy/a b", r.URL().Path)
	})
}

func TestTask1_Names_do_not_begin_a_query(t *testing.T) {
	guard.Test(t, "there is no such object, but that is for the server to say", func(t *guard.T) {
		t.Did(`Delete, Resource "deployments", Name "web?dryRun=All#x", Param a=1`)
		r := client(t, "http://api").Delete().Resource("deployments").Name("web?dryRun=All#x").Param("a", "1")
		require.NoError(t, r.Error())
		t.Rule("what is a name for the caller is a name for the server")
		require.Equal(t, "/apis/apps/v1/deployments/web?dryRun=All#x", r.URL().Path)
		t.Rule("a URL that is put together as a text, and not escaped, ends where a name has a ? or a #: the " +
			"rest of the name becomes options that nobody has chosen")
		require.Equal(t, "http://api/apis/apps/v1/deployments/web%3FdryRun=All%23x?a=1", r.URL().String())
	})
}

func TestTask1_Nothing_is_set_twice(t *testing.T) {
	guard.Test(t, "two calls are a mistake in the program, and nobody can say which of them was meant", func(t *guard.T) {
		c := client(t, "http://api")
		why := "two calls are a mistake in the program, and nobody can say which of them was meant"
		t.Did(`Namespace "a", Namespace "b"`)
		require.Error(t, c.Get().Namespace("a").Namespace("b").Error())
		t.Did(`Namespace "", Namespace "b"`)
		t.Rule("%s", "all namespaces was a choice; "+why)
		require.Error(t, c.Get().Namespace("").Namespace("b").Error())
		t.Did(`Resource "a", Resource "b"`)
		t.Rule("%s", why)
		require.Error(t, c.Get().Resource("a").Resource("b").Error())
		t.Did(`Name "a", Name "b"`)
		require.Error(t, c.Get().Name("a").Name("b").Error())
		t.Did(`SubResource "a", SubResource "b"`)
		require.Error(t, c.Get().SubResource("a").SubResource("b").Error())
	})
}

func TestTask1_Empty_name_is_an_error(t *testing.T) {
	guard.Test(t, "without the name the path is that of all Deployments, and DELETE deletes them", func(t *guard.T) {
		t.Did(`Delete, Resource "deployments", Name ""`)
		require.Error(t, client(t, "http://api").Delete().Namespace("default").Resource("deployments").Name("").Error())
	})
}

func TestTask1_First_error_stays(t *testing.T) {
	guard.Test(t, "an empty name is one", func(t *guard.T) {
		t.Did(`Name "", then Namespace "..", then Resource "a/b", then Name "web"`)
		r := client(t, "http://api").Get().Name("")
		first := r.Error()
		require.Error(t, first)
		last := r.Namespace("..").Resource("a/b").Name("web").Param("a", "b").Timeout(time.Second).
			VersionedParams(&metav1.ListOptions{}, restclient.ParameterCodec).Error()
		t.Rule("what follows an error often goes wrong because of it; the first one is the cause")
		require.Equal(t, fmt.Sprint(first), fmt.Sprint(last))
		t.Did(`Namespace "..", then Name ""`)
		first = client(t, "http://api").Get().Namespace("..").Error()
		t.Rule("an error in Namespace is not the name's")
		require.Equal(t, fmt.Sprint(first), fmt.Sprint(client(t, "http://api").Get().Namespace("..").Name("").Error()))
	})
}

// versions is a runtime.ParameterCodec that writes down for which version it was asked to write.
type versions struct{ runtime.ParameterCodec }

func (versions) EncodeParameters(obj runtime.Object, to schema.GroupVersion) (url.Values, error) {
	return url.Values{"version": {to.String()}}, nil
}

func TestTask1_Options_are_written_for_the_clients_version(t *testing.T) {
	guard.Test(t, "fields of options have other names in other versions, and the server reads those of the "+
		"version in the path", func(t *guard.T) {
		t.Did("VersionedParams, with a codec that tells which version it is asked for, and a client for apps/v1")
		u := client(t, "http://api").Get().VersionedParams(&metav1.ListOptions{}, versions{}).URL()
		require.Equal(t, "version=apps/v1", mustUnescape(u.RawQuery))
	})
}

func mustUnescape(query string) string {
	text, err := url.QueryUnescape(query)
	if err != nil {
		panic(err)
	}
	return text
}

func TestTask1_Options_that_cannot_be_encoded_are_an_error(t *testing.T) {
	guard.Test(t, "options that are left out in silence ask for something else than was meant", func(t *guard.T) {
		t.Did("VersionedParams of a type that the codec does not know")
		require.Error(t, client(t, "http://api").Get().VersionedParams(&corev1.PodLogOptions{}, restclient.ParameterCodec).Error())
	})
}
