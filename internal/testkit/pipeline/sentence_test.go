package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each sentence is complete, for steps with all fields and with none.
func TestSentence(t *testing.T) {
	full := Step{Kind: "Deployment", Key: "default/web", Version: "7", By: "worker 2", Text: "update", Error: "it broke.",
		Wait: time.Second, Count: 2, Bytes: 3, Frames: 1, Code: 5, List: []Ref{{"Added", "default/web", "7"}}}
	for seam, verbs := range sentences {
		for verb := range verbs {
			for _, step := range []Step{full, {}} {
				step.Seam, step.Verb = seam, strings.TrimRight(verb, "!+0-<")
				require.Regexp(t, `^[^${}]*\.$`, step.Sentence(), "%s %s", seam, verb)
				require.NotContains(t, step.Sentence(), "..", "%s %s", seam, verb)
			}
		}
	}
	for _, test := range []struct {
		step     Step
		sentence string
	}{
		{Step{Seam: Event, Verb: "ADDED", Kind: "Pod", Key: "default/web", Version: "7"},
			"The watch of Pods brings ADDED default/web@7."},
		{Step{Seam: Event, Verb: "BOOKMARK", Kind: "Pod", Version: "7"}, "The watch of Pods brings BOOKMARK @7."},
		{Step{Seam: Reflector, Verb: Listed, Kind: "Pod", Error: "no."}, "The list of Pods fails: no."},
		{Step{Seam: Reflector, Verb: Listed, Kind: "Pod", Count: 1, Version: "7"},
			"The list of Pods has 1 object at version 7."},
		{Step{Seam: Store, Verb: Delete, Key: "default/web"}, "The Indexer deletes default/web."},
		{Step{Seam: Store, Verb: Delete, Key: "default/web", Version: "7", Count: 1},
			"After Delete the Indexer still has default/web@7."},
		{Step{Seam: Store, Verb: Update, Key: "default/web"},
			"After Update the Indexer does not have default/web."},
		{Step{Seam: Queue, Verb: Get, Key: "default/web"}, "A worker takes default/web."},
		{Step{Seam: Handler, Verb: OnAdd, Kind: "Pod", By: "handler 1", Key: "default/web", Version: "7"},
			"Handler 1 of Pods: OnAdd for default/web@7."},
		{Step{Seam: Queue, Verb: AddRateLimited, Key: "default/web", Wait: 1500 * time.Millisecond},
			"default/web failed, and waits for 1.5s."},
		{Step{Seam: Stream, Verb: Read, Kind: "Pod", Bytes: 3, Code: 3},
			"3 bytes of the watch of Pods arrive: 0 frames, and 3 bytes of the next one."},
		{Step{Seam: Server, Verb: Wrote, Kind: "Pod", Key: "default/web", Version: "7", Text: "replicas 2"},
			"The API server stores Pod default/web@7: replicas 2."},
		{Step{Seam: Delta, Verb: Pop, Key: "default/web", List: []Ref{{"Added", "default/web", "7"}}},
			"Pop hands out default/web: Added@7."},
	} {
		require.Equal(t, test.sentence, test.step.Sentence())
	}
}
