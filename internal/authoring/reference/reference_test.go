package reference

// These tests look into the very client-go that the workshop's go.mod pins. They know names in it that have been there
// for years and no line numbers, so a new version does not break them.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newRoot makes a folder with the workshop's go.mod and one text.
func newRoot(t *testing.T, name, text string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, mod := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", mod))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, mod), content, 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	return root
}

func pinned(t *testing.T) *source {
	t.Helper()
	s, err := load(context.Background(), filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	return s
}

func TestCheck_looks_into_the_pinned_client_go(t *testing.T) {
	s := pinned(t)
	mod, ok := s.repository("client-go")
	require.True(t, ok, "client-go is among the pinned modules")
	line := s.load("k8s.io/client-go/tools/cache").decls["NewIndexer"][0].line
	link := "https://github.com/kubernetes/client-go/blob/" + mod.version + "/tools/cache/store.go"
	problems, err := Check(context.Background(), newRoot(t, "a.md", fmt.Sprintf(`# Title

[%[1]sNewIndexer%[1]s](%[2]s#L%[3]d), and [%[1]sNewIndexer%[1]s](%[2]s#L%[4]d)

%[1]scache.Indexer.AddIndexers%[1]s, %[1]scache.Indexer.Replace%[1]s,
%[1]sappsv1.Deployment.Namespace%[1]s, %[1]srest.Config.QPS%[1]s,
%[1]slisters.NewDeploymentLister(indexer)%[1]s, %[1]sworkqueue.TypedRateLimitingInterface[string].AddAfter%[1]s,
%[1]sinformers.SharedInformerFactory.InformerFor%[1]s, %[1]scorev1.Pod.Marshal%[1]s,
%[1]sruntime.Gosched%[1]s, %[1]sruntime.ReallyCrash%[1]s

%[1]scache.Indexer.AddIndexer%[1]s
`, "`", link, line, line+1)), []string{"a.md"})
	require.NoError(t, err)
	require.Equal(t, []Problem{
		{"a.md", 3, fmt.Sprintf("`NewIndexer` is declared at tools/cache/store.go#L%d, not at line %d", line, line+1)},
		{"a.md", 11, "there is no cache.Indexer.AddIndexer in k8s.io/client-go/tools/cache " + mod.version + "" +
			"; did you mean cache.Indexer.AddIndexers?"},
	}, problems)
}

func TestAliases_stand_for_packages_that_exist(t *testing.T) {
	s := pinned(t)
	for alias, paths := range aliases {
		require.Equal(t, strings.ToLower(alias), alias, "a package name is in lower case")
		for _, importPath := range paths {
			require.NotNil(t, s.load(importPath), "%s stands for %s", alias, importPath)
		}
	}
	for _, alias := range everyday {
		require.Contains(t, aliases, alias, "only aliases can be everyday words")
	}
}

func TestProblems_are_sorted_and_told_once(t *testing.T) {
	w := newTiny(t)
	w.write("workshop/b.md", "\n[x](gone.md) [y](gone.md)\n[x](away.md)\n")
	w.write("workshop/a.md", "`cache.Gone`")
	problems, err := w.source().check(context.Background(), []string{"b.md", "a.md"})
	require.NoError(t, err)
	var told []string
	for _, p := range problems {
		told = append(told, fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text))
	}
	require.Equal(t, []string{
		"a.md:1: there is no cache.Gone in k8s.io/client-go/tools/cache v0.37.2",
		"b.md:2: the link to gone.md leads nowhere: there is no such file",
		"b.md:3: the link to away.md leads nowhere: there is no such file",
	}, told)
}

func TestCheck_says_why_it_cannot_look(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := newTiny(t)
	_, err := w.source().check(ctx, []string{"gone.md"})
	require.ErrorContains(t, err, "check the references: open "+filepath.Join(w.dir, "workshop", "gone.md"))
	_, err = w.source().check(ctx, []string{"go.mod"})
	require.ErrorContains(t, err, "go.mod: only Markdown (.md) and Go (.go) can be read")

	root := newRoot(t, "a.md", "")
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module x\n\ngo 1.26\n"), 0o644))
	_, err = Check(ctx, root, []string{"a.md"})
	require.ErrorContains(t, err, "find the pinned client-go for "+root)
	require.ErrorContains(t, err, "k8s.io/client-go")

	cancel()
	_, err = w.source().check(ctx, []string{"05-indexer/README.md"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = Check(ctx, root, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestMarkdown_of_any_kind_is_read_to_its_end(t *testing.T) {
	// Cut at every byte, it is a text with everything left open somewhere.
	text := "# A `b`\n\n- [x](<a b> \"t\") ![y](c(d)e 'f') [z][l] [w][] <a href=\"g\"> ``h ` i`` \\[ <!-- j -->\n" +
		"<!-- source: k -->\n\n~~~go x\n~~~\n> ```\n> (*cache.A[B]).C…\n> ```\n[l]: <m> (n)\nhttps://o.example/p). " +
		"`k8s.io/client-go/tools/cache.Q[`\n<!-- gone: r -->"
	w := newTiny(t)
	for end := range len(text) + 1 {
		w.check("a.md", text[:end])
		w.check("a.md", text[end:])
	}
}
