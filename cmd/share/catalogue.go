package main

// This file is the catalogue of everything that is served, and the handler that serves it.

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	repositoryPath = "/workshop.tar.gz"
	checkSums      = "SHA256SUMS" // below /files/
	plainText      = "text/plain; charset=utf-8"
)

// catalogue maps paths to what is served there, and is the http.Handler that serves it. Any other path is refused, and
// no folder is listed, except for /files/, whose list is the catalogue's own.
type catalogue struct {
	goVersion string // the oldest Go that the workshop accepts
	board     bool   // whether there is a board, for the text at the root
	files     []file // those of addFiles, sorted by name
	items     map[string]item
	roots     []*os.Root
}

// file is a file in the instructor's folder of files to share.
type file struct {
	name   string
	size   int64
	sha256 string
}

// item is a file below root, or a content. An item with neither belongs to the workshop, but this machine lacks it.
type item struct {
	root        *os.Root
	name        string
	content     []byte
	contentType string
}

func newCatalogue(goVersion string) *catalogue {
	return &catalogue{goVersion: goVersion, items: map[string]item{}}
}

// close closes the folders that the catalogue reads from.
func (c *catalogue) close() {
	for _, root := range c.roots {
		_ = root.Close()
	}
}

// open opens a folder to serve files from. A symbolic link that leads out of it is an error when it is read.
func (c *catalogue) open(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		c.roots = append(c.roots, root)
	}
	return root, err
}

// addRepository adds the archive of the repository.
func (c *catalogue) addRepository(archive []byte) {
	c.items[repositoryPath] = item{content: archive, contentType: "application/gzip"}
}

// addFiles adds the regular files of a folder, as they are now, below /files/, and the list of their checksums. It
// leaves out folders, links and names that begin with a dot. A folder that does not exist is an empty one.
func (c *catalogue) addFiles(dir string) error {
	root, err := c.open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the folder of files to share: %w", err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the folder of files to share, %s: %w", dir, err)
	}
	var sums strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, err := hash(root, e.Name())
		if err != nil {
			return fmt.Errorf("compute the checksum of a file to share: %w", err)
		}
		c.files = append(c.files, f)
		c.items["/files/"+f.name] = item{root: root, name: f.name, contentType: "application/octet-stream"}
		fmt.Fprintf(&sums, "%s  %s\n", f.sha256, f.name)
	}
	c.items["/files/"+checkSums] = item{content: []byte(sums.String()), contentType: plainText}
	return nil
}

func hash(root *os.Root, name string) (file, error) {
	f, err := root.Open(name)
	if err != nil {
		return file{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	return file{name, size, fmt.Sprintf("%x", sum.Sum(nil))}, err
}

// hasCluster reports whether the files include the cluster's programs.
func (c *catalogue) hasCluster() bool {
	return slices.ContainsFunc(c.files, func(f file) bool {
		ok, _ := path.Match("cluster-*-*.tar.gz", f.name)
		return ok
	})
}

// nodeImages returns the names of the files that are images of kind's nodes. scripts/node-image.sh --save chooses them.
func (c *catalogue) nodeImages() (names []string) {
	for _, f := range c.files {
		if ok, _ := path.Match("node-linux-*.tar.gz", f.name); ok {
			names = append(names, f.name)
		}
	}
	return names
}

// ServeHTTP serves an item. A refusal says why, because the go command prints its text.
func (c *catalogue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "this server is read-only")
		return
	}
	it, ok := c.items[r.URL.Path]
	switch {
	case r.URL.Path == "/":
		it = item{content: []byte(c.welcome(baseURL(r))), contentType: plainText}
	case r.URL.Path == "/files", r.URL.Path == "/files/":
		it = item{content: []byte(c.list()), contentType: plainText}
	case !ok:
		c.refuseUnknown(w, r)
		return
	case it.root == nil && it.content == nil:
		refuse(w, http.StatusNotFound, "the workshop needs this, but the instructor's machine does not have it: "+
			"run `go mod download` there, with internet, also in the folder cluster")
		return
	}
	var content io.ReadSeeker = bytes.NewReader(it.content)
	var modified time.Time
	if it.root != nil {
		f, err := it.root.Open(it.name)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "the instructor's machine could not read this file: "+err.Error())
			return
		}
		defer f.Close()
		content = f
		if info, err := f.Stat(); err == nil {
			modified = info.ModTime()
		}
	}
	w.Header().Set("Content-Type", it.contentType)
	http.ServeContent(w, r, "", modified, content)
}

// refuseUnknown gives the reason for a path that is not in the catalogue. The status is 403 where the go command would
// hide the text of a 404, or look for a checksum database on the internet.
func (c *catalogue) refuseUnknown(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/golang.org/toolchain/"):
		refuse(w, http.StatusForbidden, "the workshop needs Go "+c.goVersion+" or newer, and the go command "+
			"cannot download a new Go without internet: ask the instructor for an installer"+c.installers())
	case strings.HasPrefix(path, "/sumdb/"):
		refuse(w, http.StatusForbidden, "there is no checksum database without internet; the workshop's go.sum has the "+
			"checksums of its modules, and other modules are not here")
	case strings.HasPrefix(path, "/files/"):
		refuse(w, http.StatusNotFound, "there is no such file; "+baseURL(r)+"/files/ lists them")
	default:
		refuse(w, http.StatusNotFound, "this is not part of the workshop; only modules in its go.sum are served here")
	}
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", plainText)
	w.WriteHeader(code)
	fmt.Fprintln(w, why)
}

// baseURL returns the URL under which a request reached this server.
func baseURL(r *http.Request) string {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return "http://" + addr.String()
	}
	return "http://" + r.Host
}
