package rewritingproxy

// This file makes the request that goes to the API server. Each rule for the answer begins here: what the proxy cannot
// rewrite, it must not ask for.

import (
	"net/http"

	"client-go-workshop/internal/testkit/todo"
)

// Request returns the request to send to the API server for a client's request about Deployments. It has the client's
// method, path, query and headers, but for those below, and goes to Upstream. Its context is the client's, so it ends
// when the client goes away. Request does not change the client's request.
//
// Accept asks for JSON only: of the forms that the client accepts, those in JSON stay, in their order, with their
// parameters. The forms of an object are Table, PartialObjectMetadata and PartialObjectMetadataList; any other form is
// removed. A wildcard becomes application/json, and keeps its weight. A missing or empty header becomes
// application/json. If no form stays, Request returns an error with the code 406. Accept-Encoding is removed, because a
// compressed answer cannot be rewritten.
//
// Headers for one connection are removed, Upgrade among them. Authorization and all Impersonate headers are removed:
// the API server must see one identity, that of the proxy. X-Forwarded-For names the client, and only the client.
// X-Real-Ip is removed, because the client could name another one in it.
//
// A list, a watch and the deletion of a collection select the objects without HiddenLabel. So the API server itself
// turns a hidden object into a deletion. The client's own selector holds too. A Table without objects in its rows would
// not show which of them are hidden, so includeObject=None becomes Metadata.
//
// The body of a create, an update or a patch is what StoreBody returns for it. If StoreBody returns an error, Request
// returns it. A body of more than 3 MiB is refused with the code 413. The options of a deletion stay as they are.
func (p *Proxy) Request(in *http.Request) (*http.Request, error) {
	panic(todo.Task(2, "Proxy.Request"))
}
