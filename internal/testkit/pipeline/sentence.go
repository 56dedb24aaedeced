package pipeline

// This file says a step in one sentence, in the words of the chapters. The page shows it, and a screen reader reads it.

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// sentences has the sentence of each seam and verb. A verb with ! is for a step with an error, one with + for bytes of
// a frame that has not ended or for a code, one with 0 for no count, one with - for no key, and one with < for a wait
// that is not known. The empty verb is for all others.
var sentences = map[Seam]map[string]string{
	Server: {
		Wrote:     "The API server stores ${kind} ${object}${: text}.",
		Removed:   "The API server deletes ${kind} ${key}.",
		Did:       "A change of ${key} on the API server: ${text}.",
		Did + "-": "You change the API server: ${text}.",
	},
	Request: {
		Sent:           "The client sends ${text}.",
		Answered:       "The API server answers ${code} after ${wait}.",
		Answered + "!": "The request fails after ${wait}: ${error}.",
	},
	Stream: {
		Read:        "${bytes} of the watch of ${kind}s arrive: ${frames}.",
		Read + "+":  "${bytes} of the watch of ${kind}s arrive: ${frames}, and ${partial} of the next one.",
		Ended:       "The bytes of the watch of ${kind}s end: ${ended}.",
		Ended + "+": "The watch of ${kind}s breaks in the middle of a frame, after ${partial} of it: ${error}.",
	},
	Event: {
		"ERROR": "The watch of ${kind}s brings an ERROR: ${error}.",
		"":      "The watch of ${kind}s brings ${verb}${ object}.",
	},
	Reflector: {
		Run:            "The Reflector of ${kind}s begins.",
		List:           "The Reflector of ${kind}s lists at version ${quoted}.",
		Listed:         "The list of ${kind}s has ${# object} at version ${version}.",
		Listed + "+":   "The list of ${kind}s has come.",
		Listed + "!":   "The list of ${kind}s fails: ${error}.",
		Watch:          "The Reflector of ${kind}s watches from version ${quoted}${, text}.",
		Watching:       "The watch of ${kind}s is open.",
		Watching + "!": "The watch of ${kind}s does not start: ${error}.",
		Unwatch:        "The watch of ${kind}s has ended.",
		"":             "The Reflector of ${kind}s waits before it starts again${: error}.",
	},
	Delta: {
		Replace:         "The queue of ${kind}s receives a list: Replace with ${listed}.",
		Resync:          "The queue of ${kind}s is asked for a Resync.",
		Pop:             "Pop hands out ${key}: ${deltas}.",
		Processed:       "The deltas of ${key} are processed${: error}.",
		Processed + "-": "The informer of ${kind}s has processed a delta in ${wait}.",
		Failed:          "The queue does not take ${key}: ${error}.",
		Entered:         "The call that waited for the queue's lock returns: ${key}.",
		Looked:          "Pop of ${kind}s waits, and ${# key} never came out.",
		Depth:           "The queue of ${kind}s has ${# delta}.",
		"Close":         "The queue of ${kind}s is closed.",
		"":              "The delta ${verb} of ${object} goes into the queue.",
	},
	Store: {
		Looked:       "The Indexer of ${kind}s: ${# object}.",
		Looked + "!": "The Indexer of ${kind}s: ${error}.",
		Closed:       "The queue and the Indexer of ${kind}s cannot be seen.",
		AddIndexers:  "The Indexer of ${kind}s has another index: ${text}.",
		Delete:       "After Delete the Indexer still has ${object}.",
		Delete + "0": "The Indexer deletes ${key}.",
		Add + "0":    "After Add the Indexer does not have ${key}.",
		Update + "0": "After Update the Indexer does not have ${key}.",
		"":           "The Indexer has ${object}.",
	},
	Handler: {
		Joined:   "${By} of ${kind}s joins.",
		Left:     "${By} of ${kind}s leaves.",
		Returned: "${By} of ${kind}s returns.",
		Looked:   "${By} of ${kind}s was not called: ${calls}.",
		"":       "${By} of ${kind}s: ${verb} for ${object}${: text}.",
	},
	Queue: {
		Add:                  "${key} goes into the workqueue.",
		Get:                  "${By} takes ${key}.",
		Done:                 "${By} is done with ${key}.",
		Forget:               "The failures of ${key} are forgotten.",
		AddRateLimited:       "${key} failed, and waits for ${wait}${, text}.",
		AddRateLimited + "<": "${key} failed, and waits${, text}.",
		AddAfter:             "${key} waits for ${wait}${, text}.",
		Looked:               "The workqueue: ${# key}.",
		Looked + "!":         "The workqueue: ${error}.",
		"":                   "The workqueue shuts down.",
	},
	Worker: {
		Waits:  "${By} waits for a key.",
		Begins: "${By} begins to reconcile ${key}.",
		Writes: "${By} asks the API server to ${text} the ${object's kind} ${key}.",
		Says:   "The controller records an Event: ${text}.",
		"":     "The API server answers ${by} to the ${text} of ${object's kind} ${key}: ${done}.",
	},
	Note: {
		Unwritten: "The code reaches a function that is not written yet: ${text}.",
		"":        "An error is reported: ${error}.",
	},
}

// Sentence returns the step as a sentence.
func (s Step) Sentence() string {
	known := sentences[s.Seam]
	text := cmp.Or(known[s.Verb], known[""])
	for mark, applies := range map[string]bool{"!": s.Error != "", "+": s.Code > 0, "0": s.Count == 0, "-": s.Key == "",
		"<": s.Wait < 0} {
		if special := known[s.Verb+mark]; applies && special != "" {
			text = special
		}
	}
	words := s.words()
	return os.Expand(text, func(name string) string {
		if what, counted := strings.CutPrefix(name, "# "); counted {
			return count(int(s.Count), what)
		}
		field := strings.TrimLeft(name, " :,") // the rest separates the word, if it is not empty
		word, known := words[field]
		if !known {
			panic("there is no word " + field)
		}
		return before(strings.TrimSuffix(name, field), word)
	})
}

// words returns what the names in a sentence stand for.
func (s Step) words() map[string]string {
	text, problem := strings.TrimSuffix(s.Text, "."), strings.TrimSuffix(s.Error, ".")
	by := cmp.Or(s.By, "a worker")
	return map[string]string{
		"kind": s.Kind, "object's kind": s.kindInText(), "key": s.Key, "verb": s.Verb, "text": text,
		"version": s.Version, "quoted": strconv.Quote(s.Version),
		"object": s.Key + before("@", s.Version), // "default/web@12"
		"error":  problem, "ended": cmp.Or(problem, "EOF"), "done": cmp.Or(problem, "done"),
		"code": strconv.Itoa(s.Code), "wait": brief(s.Wait),
		"by": s.By, "By": strings.ToUpper(by[:1]) + by[1:],
		"calls": calls(s.List), "deltas": types(s.List), "listed": count(len(s.List), "object"),
		"bytes": count(s.Bytes, "byte"), "frames": count(s.Frames, "frame"), "partial": count(s.Code, "byte"),
	}
}

// kindInText returns the kind of the object, short if it is the controller's.
func (s Step) kindInText() string {
	if s.Kind == "PodDisruptionBudget" {
		return "budget"
	}
	return s.Kind
}

// before returns text after a prefix, or nothing.
func before(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// brief returns a duration with three digits at most.
func brief(d time.Duration) string {
	if d > 0 && d < time.Microsecond {
		return "less than 1µs"
	}
	unit := time.Microsecond
	for unit < time.Second && d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
