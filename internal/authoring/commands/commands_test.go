//go:build unix

// Package commands has a test that runs every command that the workshop's texts show, as rules.txt says.
package commands

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

var runThem = flag.Bool("commands", false, "run the commands that the texts show; the chapters have to be untouched")

// command is one command and the places that show it.
type command struct {
	text   string
	places []string // "README.md:21"
}

// commands lists the commands of all texts that people read, in the order in which it reads them.
func commands(t *testing.T, root string) (all []command) {
	t.Helper()
	for _, pattern := range strings.Fields("README.md docs/*.md docs/*/*.md 0*/README.md 0*/hints.md " +
		"labs/README.md labs/*/README.md labs/*/hints.md cluster/README.md") {
		names, err := fs.Glob(os.DirFS(root), pattern)
		require.NoError(t, err)
		for _, name := range names {
			doc, err := course.Text(filepath.Join(root, name))
			require.NoError(t, err)
			for _, b := range doc.Blocks {
				for _, shown := range b.Commands() {
					i := slices.IndexFunc(all, func(c command) bool { return c.text == shown.Text })
					if i < 0 {
						all = append(all, command{text: shown.Text})
						i = len(all) - 1
					}
					all[i].places = append(all[i].places, fmt.Sprintf("%s:%d", name, shown.Line))
				}
			}
		}
	}
	return all
}

type rule struct {
	pattern *regexp.Regexp
	verdict string // "exits", "says", "starts", "elsewhere", "by hand"
	text    string
	used    bool
}

func rules(t *testing.T) (all []*rule) {
	t.Helper()
	text, err := os.ReadFile("rules.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, what, ok := strings.Cut(line, "=>")
		require.True(t, ok, "%q is no rule", line)
		r := &rule{pattern: regexp.MustCompile(strings.TrimSpace(pattern))}
		for _, verdict := range []string{"exits 0", "says", "starts", "elsewhere:", "by hand:"} {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(what), verdict); ok {
				r.verdict, r.text = strings.TrimSuffix(verdict, ":"), strings.TrimSpace(rest)
			}
		}
		require.NotEmpty(t, r.verdict, "%q says nothing that is known", line)
		all = append(all, r)
	}
	return all
}

// A command in a text is a promise. Each is kept by a run: here, or where the rule says.
func TestEvery_command_that_a_text_shows_is_accounted_for(t *testing.T) {
	root, err := course.Root(".")
	require.NoError(t, err)
	list := rules(t)
	for _, c := range commands(t, root) {
		r := first(list, c.text)
		if r == nil {
			t.Errorf("%s shows\n\t%s\nand no rule in internal/authoring/commands/rules.txt says who runs it",
				strings.Join(c.places, ", "), c.text)
			continue
		}
		r.used = true
		if *runThem {
			t.Run(c.text, func(t *testing.T) { keep(t, root, c, r) })
		}
	}
	for _, r := range list {
		if !r.used {
			t.Errorf("the rule %q matches no command of any text", r.pattern)
		}
	}
}

func first(list []*rule, command string) *rule {
	for _, r := range list {
		if r.pattern.MatchString(command) {
			return r
		}
	}
	return nil
}

// keep runs a command as its rule says.
func keep(t *testing.T, root string, c command, r *rule) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	text := c.text
	if with, ok := strings.CutPrefix(r.text, "with "); ok && r.verdict == "exits 0" {
		text += " " + with
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", "exec "+text)
	if strings.Contains(text, "&&") || strings.Contains(text, "=") && !strings.HasPrefix(text, "go ") {
		cmd = exec.CommandContext(ctx, "bash", "-c", text)
	}
	cmd.Dir = filepath.Clean(root)
	switch r.verdict {
	case "exits 0":
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s shows it:\n%s", c.places[0], out)
	case "says":
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "%s shows it, and on the stubs it cannot end well:\n%s", c.places[0], out)
		require.Contains(t, string(out), r.text)
	case "starts":
		starts(t, cmd, r.text)
	}
}

func starts(t *testing.T, cmd *exec.Cmd, text string) {
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	// As a terminal does: an interrupt is for all that the command has started, and go run hands nothing on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	require.NoError(t, cmd.Start())
	var said strings.Builder
	lines := bufio.NewReader(out)
	for !strings.Contains(said.String(), text) {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		require.NoError(t, err, "it ended before it said %q:\n%s", text, said.String())
	}
	require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil {
		require.ErrorAs(t, err, &exit, fmt.Sprintf("after an interrupt:\n%s", rest))
	}
}
