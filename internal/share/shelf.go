// Package share hands the workshop to a room without internet: one machine that has everything serves it, read-only,
// and the others need nothing but Go and the address.
//
//	shelf.go       what is served, as a closed table, and the handler over it
//	modules.go     which files of the module cache belong to the workshop, and which of them are not there
//	archive.go     the repository itself, as git has it
//	addresses.go   where to serve: this machine's addresses, the likeliest first
//	room.go        who has come, and a server that ends cleanly
//
// The go command's own files below GOMODCACHE/cache/download already lie as the module proxy protocol wants them, so a
// proxy is little more than a file server. It is one with a list, though: whoever teaches also works, and has the
// modules of that work in the same cache.
//
// Left out: a checksum database (every sum that the workshop needs is in its go.sum, so that the go command never asks
// for one), versions beyond those of the workshop, Go itself (the go command takes a new Go only with the word of a
// checksum database; put the installers into .workshop/share instead), encryption and passwords.
package share

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

// Repository is the path at which the archive of the repository is served.
const Repository = "/workshop.tar.gz"

// checkSums is the name of the list of the files' check sums.
const checkSums = "SHA256SUMS"

// File is a file that the instructor has put out for the room.
type File struct {
	Name string
	Size int64
	Sum  string // SHA-256, in hex
}

// Shelf is everything that is served. It is a closed table from paths to files: what is not in it cannot be had, by no
// spelling of its path, and no folder can be listed; /files/ is the table's own list. It is an http.Handler.
type Shelf struct {
	// GoVersion is the oldest Go that the workshop takes.
	GoVersion string
	// Files are those of PutFiles, sorted by name.
	Files []File

	items map[string]item
	roots []*os.Root
}

// item is one thing on the shelf: a file below a root, or a content. One with neither belongs to the workshop and is
// not on this machine.
type item struct {
	root    *os.Root
	name    string
	content []byte
	kind    string
}

// NewShelf returns an empty shelf.
func NewShelf(goVersion string) *Shelf {
	return &Shelf{GoVersion: goVersion, items: map[string]item{}}
}

// Close closes the folders that the shelf reads from.
func (s *Shelf) Close() {
	for _, root := range s.roots {
		_ = root.Close()
	}
}

// open opens a folder that files will be served from. Symbolic links in it that lead out of it are not followed.
func (s *Shelf) open(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s.roots = append(s.roots, root)
	return root, nil
}

// PutRepository puts the archive of the repository out.
func (s *Shelf) PutRepository(archive []byte) {
	s.items[Repository] = item{content: archive, kind: "application/gzip"}
}

// HasRepository reports whether there is an archive of the repository.
func (s *Shelf) HasRepository() bool { return s.items[Repository].content != nil }

// PutFiles puts the files of a folder out, as they are now, under /files/, and the list of their check sums. Folders in
// it, links, and files whose name begins with a dot stay where they are. A folder that does not exist is an empty one.
func (s *Shelf) PutFiles(dir string) error {
	root, err := s.open(dir)
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
		file, err := sum(root, e.Name())
		if err != nil {
			return fmt.Errorf("compute the check sum of a file to share: %w", err)
		}
		s.Files = append(s.Files, file)
		s.items["/files/"+file.Name] = item{root: root, name: file.Name, kind: "application/octet-stream"}
		fmt.Fprintf(&sums, "%s  %s\n", file.Sum, file.Name)
	}
	s.items["/files/"+checkSums] = item{content: []byte(sums.String()), kind: plain}
	return nil
}

