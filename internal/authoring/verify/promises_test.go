package verify

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The comments are written as a Go author writes them, and the rules as a failure says them.
func TestPromises_are_read_as_a_reader_would(t *testing.T) {
	for name, c := range map[string]struct {
		doc     string
		rules   []string
		missing string // the text of the promise that no rule keeps; empty if all are kept
	}{
		"a sentence": {
			doc:   "Add stores obj.",
			rules: []string{"Add stores obj: a cache keeps it."},
		},
		"another sentence": {
			doc: "Add stores obj.", missing: "Add stores obj",
			rules: []string{"Add stores objects.", "Never Add stores obj."},
		},
		"a pronoun for the function": {
			doc:   "Add stores obj. It returns no error.",
			rules: []string{"Add stores obj.", "Add returns no error."},
		},
		"a pronoun for the subject of the sentence before": {
			doc:   "A key without a slash has no namespace. It is a name.",
			rules: []string{"A key without a slash has no namespace.", "A key without a slash is a name."},
		},
		"a condition that two sentences share": {
			doc:   "If a name is taken, Add returns an error. It then adds none of them.",
			rules: []string{"If a name is taken, Add returns an error.", "Add adds none of them if a name is taken."},
		},
		"a condition that the second sentence loses": {
			doc: "If a name is taken, Add returns an error. It then adds none of them.", missing: "It then adds none of them",
			rules: []string{"If a name is taken, Add returns an error."},
		},
		"two statements joined by and": {
			doc:   "If a name is taken, Add returns an error and adds none of them.",
			rules: []string{"If a name is taken, Add returns an error.", "If a name is taken, Add adds none of them."},
		},
		"a condition at the end of two statements": {
			doc:   "Add returns an error and adds none of them if a name is taken.",
			rules: []string{"If a name is taken, Add returns an error.", "If a name is taken, Add adds none of them."},
		},
		"one of two statements": {
			doc:     "If a name is taken, Add returns an error and adds none of them.",
			missing: "If a name is taken, Add returns an error and adds none of them",
			rules:   []string{"If a name is taken, Add returns an error."},
		},
		"and between nouns": {
			doc:   "Add takes the verb and the path and returns an error.",
			rules: []string{"Add takes the verb and the path.", "Add returns an error."},
		},
		"three statements": {
			doc:   "Add sorts the keys, counts them and forgets them.",
			rules: []string{"Add sorts the keys.", "Add counts them.", "Add forgets them."},
		},
		"a list of cases": {
			doc: "Add returns an error if:\n  - a name is taken\n  - the store is full\n",
			rules: []string{"If a name is taken, Add returns an error.",
				"Add returns an error if the store is full."},
		},
		"a list with a common beginning": {
			doc:   "It returns:\n  - the key of obj\n  - an error, if obj has no metadata\n",
			rules: []string{"Add returns the key of obj.", "If obj has no metadata, Add returns an error."},
		},
		"a case that is missing": {
			doc: "Add returns an error if:\n  - a name is taken\n  - the store is full\n", missing: "the store is full",
			rules: []string{"If a name is taken, Add returns an error."},
		},
		"two subjects with one predicate": {
			doc:   "An unknown name is an error, and so is a key without an object.",
			rules: []string{"An unknown name is an error.", "A key without an object is an error."},
		},
		"a claim and what it means": {
			doc:   "Add is one step: if a name is taken, it adds none (see Get).",
			rules: []string{"Add is one step.", "If a name is taken, Add adds none."},
		},
		"code and the symbol of client-go": {
			doc:   "Add stores obj:\n\n\tAdd(obj)\n\nIt mirrors [cache.Store.Add].",
			rules: []string{"Add stores obj: it copies nothing."},
		},
		"a sentence before code": {
			doc: "Add stores obj:\n\n\tAdd(obj)\n", missing: "Add stores obj",
			rules: []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := keeper{rules: c.rules}
			var missing []string
			for _, p := range promisesIn("here", "Add", c.doc) {
				if !k.keeps(p, p.text) {
					missing = append(missing, p.text)
				}
			}
			if c.missing == "" {
				require.Empty(t, missing)
			} else {
				require.Equal(t, []string{c.missing}, missing)
			}
		})
	}
}
