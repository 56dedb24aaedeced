package rewritingproxy

// This file translates writes: what a client sends is in the numbers that it sees, and what the API server stores is
// not. A write that cannot be translated is refused.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StoreBody returns the body of a write that stands for a client's body. The content type decides how to read it:
// application/json is an object, and an empty content type too; a merge patch, a strategic merge patch and an apply
// patch have the shape of an object. All of them are translated as Store does.
//
// In a JSON patch, the value of each operation is translated that sets or tests spec.replicas, spec, or the whole
// object. A removal of spec.replicas stays as it is. A move or a copy from or to one of these three is refused with the
// code 422, because its number is not in the patch. A path or a from that does not begin with a slash is refused with
// the code 400. An empty path is allowed, and is the whole object.
//
// An apply patch in YAML is refused with the code 415. Any other content type is refused with the code 415, protobuf
// among them. A body that is not valid JSON is refused with the code 400. JSON that is neither an object nor a JSON
// patch is refused with the code 400. A body is never passed on without a translation.
func (v View) StoreBody(contentType string, body []byte) ([]byte, error) {
	mediaType, _, err := mime.ParseMediaType(cmp.Or(contentType, jsonType))
	if err != nil {
		return nil, unsupported(fmt.Sprintf("this proxy cannot read the content type %q", contentType))
	}
	patchType := types.PatchType(mediaType)
	switch {
	case mediaType == jsonType, patchType == types.MergePatchType, patchType == types.StrategicMergePatchType:
	case patchType == types.ApplyYAMLPatchType:
		if !json.Valid(body) {
			return nil, unsupported("this proxy translates an apply patch only if it is written in JSON, which is YAML too")
		}
	case patchType == types.JSONPatchType:
		return v.storeJSONPatch(body)
	default:
		return nil, unsupported("this proxy translates JSON only, not " + mediaType + "; send application/json")
	}
	if !json.Valid(body) {
		return nil, badRequest("translate the body of the request: it is not valid JSON")
	}
	if tree, _ := decode(body); !isObject(tree) {
		return nil, badRequest("translate the body of the request: it is not an object")
	}
	return v.Store(body)
}

func isObject(tree any) bool {
	_, ok := tree.(map[string]any)
	return ok
}

// storeJSONPatch translates a list of operations.
func (v View) storeJSONPatch(body []byte) ([]byte, error) {
	tree, err := decode(body)
	operations, ok := tree.([]any)
	if err != nil || !ok {
		return nil, badRequest("translate a JSON patch: it is not a list of operations")
	}
	for _, operation := range operations {
		o, ok := operation.(map[string]any)
		if !ok {
			return nil, badRequest("translate a JSON patch: an operation is not an object")
		}
		if err := v.storeOperation(o); err != nil {
			return nil, err
		}
	}
	return json.Marshal(operations)
}

// storeOperation translates one operation of a JSON patch in place.
func (v View) storeOperation(operation map[string]any) (err error) {
	path, pathOK := operation["path"].(string)
	from, fromOK := operation["from"].(string)
	if !pathOK || !fromOK && operation["from"] != nil {
		return badRequest("translate a JSON patch: a path is not a text")
	}
	for _, pointer := range []string{path, from} {
		if pointer != "" && pointer[0] != '/' { // an API server ignores the text before the first slash
			return badRequest("translate a JSON patch: the path %q does not begin with a slash", pointer)
		}
	}
	concerns := func(path string) bool { return path == "" || path == "/spec" || path == "/spec/replicas" }
	switch operation["op"] {
	case "add", "replace", "test":
		switch path {
		case "":
			err = v.store(operation["value"])
		case "/spec":
			err = v.store(map[string]any{"spec": operation["value"]})
		case "/spec/replicas":
			operation["value"], err = v.divide(operation["value"])
		}
	case "move", "copy":
		if concerns(path) || concerns(from) {
			return unprocessable("this proxy cannot translate a move or a copy of the number of replicas")
		}
	}
	return err
}

// checkVisible returns an error if the request out is about a hidden object, or if that cannot be found out. To the
// client, a hidden object does not exist: writes, deletions and subresources answer 404. An object that does not exist
// passes, because an apply patch creates it. If the API server refuses to show the object, this refusal is the
// error.
func (p *Proxy) checkVisible(out *http.Request, t target) error {
	if p.config.View.HiddenLabel == "" {
		return nil
	}
	get := out.Clone(out.Context())
	get.Method, get.Body, get.GetBody, get.ContentLength = http.MethodGet, nil, nil, 0
	get.URL.Path = strings.TrimSuffix(strings.TrimRight(out.URL.Path, "/"), "/"+t.subresource)
	get.URL.RawPath, get.URL.RawQuery = "", ""
	get.Header.Del("Content-Type")
	get.Header.Set("Accept", jsonType+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	resp, err := p.config.Transport.RoundTrip(get)
	if err != nil {
		return badGateway("look whether %s is hidden: %w", t.name, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return badGateway("look whether %s is hidden: %w", t.name, err)
	case resp.StatusCode == http.StatusNotFound:
		return nil
	case resp.StatusCode != http.StatusOK:
		return asError(resp.StatusCode, body)
	}
	hidden, err := p.config.View.Hides(body)
	if err != nil {
		return badGateway("look whether %s is hidden: %w", t.name, err)
	}
	if hidden {
		return notFound(t.name)
	}
	return nil
}

// asError returns the error that the API server has answered with.
func asError(code int, body []byte) error {
	refused := &apierrors.StatusError{}
	if err := json.Unmarshal(body, &refused.ErrStatus); err != nil || refused.ErrStatus.Status != metav1.StatusFailure {
		return badGateway("look whether the object is hidden: the API server answered %d", code)
	}
	return refused
}
