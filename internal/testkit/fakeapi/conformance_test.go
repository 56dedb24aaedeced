package fakeapi

// This file makes the fake a verified one. Each case in testdata/conformance is a sequence of requests, with the
// answers of a real kube-apiserver, and the fake must give the same. With a kubeconfig the requests go to a real one
// instead:
//
//	go test ./internal/testkit/fakeapi -run Conformance                          the fake, against what was recorded
//	go test ./internal/testkit/fakeapi -run Conformance -kubeconfig FILE         the real one, against what was recorded
//	go test ./internal/testkit/fakeapi -run Conformance -kubeconfig FILE -update records again
//
// The real one must have no controllers that meddle: `go tool workshop cluster kill kube-controller-manager`.
//
// What differs from run to run is masked by masked (conformance_mask_test.go). How a case is written is in
// testdata/conformance/README.md.

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/realapi"
)

var update = flag.Bool("update", false, "record the answers of the real API server")

// conformanceFile is one of testdata/conformance.
type conformanceFile struct {
	path    string
	comment []byte
	cases   []*conformanceCase
	bodies  map[string]string
}

// conformanceCase is a sequence of requests.
type conformanceCase struct {
	name      string
	exchanges []*exchange
	// differs says why the fake's answers are others, if they are.
	differs string
}

// exchange is a request and its answer, and the fake's if that is another.
type exchange struct {
	request, answer, fake string
}

// target is where the requests go.
type target struct {
	url     string
	client  *http.Client
	real    bool
	compact func() error
}

func TestConformance(t *testing.T) {
	if *update && !realapi.Given() {
		t.Fatal("what the fake answers is no truth: -update needs a -kubeconfig")
	}
	files, err := filepath.Glob("testdata/conformance/*.txtar")
	require.NoError(t, err)
	cases := 0
	for _, path := range files {
		file := readConformance(t, path)
		cases += len(file.cases)
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			for _, c := range file.cases {
				t.Run(c.name, func(t *testing.T) { runCase(t, file, c) })
			}
		})
		if *update {
			require.NoError(t, os.WriteFile(path, file.format(), 0o644))
		}
	}
	require.GreaterOrEqual(t, cases, 80, "cases")
}

func runCase(t *testing.T, file *conformanceFile, c *conformanceCase) {
	if realapi.Given() {
		target := realTarget(t)
		answers := file.play(t, c, target)
		for i, e := range c.exchanges {
			if *update {
				e.answer = answers[i]
			}
			require.Equal(t, e.answer, answers[i], "the real API server's answer to request %d is not the recorded one any more",
				i+1)
		}
		return
	}
	synctest.Test(t, func(t *testing.T) {
		api := Start(t)
		client := api.Client()
		defer client.CloseIdleConnections()
		answers := file.play(t, c, &target{url: "http://in-memory", client: client,
			compact: func() error { api.Restart(); return nil }})
		different := false
		for i, e := range c.exchanges {
			wanted := e.answer
			if e.fake != "" {
				wanted, different = e.fake, true
			}
			require.Equal(t, wanted, answers[i], "request %d:\n%s", i+1, e.request)
			require.False(t, e.fake != "" && e.fake == e.answer,
				"request %d is answered as by the real server: it needs no %d.fake", i+1, i+1)
		}
		require.Equal(t, c.differs != "", different, "a case whose fake answers differ says why, and no other")
	})
}

func realTarget(t *testing.T) *target {
	config := realapi.Config(t)
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	return &target{url: config.Host, client: client, real: true, compact: realapi.Compact}
}

// play sends the requests of a case and returns the answers, with what varies masked.
func (f *conformanceFile) play(t *testing.T, c *conformanceCase, to *target) []string {
	ns := "case-" + strconv.FormatInt(time.Now().UnixNano()%1e9, 36)
	if to.real {
		namespace(t, to, ns)
	}
	p := &play{t: t, file: f, to: to, ns: ns, mask: newMask(ns)}
	answers := make([]string, len(c.exchanges))
	for i, e := range c.exchanges {
		if answer, late := p.send(e.request); !late {
			answers[i] = answer()
		} else {
			p.late = append(p.late, func() { answers[i] = answer() })
		}
	}
	for _, read := range p.late {
		read()
	}
	// Masked last and in order, so that versions are numbered in the order of the requests.
	for i := range answers {
		answers[i] = p.mask.text(answers[i])
	}
	return answers
}

