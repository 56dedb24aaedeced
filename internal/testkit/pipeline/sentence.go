package pipeline

// This file says a step in one sentence, in the words of the chapters. The page shows it, and a screen reader reads it.

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Sentence returns the step as a sentence.
func (s Step) Sentence() string {
	switch s.Seam {
	case Server:
		return s.ofServer()
	case Request:
		return s.ofRequest()
	case Stream:
		return s.ofStream()
	case Event:
		if s.Verb == "ERROR" {
			return fmt.Sprintf("The watch of %ss brings an ERROR: %s.", s.Kind, s.Error)
		}
		return fmt.Sprintf("The watch of %ss brings %s%s.", s.Kind, s.Verb, before(" ", s.object()))
	case Reflector:
		return s.ofReflector()
	case Delta:
		return s.ofDelta()
	case Store:
		return s.ofStore()
	case Handler:
		return s.ofHandler()
	case Queue:
		return s.ofQueue()
	case Worker:
		return s.ofWorker()
	}
	if s.Verb == Unwritten {
		return fmt.Sprintf("The code reaches a function that is not written yet: %s.", s.Text)
	}
	return fmt.Sprintf("An error is reported: %s.", strings.TrimSuffix(s.Error, "."))
}

// object returns the key with its version: "default/web@12".
func (s Step) object() string { return s.Key + before("@", s.Version) }

