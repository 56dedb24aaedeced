package guard

// This file reports a panic that a guarded goroutine recovered: the message, and of the stack only the calls that are
// the learner's or the test's.

import (
	"fmt"
	"runtime"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

const noPanic = "Nothing recovers a panic here, so it ends the whole program: return an error, or handle this case."

// panicked notes a panic with value v. It is called while the panicking calls are still on the goroutine's stack.
func (r *run) panicked(v any) {
	message := strings.TrimSpace(fmt.Sprint(v))
	if err, ok := v.(runtime.Error); ok {
		message = strings.TrimPrefix(err.Error(), "runtime error: ")
	}
	r.endedBy("panic: "+message, "no panic", noPanic)
}

// exited notes that the calling goroutine was ended, though no test asked for it.
func (r *run) exited() {
	r.endedBy("the goroutine was ended by runtime.Goexit", "the goroutine ends by returning",
		"Goexit silently ends the caller's goroutine: return an error.")
}

func (r *run) endedBy(message, wanted, why string) {
	stack := callers()
	f := r.brokeOff(r.testLine(stack), message, wanted, why, stack)
	code, _ := r.where.inChapter(stack)
	f.Code = r.where.codeLine(code)
	r.fail(f)
	r.inner.T.Fail()
}

// brokeOff is the failure of a goroutine that a message ended in a stack.
func (r *run) brokeOff(at failure.Position, message, wanted, why string, stack []frame) failure.Failure {
	title, _, _ := strings.Cut(message, "\n")
	return failure.Failure{
		Kind: failure.Panic, At: at, Problem: title, Wanted: wanted, Why: why,
		Got: strings.Join(append([]string{message}, r.where.lines(stack)...), "\n"),
	}
}

// lines names the calls in a stack that are the chapter's or the test's, innermost first. If there is none of the
// chapter's, as when client-go stands in for it, the innermost call of any other library comes first.
func (p place) lines(frames []frame) []string {
	var out []string
	inChapter := false
	for _, f := range frames {
		if p.isChapter(f) || p.isTest(f) {
			inChapter = inChapter || p.isChapter(f)
			out = append(out, f.at(p))
		}
	}
	if foreign, ok := first(frames, p.isForeign); ok && !inChapter {
		out = append([]string{foreign.at(p)}, out...)
	}
	if len(out) > framesShown {
		out = append(out[:framesShown], fmt.Sprintf("… %s", failure.Count(len(out)-framesShown, "more call")))
	}
	return out
}

const framesShown = 8
