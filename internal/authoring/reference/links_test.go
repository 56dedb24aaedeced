package reference

// Links: inside the repository, to issues, to upstream source. Left out: other addresses, which no test checks.

import (
	"fmt"
	"testing"
)

func TestLinks_that_lead_somewhere_are_silent(t *testing.T) {
	w := newTiny(t)
	w.silent("# A title with `code`", "",
		"[chapter](README.md), [task](README.md#task-1-a-map-behind-a-lock-45-min), [folder](../solutions/05-indexer), "+
			"[root](/go.mod),",
		"[here](#a-title-with-code), [the second](README.md#same-1), [top](..), [its "+
			"README](../05-indexer#same),",
		"[line](../go.mod#L3), [lines](../go.mod#L1-L3), [plain](README.md?plain=1#L3), [last](<../docs/no break at the "+
			"end.md#L1>), [blank](../docs/no%20break%20at%20the%20end.md),",
		`![image](README.md "a title"), [wrapped`, "text](README.md), [out](https://example.org/gone), "+
			"[mail](mailto:a@example.org), <https://example.org>.",
		"[by label][one], [Two][], [two], [![nested](README.md)](README.md)", "",
		"[one]: README.md", "[two]: <../go.mod> \"with a title\"", "[unused]: README.md", "",
		"`[code](gone.md)`, ``[more `code`](gone.md)``, \\[no link](gone.md), a[i](no link), [x], [ ] and [^1]", "",
		"```text", "[fenced](gone.md)", "```", "~~~~", "```", "[fenced](gone.md)", "~~~", "~~~~",
		"<!-- [a comment](gone.md) -->", "<!-- and", "[one more](gone.md) -->", "",
		"> ```", "> [quoted](gone.md)", "> ```",
		"- ```", "  [in a list](gone.md)", "  ```",
		"<img src=\"README.md\" alt=\"x\">")
}

func TestLinks_that_lead_nowhere_are_reported(t *testing.T) {
	w := newTiny(t)
	w.reports([]wrong{
		{"a file", "\n[x](gone.md)\n", []string{"2: the link to gone.md leads nowhere: there is no such file"}},
		{"an image", "![x](gone.png)", []string{"1: the link to gone.png leads nowhere: there is no such file"}},
		{"in HTML", "see <a href=\"gone.md\">x</a>", []string{"1: the link to gone.md leads nowhere: there is no such file"}},
		{"by label", "[x][one]\n\n[one]: gone.md\n", []string{
			"1: the link to gone.md leads nowhere: there is no such file",
			"3: the link to gone.md leads nowhere: there is no such file"}},
		{"a label that no link uses", "\n\n[one]: gone.md\n",
			[]string{"3: the link to gone.md leads nowhere: there is no such file"}},
		{"around an image", "[![x](gone.png)](gone.md)", []string{
			"1: the link to gone.md leads nowhere: " +
				"there is no such file", "1: the link to gone.png leads nowhere: there is no such file"}},
		{"in a table", "| a |\n|---|\n| `a\\|b` [x](gone.md) |\n",
			[]string{"3: the link to gone.md leads nowhere: there is no such file"}},
		{"behind a backquote that nothing closes", "- a ` b\n- [x](gone.md) `\n",
			[]string{"2: the link to gone.md leads nowhere: there is no such file"}},
		{"its second line", "[wrapped\ntext](gone.md)",
			[]string{"1: the link to gone.md leads nowhere: there is no such file"}},
		{"outside", "[x](../../go.mod)",
			[]string{"1: the link to ../../go.mod leads nowhere: it is outside of the repository"}},
		{"a heading", "[x](README.md#gone)",
			[]string{"1: the link to README.md#gone leads nowhere: there is no heading with the anchor #gone"}},
		{"a heading of the file itself", "# A\n[x](#gone)",
			[]string{"2: the link to #gone leads nowhere: there is no heading with the anchor #gone"}},
		{"a heading that was reworded", "[x](README.md#task-1-a-map-behind-the-lock-40-min)",
			[]string{"1: the link to README.md#task-1-a-map-behind-the-lock-40-min leads nowhere: " +
				"there is no heading with the anchor #task-1-a-map-behind-the-lock-40-min" +
				"; did you mean #task-1-a-map-behind-a-lock-45-min?"}},
		{"a heading in a code block", "```text\n# a\n```\n[x](#a)",
			[]string{"4: the link to #a leads nowhere: there is no heading with the anchor #a"}},
		{"a line", "[x](../go.mod#L4)",
			[]string{"1: the link to ../go.mod#L4 leads nowhere: the file ends before that line, with line 3"}},
		{"lines the wrong way round", "[x](../go.mod#L3-L1)",
			[]string{"1: the link to ../go.mod#L3-L1 leads nowhere: lines count from 1, the smaller one first"}},
		{"no line", "[x](../go.mod#module)",
			[]string{"1: the link to ../go.mod#module leads nowhere: #module is not a line; write #L10 or #L10-L20"}},
		{"a percent sign", "[x](100%25.md)", []string{"1: the link to 100%25.md leads nowhere: there is no such file"}},
		{"another file than its text says", "[`index.go`](../go.mod)",
			[]string{"1: the link's text is index.go, and it leads to go.mod"}},
		{"our own symbol on another line", "[`index.update`](../solutions/05-indexer/index.go#L1)", []string{fmt.Sprintf(
			"1: `index.update` is declared at solutions/05-indexer/index.go#L%d, not at line 1",
			w.at("workshop/solutions/05-indexer/index.go", "func (x *index) update"))}},
	})
}

