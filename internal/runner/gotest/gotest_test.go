package gotest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/failure"
)

// runTests runs a test file in a module of its own.
func runTests(t *testing.T, body string, args ...string) Result {
	t.Helper()
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module example\n\ngo 1.26\n",
		"a_test.go": "package a\n\nimport \"testing\"\n\n" + body,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir = dir
	r, err := Run(t.Context(), cmd)
	require.NoError(t, err)
	return r
}

func TestRun_sorts_by_test(t *testing.T) {
	r := runTests(t, `
func TestA(t *testing.T) { t.Log("fine") }
func TestB(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("broken") }) }
func TestC(t *testing.T) { t.Skip("not today") }
`)
	require.Equal(t, 1, r.Exit)
	require.False(t, r.BuildFailed())
	var names []string
	for _, test := range r.Tests {
		names = append(names, test.Name+" "+string(test.Status))
		require.False(t, test.Crashed(), test.Name)
	}
	require.Equal(t, []string{"TestA passed", "TestB failed", "TestC skipped"}, names)
	b, found := r.Test("TestB")
	require.True(t, found)
	require.Contains(t, b.Output, "broken", "the output of a subtest belongs to its test")
	require.NotContains(t, b.Output, "=== RUN")
	_, found = r.Test("TestD")
	require.False(t, found)
}

func TestRun_of_code_that_does_not_compile(t *testing.T) {
	r := runTests(t, "func TestA(t *testing.T) { none() }\n")
	require.True(t, r.BuildFailed())
	require.Empty(t, r.Tests)
	require.Contains(t, r.Outside, "undefined: none")
	require.Equal(t, 1, r.Exit)
}

func TestRun_of_a_binary_that_dies(t *testing.T) {
	for name, body := range map[string]string{
		"a panic":             `panic("gone")`,
		"in another place":    `go func() { panic("gone") }(); select {}`,
		"an error of runtime": `m := map[int]int{}; go func() { for { m[1]++ } }(); for { m[2]++ }`,
	} {
		t.Run(name, func(t *testing.T) {
			r := runTests(t, "func TestA(t *testing.T) { "+body+" }\nfunc TestB(t *testing.T) {}\n")
			a, found := r.Test("TestA")
			require.True(t, found)
			require.True(t, a.Crashed(), "%+v", r)
			_, found = r.Test("TestB")
			require.False(t, found, "nothing ran after it")
			require.NotEqual(t, 0, r.Exit)
		})
	}
}

// A test that fails once in a hundred runs has failed.
func TestRun_of_a_test_that_fails_once_of_many_times_is_a_failure(t *testing.T) {
	r := runTests(t, "import \"os\"\n\nvar n int\n\nfunc TestA(t *testing.T) { if n++; n == 1 { t.Error(\"once\") } "+
		"}\nfunc TestB(t *testing.T) { if n == 4 { os.Exit(3) } }\n", "-count=3", "-vet=off")
	require.Len(t, r.Tests, 2)
	require.Equal(t, Failed, r.Tests[0].Status)
	require.Equal(t, Passed, r.Tests[1].Status)
	r = runTests(t, "import \"os\"\n\nvar n int\n\nfunc TestA(t *testing.T) { if n++; n == 2 { os.Exit(3) } }\n",
		"-count=3", "-vet=off")
	require.Len(t, r.Tests, 1)
	require.Equal(t, Broken, r.Tests[0].Status, "it passed once, and then ended the binary")
}

func TestRead_keeps_both_ends_of_very_much_output(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `{"Action":"output","Package":"a","Test":"TestA","Output":"line %d\n"}`+"\n", i)
	}
	r, err := read(strings.NewReader(b.String()), nil, func(string) {})
	require.NoError(t, err)
	out := r.Tests[0].Output
	require.Less(t, len(out), 4*clipKeep)
	require.True(t, strings.HasPrefix(out, "line 0\nline 1\n"), out[:100])
	require.True(t, strings.HasSuffix(out, "line 99998\nline 99999\n"), out[len(out)-100:])
	require.Contains(t, out, " bytes omitted …\n")
}

func TestClipped_loses_nothing_before_it_must(t *testing.T) {
	var c clipped
	text := strings.Repeat("x", clipKeep-1) + "äö" // a letter across the seam
	c.add(text)
	c.add("end")
	require.Equal(t, text+"end", c.String())
}

func TestRun_keeps_long_lines(t *testing.T) {
	r := runTests(t, `func TestA(t *testing.T) { b := make([]byte, 20_000); for i := range b { b[i] = 'x' }; t.Error(string(b)) }`+"\n")
	a, _ := r.Test("TestA")
	require.Contains(t, a.Output, strings.Repeat("x", 20_000))
}

func TestRun_of_a_command_that_does_not_exist(t *testing.T) {
	_, err := Run(t.Context(), exec.Command("no-such-program"))
	require.ErrorContains(t, err, "no-such-program")
}

func TestRun_reads_failures_as_data(t *testing.T) {
	wanted := failure.Failure{Kind: failure.Assertion, Problem: "not equal", Got: strings.Repeat("long ", 2000),
		Did: []string{"Add"}}
	var sends strings.Builder
	wanted.Emit(func(key, value string) { fmt.Fprintf(&sends, "t.Attr(%q, %q)\n", key, value) })
	r := runTests(t, "func TestA(t *testing.T) { t.Run(\"sub\", func(t *testing.T) {\nt.Attr(\"some\", \"other\")\n"+sends.String()+"t.Fail()\n}) }\n")
	a, found := r.Test("TestA")
	require.True(t, found)
	wanted.Test = "TestA/sub"
	require.Equal(t, []failure.Failure{wanted}, a.Failures)
	require.NotContains(t, a.Output, "ATTR")
	require.Contains(t, a.Text(), "not equal\n")
}

func TestRun_refuses_an_attribute_that_is_no_failure(t *testing.T) {
	_, err := read(strings.NewReader(`{"Action":"attr","Package":"a","Test":"TestA","Key":"failure","Value":"%"}`+"\n"),
		func(Test) {}, func(string) {})
	require.ErrorContains(t, err, "decode a failure that a test reported")
}
