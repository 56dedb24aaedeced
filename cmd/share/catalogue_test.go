package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// folder writes files, given as name and content, into a new folder.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, filepath.FromSlash(files[i]))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o644))
	}
	return dir
}

const goSum = `example.com/Big/lib v1.2.0 h1:AAA=
example.com/Big/lib v1.2.0/go.mod h1:BBB=
example.com/old v0.1.0/go.mod h1:CCC=
example.com/gone v3.0.0 h1:DDD=
example.com/gone v3.0.0/go.mod h1:EEE=
`

// cache is the module cache of an instructor who also works on other projects.
func cache(t *testing.T) string {
	return folder(t,
		"example.com/!big/lib/@v/list", "v1.1.0\nv1.2.0\n",
		"example.com/!big/lib/@v/v1.2.0.info", `{"Version":"v1.2.0"}`,
		"example.com/!big/lib/@v/v1.2.0.mod", "module example.com/Big/lib\n",
		"example.com/!big/lib/@v/v1.2.0.zip", "0123456789",
		"example.com/!big/lib/@v/v1.2.0.ziphash", "h1:AAA=",
		"example.com/!big/lib/@v/v1.2.0.lock", "",
		"example.com/!big/lib/@v/v1.2.0.zip12.tmp.partial", "0123",
		"example.com/!big/lib/@v/v1.1.0.zip", "another version",
		"example.com/!big/lib/@v/v1.1.0.mod", "module example.com/Big/lib\n",
		"example.com/old/@v/v0.1.0.mod", "module example.com/old\n",
		"example.com/old/@v/v0.1.0.zip", "the sum of this is in no go.sum",
		"work.example/secret/@v/v1.0.0.zip", "private",
		"work.example/secret/@v/v1.0.0.mod", "private",
		"work.example/secret/@v/v1.0.0.info", "private",
		"work.example/secret/@v/list", "v1.0.0\n",
		"sumdb/sums.example/lookup/work.example/secret@v1.0.0", "private",
	)
}

func testCatalogue(t *testing.T, download string) *catalogue {
	t.Helper()
	s := newCatalogue("1.26.0")
	n, err := s.addModules(download, filepath.Join(folder(t, "go.sum", goSum), "go.sum"))
	require.NoError(t, err)
	require.Equal(t, 1, n, "modules that are here with their source")
	return s
}

func ask(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestServes_the_modules_that_go_sum_names(t *testing.T) {
	s := testCatalogue(t, cache(t))
	for path, want := range map[string]string{
		"/example.com/!big/lib/@v/v1.2.0.info": `{"Version":"v1.2.0"}`,
		"/example.com/!big/lib/@v/v1.2.0.mod":  "module example.com/Big/lib\n",
		"/example.com/!big/lib/@v/v1.2.0.zip":  "0123456789",
		"/example.com/!big/lib/@v/list":        "v1.2.0\n",
		"/example.com/old/@v/v0.1.0.mod":       "module example.com/old\n",
	} {
		w := ask(s, http.MethodGet, path)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Equal(t, want, w.Body.String(), path)
	}
	w := ask(s, http.MethodHead, "/example.com/!big/lib/@v/v1.2.0.zip")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "10", w.Header().Get("Content-Length"))
	require.Empty(t, w.Body.String())
	w = ask(s, http.MethodGet, "/example.com/!big/lib/@v/v1.2.0.zip", "Range", "bytes=7-")
	require.Equal(t, http.StatusPartialContent, w.Code, "a download that broke off can go on")
	require.Equal(t, "789", w.Body.String())
}

