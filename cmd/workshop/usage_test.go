//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreign are words of the libraries, which say what a program did not understand, and not what to type.
const foreign = `unknown (flag|shorthand|command|topic)|accepts|invalid (argument|syntax)|flag needs|strconv|` +
	`arg\(s\)|Unknown help`

func TestWrong_arguments_end_in_a_sentence_and_exit_code_2(t *testing.T) {
	cases := [][]string{
		{"--foo"}, {"foo"}, {"help", "foo"}, {"05", "06"}, {"completion"}, {"completion", "tcsh"}, {"skip"},
		{"progress", "05"},
		{"test", "--timeout", "x"}, {"test", "--on"}, {"test", "-z"}, {"compare", "--count", "x"}, {"test", "05/99"},
		{"reset", "--bare", "--tests"}, {"watch", "--plain=often"}, {"verify", "--only", "beauty"}, {"generate", "99"},
		{"cluster", "restart"}, {"cluster", "kill", "a", "b"}, {"cluster", "foo"}, {"cluster", "up", "--nodes", "x"},
		{"cluster", "up", "--nodes", "0"}, {"cluster", "up", "--foo"}, {"cluster", "down", "now"}, {"cluster", "fetch"},
		{"cluster", "logs", "-n"}, {"share", "--foo"}, {"share", "05"},
	}
	for _, c := range newRoot().Commands() {
		if !c.DisableFlagParsing {
			cases = append(cases, []string{c.Name(), "--foo"})
		}
		if c.Name() != "verify" && c.Name() != "generate" && !c.DisableFlagParsing { // they take several chapters
			cases = append(cases, []string{c.Name(), "05", "06"})
		}
	}
	for _, args := range cases {
		stdout, stderr, code := run(t, "../..", args...)
		require.Equal(t, 2, code, "%q: %s%s", args, stdout, stderr)
		require.Empty(t, stdout, args)
		require.NotRegexp(t, foreign, stderr, args)
		require.Regexp(t, `^(Building [^\n]*\n)?(workshop|cluster): [^\n]{20,}\n$`, stderr, args)
	}
}

func TestUsage_lines_begin_with_what_a_person_types(t *testing.T) {
	for _, args := range [][]string{
		{"help", "test"}, {"hint", "--help"}, {"cluster", "up", "--help"}, {"share", "--help"},
	} {
		stdout, stderr, code := run(t, "../..", args...)
		require.Equal(t, 0, code, stderr)
		require.Contains(t, stdout, "\n  go tool workshop ", args)
		require.NotRegexp(t, `(?m)^  (workshop|cluster) `, stdout, args)
	}
}

// bash loads what the command prints, and completes through the function that comes with it. It calls the go command,
// which here is a script that starts this test's program.
func TestCompletion_works_in_bash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(`#!/bin/sh
[ "$1 $2" = "tool workshop" ] || exit 9
shift 2
exec `+program+` "$@"
`), 0o755))
	for line, want := range map[string]string{
		"workshop te": "test", "workshop test 01": "01-box", "workshop test --ra": "--race", "workshop completion f": "fish",
	} {
		cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", `
			unset -f workshop
			source <(go tool workshop completion bash) || exit
			_get_comp_words_by_ref() {
				words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
				cur=${words[cword]} prev=${words[cword-1]}
			}
			unset -f _init_completion
			complete -p workshop >/dev/null || exit
			COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMP_TYPE=9
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			__start_workshop
			printf '%s\n' "${COMPREPLY[@]}"`, "bash", line)
		cmd.Dir = box(t)
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.Output() // compopt complains outside of a completion
		require.NoError(t, err, line)
		require.Regexp(t, `^`+want+`\b`, string(out), line)
	}
}
