// Package rewritingproxy is the lab with apimachinery's package labels, which makes the selector. The solution puts its
// requirement in front of the client's text; here the package sorts all of them, and a selector may have any order. If
// the API server refuses to show an object without a Status, the error of this design keeps the code of the refusal:
// that is what the server has answered, and the write does not pass.
package rewritingproxy

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/http/httputil"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
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
	accept, err := acceptJSON(in.Header.Values("Accept"))
	if err != nil {
		return nil, err
	}
	out := in.Clone(in.Context())
	out.RequestURI = "" // which a client must not set
	// Before SetURL, because the path of Upstream may come in front.
	p.selectVisible(out)
	both := httputil.ProxyRequest{In: in, Out: out}
	both.SetURL(p.config.Upstream)
	removeHopByHop(out.Header)
	removeIdentity(out.Header)
	out.Header.Del("X-Forwarded-For") // SetXForwarded would append to it
	both.SetXForwarded()
	out.Header.Del("Accept-Encoding")
	out.Header.Set("Accept", accept)
	if in.ContentLength == 0 {
		out.Body = nil // so that the transport may send the request again
	}
	switch in.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return out, p.storeBody(out)
	}
	return out, nil
}

// acceptJSON returns the forms of an Accept header that the proxy can rewrite.
func acceptJSON(header []string) (string, error) {
	var kept []string
	for clause := range strings.SplitSeq(strings.Join(header, ","), ",") {
		mediaType, params, err := mime.ParseMediaType(clause)
		switch {
		case err != nil:
			continue
		case mediaType == "*/*", mediaType == "application/*":
			delete(params, "as")
			mediaType = jsonType
		}
		switch params["as"] {
		case "", "Table", "PartialObjectMetadata", "PartialObjectMetadataList":
			if mediaType == jsonType {
				kept = append(kept, mime.FormatMediaType(mediaType, params))
			}
		}
	}
	if strings.TrimSpace(strings.Join(header, "")) == "" {
		kept = []string{jsonType}
	}
	if len(kept) == 0 {
		return "", notAcceptable()
	}
	return strings.Join(kept, ","), nil
}

// selectVisible changes the query so that the API server leaves hidden objects out.
func (p *Proxy) selectVisible(out *http.Request) {
	t, _ := targetOf(out)
	query := out.URL.Query()
	if query.Get("includeObject") == "None" {
		query.Set("includeObject", "Metadata")
	}
	collection := t.name == "" && (out.Method == http.MethodGet || out.Method == http.MethodDelete)
	if label := p.config.View.HiddenLabel; label != "" && (collection || t.watch) {
		query.Set("labelSelector", without(label, query.Get("labelSelector")))
	}
	out.URL.RawQuery = query.Encode()
}

// without returns a selector of the objects without a label that another selector selects. The API server refuses a
// selector that cannot be parsed.
func without(label, wanted string) string {
	selector, err := labels.Parse(wanted)
	if err != nil {
		return "!" + label + "," + wanted
	}
	visible, err := labels.NewRequirement(label, selection.DoesNotExist, nil)
	if err != nil {
		return "!" + label + "," + wanted
	}
	return selector.Add(*visible).String()
}

// storeBody replaces the body of a request by the one to store.
func (p *Proxy) storeBody(out *http.Request) error {
	var body []byte
	if out.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(out.Body, maxBody+1)); err != nil {
			return badRequest("read the body of the request: %v", err)
		}
	}
	if len(body) > maxBody {
		return tooLarge()
	}
	body, err := p.config.View.StoreBody(out.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Header.Del("Content-Length")
	return nil
}