// An instructor also works on other projects, and the cache has their modules in it.
func TestServes_nothing_else_of_the_cache(t *testing.T) {
	download := cache(t)
	s := testCatalogue(t, download)
	paths := []string{
		"/example.com/!big/lib/@v/", "/example.com/!big/lib/@v", "/example.com/", "/example.com", "//",
		"/example.com/!big/lib/@v/../@v/v1.2.0.zip", "/./example.com/!big/lib/@v/v1.2.0.zip",
		"/example.com/!big/lib/@v/v1.2.0.zip/",
		"/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", `/..\..\x`, "/example.com/Big/lib/@v/v1.2.0.zip",
		"/example.com/!big/lib/@latest", "/work.example/secret/@latest", "/example.com/old/@v/list", "/files/SHA256SUMS",
		repositoryPath,
	}
	served := map[string]bool{
		"/example.com/!big/lib/@v/list": true, "/example.com/!big/lib/@v/v1.2.0.info": true,
		"/example.com/!big/lib/@v/v1.2.0.mod": true,
		"/example.com/!big/lib/@v/v1.2.0.zip": true, "/example.com/old/@v/v0.1.0.mod": true,
	}
	require.NoError(t, filepath.WalkDir(download, func(path string, _ os.DirEntry, err error) error {
		rel, relErr := filepath.Rel(download, path)
		if name := "/" + filepath.ToSlash(rel); !served[name] && name != "/." {
			paths = append(paths, name)
		}
		return errors.Join(err, relErr)
	}))
	require.Contains(t, paths, "/work.example/secret/@v/v1.0.0.zip")
	for _, path := range paths {
		w := ask(s, http.MethodGet, path)
		require.Contains(t, []int{http.StatusNotFound, http.StatusForbidden}, w.Code, path)
		require.NotContains(t, w.Body.String(), "private", path)
		require.NotContains(t, w.Body.String(), "another version", path)
	}
}

func TestA_link_out_of_the_cache_leads_nowhere(t *testing.T) {
	download := cache(t)
	s := testCatalogue(t, download)
	zip := filepath.Join(download, "example.com", "!big", "lib", "@v", "v1.2.0.zip")
	secret := filepath.Join(folder(t, "key", "private"), "key")
	require.NoError(t, os.Remove(zip))
	if err := os.Symlink(secret, zip); err != nil && runtime.GOOS == "windows" {
		t.Skip("this user of Windows may not make links")
	} else {
		require.NoError(t, err)
	}
	w := ask(s, http.MethodGet, "/example.com/!big/lib/@v/v1.2.0.zip")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.NotContains(t, w.Body.String(), "private")

	again := newCatalogue("1.26.0")
	_, err := again.addModules(download, filepath.Join(folder(t, "go.sum", goSum), "go.sum"))
	require.Error(t, err, "a cache with links out of it is no cache of the go command")
}

func TestIs_to_be_read_only(t *testing.T) {
	s := testCatalogue(t, cache(t))
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch,
		http.MethodConnect, http.MethodOptions, "PROPFIND"} {
		w := ask(s, method, "/example.com/!big/lib/@v/v1.2.0.zip")
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"), method)
	}
}

// The go command shows the words of a refusal, unless it has an idea of its own about 404.
func TestSays_why_it_refuses(t *testing.T) {
	s := testCatalogue(t, cache(t))
	require.NoError(t, s.addFiles(folder(t, "go1.26.8.windows-amd64.msi", "setup")))
	for path, want := range map[string]struct {
		code  int
		words string
	}{
		"/example.com/gone/@v/v3.0.0.zip":                                       {404, "run `go mod download`"},
		"/work.example/secret/@v/v1.0.0.zip":                                    {404, "not part of the workshop"},
		"/sumdb/sums.example/supported":                                         {403, "no checksum database"},
		"/golang.org/toolchain/@v/v0.0.1-go1.26.0.linux-amd64.zip":              {403, "needs Go 1.26.0"},
		"/golang.org/toolchain/@v/v0.0.1-go1.26.0.windows-amd64.zip":            {403, "/files/go1.26.8.windows-amd64.msi"},
		"/golang.org/toolchain/@v/v0.0.1-go1.26.0.linux-amd64.mod/../../../../": {403, "ask the instructor"},
	} {
		w := ask(s, http.MethodGet, path)
		require.Equal(t, want.code, w.Code, path)
		require.Contains(t, w.Body.String(), want.words, path)
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"), path)
	}
}

