package controllerruntime

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var upstream = regexp.MustCompile("\\[`([^`]+)`\\]\\(https://github\\.com/kubernetes-sigs/controller-runtime/blob/" +
	"([^/]+)/([^#)]+)#L(\\d+)\\)")

// The workshop's own check of links does not know controller-runtime.
func TestPage_links_the_lines_that_it_names(t *testing.T) {
	page, err := os.ReadFile("../../docs/learn/controller-runtime.md")
	require.NoError(t, err)
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "sigs.k8s.io/controller-runtime").Output()
	require.NoError(t, err)
	version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	require.Contains(t, string(page), "controller-runtime), "+version+"\n")
	links := upstream.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(links), 15)
	for _, link := range links {
		name, file := link[1][strings.LastIndex(link[1], ".")+1:], link[3]
		require.Equal(t, version, link[2], "the version in the link to %s", link[1])
		source, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		require.NoError(t, err)
		number, _ := strconv.Atoi(link[4])
		lines := strings.Split(string(source), "\n")
		require.LessOrEqual(t, number, len(lines), file)
		require.Regexp(t, `^(func|type|const) .*\b`+name+`\b`, lines[number-1], "%s, line %d", file, number)
	}
}
