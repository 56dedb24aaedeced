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
	return os.Expand(text, s.word)
}

// word returns what a name in a sentence stands for.
func (s Step) word(name string) string {
	if field := strings.TrimLeft(name, " :,"); field != name { // with what separates it, if there is something
		return before(strings.TrimSuffix(name, field), s.word(field))
	}
	if what, counted := strings.CutPrefix(name, "# "); counted {
		return count(int(s.Count), what)
	}
	switch name {
	case "kind":
		return s.Kind
	case "object's kind":
		if s.Kind == "PodDisruptionBudget" {
			return "budget"
		}
		return s.Kind
	case "key":
		return s.Key
	case "verb":
		return s.Verb
	case "version":
		return s.Version
	case "quoted":
		return strconv.Quote(s.Version)
	case "object":
		return s.Key + before("@", s.Version) // "default/web@12"
	case "text":
		return strings.TrimSuffix(s.Text, ".")
	case "error":
		return strings.TrimSuffix(s.Error, ".")
	case "ended":
		return cmp.Or(s.word("error"), "EOF")
	case "done":
		return cmp.Or(s.word("error"), "done")
	case "code":
		return strconv.Itoa(s.Code)
	case "wait":
		return brief(s.Wait)
	case "by":
		return s.By
	case "By":
		by := cmp.Or(s.By, "a worker")
		return strings.ToUpper(by[:1]) + by[1:]
	case "calls":
		return calls(s.List)
	case "deltas":
		return types(s.List)
	case "listed":
		return count(len(s.List), "object")
	case "bytes":
		return count(s.Bytes, "byte")
	case "frames":
		return count(s.Frames, "frame")
	case "partial":
		return count(s.Code, "byte")
	}
	panic("there is no word " + name)
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

// brief returns a duration with two or three digits.
func brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d > 0 && d < time.Microsecond:
		return "less than 1µs"
	case d > 0 && d < 10*time.Microsecond:
		return d.Round(time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