func TestFiles_are_those_that_were_put_out(t *testing.T) {
	dir := folder(t, "go1.26.8.msi", "setup", ".hidden", "no", "sub/file", "no")
	s := newCatalogue("1.26.0")
	require.NoError(t, s.addFiles(dir))
	require.Equal(t, []file{{"go1.26.8.msi", 5, fmt.Sprintf("%x", sha256.Sum256([]byte("setup")))}}, s.files)
	require.Equal(t, "setup", ask(s, http.MethodGet, "/files/go1.26.8.msi").Body.String())
	require.Equal(t, s.files[0].SHA256+"  go1.26.8.msi\n", ask(s, http.MethodGet, "/files/SHA256SUMS").Body.String())
	for _, path := range []string{"/files/", "/files"} {
		list := ask(s, http.MethodGet, path)
		require.Equal(t, http.StatusOK, list.Code, path)
		require.Regexp(t, `^go1\.26\.8\.msi +5 B\nSHA256SUMS +\d+ B\n$`, list.Body.String())
		require.Equal(t, "text/plain; charset=utf-8", list.Header().Get("Content-Type"))
	}
	for _, path := range []string{"/files/.hidden", "/files/sub/file", "/files/sub"} {
		w := ask(s, http.MethodGet, "http://192.168.1.7:7100"+path)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Equal(t, "there is no such file; http://192.168.1.7:7100/files/ lists them\n", w.Body.String())
	}
	empty := ask(newCatalogue("1.26.0"), http.MethodGet, "/files/")
	require.Equal(t, http.StatusOK, empty.Code)
	require.Equal(t, "There are no files.\n", empty.Body.String())
	require.NoError(t, newCatalogue("1.26.0").addFiles(filepath.Join(dir, "there-is-no-such-folder")))
}

func TestWelcome_says_what_to_type(t *testing.T) {
	s := testCatalogue(t, cache(t))
	before := s.text("welcome", "http://192.168.1.7:7100")
	require.Contains(t, before, "export GOPROXY=http://192.168.1.7:7100\n")
	require.Contains(t, before, "$env:GOPROXY = 'http://192.168.1.7:7100'\n")
	require.Contains(t, before, "ask the instructor for a copy")
	require.NotContains(t, before, "workshop.tar.gz")
	require.NotContains(t, before, "cluster fetch")

	s.addRepository([]byte("tar"))
	require.NoError(t, s.addFiles(folder(t, "cluster-linux-amd64.tar.gz", "programs")))
	after := ask(s, http.MethodGet, "http://192.168.1.7:7100/").Body.String()
	require.Contains(t, after, "curl http://192.168.1.7:7100/workshop.tar.gz | tar xzf - && cd client-go-workshop")
	require.Contains(t, after, "go tool workshop cluster fetch http://192.168.1.7:7100\n")
	require.Contains(t, after, "cluster-linux-amd64.tar.gz")
	require.Contains(t, after,
		"    export GOPROXY=http://192.168.1.7:7100\n    go run ./cmd/prepare\n    go tool workshop\n")
	require.Contains(t, after, "git repository with one commit")
	require.Contains(t, s.text("welcome", "http://[fd00::7]:7100"), "curl 'http://[fd00::7]:7100'/workshop.tar.gz |",
		"zsh looks for files otherwise")
	require.Equal(t, "tar", ask(s, http.MethodGet, repositoryPath).Body.String())
}

