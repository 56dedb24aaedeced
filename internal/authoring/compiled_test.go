package authoring_test

// This file checks what the chapters and their solutions compile, which a newcomer waits for: that the chapters leave
// out large packages that they do not need, and that the solutions compile each package once.

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// heavy are packages that take seconds to compile and to link, and why no chapter before 07 needs them.
var heavy = map[string]string{
	"k8s.io/apimachinery/pkg/util/strategicpatch": "it needs OpenAPI and all of protobuf; tests of what patches objects " +
		"import internal/testkit/fakeapi/strategic",
	"k8s.io/client-go/kubernetes/scheme": "it needs every API group; take the scheme of the groups that you use",
	"k8s.io/client-go/informers":         "it needs every API group, with its client and its informers",
	"go/types":                           "source text can be read with go/parser alone",
}

func TestChapters_leave_out_heavy_packages(t *testing.T) {
	compiled := dependencies(t, "./01-restclient", "./02-watch-stream", "./03-reflector", "./04-deltafifo",
		"./05-indexer", "./06-workqueue")
	require.Contains(t, compiled, "k8s.io/client-go/rest")
	for name, why := range heavy {
		require.NotContains(t, compiled, name, why)
	}
	later := dependencies(t, "./07-controller/...", "./cmd/author")
	for name := range heavy {
		require.Contains(t, later, name, "no package has this name any more")
	}
}

// light are packages that bring many others, and that a learner's command line once compiled for a few lines' worth.
var light = []string{"crypto/sha256", "crypto/rand", "go/build", "go/types", "golang.org/x/mod/modfile",
	"golang.org/x/perf/benchmath", "gotest.tools/gotestsum/testjson", "net/http"}

func TestWorkshop_leaves_out_what_only_authors_need(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/workshop")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		require.NotContains(t, light, path)
		require.NotContains(t, path, "internal/authoring")
	}
}

// TestSolutions starts a go command for each chapter. What its own test binary imports is compiled by then.
func TestSolutions_compile_each_package_once(t *testing.T) {
	before := dependencies(t, "./solutions")
	cmd := exec.Command("go", "list", "./01-restclient", "./02-watch-stream", "./03-reflector", "./04-deltafifo",
		"./05-indexer", "./06-workqueue", "./07-controller")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	missing := slices.DeleteFunc(dependencies(t, strings.Fields(string(out))...), func(path string) bool {
		ofChapter := strings.HasPrefix(short(path), "0") || strings.HasPrefix(short(path), "labs/")
		return ofChapter || slices.Contains(before, path)
	})
	require.Empty(t, missing, "TestSolutions compiles these packages while another go command does: import them in "+
		"solutions/compiled_test.go, or what imports them")
}

// dependencies lists what the tests of packages compile, without their variants for a test.
func dependencies(t *testing.T, packages ...string) []string {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test"}, packages...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(line string) bool {
		return strings.Contains(line, " ") || strings.HasSuffix(line, ".test")
	})
}
