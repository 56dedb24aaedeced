package main

// This file is the catalogue of everything that is served, the handler that serves it, and its texts for attendees.

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"text/template"
	"time"
)

const (
	repositoryPath = "/workshop.tar.gz"
	checkSums      = "SHA256SUMS" // below /files/
)

//go:embed attendees.txt
var texts string

var templates = template.Must(template.New("").Funcs(template.FuncMap{"size": size}).Parse(texts))

// catalogue maps paths to what is served there, and is the http.Handler that serves it. Any other path is refused, and
// no folder is listed, except for /files/, whose list is the catalogue's own.
type catalogue struct {
	goVersion string // the oldest Go that the workshop accepts
	board     bool   // whether there is a board, for the text at the root
	files     []file // those of addFiles, sorted by name
	items     map[string]item
}

// file is a file in the instructor's folder of files to share.
type file struct {
	Name   string
	Size   int64
	SHA256 string
}

// item is a file in a folder, or a content. A file that is not there belongs to the workshop, but is not here.
// A symbolic link that leads out of the folder is an error when it is read.
type item struct {
	folder  *os.Root
	name    string
	content []byte
}

func newCatalogue(goVersion string) *catalogue {
	return &catalogue{goVersion: goVersion, items: map[string]item{}}
}

// addRepository adds the archive of the repository.
func (c *catalogue) addRepository(archive []byte) {
	c.items[repositoryPath] = item{content: archive}
}

// addFiles adds the regular files of a folder, as they are now, below /files/, and the list of their checksums. It
// leaves out folders, links, names that begin with a dot, and another list of checksums. A folder that does not exist
// is an empty one.
func (c *catalogue) addFiles(dir string) error {
	folder, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the folder of files to share: %w", err)
	}
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the folder of files to share: %w", err)
	}
	var sums strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") || e.Name() == checkSums {
			continue
		}
		f, err := hash(folder, e.Name())
		if err != nil {
			return fmt.Errorf("compute the checksum of a file to share: %w", err)
		}
		c.files = append(c.files, f)
		c.items["/files/"+f.Name] = item{folder: folder, name: f.Name}
		fmt.Fprintf(&sums, "%s  %s\n", f.SHA256, f.Name)
	}
	c.items["/files/"+checkSums] = item{content: []byte(sums.String())}
	return nil
}

func hash(folder *os.Root, name string) (file, error) {
	f, err := folder.Open(name)
	if err != nil {
		return file{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	return file{name, size, fmt.Sprintf("%x", sum.Sum(nil))}, err
}

// matching returns the names of the files that match a pattern.
func (c *catalogue) matching(pattern string) (names []string) {
	for _, f := range c.files {
		if ok, _ := path.Match(pattern, f.Name); ok { // the pattern is well-formed
			names = append(names, f.Name)
		}
	}
	return names
}

// clusters returns the names of the files that are the cluster's programs.
func (c *catalogue) clusters() []string { return c.matching("cluster-*-*.tar.gz") }

// ServeHTTP serves an item. A refusal says why, because the go command prints its text.
func (c *catalogue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this server is read-only", http.StatusMethodNotAllowed)
		return
	}
	it, ok := c.items[r.URL.Path]
	switch {
	case r.URL.Path == "/":
		it = item{content: []byte(c.text("welcome", "http://"+r.Host))}
	case r.URL.Path == "/files", r.URL.Path == "/files/":
		it = item{content: []byte(c.text("files", "http://"+r.Host))}
	case !ok:
		c.refuseUnknown(w, r)
		return
	}
	var content io.ReadSeeker = bytes.NewReader(it.content)
	if it.folder != nil {
		f, err := it.folder.Open(it.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			http.Error(w, "the workshop needs this, but the instructor's machine does not have it: "+
				"run `go mod download` there, with internet, also in the folder cluster", http.StatusNotFound)
			return
		case err != nil:
			http.Error(w, "the instructor's machine could not read this file: "+err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		content = f
	}
	http.ServeContent(w, r, r.URL.Path, time.Time{}, content)
}

// refuseUnknown gives the reason for a path that is not in the catalogue. The status is 403 where the go command would
// hide the text of a 404, or look for a checksum database on the internet.
func (c *catalogue) refuseUnknown(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/golang.org/toolchain/"):
		why := "the workshop needs Go " + c.goVersion + " or newer, and the go command " +
			"cannot download a new Go without internet: ask the instructor for an installer"
		if installers := c.matching("go1.*"); installers != nil {
			why += ", or download it here: /files/" + strings.Join(installers, ", /files/")
		}
		http.Error(w, why, http.StatusForbidden)
	case strings.HasPrefix(path, "/sumdb/"):
		http.Error(w, "there is no checksum database without internet; the workshop's go.sum has the "+
			"checksums of its modules, and other modules are not here", http.StatusForbidden)
	case strings.HasPrefix(path, "/files/"):
		http.Error(w, "there is no such file; http://"+r.Host+"/files/ lists them", http.StatusNotFound)
	default:
		http.Error(w, "this is not part of the workshop; only modules in its go.sum are served here", http.StatusNotFound)
	}
}

// text returns one of the texts, for a reader who reaches this server under a URL: "welcome", which says what an
// attendee has to do, or "files", the list of the files below /files/.
func (c *catalogue) text(name, url string) string {
	data := map[string]any{"Go": c.goVersion, "URL": url, "Quoted": url, "Repository": "", "Board": c.board,
		"Clusters": c.clusters(), "Images": c.matching("node-linux-*.tar.gz"), // the names of scripts/node-image.sh
		"Files": c.files, "SumsSize": int64(len(c.items["/files/"+checkSums].content))}
	if strings.Contains(url, "[") { // zsh expands the brackets of an IPv6 address
		data["Quoted"] = "'" + url + "'"
	}
	if _, exists := c.items[repositoryPath]; exists {
		data["Repository"] = repositoryPath
	}
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a mistake in attendees.txt
	}
	return b.String()
}

// size formats a number of bytes, such as "12 MB".
func size(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