// before returns text after a prefix, or nothing.
func before(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (s Step) ofServer() string {
	switch s.Verb {
	case Wrote:
		return fmt.Sprintf("The API server stores %s %s%s.", s.Kind, s.object(), before(": ", s.Text))
	case Removed:
		return fmt.Sprintf("The API server deletes %s %s.", s.Kind, s.Key)
	}
	return fmt.Sprintf("You change the API server: %s.", s.Text)
}

func (s Step) ofRequest() string {
	switch {
	case s.Verb == Sent:
		return fmt.Sprintf("The client sends %s.", s.Text)
	case s.Error != "":
		return fmt.Sprintf("The request fails after %s: %s.", brief(s.Wait), s.Error)
	}
	return fmt.Sprintf("The API server answers %d after %s.", s.Code, brief(s.Wait))
}

func (s Step) ofStream() string {
	switch {
	case s.Verb == Read && s.Code > 0:
		return fmt.Sprintf("%s of the watch of %ss arrive: %s, and %s of the next one.", count(s.Bytes, "byte"), s.Kind,
			count(s.Frames, "frame"), count(s.Code, "byte"))
	case s.Verb == Read:
		return fmt.Sprintf("%s of the watch of %ss arrive: %s.", count(s.Bytes, "byte"), s.Kind, count(s.Frames, "frame"))
	case s.Code > 0:
		return fmt.Sprintf("The watch of %ss breaks in the middle of a frame, after %s of it: %s.", s.Kind,
			count(s.Code, "byte"), s.Error)
	}
	return fmt.Sprintf("The bytes of the watch of %ss end: %s.", s.Kind, cmp.Or(s.Error, "EOF"))
}

func (s Step) ofReflector() string {
	failed := before(": ", s.Error)
	switch s.Verb {
	case Run:
		return fmt.Sprintf("The Reflector of %ss begins.", s.Kind)
	case List:
		return fmt.Sprintf("The Reflector of %ss lists at version %q.", s.Kind, s.Version)
	case Listed:
		if failed == "" {
			return fmt.Sprintf("The list of %ss has %s at version %s.", s.Kind, count(int(s.Count), "object"), s.Version)
		}
		return fmt.Sprintf("The list of %ss fails%s.", s.Kind, failed)
	case Watch:
		return fmt.Sprintf("The Reflector of %ss watches from version %q%s.", s.Kind, s.Version, before(", ", s.Text))
	case Watching:
		if failed == "" {
			return fmt.Sprintf("The watch of %ss is open.", s.Kind)
		}
		return fmt.Sprintf("The watch of %ss does not start%s.", s.Kind, failed)
	case Unwatch:
		return fmt.Sprintf("The watch of %ss has ended.", s.Kind)
	}
	return fmt.Sprintf("The Reflector of %ss waits before it starts again%s.", s.Kind, failed)
}

func (s Step) ofDelta() string {
	switch s.Verb {
	case Replace:
		return fmt.Sprintf("The queue of %ss receives a list: Replace with %s.", s.Kind, count(len(s.List), "object"))
	case Resync:
		return fmt.Sprintf("The queue of %ss is asked for a Resync.", s.Kind)
	case Pop:
		return fmt.Sprintf("Pop hands out %s: %s.", s.Key, types(s.List))
	case Processed:
		return fmt.Sprintf("The deltas of %s are processed%s.", s.Key, before(": ", s.Error))
	case Failed:
		return fmt.Sprintf("The queue does not take %s: %s.", s.Key, s.Error)
	case Entered:
		return fmt.Sprintf("The call that waited for the queue's lock returns: %s.", s.Key)
	case "Close":
		return fmt.Sprintf("The queue of %ss is closed.", s.Kind)
	}
	return fmt.Sprintf("The delta %s of %s goes into the queue.", s.Verb, s.object())
}

func (s Step) ofStore() string {
	switch {
	case s.Verb == Looked:
		return fmt.Sprintf("The Indexer of %ss: %s.", s.Kind, cmp.Or(s.Error, count(int(s.Count), "object")))
	case s.Verb == Closed:
		return fmt.Sprintf("The queue and the Indexer of %ss cannot be seen.", s.Kind)
	case s.Verb == AddIndexers:
		return fmt.Sprintf("The Indexer of %ss has another index: %s.", s.Kind, s.Text)
	case s.Count == 0 && s.Verb == Delete:
		return fmt.Sprintf("The Indexer deletes %s.", s.Key)
	case s.Count == 0:
		return fmt.Sprintf("After %s the Indexer does not have %s.", s.Verb, s.Key)
	case s.Verb == Delete:
		return fmt.Sprintf("After Delete the Indexer still has %s.", s.object())
	}
	return fmt.Sprintf("The Indexer has %s.", s.object())
}

func (s Step) ofHandler() string {
	switch s.Verb {
	case Joined:
		return fmt.Sprintf("%s of %ss joins.", capital(s.By), s.Kind)
	case Left:
		return fmt.Sprintf("%s of %ss leaves.", capital(s.By), s.Kind)
	case Returned:
		return fmt.Sprintf("%s of %ss returns.", capital(s.By), s.Kind)
	}
	return fmt.Sprintf("%s of %ss: %s for %s.", capital(s.By), s.Kind, s.Verb, s.object())
}

func (s Step) ofQueue() string {
	switch s.Verb {
	case Add:
		return fmt.Sprintf("%s goes into the workqueue.", s.Key)
	case Get:
		return fmt.Sprintf("%s takes %s.", capital(cmp.Or(s.By, "a worker")), s.Key)
	case Done:
		return fmt.Sprintf("%s is done with %s.", capital(cmp.Or(s.By, "a worker")), s.Key)
	case Forget:
		return fmt.Sprintf("The failures of %s are forgotten.", s.Key)
	case AddRateLimited:
		return fmt.Sprintf("%s failed, and waits for %s.", s.Key, brief(s.Wait))
	case AddAfter:
		return fmt.Sprintf("%s waits for %s.", s.Key, brief(s.Wait))
	case Looked:
		return fmt.Sprintf("The workqueue: %s.", cmp.Or(s.Error, count(int(s.Count), "key")))
	}
	return "The workqueue shuts down."
}

func (s Step) ofWorker() string {
	switch s.Verb {
	case Waits:
		return fmt.Sprintf("%s waits for a key.", capital(s.By))
	case Writes:
		return fmt.Sprintf("%s asks the API server to %s the budget %s.", capital(s.By), s.Text, s.Key)
	case Says:
		return fmt.Sprintf("The controller records an Event: %s.", strings.TrimSuffix(s.Text, "."))
	}
	return fmt.Sprintf("The API server answers %s to the %s of budget %s: %s.", s.By, s.Text, s.Key,
		cmp.Or(s.Error, "done"))
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
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
	}
	return d.Round(10 * time.Microsecond).String()
}
