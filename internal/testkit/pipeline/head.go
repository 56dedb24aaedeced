package pipeline

// This file finds the first objects in the order of their names.

import (
	"iter"
	"maps"
	"slices"
)

// head is the first names of a map in order, or nil if they have to be found again. So a View of many objects does not
// look at each of them.
type head []string

func (h *head) put(objects map[string]Object, name string, obj Object) {
	if _, known := objects[name]; !known {
		h.changed(name)
	}
	objects[name] = obj
}

func (h *head) remove(objects map[string]Object, name string) {
	h.changed(name)
	delete(objects, name)
}

// changed forgets the names if one of them comes or goes.
func (h *head) changed(name string) {
	if known := *h; len(known) < names || name <= known[names-1] {
		*h = nil
	}
}

func (h *head) of(objects map[string]Object) []string {
	if *h == nil {
		*h = smallest(maps.Keys(objects), names)
	}
	return *h
}

// rows returns the first objects in the order of their names.
func (h *head) rows(all map[string]Object) Rows[Object] {
	list := Rows[Object]{Rows: []Object{}, Total: len(all)}
	for _, name := range h.of(all)[:min(rows, len(all))] {
		list.Rows = append(list.Rows, all[name])
	}
	return list
}

// smallest returns the first names in order, at most so many.
func smallest(all iter.Seq[string], most int) (first []string) {
	for name := range all {
		if len(first) == most && name >= first[most-1] {
			continue
		}
		at, _ := slices.BinarySearch(first, name)
		first = slices.Insert(first, at, name)
		first = first[:min(most, len(first))]
	}
	return first
}
