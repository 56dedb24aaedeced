package recorder_test

import (
	"maps"
	"slices"

	"client-go-workshop/internal/testkit/pipeline"
)

// shownTable returns an index as the page shows it: the sorted keys of each value.
func shownTable(i *pipeline.Informer, index string) map[string][]string {
	table := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(i.Store.Entries)) {
		for _, entry := range i.Store.Entries[key] {
			if entry.Type == index {
				table[entry.Version] = append(table[entry.Version], key)
			}
		}
	}
	return table
}