// An attendee types the line of the page. docker is a program that keeps what it reads.
func TestWelcome_says_how_to_load_the_image_of_the_nodes(t *testing.T) {
	for _, program := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here", program)
		}
	}
	s := testCatalogue(t, cache(t))
	require.NoError(t, s.addFiles(folder(t, "node-linux-amd64.tar.gz", "layers", ".node-linux-arm64.tar.gz", "half",
		"go1.26.8.msi", "Go", "node-notes.txt", "text")))
	server := httptest.NewServer(s)
	defer server.Close()

	var lines []string
	for line := range strings.Lines(ask(s, http.MethodGet, server.URL+"/").Body.String()) {
		if strings.Contains(line, "docker load") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	require.Equal(t, []string{"curl " + server.URL + "/files/node-linux-amd64.tar.gz | docker load"}, lines)
	bin := folder(t, "docker", "#!/bin/sh\n[ \"$*\" = load ] && cat >loaded\n")
	require.NoError(t, os.Chmod(filepath.Join(bin, "docker"), 0o755))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", lines[0])
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_PROXY=127.0.0.1")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Equal(t, "layers", read(t, filepath.Join(cmd.Dir, "loaded")))

	require.NotContains(t, testCatalogue(t, cache(t)).text("welcome", server.URL), "docker load", "there is no image")
}

func TestTakes_the_address_of_the_rooms_network(t *testing.T) {
	at := func(name, ip string) address { return address{iface: name, ip: netip.MustParseAddr(ip)} }
	vpn := address{"utun3", netip.MustParseAddr("10.8.0.2"), true}
	all := []address{
		at("docker0", "172.17.0.1"), vpn, at("eth0", "203.0.113.9"), at("eth1", "fd00::7"), at("eth2", "10.0.0.5"),
		at("wlan0", "192.168.1.7"), at("wlan0", "fe80::1"),
	}
	var names []string
	for _, a := range rank(all, netip.MustParseAddr("192.168.1.7")) {
		names = append(names, a.iface)
	}
	require.Equal(t, []string{"wlan0", "eth2", "eth1", "docker0", "utun3"}, names)
	require.Equal(t, "eth2", rank(all, vpn.ip)[0].iface, "the way outward through a tunnel is not the room")

	chosen, err := choose("", rank(all, netip.Addr{}), "7100")
	require.NoError(t, err)
	require.Equal(t, "10.0.0.5:7100", chosen)
	chosen, err = choose("", []address{at("eth1", "fd00::7")}, "7100")
	require.NoError(t, err)
	require.Equal(t, "[fd00::7]:7100", chosen)
	chosen, err = choose("127.0.0.1:0", nil, "7100")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:0", chosen)
	_, err = choose("", nil, "7100")
	require.ErrorContains(t, err, "--listen")
	_, err = choose("192.168.1.7", nil, "7100")
	require.ErrorContains(t, err, "192.168.1.7:7100")
}

func TestCounts_attendees_and_ends_cleanly(t *testing.T) {
	var came []string
	stats := newStatistics(testCatalogue(t, cache(t)), func(who string) { came = append(came, who) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, stats) }()
	client := &http.Client{Timeout: 10 * time.Second}
	for range 2 {
		resp, err := client.Get("http://" + listener.Addr().String() + "/example.com/!big/lib/@v/v1.2.0.zip")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "0123456789", string(body))
	}
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, []string{"127.0.0.1"}, came)
	require.Equal(t, "1 attendee, 2 requests, 20 B", stats.String())
	_, err = net.Dial("tcp", listener.Addr().String())
	require.Error(t, err, "after the end no server listens")
}

func TestRoom_sums_up_in_the_number_that_it_has(t *testing.T) {
	stats := newStatistics(http.NotFoundHandler(), func(string) {})
	require.Equal(t, "0 attendees, 0 requests, 0 B", stats.String())
	for i, want := range []string{"1 attendee, 1 request, 19 B", "2 attendees, 2 requests, 38 B"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = fmt.Sprintf("192.168.1.%d:7", i)
		stats.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, want, stats.String())
	}
}
