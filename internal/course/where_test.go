package course

// This file draws where each chapter's layer is in the pipeline. The seven pictures are one template with another layer
// lit.

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/pictures/where-NN.svg")

// box is one layer in the picture. Its place is that of its upper left corner.
type box struct {
	Name, Chapter string
	X, Y, Width   int
	Lit           bool
}

func (b box) Middle() int { return b.X + b.Width/2 }
func (b box) NameY() int  { return b.Y + 17 }
func (b box) NoteY() int  { return b.Y + 32 }

func boxes(lit string) []box {
	all := []box{
		{Name: "RESTClient", Chapter: "01", X: 64, Y: 14, Width: 74},
		{Name: "watch", Chapter: "02", X: 150, Y: 14, Width: 54},
		{Name: "Reflector", Chapter: "03", X: 216, Y: 14, Width: 62},
		{Name: "DeltaFIFO", Chapter: "04", X: 290, Y: 14, Width: 66},
		{Name: "Indexer", Chapter: "05", X: 214, Y: 86, Width: 60},
		{Name: "informer", Chapter: "07", X: 290, Y: 86, Width: 66},
		{Name: "workqueue", Chapter: "06", X: 200, Y: 158, Width: 76},
		{Name: "handlers", Chapter: "07", X: 290, Y: 158, Width: 66},
		{Name: "controller", Chapter: "07", X: 64, Y: 158, Width: 122},
	}
	for i := range all {
		all[i].Lit = all[i].Chapter == lit
	}
	return all
}

func TestPictures_of_where_we_are(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	const source = "testdata/where.svg.tmpl"
	picture, err := template.New(filepath.Base(source)).Funcs(template.FuncMap{"boxes": boxes}).ParseFiles(source)
	require.NoError(t, err)
	for _, chapter := range []string{"01", "02", "03", "04", "05", "06", "07"} {
		var want strings.Builder
		require.NoError(t, picture.Execute(&want, chapter))
		path := filepath.Join(root, "docs", "pictures", "where-"+chapter+".svg")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(want.String()), 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want.String(), string(got), "go test ./internal/course -run where_we_are -update writes it again")
	}
}
