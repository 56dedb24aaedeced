package rewritingproxy

// This file is given. It finds out whether a request is about Deployments, and which headers are about one connection
// only.

import (
	"net/http"
	"strings"
)

// target is what the path of a request for Deployments says.
type target struct {
	name        string // empty for a collection
	subresource string // "scale" or "status", or empty
	watch       bool
}

// targetOf returns what a request asks for. It returns ok if that is the collection of Deployments, one of them, or its
// subresource. The proxy passes every other request on as it is.
func targetOf(r *http.Request) (t target, ok bool) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(path) < 4 || path[0] != "apis" || path[1] != "apps" {
		return t, false
	}
	path = path[3:]         // behind the version
	if path[0] == "watch" { // the old form of a watch, which API servers still accept
		t.watch, path = true, path[1:]
	}
	if len(path) > 2 && path[0] == "namespaces" {
		path = path[2:]
	}
	if len(path) == 0 || path[0] != "deployments" {
		return t, false
	}
	if len(path) > 1 {
		t.name = path[1]
	}
	t.subresource = strings.Join(path[min(2, len(path)):], "/")
	if t.name == "" && r.Method == http.MethodGet {
		t.watch = t.watch || isTrue(r.URL.Query()["watch"])
	}
	return t, true
}

// isTrue parses a boolean of a query as API servers do: each value but 0 and false is true, also the empty one.
func isTrue(values []string) bool {
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}

// removeIdentity removes the headers with which a client says who it is. The API server must see one identity, that of
// the proxy. It writes X-Real-Ip to its audit log, beside X-Forwarded-For.
func removeIdentity(h http.Header) {
	for name := range h {
		if name == "Authorization" || name == "X-Real-Ip" || strings.HasPrefix(name, "Impersonate-") {
			h.Del(name)
		}
	}
}

// removeHopByHop removes the headers that are about one connection, and not about the request or the answer.
func removeHopByHop(h http.Header) {
	for _, names := range h.Values("Connection") {
		for name := range strings.SplitSeq(names, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		h.Del(name)
	}
}
