package predict

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

const set = `-- adds-two/about --
test: TestTask1_Put
rule: one is one
symptom: Everything is twice there.
-- adds-two/box.go Put --
-func Put(n int) int { return n + 1 }
+func Put(n int) int { return n + 2 }
`

const header = `// A thing goes into a box.
//
// Question: How many are there?
//
// Wrong: adds-two
//
// Story: It was twice there.
package main

import box "client-go-workshop/solutions/01-box"

`

// box is a workshop of one chapter, with a program of that body.
func box(t *testing.T, body string) (root string, c course.Chapter, p course.Program) {
	t.Helper()
	t.Setenv("GOFLAGS", "")
	root = t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                      "module client-go-workshop\n\ngo 1.26\n",
		"01-box/README.md":            "# Box\n\n## Task 1: Put\n\n```sh\ngo test ./01-box -run Task1\n```\n",
		"01-box/box.go":               "package box\n\nfunc Put(n int) int { return 7 }\n",
		"solutions/01-box/box.go":     "package box\n\nfunc Put(n int) int { return n + 1 }\n",
		"solutions/01-box/bugs.txtar": set,
		"solutions/01-box/testdata/predict/1-once/main.go": header + body,
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	c, err := course.Find(root, "box")
	require.NoError(t, err)
	all, err := course.Programs(root, c)
	require.NoError(t, err)
	require.Len(t, all, 1)
	return root, c, all[0]
}

// soon makes Limits small for one test.
func soon(t *testing.T) {
	before := Limits
	Limits.Time = 8 * time.Second // a busy machine needs seconds to start a program
	t.Cleanup(func() { Limits = before })
}

func TestAsk_runs_over_the_solution_and_the_wrong_version(t *testing.T) {
	t.Setenv("GOTMPDIR", t.TempDir())
	root, c, p := box(t, "func main() { println(box.Put(1)) }\n")
	a, err := Ask(t.Context(), root, c, p, true)
	require.NoError(t, err)
	require.Equal(t, Answer{Right: Output{Lines: []string{"2"}}, Wrong: Output{Lines: []string{"3"}},
		Yours: Output{Lines: []string{"7"}}}, a)
	left, err := filepath.Glob(filepath.Join(os.Getenv("GOTMPDIR"), "predict*"))
	require.NoError(t, err)
	require.Empty(t, left, "programs are removed")
}

func TestAsk_shows_how_a_run_ended(t *testing.T) {
	for name, c := range map[string]struct {
		body         string
		right, wrong Output
	}{
		"a panic is one line, below what was printed before": {
			`func main() {
	println("hello")
	if box.Put(1) == 3 {
		go func() { panic("three\nmore of it") }()
		select {}
	}
}
`,
			Output{Lines: []string{"hello"}}, Output{Lines: []string{"hello", "panic: three"}, Exit: 2},
		},
		"a deadlock is one line": {
			`func main() {
	if box.Put(1) == 3 {
		<-make(chan int)
	}
}
`,
			Output{Lines: []string{"(nothing)"}},
			Output{Lines: []string{"fatal error: all goroutines are asleep - deadlock!"}, Exit: 2},
		},
		"a loop": {
			`func main() {
	println("hello")
	for box.Put(1) == 3 {
	}
}
`,
			Output{Lines: []string{"hello"}},
			Output{
				Lines:   []string{"hello", "(it never ended, and was stopped after 8s)"},
				Stopped: true, Exit: -1,
			},
		},
		"too many lines": {
			`func main() {
	for n := range 7 * box.Put(1) {
		println(n)
	}
}
`,
			Output{Lines: append(strings.Split("0 1 2 3 4 5 6 7 8 9 10", " "), "… 3 more lines")},
			Output{Lines: append(strings.Split("0 1 2 3 4 5 6 7 8 9 10", " "), "… 10 more lines")},
		},
		"too many bytes": {
			`func main() {
	for box.Put(1) == 3 {
		println("again and again")
	}
}
`,
			Output{Lines: []string{"(nothing)"}},
			Output{
				Lines: append(slices.Repeat([]string{"again and again"}, 11), "… 4085 more lines",
					"(it was stopped: it printed more than 64 KB)"),
				Stopped: true, Exit: -1,
			},
		},
		"an exit code": {
			"func main() { os.Exit(box.Put(1) - 2) }\n",
			Output{Lines: []string{"(nothing)"}}, Output{Lines: []string{"(exit code 1)"}, Exit: 1},
		},
		"a log message has no time": {
			`func main() { println("E1122 15:12:10.123456    4242 store.go:12] no key", box.Put(1)) }
`,
			Output{Lines: []string{"store.go:12] no key 2"}},
			Output{Lines: []string{"store.go:12] no key 3"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			soon(t)
			if strings.Contains(c.body, "os.") {
				c.body = "import \"os\"\n\n" + c.body
			}
			root, chapter, p := box(t, c.body)
			a, err := Ask(t.Context(), root, chapter, p, false)
			require.NoError(t, err)
			require.Equal(t, c.right, a.Right)
			require.Equal(t, c.wrong, a.Wrong)
		})
	}
}

func TestAsk_names_what_does_not_compile(t *testing.T) {
	root, c, p := box(t, "func main() { box.Take() }\n")
	_, err := Ask(t.Context(), root, c, p, false)
	require.ErrorContains(t, err, "build solutions/01-box/testdata/predict/1-once over the solution:\n"+
		"solutions/01-box/testdata/predict/1-once/main.go:12:19: undefined: box.Take")
}

func TestAsk_needs_the_wrong_version(t *testing.T) {
	root, c, p := box(t, "func main() {}\n")
	p.Wrong = "adds-nine"
	_, err := Ask(t.Context(), root, c, p, false)
	require.ErrorContains(t, err, `01-box has no wrong version "adds-nine"`)
}

func TestAsk_says_of_your_code_that_it_does_not_compile(t *testing.T) {
	root, c, p := box(t, "func main() { println(box.Put(1)) }\n")
	path := filepath.Join(root, "01-box", "box.go")
	require.NoError(t, os.WriteFile(path, []byte("package box\n\nfunc Put(\n"), 0o644))
	a, err := Ask(t.Context(), root, c, p, true)
	require.NoError(t, err)
	require.Equal(t, "(it does not compile)", a.Yours.Lines[0])
	require.Contains(t, a.Yours.Text(), "01-box/box.go:4: syntax error")
}
