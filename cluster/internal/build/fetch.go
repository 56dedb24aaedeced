// Fetching: the programs from a machine in the room that has them. The address
// is what the user typed, and nothing leads away from it. The checksum guards
// against an accident on the way, not against that machine.

package build

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"client-go-workshop/cluster/internal/workspace"
)

const (
	mostPacked   = 1 << 30 // bytes of a pack that are read at most,
	mostUnpacked = 4 << 30 // and of what is in it
)

// Fetch puts the programs of the pack that is served at an address in their
// places, if they are made from the sources that are here. Otherwise, and when
// ctx ends, the programs are as they were before.
func Fetch(ctx context.Context, w workspace.Workspace, address string, out io.Writer) error {
	from, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || from.Scheme != "http" && from.Scheme != "https" || from.Host == "" || from.RawQuery != "" {
		return fmt.Errorf("%q is no address of a machine that shares; it looks like http://192.168.1.7:7100", address)
	}
	if err := os.MkdirAll(w.Bin(), 0o755); err != nil {
		return fmt.Errorf("making the folder for the programs: %w", err)
	}
	unlock, err := workspace.Lock(ctx, w.BuildLock(), "building the cluster's programs", out)
	if err != nil {
		return err
	}
	defer unlock()
	want, err := stamp(w)
	if err != nil {
		return err
	}
	if current(w, want) {
		fmt.Fprintln(out, "The cluster's programs are here already, and made from the sources that are here.")
		return nil
	}
	fresh, err := freshFolder(w)
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := fetch(ctx, w, from, fresh, out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("fetching the cluster's programs from %s: %w", from, err)
	}
	if err := swapIn(w, fresh); err != nil {
		return err
	}
	// They may be of another patch release of Go than ours would be. That is
	// no reason for minutes of building.
	return writeStamp(w, want)
}

func fetch(ctx context.Context, w workspace.Workspace, from *url.URL, fresh string, out io.Writer) error {
	name := filepath.Base(w.Pack())
	list, err := get(ctx, from.JoinPath("files", "SHA256SUMS"))
	if err != nil {
		return err
	}
	defer list.Close()
	text, err := io.ReadAll(io.LimitReader(list, 1<<20))
	if err != nil {
		return err
	}
	want := ""
	for line := range strings.Lines(string(text)) {
		if sum, file, _ := strings.Cut(strings.TrimSpace(line), "  "); file == name {
			want = sum
		}
	}
	if want == "" {
		return fmt.Errorf("there is none for %s/%s; `go tool workshop cluster build` makes them here, in some minutes, "+
			"from modules that the go command gets from where GOPROXY says", runtime.GOOS, runtime.GOARCH)
	}
	body, err := get(ctx, from.JoinPath("files", name))
	if err != nil {
		return err
	}
	defer body.Close()
	fmt.Fprintf(out, "Fetching %s.\n", from.JoinPath("files", name))
	began := time.Now()
	pack, err := os.Create(filepath.Join(fresh, name))
	if err != nil {
		return err
	}
	defer pack.Close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(pack, hash), io.LimitReader(body, mostPacked))
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("what came has the SHA-256 %s and should have %s; try again", got, want)
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	goVersion, err := unpack(ctx, w, pack, fresh)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d programs, built with %s; %d MB in %s. The SHA-256 begins with %s, as it should on the "+
		"instructor's screen.\n",
		len(Programs), goVersion, size/1e6, time.Since(began).Round(time.Second), want[:16])
	return nil
}

// get asks for a file. It goes straight to the address: no proxy of some
// company knows the room, and nobody is to lead us elsewhere.
func get(ctx context.Context, address *url.URL) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{
		Transport:     &http.Transport{ResponseHeaderTimeout: 30 * time.Second, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; does `go tool workshop share` run there, and are you in the same network?", err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("%s answers %s; is it `go tool workshop share` that runs there?", address, response.Status)
	}
	return response.Body, nil
}

// unpack writes the programs of a pack into a folder, and returns the version
// of Go that made them. A pack has all programs, each once, and nothing else.
func unpack(ctx context.Context, w workspace.Workspace, file io.Reader, folder string) (goVersion string, err error) {
	archive, err := openPack(file)
	if err != nil {
		return "", fmt.Errorf("unpacking: %w", err)
	}
	made, err := readMadeFrom(archive)
	if err != nil {
		return "", fmt.Errorf("unpacking: %w", err)
	}
	want, err := sources(w)
	if err != nil {
		return "", err
	}
	goVersion, have, _ := strings.Cut(made, " ")
	if have != want {
		return "", errors.New("those programs are made from other sources than the ones here: " +
			"somebody's clone is older, or changed. " +
			"The instructor can update the clone and share it again; you can take the repository that is shared; " +
			"or `go tool workshop cluster build` makes them from the sources here")
	}
	var left []string
	for _, name := range Programs {
		left = append(left, filepath.Base(w.Program(name)))
	}
	budget := int64(mostUnpacked)
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("unpacking: %w", err)
		}
		i := slices.Index(left, entry.Name)
		if i < 0 || entry.Typeflag != tar.TypeReg {
			return "", fmt.Errorf("unpacking: %q should not be in it", entry.Name)
		}
		left = slices.Delete(left, i, i+1)
		if budget -= entry.Size; budget < 0 {
			return "", errors.New("unpacking: there is more in it than the programs could be")
		}
		if err := unpackProgram(ctx, archive, filepath.Join(folder, entry.Name)); err != nil {
			return "", fmt.Errorf("unpacking %s: %w", entry.Name, err)
		}
	}
	if len(left) > 0 {
		return "", fmt.Errorf("unpacking: %s is missing", strings.Join(left, ", "))
	}
	return goVersion, nil
}

func unpackProgram(ctx context.Context, from io.Reader, path string) error {
	program, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer program.Close()
	if _, err := io.Copy(program, patient{ctx, from}); err != nil {
		return err
	}
	return program.Close()
}
