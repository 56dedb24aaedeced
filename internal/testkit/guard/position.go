package guard

// This file knows where things are: which functions are the test's and which the chapter's, and which line of the test
// a goroutine is at. Functions are told apart by their import path, which an overlay or a //line directive does not
// change, as it does the file's path.

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

// startDir is the folder of the chapter: go test runs a test binary in the folder of its package.
var startDir, _ = os.Getwd()

// chapterFolder returns the folder of the chapter below the workshop's root: "05-indexer", "labs/rewriting-proxy".
func chapterFolder() string {
	parent, folder := filepath.Split(startDir)
	if strings.HasSuffix(strings.TrimSuffix(filepath.ToSlash(parent), "solutions/"), "/labs/") {
		return "labs/" + folder
	}
	return folder
}

// guardPackage is this package's import path, and modelPackage that of its neighbour, which calls the test's functions.
var (
	guardPackage = packageOf(callers()[0].function)
	modelPackage = path.Join(path.Dir(guardPackage), "modeltest")
)

// carriers are the libraries that stand between a test and the code under test.
var carriers = []string{"github.com/stretchr/testify", "pgregory.net/rapid"}

// place tells the functions of the test and of the chapter from all others.
type place struct {
	test    string // import path of the package that the test is in: "client-go-workshop/05-indexer_test"
	chapter string // of the package under test, the same without "_test"
	name    string // of the test's function: "TestTask1_Get_finds_what_Add_stored"
}

func (p place) isTest(f frame) bool {
	pkg := packageOf(f.function)
	return (pkg == p.test || pkg == p.chapter) && strings.HasSuffix(f.file, "_test.go")
}

// isChapter says whether a frame is written in the chapter. What it has of other packages, inlined type parameters and
// all, has the chapter's name too: "example.com/x.(*T).Keys.Keys[...].func1" is in iter.go of package maps.
func (p place) isChapter(f frame) bool {
	folder := path.Base(path.Dir(filepath.ToSlash(f.file)))
	return packageOf(f.function) == p.chapter && !strings.HasSuffix(f.file, "_test.go") &&
		(folder == path.Base(p.chapter) || folder == ".") // a //line directive may give a bare name
}

// first finds the innermost call that is of the first kind; without one, of the next kind.
func first(frames []frame, kinds ...func(f frame) bool) (frame, bool) {
	for _, is := range kinds {
		if i := slices.IndexFunc(frames, is); i >= 0 {
			return frames[i], true
		}
	}
	return frame{}, false
}

// inChapter finds the innermost call of the chapter. A lock that the chapter makes itself is no such call: it is the
// call of its Lock that matters.
func (p place) inChapter(frames []frame) (frame, bool) { return first(frames, p.isCode) }

func (p place) isCode(f frame) bool { return p.isChapter(f) && !f.isLock() }

// isOwn says whether a frame is written in the test's own function, closures included.
func (p place) isOwn(f frame) bool {
	rest, ok := strings.CutPrefix(f.function, p.test+"."+p.name)
	return ok && p.isTest(f) && (rest == "" || rest[0] == '.')
}

// inTest finds the innermost call that is written in the test's own function; else, in any file of tests.
func (p place) inTest(frames []frame) (frame, bool) { return first(frames, p.isOwn, p.isTest) }

// mostTelling is the innermost call of the chapter; else, of the library that stands in for it, or of the test.
func (p place) mostTelling(frames []frame) (frame, bool) {
	return first(frames, p.isCode, p.isForeign, p.isOwn, p.isTest)
}

// isForeign says whether a frame is neither of the standard library nor of the test and what carries it. When client-go
// stands in for the chapter, that is where things happen.
func (p place) isForeign(f frame) bool {
	module, _, _ := strings.Cut(p.chapter, "/")
	pkg := packageOf(f.function)
	first, _, _ := strings.Cut(pkg, "/")
	standard := !strings.Contains(first, ".") && first != module // as go itself decides
	return !standard && pkg != guardPackage && pkg != modelPackage && pkg != p.test &&
		!slices.ContainsFunc(carriers, func(c string) bool { return strings.HasPrefix(pkg, c) })
}

// callerPlace looks at who called Test or Race, and from which line.
func callerPlace() (p place, position failure.Position) {
	stack := callers()
	for i, f := range stack {
		ours := packageOf(f.function) == guardPackage && !strings.HasSuffix(f.file, "_test.go")
		if position.File == "" && !ours {
			position = at(f.file, f.line)
		}
		if f.function == "testing.tRunner" && i > 0 {
			p.test = packageOf(stack[i-1].function)
			p.name, _, _ = strings.Cut(strings.TrimPrefix(stack[i-1].function, p.test+"."), ".")
		}
	}
	p.chapter = strings.TrimSuffix(p.test, "_test")
	return p, position
}

// testLine is the line of the test that a stack is at. A goroutine that the code under test started is at none; then it
// is the line that called Test, which does not depend on chance, as the line that the test has reached meanwhile would.
func (r *run) testLine(stack []frame) failure.Position {
	if f, ok := r.where.inTest(stack); ok {
		return at(f.file, f.line)
	}
	return r.start
}

// position is the line of the test that the calling goroutine is at, as testing sees it: the innermost in a file of
// tests whose function is no helper. The caller holds r.mu.
func (r *run) position() failure.Position {
	helpers := map[string]bool{}
	for pc := range r.helpers {
		f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		helpers[f.Function] = true
	}
	stack := callers()
	for _, f := range stack {
		if r.where.isTest(f) && !helpers[f.function] {
			return at(f.file, f.line)
		}
	}
	return r.testLine(stack)
}

// callers is the calling goroutine's stack, innermost call first, beginning with the function that called callers.
func callers() []frame {
	return parseDump(string(debug.Stack()))[0].frames[2:] // without Stack and callers
}

// codeLine is the line of a call, the zero Position if the call is not the chapter's or has no line.
func (p place) codeLine(call frame) failure.Position {
	if !p.isChapter(call) || !call.hasLine() {
		return failure.Position{}
	}
	return at(call.file, call.line)
}

// packageOf is the import path in a function's full name: the part before the first dot after the last slash, type
// arguments aside, because those have slashes of their own: "example.com/q.(*Typed[example.com/x.Y]).Add".
func packageOf(function string) string {
	head, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(head, '/') + 1
	dot := strings.IndexByte(head[slash:], '.')
	if dot < 0 {
		return head
	}
	return head[:slash+dot]
}

// at names a line as testing does, which gives the full path when asked with -fullpath.
func at(file string, line int) failure.Position {
	if full := flag.Lookup("test.fullpath"); full == nil || full.Value.String() != "true" {
		file = filepath.Base(file)
	}
	return failure.Position{File: file, Line: line}
}
