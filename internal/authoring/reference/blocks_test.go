package reference

// Code blocks: Go that has to parse, and quotations that have to be what they quote.

import (
	"fmt"
	"testing"
)

func TestBlocks_that_are_Go_or_say_that_they_are_not_are_silent(t *testing.T) {
	w := newTiny(t)
	w.silent(
		"```go", "package a", "", "import \"fmt\"", "```",
		"```go", "import \"fmt\"", "", "func f() { fmt.Println() } // cache.Gone", "type T int", "```",
		"```go", "for x := range xs {", "\tif x == nil { continue }", "}", "store.Add(x)", "```",
		"```go nocheck", "func f() { … }", "```", "```", "not Go", "```", "```sh", "go test", "```", "```go", "```",
		"- a list", "", "  ```go", "  x := 1", "  ```", "", "> ```go", "> x := 1", "> ```", "",
		"````go", "/*", "```", "*/", "````")
}

func TestBlocks_that_are_not_Go_are_reported(t *testing.T) {
	w := newTiny(t)
	const advice = "; fix it, or write ```go nocheck"
	w.reports([]wrong{
		{"a statement", "text\n```go\nx := 1\ny = = 2\n```\n",
			[]string{"4: this block is not Go: expected operand, found '='" + advice}},
		{"a declaration", "```go\nfunc f() {\n\treturn 1 +\n}\n\nfunc g() {}\n```\n",
			[]string{"4: this block is not Go: expected operand, found '}'" + advice}},
		{"a file", "```go\npackage a\n\nfunc f( {}\n```\n",
			[]string{"4: this block is not Go: expected ')', found '{'" + advice}},
		{"an ellipsis", "```go\nfunc f() {\n\t…\n}\n```\n",
			[]string{"3: this block is not Go: illegal character U+2026 '…'" + advice}},
		{"a brace too few", "```go\nif x {\n```\n", []string{"2: this block is not Go: expected '}', found 'EOF'" + advice}},
		{"no end", "```go\nx := 1\n\nmore text\n", []string{
			"1: this code block is never closed: all that follows is part of it", "4: this block is not Go: expected ';', " +
				"found text" + advice}},
	})
}

func TestQuoted_blocks_that_are_their_source_are_silent(t *testing.T) {
	w := newTiny(t)
	at := w.at("client-go/tools/cache/store.go", "// NewStore returns")
	w.silent(
		fmt.Sprintf("<!-- source: k8s.io/client-go/tools/cache/store.go#L%d-L%d -->", at, at+2),
		"```go", "// NewStore returns", "// an empty Store.  ", "func NewStore(keyFunc KeyFunc) Store {", "```",
		"- <!-- no source -->", "<!-- source: go.mod#L1 -->", "```text", "module client-go-workshop", "```")
}

func TestQuoted_blocks_that_have_drifted_are_reported(t *testing.T) {
	w := newTiny(t)
	at := w.at("client-go/tools/cache/store.go", "func NewStore")
	source := func(lines string) string {
		return "<!-- source: k8s.io/client-go/tools/cache/store.go#" + lines + " -->\n"
	}
	here := source(fmt.Sprintf("L%d-L%d", at, at+2))
	this := fmt.Sprintf("1: this block is not k8s.io/client-go/tools/cache/store.go#L%d-L%d: ", at, at+2)
	const head = "```go\nfunc NewStore(keyFunc KeyFunc) Store {\n"
	w.reports([]wrong{
		{"a line", here + head + "\treturn nil\n}\n```\n", []string{this + "the file has no such lines"}},
		{"a line too few", here + head + "```\n", []string{this + fmt.Sprintf("it stands at #L%d-L%[1]d now", at)}},
		{"moved", source("L1-L3") + head + "\treturn &cache{keyFunc: keyFunc}\n}\n```\n",
			[]string{fmt.Sprintf("1: this block is not k8s.io/client-go/tools/cache/store.go#L1-L3: "+
				"it stands at #L%d-L%d now", at, at+2)}},
		{"lines that are not there", source("L1-L999") + "```go\n```\n",
			[]string{fmt.Sprintf("1: the source k8s.io/client-go/tools/cache/store.go#L1-L999 is not there: the file has %d "+
				"lines", w.lines("client-go/tools/cache/store.go"))}},
		{"a file", "<!-- source: solutions/gone.go#L1 -->\n```go\n```\n",
			[]string{"1: the source solutions/gone.go cannot be read: client-go-workshop has no such file"}},
		{"no part", "<!-- source: go.mod -->\n```go\n```\n",
			[]string{"1: the source \"go.mod\" cannot be understood: write FILE#L10-L20"}},
		{"no block", source("L1") + "text\n\n```go\nx := 1\n```\n",
			[]string{"1: no code block follows <!-- source: k8s.io/client-go/tools/cache/store.go#L1 -->: it has to stand " +
				"right above one"}},
	})
}