func sum(root *os.Root, name string) (File, error) {
	f, err := root.Open(name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	return File{name, size, fmt.Sprintf("%x", hash.Sum(nil))}, err
}

// HasCluster reports whether a pack of the cluster's programs is among the files.
func (s *Shelf) HasCluster() bool {
	return slices.ContainsFunc(s.Files, func(f File) bool {
		ok, _ := path.Match("cluster-*-*.tar.gz", f.Name)
		return ok
	})
}

const plain = "text/plain; charset=utf-8"

// ServeHTTP serves the shelf. Whoever asks for something else is told why in words: the go command shows them.
func (s *Shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "this is to be read only")
		return
	}
	it, ok := s.items[r.URL.Path]
	switch {
	case r.URL.Path == "/":
		it = item{content: []byte(s.Welcome(base(r))), kind: plain}
	case r.URL.Path == "/files", r.URL.Path == "/files/":
		it = item{content: []byte(s.list()), kind: plain}
	case ok && it.root == nil && it.content == nil:
		refuse(w, http.StatusNotFound, "this belongs to the workshop, but the instructor's machine does not have it: "+
			"there, with internet, run `go mod download`, and in the folder cluster too")
		return
	case ok:
	case strings.HasPrefix(r.URL.Path, "/golang.org/toolchain/"):
		// Not 404: the go command would keep the words to itself.
		refuse(w, http.StatusForbidden, "the workshop needs Go "+s.GoVersion+" or newer, and a new Go cannot be had in "+
			"this way without internet: "+
			"ask the instructor for an installer"+s.installers())
		return
	case strings.HasPrefix(r.URL.Path, "/sumdb/"):
		// Not 404: the go command would then go and look for the database in the internet.
		refuse(w, http.StatusForbidden, "there is no checksum database in this room; the sums of the workshop's modules "+
			"are in its go.sum, "+
			"and other modules are not here")
		return
	case strings.HasPrefix(r.URL.Path, "/files/"):
		refuse(w, http.StatusNotFound, "there is no such file; "+base(r)+"/files/ lists them")
		return
	default:
		refuse(w, http.StatusNotFound, "this is not part of the workshop; only what its go.sum names can be had here")
		return
	}
	w.Header().Set("Content-Type", it.kind)
	if it.root == nil {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(it.content))
		return
	}
	if err := serveFile(w, r, it); err != nil {
		w.Header().Del("Content-Type")
		refuse(w, http.StatusInternalServerError, "the instructor's machine could not read it: "+err.Error())
	}
}

// serveFile returns an error only if it has written nothing.
func serveFile(w http.ResponseWriter, r *http.Request, it item) error {
	// Before opening: to open a pipe is to wait for whoever writes into it.
	if info, err := it.root.Stat(it.name); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", it.name)
	}
	f, err := it.root.Open(it.name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", plain)
	w.WriteHeader(code)
	fmt.Fprintln(w, why)
}

// base is the address by which a request came.
func base(r *http.Request) string {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return "http://" + addr.String()
	}
	return "http://" + r.Host
}

// installers names the files that look like Go's.
func (s *Shelf) installers() string {
	var names []string
	for _, f := range s.Files {
		if strings.HasPrefix(f.Name, "go1.") {
			names = append(names, "/files/"+f.Name)
		}
	}
	if names == nil {
		return ""
	}
	return ", or take it from here: " + strings.Join(names, ", ")
}

// Welcome is what an attendee has to do, for the page at the root and for the instructor's terminal.
func (s *Shelf) Welcome(url string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	typed := url
	if strings.Contains(url, "[") { // an IPv6 address, which zsh takes for a pattern of file names
		typed = "'" + url + "'"
	}
	say("The client-go workshop, without internet. It needs Go %s or newer; go version says which you have.", s.GoVersion)
	say("\nLinux, macOS:\n")
	if s.HasRepository() {
		say("    curl %s%s | tar xzf - && cd client-go-workshop", typed, Repository)
	}
	say("    export GOPROXY=%s", typed)
	say("\nWindows, PowerShell:\n")
	if s.HasRepository() {
		say("    curl.exe -O %s%s; tar -xf workshop.tar.gz; cd client-go-workshop", url, Repository)
	}
	say("    $env:GOPROXY = '%s'", url)
	if !s.HasRepository() {
		say("\nThe repository itself is not here: ask the instructor for a copy.")
	}
	say("\nThe variable is for this one terminal; set it in each that you open. Then begin:\n")
	say("    go test ./01-restclient")
	if s.HasCluster() {
		say("\nThe programs of the cluster, already built (for systems with a file below):\n")
		say("    go tool workshop cluster fetch %s", typed)
	}
	if len(s.Files) > 0 {
		say("\nFiles, in %s/files/, with their SHA-256 in %s/files/SHA256SUMS:\n", url, url)
	}
	for _, f := range s.Files {
		say("    %-40s %8s  %s", f.Name, Size(f.Size), f.Sum[:16])
	}
	return b.String()
}

// list is what /files/ has, name and size.
func (s *Shelf) list() string {
	if len(s.Files) == 0 {
		return "There are no files.\n"
	}
	var b strings.Builder
	say := func(name string, size int64) { fmt.Fprintf(&b, "%-40s %8s\n", name, Size(size)) }
	for _, f := range s.Files {
		if f.Name != checkSums {
			say(f.Name, f.Size)
		}
	}
	say(checkSums, int64(len(s.items["/files/"+checkSums].content)))
	return b.String()
}

// Size is a number of bytes as people say it.
func Size(n int64) string {
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
