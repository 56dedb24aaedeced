package course

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withLabs is a workshop with one chapter, and labs of these names, which the page links.
func withLabs(t *testing.T, page string, names ...string) string {
	t.Helper()
	readmes := map[string]string{"05-indexer": readme, "labs": page}
	for _, name := range names {
		readmes["labs/"+name] = strings.ReplaceAll(readme, "05-indexer", "labs/"+name)
	}
	return workshop(t, readmes)
}

func TestLabs_come_after_the_chapters_in_the_order_of_their_page(t *testing.T) {
	root := withLabs(t, "# Labs\n\n| [watch](../05-indexer/README.md) |\n|---|\n"+
		"| [todays-informer](todays-informer/README.md) |\n| [rewriting-proxy](./rewriting-proxy/) |\n\n"+
		"Begin with [the first](todays-informer/README.md).\n", "rewriting-proxy", "todays-informer")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "labs", "scratch"), 0o755))
	all, err := All(root)
	require.NoError(t, err)
	var dirs []string
	for _, c := range all {
		dirs = append(dirs, c.Dir)
	}
	require.Equal(t, []string{"05-indexer", "labs/todays-informer", "labs/rewriting-proxy"}, dirs)

	lab := all[2]
	require.True(t, lab.Lab())
	require.False(t, all[0].Lab())
	require.Equal(t, []string{"rewriting-proxy", "05"}, []string{lab.Name(), all[0].Name()})
	require.Equal(t, "rewritingproxy", lab.Package())
	require.Equal(t, "rewriting-proxy/one-index", lab.Tasks[1].ID)
	require.Equal(t, filepath.Join("labs", "solutions", "rewriting-proxy"), lab.Solution())
	require.Equal(t, filepath.Join("internal", "testkit", "oracle", "labs", "rewriting-proxy"), lab.Oracle())
}

func TestLabs_and_their_page_must_agree(t *testing.T) {
	for name, c := range map[string]struct {
		page, problem string
		labs          []string
	}{
		"a lab without a link": {"# Labs\n", "labs/README.md does not link the lab labs/proxy", []string{"proxy"}},
		"a link without a lab": {"# Labs\n\n[a](proxy/README.md)\n",
			"labs/README.md:3 links the lab proxy, and there is no labs/proxy/README.md", nil},
		"labs without a page":   {"", "find the order of the labs", []string{"proxy"}},
		"the name of a chapter": {"[a](indexer/README.md)\n", "05-indexer and labs/indexer have the same name", []string{"indexer"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := All(withLabs(t, c.page, c.labs...))
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestFind_takes_a_lab_by_its_folder_its_name_and_a_word_of_it(t *testing.T) {
	root := withLabs(t, "[a](rewriting-proxy/README.md) [b](todays-proxy/README.md)", "rewriting-proxy", "todays-proxy")
	for _, name := range []string{"rewriting-proxy", "labs/rewriting-proxy", "./labs/rewriting-proxy/", "rewriting"} {
		c, err := Find(root, name)
		require.NoError(t, err, name)
		require.Equal(t, "labs/rewriting-proxy", c.Dir, name)
	}
	for name, problem := range map[string]string{
		"proxy": `"proxy" is in the names of two labs: labs/rewriting-proxy and labs/todays-proxy`,
		"rew": `there is no chapter "rew"; the chapters are 05-indexer; the labs are labs/rewriting-proxy, ` +
			`labs/todays-proxy`,
		"labs/5": `there is no chapter "labs/5"`,
		"0":      `there is no chapter "0"`,
	} {
		_, err := Find(root, name)
		require.ErrorContains(t, err, problem, name)
	}
}

func TestFindTask_takes_the_tasks_of_a_lab(t *testing.T) {
	root := withLabs(t, "[a](rewriting-proxy/README.md)", "rewriting-proxy")
	for name, number := range map[string]int{"proxy/1": 1, "labs/rewriting-proxy/2": 2, "./labs/rewriting-proxy/task2": 2,
		"rewriting-proxy/one-index": 2, "labs/rewriting-proxy": 0, "./labs/rewriting-proxy/": 0, "labs/proxy/one-index": 2} {
		c, task, err := FindTask(root, name)
		require.NoError(t, err, name)
		require.Equal(t, "labs/rewriting-proxy", c.Dir, name)
		require.Equal(t, number, task.Number, name)
	}
	_, _, err := FindTask(root, "labs/rewriting-proxy/9")
	require.EqualError(t, err, `chapter labs/rewriting-proxy has no task "9"; its tasks are 1, 2`)
}

func TestLayers_are_those_that_a_test_imports(t *testing.T) {
	root := workshop(t, map[string]string{"05-indexer": readme, "06-other": strings.ReplaceAll(readme, "05-indexer", "06-other")})
	test := "package x\n\nimport _ \"client-go-workshop/internal/testkit/layers\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "06-other", "harness_test.go"), []byte(test), 0o644))
	all, err := All(root)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, []bool{all[0].Layers, all[1].Layers})
}
