// Command books shows the store of the articles: books, under two indexers. It needs no server, and no Kubernetes: an
// indexer stores any Go value.
//
//	go run ./labs/programs/books
//
// The indexer is client-go's; chapter 05 builds it.
//
// What it leaves out: a lister, which is a few generated lines around an indexer.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/client-go/tools/cache"
)

type book struct {
	id, author string
	topics     []string
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "books:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	// A key function names an object. An index function returns the values under which an index finds it.
	id := func(obj any) (string, error) { return obj.(*book).id, nil }
	books := cache.NewIndexer(id, cache.Indexers{
		"author": func(obj any) ([]string, error) { return []string{obj.(*book).author}, nil },
		"topic":  func(obj any) ([]string, error) { return obj.(*book).topics, nil },
	})
	for _, b := range []*book{
		{"go", "Donovan", []string{"go"}},
		{"concurrency", "Cox-Buday", []string{"go", "concurrency"}},
		{"operators", "Dobies", []string{"kubernetes"}},
		{"programming", "Hausenblas", []string{"kubernetes", "go"}},
	} {
		if err := books.Add(b); err != nil {
			return fmt.Errorf("add %s: %w", b.id, err)
		}
	}
	show := func(index, value string) error {
		found, err := books.IndexKeys(index, value)
		if err == nil {
			fmt.Fprintf(out, "%s %s: %v\n", index, value, found)
		}
		return err
	}
	if err := show("topic", "go"); err != nil {
		return err
	}
	if err := show("author", "Dobies"); err != nil {
		return err
	}

	// An update is a new object. The indexer asks the index functions about the old one, too, so the old one must not
	// have changed.
	if err := books.Update(&book{"go", "Donovan and Kernighan", []string{"go", "programming"}}); err != nil {
		return fmt.Errorf("update go: %w", err)
	}
	authors := books.ListIndexFuncValues("author")
	slices.Sort(authors) // it comes from a map
	fmt.Fprintf(out, "all authors: %q\n", authors)
	if err := show("topic", "programming"); err != nil {
		return err
	}

	if err := books.Delete(&book{id: "concurrency"}); err != nil { // only the key counts
		return fmt.Errorf("delete concurrency: %w", err)
	}
	if err := show("topic", "go"); err != nil {
		return err
	}
	_, err := books.ByIndex("year", "2019")
	fmt.Fprintf(out, "an index that does not exist: %v\n", err)
	return nil
}