// play is one case on its way.
type play struct {
	t    *testing.T
	file *conformanceFile
	to   *target
	ns   string
	mask *mask
	// raw are the bodies of the answers, for requests that refer to them.
	raw []string
	// newest is the version of the case's last write, or "" if no answer has named it.
	newest string
	late   []func()
}

// send sends a request. Answer reads the answer; late says that it is to be read when all other requests are sent.
func (p *play) send(text string) (answer func() string, late bool) {
	index := len(p.raw)
	p.raw = append(p.raw, "")
	if strings.TrimSpace(text) == "compact" {
		require.NoError(p.t, p.to.compact())
		return func() string { return "done\n" }, false
	}
	request, events, late := p.parse(text)
	if q := request.URL.Query(); p.to.real && request.Method == http.MethodGet &&
		(q.Has("watch") || q.Has("resourceVersion")) {
		p.catchUp(request.URL.Path)
	}
	response, err := p.to.client.Do(request)
	require.NoError(p.t, err, "send %s", text)
	return func() string {
		defer response.Body.Close()
		var body []byte
		if events > 0 {
			lines := bufio.NewReader(response.Body)
			for range events {
				line, err := lines.ReadBytes('\n')
				require.NoError(p.t, err, "read an event of %s (so far: %s)", text, body)
				body = append(body, line...)
			}
		} else {
			body, err = io.ReadAll(response.Body)
			require.NoError(p.t, err, "read the answer to %s", text)
		}
		p.raw[index] = string(body)
		if p.to.real && !late {
			p.calm(request, response.StatusCode, body)
		}
		return describe(p.t, response, body)
	}, late
}

// calm gives a list of the real server the version of the case's own newest write. The version of a list is that of all
// of etcd, and the server writes there too: it renews its own leases.
func (p *play) calm(request *http.Request, code int, body []byte) {
	var answer struct {
		Kind     string
		Metadata metav1.ListMeta
	}
	if code >= 300 || request.URL.Query().Has("resourceVersion") || json.Unmarshal(body, &answer) != nil {
		return
	}
	version := answer.Metadata.ResourceVersion
	switch isList := strings.HasSuffix(answer.Kind, "List") || answer.Kind == "Table"; {
	case request.Method == http.MethodDelete:
		p.newest = "" // the next list has the deletion's version
	case request.Method != http.MethodGet && version != "", isList && p.newest == "":
		p.newest = version
	case isList && newer(version, p.newest):
		p.mask.same[version] = p.newest
	}
}

// newer reports whether a version of etcd is newer than another one.
func newer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

// catchUp waits until the real server's watch cache has what was just written. What is asked for at "0" is answered by
// the cache as it is, be it old; the fake's is never behind.
func (p *play) catchUp(path string) {
	response, err := p.to.client.Get(p.to.url + path)
	require.NoError(p.t, err)
	defer response.Body.Close()
	var newest struct{ Metadata metav1.ListMeta }
	if json.NewDecoder(response.Body).Decode(&newest) != nil || newest.Metadata.ResourceVersion == "" {
		return // there is nothing to wait for
	}
	response, err = p.to.client.Get(p.to.url + path + "?resourceVersion=" + newest.Metadata.ResourceVersion)
	require.NoError(p.t, err)
	response.Body.Close()
}

var reference = regexp.MustCompile(`\{(\d+)\.([\w.]+)\}`)

// parse makes the request that a text describes.
func (p *play) parse(text string) (request *http.Request, events int, late bool) {
	text = p.fillIn(text)
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, url, _ := strings.Cut(lines[0], " ")
	body = strings.TrimSpace(body)
	if name, ok := strings.CutPrefix(body, "@"); ok {
		content, found := p.file.bodies[name]
		require.True(p.t, found, "there is no body %q", name)
		body = p.fillIn(strings.TrimSpace(content))
	}
	request, err := http.NewRequestWithContext(context.Background(), method, p.to.url+url, strings.NewReader(body))
	require.NoError(p.t, err)
	request.Header.Set("User-Agent", "conformance")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Events":
			events, err = strconv.Atoi(value)
			require.NoError(p.t, err)
		case "Late":
			late = true
		default:
			request.Header.Set(name, value)
		}
	}
	return request, events, late
}