func TestIssues_have_the_number_of_their_link(t *testing.T) {
	w := newTiny(t)
	w.silent("[#1](https://github.com/kubernetes/kubernetes/issues/1) "+
		"[#2](https://github.com/kubernetes/kubernetes/pull/2#issuecomment-9)",
		"[the fix](https://github.com/kubernetes/kubernetes/pull/3) [#4 and "+
			"#5](https://github.com/kubernetes/kubernetes/issues/5)")
	w.reports([]wrong{
		{"another", "[#1](https://github.com/kubernetes/kubernetes/pull/12)", []string{"1: the link [#1] leads to #12"}},
		{"among words", "[issue #1](https://github.com/kubernetes/client-go/issues/12)",
			[]string{"1: the link [issue #1] leads to #12"}},
	})
}

func TestUpstream_links_that_are_right_are_silent(t *testing.T) {
	w := newTiny(t)
	store := "https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/store.go"
	line := func(text string) int { return w.at("client-go/tools/cache/store.go", text) }
	w.silent(
		fmt.Sprintf("[`NewStore`](%[1]s#L%[2]d) "+
			"[`cache.NewStore`](%[1]s#L%[2]d-L%[3]d) [`NewStore(keyFunc)`](%[1]s#L%[2]d) [`func NewStore`](%[1]s#L%[4]d)",
			store, line("func NewStore"), line("func NewStore")+2, line("// NewStore returns")),
		fmt.Sprintf("[`store.go:%[2]d`](%[1]s#L%[2]d) "+
			"[`tools/cache/store.go:%[2]d`](%[1]s#L%[2]d) [store.go](%[1]s)", store, line("type Store")),
		fmt.Sprintf("[`Store.Add`](%[1]s#L%[2]d) "+
			"[`cache.Store.Add`](%[1]s#L%[3]d) [`Add`](%[1]s#L%[4]d) [`(*cache).Add`](%[1]s#L%[4]d)",
			store, line("Add(obj any) error"), line("// Add stores"), line("func (c *cache) Add")),
		fmt.Sprintf("[`keyFunc`](%[1]s#L%[2]d) "+
			"[`First`](%[1]s#L%[3]d) [`ErrClosed`](%[1]s#L%[4]d) [`KeyFunc`](%[1]s#L%[5]d) "+
			"[`KeyError.Obj`](%[1]s#L%[6]d)", store,
			line("keyFunc KeyFunc"), line("First = iota"), line("var ErrClosed"), line("// KeyFunc makes"), line("Obj any")),
		fmt.Sprintf("[the panic in `NewStore`](%s#L1) [queue](%[1]s#L1) [`if len(x) == 0 {`](%[1]s#L1) [`delete(x, "+
			"y)`](%[1]s#L1) [`select`](%[1]s#L1) [`Store`](%[1]s) [%[1]s#L2](%[1]s#L2)", store),
		fmt.Sprintf("[`Typed[T].Pop`](https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/index.go#L%d)",
			w.at("client-go/tools/cache/index.go", "Pop()")),
		fmt.Sprintf("[`TestStore`](https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/store_test.go#L%d)",
			w.at("client-go/tools/cache/store_test.go", "func TestStore")),
		"[`tools/cache`](https://github.com/kubernetes/client-go/tree/v0.37.2/tools/cache) "+
			"[all](https://github.com/kubernetes/client-go/tree/v0.37.2)",
		"[`ptr.To`](https://github.com/kubernetes/utils/blob/cf1189d6abe3a0cbb3be6ee0e5a43cd1e2e6b1c7/ptr/ptr.go#L3)",
		"[readme](https://github.com/kubernetes/client-go/blob/v0.37.2/README.md#client-go) "+
			"<https://github.com/kubernetes/api/blob/v0.37.2/apps/v1/types.go>",
		"[repository](https://github.com/kubernetes/client-go) [commit](https://github.com/kubernetes/client-go/commit/abc)")
}

