package observe

// This file tells lists, watches and writes from requests.

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"sync"

	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// object returns the kind, the namespace with a slash, and the name in the path of a request. The kind is the resource
// in the singular, and the name of a collection is empty.
func object(path string) (kind, namespace, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	from := map[string]int{"api": 2, "apis": 3}[parts[0]] // behind the group and version
	if from == 0 || len(parts) <= from {
		return "", "", ""
	}
	parts = parts[from:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	if len(parts) > 1 {
		name = parts[1]
	}
	return singular(parts[0]), namespace, name
}

// singular returns the kind of a resource, in lower case.
func singular(resource string) string {
	if y, ok := strings.CutSuffix(resource, "ies"); ok {
		return y + "y"
	}
	for _, end := range []string{"sses", "xes", "ches", "shes"} {
		if strings.HasSuffix(resource, end) {
			return strings.TrimSuffix(resource, "es")
		}
	}
	return strings.TrimSuffix(resource, "s")
}

// transport records what requests are for. The transport below it records them.
type transport struct {
	http.RoundTripper
	rec *recorder.Recorder
}

var verbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch",
	http.MethodDelete: "delete"}

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	kind, namespace, name := object(request.URL.Path)
	query := request.URL.Query()
	step := pipeline.Step{Seam: pipeline.Reflector, Kind: kind, Version: query.Get("resourceVersion"), By: "reflect"}
	answered := pipeline.Listed
	switch verb := verbs[request.Method]; {
	case kind == "" || verb == "" && name != "": // discovery, or a get
		return t.RoundTripper.RoundTrip(request)
	case verb != "":
		if name == "" && request.GetBody != nil {
			name = created(request)
		}
		key := namespace + name
		step = pipeline.Step{Seam: pipeline.Worker, Verb: pipeline.Writes, Kind: kind, Key: key, Text: verb,
			By: cmp.Or(t.rec.Worker(key), "the program")}
		answered = pipeline.Answered
	case query.Get("watch") != "":
		step.Verb, answered = pipeline.Watch, pipeline.Watching
		if query.Get("sendInitialEvents") == "true" {
			step.Text = "with the current objects first"
		}
	default:
		step.Verb = pipeline.List
	}
	t.rec.Log.Append(step)
	response, err := t.RoundTripper.RoundTrip(request)
	step.Verb, step.Version = answered, ""
	switch {
	case err != nil:
		step.Error = err.Error()
	case response.StatusCode >= 400:
		step.Error = response.Status
	case answered == pipeline.Answered: // the body has the new version
		room := beginnings.Get().(*[beginning]byte)
		response.Body = &body{ReadCloser: response.Body, begin: room[:0], end: func(begin []byte) {
			step.Version = metadata(begin, "resourceVersion", 6)
			beginnings.Put(room)
			t.rec.Log.Append(step)
		}}
		return response, nil
	case answered == pipeline.Watching:
		ended := pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Unwatch, Kind: kind}
		response.Body = &body{ReadCloser: response.Body, end: func([]byte) { t.rec.Log.Append(ended) }}
	default:
		step.Code = response.StatusCode
	}
	t.rec.Log.Append(step)
	return response, err
}

// body calls end once, when it has been read or is closed, with its first bytes, as many as begin has room for.
type body struct {
	io.ReadCloser
	mu    sync.Mutex // Close may come during Read
	begin []byte
	end   func(begin []byte) // nil after the call
}

// beginning is how many bytes of an answer are searched for its version.
const beginning = 1 << 10

// beginnings has room for them.
var beginnings = sync.Pool{New: func() any { return new([beginning]byte) }}

// read notes what was read, and ends after an error.
func (b *body) read(p []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin = append(b.begin, p[:min(len(p), cap(b.begin)-len(b.begin))]...)
	if err != nil && b.end != nil {
		b.end(b.begin)
		b.begin, b.end = nil, nil
	}
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read(p[:n], err)
	return n, err
}

func (b *body) Close() error {
	b.read(nil, io.EOF)
	return b.ReadCloser.Close()
}

// created returns the name of the object that a request creates, or "" if the API server makes the name.
func created(request *http.Request) string {
	body, err := request.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	begin, _ := io.ReadAll(io.LimitReader(body, beginning))
	return metadata(begin, "name", 1)
}

// metadata returns a field of the metadata of the object that a body begins with, in JSON or in protobuf, or "".
func metadata(body []byte, name string, number byte) string {
	if object, ok := bytes.CutPrefix(body, []byte("k8s\x00")); ok {
		return string(field(field(field(object, 2), 1), number)) // of Unknown.raw's metadata
	}
	_, after, _ := bytes.Cut(body, []byte(`"metadata":{`))
	_, after, _ = bytes.Cut(after, []byte(`"`+name+`":"`))
	value, _, ended := bytes.Cut(after, []byte(`"`))
	if !ended {
		return ""
	}
	return string(value)
}

// field returns a field of a protobuf message that has a length, or its beginning if the message is cut off. The fields
// before it have lengths, too.
func field(message []byte, number byte) []byte {
	for len(message) > 1 && message[0]&7 == 2 {
		tag, length, at := message[0]>>3, 0, 1
		for shift := 0; at < len(message) && shift < 28; shift += 7 {
			b := message[at]
			length |= int(b&0x7f) << shift
			if at++; b < 0x80 {
				break
			}
		}
		end := min(at+length, len(message))
		if tag == number {
			return message[at:end]
		}
		message = message[end:]
	}
	return nil
}