// fillIn replaces {ns}, and {2.metadata.uid} by what stood in the second answer.
func (p *play) fillIn(text string) string {
	text = strings.NewReplacer("{ns}", p.ns, "{deployments}", "/apis/apps/v1/namespaces/"+p.ns+"/deployments",
		"{configmaps}", "/api/v1/namespaces/"+p.ns+"/configmaps").Replace(text)
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		n, _ := strconv.Atoi(m[1])
		var value any
		require.NoError(p.t, json.Unmarshal([]byte(p.raw[n-1]), &value), "%s", p.raw[n-1])
		for _, field := range strings.Split(m[2], ".") {
			switch v := value.(type) {
			case map[string]any:
				value = v[field]
			case []any:
				i, err := strconv.Atoi(field)
				require.NoError(p.t, err)
				value = v[i]
			}
		}
		require.NotNil(p.t, value, "%s in %s", ref, p.raw[n-1])
		return fmt.Sprint(value)
	})
}

// namespace makes one for a case, which is removed when the case is over.
func namespace(t *testing.T, to *target, ns string) {
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, ns)
	response, err := to.client.Post(to.url+"/api/v1/namespaces", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusCreated, response.StatusCode, "create namespace %s", ns)
	t.Cleanup(func() {
		request, _ := http.NewRequest(http.MethodDelete, to.url+"/api/v1/namespaces/"+ns, nil)
		if response, err := to.client.Do(request); err == nil {
			response.Body.Close()
		}
	})
}

func readConformance(t *testing.T, path string) *conformanceFile {
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	f := &conformanceFile{path: path, comment: archive.Comment, bodies: map[string]string{}}
	for _, section := range archive.Files {
		name, part, isCase := strings.Cut(section.Name, "/")
		if !isCase {
			f.bodies[section.Name] = string(section.Data)
			continue
		}
		i := slices.IndexFunc(f.cases, func(c *conformanceCase) bool { return c.name == name })
		if i < 0 {
			i = len(f.cases)
			f.cases = append(f.cases, &conformanceCase{name: name})
		}
		f.cases[i].read(t, part, string(section.Data))
	}
	return f
}

func (c *conformanceCase) read(t *testing.T, part, data string) {
	if part == "differs" {
		c.differs = strings.TrimSpace(data)
		return
	}
	number, kind, _ := strings.Cut(part, ".")
	n, err := strconv.Atoi(number)
	require.NoError(t, err, "%s/%s", c.name, part)
	if kind == "request" {
		require.Equal(t, len(c.exchanges)+1, n, "%s: requests are numbered in order", c.name)
		c.exchanges = append(c.exchanges, &exchange{request: data})
		return
	}
	require.Equal(t, len(c.exchanges), n, "%s/%s stands below its request", c.name, part)
	switch kind {
	case "answer":
		c.exchanges[n-1].answer = data
	case "fake":
		c.exchanges[n-1].fake = data
	default:
		t.Fatalf("%s/%s is neither request, answer, fake nor differs", c.name, part)
	}
}

func (f *conformanceFile) format() []byte {
	archive := &txtar.Archive{Comment: f.comment}
	add := func(name, data string) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(data)})
	}
	names := make([]string, 0, len(f.bodies))
	for name := range f.bodies {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, f.bodies[name])
	}
	for _, c := range f.cases {
		if c.differs != "" {
			add(c.name+"/differs", c.differs+"\n")
		}
		for i, e := range c.exchanges {
			n := c.name + "/" + strconv.Itoa(i+1)
			add(n+".request", e.request)
			add(n+".answer", e.answer)
			if e.fake != "" {
				add(n+".fake", e.fake)
			}
		}
	}
	return txtar.Format(archive)
}