func TestUpstream_links_that_have_gone_stale_are_reported(t *testing.T) {
	w := newTiny(t)
	store := "https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/store.go"
	old := "https://github.com/kubernetes/client-go/blob/v0.30.0/tools/cache/"
	newStore := w.at("client-go/tools/cache/store.go", "func NewStore")
	w.reports([]wrong{
		{"another version", "[here](" + old + "store.go#L1)",
			[]string{"1: the link to tools/cache/store.go names v0.30.0, and go.mod pins v0.37.2"}},
		{"another version of a symbol", "[`NewStore`](" + old + "fifo.go#L1)",
			[]string{fmt.Sprintf("1: the link to tools/cache/fifo.go names v0.30.0, and go.mod pins v0.37.2, "+
				"where `NewStore` is declared at tools/cache/store.go#L%d", newStore)}},
		{"a branch", "[here](https://github.com/kubernetes/utils/blob/master/ptr/ptr.go)",
			[]string{"1: the link to ptr/ptr.go names master, and go.mod pins v0.0.0-20260707023825-cf1189d6abe3"}},
		{"another commit", "[here](https://github.com/kubernetes/utils/blob/af1189d6abe3/ptr/ptr.go)",
			[]string{"1: the link to ptr/ptr.go names af1189d6abe3, and go.mod pins v0.0.0-20260707023825-cf1189d6abe3"}},
		{"a bare address", "https://github.com/kubernetes/client-go/blob/master/README.md.",
			[]string{"1: the link to README.md names master, and go.mod pins v0.37.2"}},
		{"a file", "[x](" + "https://github.com/kubernetes/client-go/blob/v0.37.2/cache/store.go)",
			[]string{"1: the link to cache/store.go leads nowhere: " +
				"k8s.io/client-go v0.37.2 has no such file; there is tools/cache/store.go"}},
		{"a line", "[x](" + store + "#L999)",
			[]string{fmt.Sprintf("1: the link to tools/cache/store.go#L999 leads nowhere: "+
				"the file ends before that line, with line %d", w.lines("client-go/tools/cache/store.go"))}},
		{"a last line", "[x](" + store + "#L1-L999)",
			[]string{fmt.Sprintf("1: the link to tools/cache/store.go#L1-L999 leads nowhere: "+
				"the file ends before that line, with line %d", w.lines("client-go/tools/cache/store.go"))}},
		{"lines the wrong way round", "[x](" + store + "#L3-L2)",
			[]string{"1: the link to tools/cache/store.go#L3-L2 leads nowhere: lines count from 1, the smaller one first"}},
		{"no line", "[x](" + store + "#NewStore)",
			[]string{"1: the link to tools/cache/store.go#NewStore leads nowhere: " +
				"#NewStore is not a line; write #L10 or #L10-L20"}},
		{"a symbol that has moved", "[`NewStore`](" + store + "#L2)",
			[]string{fmt.Sprintf("1: `NewStore` is declared at tools/cache/store.go#L%d, not at line 2", newStore)}},
		{"inside of its comment is not its start", fmt.Sprintf("[`NewStore`](%s#L%d)", store, newStore-1),
			[]string{fmt.Sprintf("1: `NewStore` is declared at tools/cache/store.go#L%d, not at line "+
				"%d", newStore, newStore-1)}},
		{"a qualified one, without backquotes", "[cache.NewStore](" + store + "#L2)",
			[]string{fmt.Sprintf("1: `cache.NewStore` is declared at tools/cache/store.go#L%d, not at line 2", newStore)}},
		{"a method that others have too", "[`Add`](" + store + "#L2)",
			[]string{fmt.Sprintf("1: `Add` is declared at tools/cache/store.go#L%d or tools/cache/store.go#L%d, not at line 2",
				w.at("client-go/tools/cache/store.go", "Add(obj any) error"),
				w.at("client-go/tools/cache/store.go", "func (c *cache) Add"))}},
		{"the method of the wrong type", fmt.Sprintf("[`Store.Add`](%s#L%d)", store,
			w.at("client-go/tools/cache/store.go", "func (c *cache) Add")),
			[]string{fmt.Sprintf("1: `Store.Add` is declared at tools/cache/store.go#L%d, not at line %d",
				w.at("client-go/tools/cache/store.go", "Add(obj any) error"),
				w.at("client-go/tools/cache/store.go", "func (c *cache) Add"))}},
		{"another file", "[`Indexer`](" + store + "#L2)",
			[]string{fmt.Sprintf("1: `Indexer` is not declared in tools/cache/store.go but at tools/cache/index.go#L%d",
				w.at("client-go/tools/cache/index.go", "type Indexer"))}},
		{"another file, no line", "[`Indexer`](" + store + ")",
			[]string{fmt.Sprintf("1: `Indexer` is not declared in tools/cache/store.go but at tools/cache/index.go#L%d",
				w.at("client-go/tools/cache/index.go", "type Indexer"))}},
		{"another package", "[`workqueue.Typed`](" + store + "#L2)",
			[]string{fmt.Sprintf("1: `workqueue.Typed` is not declared in tools/cache/store.go but at "+
				"util/workqueue/queue.go#L%d", w.at("client-go/util/workqueue/queue.go", "type Typed"))}},
		{"no package at all", "[`updateIndices`](" + store + "#L2)",
			[]string{"1: `updateIndices` is not declared in tools/cache/store.go, nor beside it in k8s.io/client-go v0.37.2"}},
		{"another line than the text says", "[`store.go:3`](" + store + "#L2)",
			[]string{"1: the link's text is store.go:3, and it leads to tools/cache/store.go#L2"}},
		{"another file than the text says", "[`index.go`](" + store + "#L2)",
			[]string{"1: the link's text is index.go, and it leads to tools/cache/store.go"}},
		{"a heading", "[x](https://github.com/kubernetes/client-go/blob/v0.37.2/README.md#gone)", []string{
			"1: the link to README.md#gone leads nowhere: there is no heading with the anchor #gone"}},
		{"an unknown module", "[x](https://github.com/kubernetes/kubectl/blob/v1/a.go)",
			[]string{"1: the link to kubectl/a.go cannot be checked: go.mod does not require k8s.io/kubectl"}},
	})
}
