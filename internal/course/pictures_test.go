package course

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A picture has to be readable on light and dark pages, at any width, and by those who cannot see it.
func TestPictures_are_for_everybody_and_used(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	pictures, err := filepath.Glob(filepath.Join(root, "docs", "pictures", "*.svg"))
	require.NoError(t, err)
	require.NotEmpty(t, pictures)
	var texts strings.Builder
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md", "0*/README.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts.Write(text)
		}
	}
	for _, path := range pictures {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		elements := map[string]bool{}
		decoder := xml.NewDecoder(strings.NewReader(string(content)))
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err, "%s is no XML", path)
			if start, ok := token.(xml.StartElement); ok {
				elements[start.Name.Local] = true
				for _, a := range start.Attr {
					if start.Name.Local == "svg" {
						require.NotEqual(t, "width", a.Name.Local, "%s: a fixed width does not fit a phone", path)
						elements["svg "+a.Name.Local] = true
					}
				}
			}
		}
		for _, needed := range []string{"title", "desc", "svg viewBox"} {
			require.True(t, elements[needed], "%s has no %s", path, needed)
		}
		require.Contains(t, string(content), "prefers-color-scheme: dark", "%s on a dark page", path)
		if strings.Contains(string(content), "animation") {
			require.Contains(t, string(content), "prefers-reduced-motion: no-preference", "%s moves for everybody", path)
		}
		require.Contains(t, texts.String(), filepath.Base(path), "a picture that no text shows")
	}
}
