// How much there is to do: a weight for each package, from the size of its
// source. A count of packages would not do: k8s.io/api/core/v1 takes as long to
// compile as a hundred of median size.

package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// work maps each package that the go command will compile to its weight.
type work map[string]int64

// The unit is a byte of source: on the machine that they were measured on, 2.3
// seconds of a processor for each million.
const (
	startWeight = 27_000    // of each package: the start of the compiler, its imports, the cache
	linkWeight  = 2_000_000 // of a program
)

// readWork reads the output of go list -deps -json. It leaves out the packages
// that are in the go command's cache.
func readWork(list []byte) (work, error) {
	w := work{}
	for decoder := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			Stale           bool
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return w, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what there is to build: %w", err)
		}
		if !p.Stale {
			continue
		}
		w[p.ImportPath] = startWeight
		for _, name := range p.GoFiles {
			if info, err := os.Stat(filepath.Join(p.Dir, name)); err == nil {
				w[p.ImportPath] += info.Size()
			}
		}
		if program := filepath.Base(p.ImportPath); strings.HasSuffix(p.ImportPath, "cluster/cmd/"+program) {
			w[p.ImportPath] += linkWeight
		}
	}
}

// all returns the weight of all packages, at least 1.
func (w work) all() int64 {
	sum := int64(1)
	for _, weight := range w {
		sum += weight
	}
	return sum
}
