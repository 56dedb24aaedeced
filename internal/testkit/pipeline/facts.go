package pipeline

// This file says how far the layers are behind the API server, and what is known about client-go's own informer, whose
// layers cannot be seen.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// caughtUp notes that the Indexer has a version of an object, or no longer has the object.
func (i *Informer) caughtUp(key, version string, gone bool) {
	changes := i.Behind[key]
	for at, c := range slices.Backward(changes) {
		if gone && c.Type == Removed || !gone && !newer(c.Version, version) {
			changes = changes[at+1:]
			break
		}
	}
	if i.Behind[key] = changes; len(changes) == 0 {
		delete(i.Behind, key)
	}
}

// behind returns how many versions of its objects the Reflector and the Indexer have not had.
func (i *Informer) behind() (reflector, store int) {
	for _, changes := range i.Behind {
		store += len(changes)
		for _, c := range changes {
			if newer(c.Version, i.Reflector.Version) {
				reflector++
			}
		}
	}
	return reflector, store
}

// Took is how long calls took.
type Took struct {
	Calls        int
	Sum, Longest time.Duration
}

func (t *Took) add(d time.Duration) {
	t.Calls, t.Sum, t.Longest = t.Calls+1, t.Sum+d, max(t.Longest, d)
}

// String returns the mean and the longest time, or "" if there was no call.
func (t Took) String() string {
	if t.Calls == 0 {
		return ""
	}
	return fmt.Sprintf("%s on average, %s at most", brief(t.Sum/time.Duration(t.Calls)), brief(t.Longest))
}

// facts says what is known about an informer whose layers cannot be seen.
func (s *State) facts(i *Informer) map[Seam][]string {
	ago := func(at time.Duration) string { return (s.At - at).Truncate(time.Second).String() + " ago" }
	facts, r := map[Seam][]string{}, &i.Reflector
	if r.Lists > 0 {
		facts[Reflector] = []string{"It has asked for all objects " + count(r.Lists, "time") + "."}
	}
	if r.Lists > 1 {
		facts[Reflector] = append(facts[Reflector], fmt.Sprintf("The last time was %s: %s.", ago(r.Relist),
			strings.TrimSuffix(r.Why, ".")))
	}
	if r.Heard > 0 {
		facts[Store] = []string{fmt.Sprintf("The objects are as of %s, when the last list, event or bookmark came.",
			ago(r.Heard))}
	}
	facts[Delta] = []string{"Its depth is " + count(int(i.FIFO.Depth), "delta") + "."}
	if took := i.FIFO.Took.String(); took != "" {
		facts[Delta] = append(facts[Delta], "To process one takes "+took+".")
	}
	for _, name := range slices.Sorted(maps.Keys(i.Handlers)) {
		if took := i.Handlers[name].Took.String(); took != "" {
			facts[Handler] = append(facts[Handler], "A call of "+name+" takes "+took+".")
		}
	}
	return facts
}
