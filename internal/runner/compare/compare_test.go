package compare

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func TestLines_counts_what_is_neither_blank_nor_comment_alone(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want int
	}{
		"nothing":                        {"", 0},
		"a comment":                      {"// Package a.\n", 0},
		"code and a comment":             {"package a // here\n", 1},
		"without an end of line":         {"package a\nvar x int", 2},
		"blank lines":                    {"package a\n\n\n\nvar x int\n\n", 2},
		"a long comment":                 {"package a\n/* one\ntwo\n\nthree */\nvar x int\n", 2},
		"code after a comment":           {"package a\n/* one\ntwo */ var x int\n", 2},
		"code around a comment":          {"package a\nvar x /* one\ntwo */ = 1\n", 3},
		"a raw string":                   {"package a\nvar x = `one\n\n// no comment\n`\n", 5},
		"two raw strings on three lines": {"package a\nvar x, y = `one\n`, `two\n`\n", 4},
		"what looks like a comment":      {"package a\nvar x = \"// not\" + \"/* not\"\nvar y = '/'\n", 3},
		"Windows line ends":              {"package a\r\n\r\nvar x int\r\n// c\r\n", 2},
		"a byte order mark":              {"\ufeffpackage a\n", 1},
		"line directives":                {"package a\n\n//line b.y:1\nvar x int\n\n//line b.y:1\nvar y int\n", 3},
		"braces alone":                   {"package a\nfunc f() {\n}\n", 3},
		"what does not compile":          {"package a\nfunc (\n\"open\n", 3},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Lines([]byte(c.src))) })
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestDirLines_leaves_tests_and_folders_below_out(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.go"), "package a\n")
	write(t, filepath.Join(dir, "b.go"), "package a\nvar x int\n")
	write(t, filepath.Join(dir, "a_test.go"), "package a\n")
	write(t, filepath.Join(dir, "cmd", "main.go"), "package main\n")
	write(t, filepath.Join(dir, "README.md"), "# A\n")
	n, err := DirLines(dir, nil)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = DirLines(dir, map[string]bool{"b.go": true})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestBonusFiles_are_those_of_bonus_tasks_alone(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"one.go":   "package a\n\n//workshop:task 1\nfunc One() {}\n",
		"both.go":  "package a\n\n//workshop:task 1\nfunc B() {}\n\n//workshop:task 2\nfunc C() {}\n",
		"extra.go": "package a\n\n//workshop:file task 2\n\nfunc Extra() {}\n\nfunc helper() {}\n",
		"given.go": "package a\n\nfunc Given() {}\n",
	} {
		write(t, filepath.Join(root, "solutions", "01-a", name), text)
	}
	c := course.Chapter{Dir: "01-a", Tasks: []course.Task{{Number: 1}, {Number: 2, Bonus: true}}}
	bonus, err := BonusFiles(root, c)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"one.go": false, "both.go": false, "extra.go": true, "given.go": false}, bonus)
}

func TestClientGoLines_reads_the_pinned_modules(t *testing.T) {
	list := filepath.Join(t.TempDir(), List)
	write(t, list, "# The files.\n\nk8s.io/utils/ptr/ptr.go\n")
	n, err := ClientGoLines("../../..", list)
	require.NoError(t, err)
	require.Greater(t, n, 20)

	write(t, list, "k8s.io/utils/ptr/gone.go\n")
	_, err = ClientGoLines("../../..", list)
	require.ErrorContains(t, err, "names a file that is not in the pinned version")
	write(t, list, "k8s.io/nothing/of/the/kind.go\n")
	_, err = ClientGoLines("../../..", list)
	require.ErrorContains(t, err, "find k8s.io/nothing/of/the in the module cache")
	write(t, list, "nonsense\n")
	_, err = ClientGoLines("../../..", list)
	require.ErrorContains(t, err, `"nonsense" is not an import path and a file`)
}
