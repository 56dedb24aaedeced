// Command prepare compiles what the live view and the chapters' tests need, and shows how far it is:
//
//	go run ./cmd/prepare
//
// The go command compiles client-go before the first verdict, for about a minute, and prints nothing meanwhile. So
// attendees, and the devcontainer, do it beforehand. It imports the standard library alone, and little of it, so that
// it starts at once.
//
// It leaves out the race detector, which compiles everything a second time, and the cluster.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := prepare(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		os.Exit(1)
	}
}

// prepare compiles the workshop that dir is in.
func prepare(out *os.File, dir string) error {
	fmt.Fprintln(out, "Compiling what the live view and the tests need. On a new machine it takes about a minute.")
	if _, err := exec.LookPath("git"); err != nil {
		fmt.Fprintln(out, "git is not found: git diff and git stash do not work here. Everything else does.")
	}
	module, err := goCommand(dir, "env", "GOMOD")
	if err != nil {
		return err
	}
	root := filepath.Dir(module)
	chapters, _ := filepath.Glob(filepath.Join(root, "0[1-9]-*")) // the pattern is well-formed
	if len(chapters) == 0 {
		return fmt.Errorf("%s has no chapters: run this command in the folder client-go-workshop", root)
	}
	for i, c := range chapters {
		chapters[i] = "./" + filepath.Base(c)
	}
	imported := `{{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`
	names, err := goCommand(root, append([]string{"list", "-f", imported}, chapters...)...)
	if err != nil {
		return err
	}
	packages := append(strings.Fields(names), "./cmd/workshop")
	compiled := "{{if .Stale}}{{.ImportPath}}{{end}}"
	stale, err := goCommand(root, append([]string{"list", "-deps", "-f", compiled}, packages...)...)
	if err != nil {
		return err
	}
	if err := build(out, root, len(strings.Fields(stale)), packages); err != nil {
		return err
	}
	fmt.Fprintln(out, "Linking the live view and the tests …")
	if _, err := goCommand(root, "tool", "workshop", "list"); err != nil {
		return err
	}
	// Code that does not compile at the moment is the learner's, and no reason to fail.
	_, _ = goCommand(root, append([]string{"test", "-run=^$"}, chapters...)...)
	fmt.Fprintln(out, "Ready. Start with: go tool workshop")
	return nil
}

// build compiles packages, and counts those that the go command names, up to all.
func build(out *os.File, root string, all int, packages []string) error {
	cmd := exec.Command("go", append([]string{"build", "-v"}, packages...)...)
	cmd.Dir = root
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the go command: %w", err)
	}
	problems := follow(out, isTerminal(out), all, said)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, strings.Join(problems, "\n"))
	}
	return nil
}

// follow reads what go build -v prints, and shows how many of all packages are compiled: in one line that changes on a
// terminal, otherwise in a new line after each tenth. It returns the lines that are not packages.
func follow(out io.Writer, terminal bool, all int, said io.Reader) (problems []string) {
	done, tenth := 0, 0
	for scanner := bufio.NewScanner(said); scanner.Scan(); {
		line := scanner.Text()
		if strings.ContainsAny(line, " \t") {
			problems = append(problems, line)
			continue
		}
		done++
		all = max(all, done)
		switch {
		case terminal:
			fmt.Fprintf(out, "\r\x1b[K%d of %d packages are compiled", done, all)
		case done*10/all > tenth:
			tenth = done * 10 / all
			fmt.Fprintf(out, "%d of %d packages are compiled\n", done, all)
		}
	}
	if terminal && done > 0 {
		fmt.Fprintln(out)
	}
	return problems
}

// goCommand returns what the go command prints in dir. An error has what it printed as errors.
func goCommand(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(errOut.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
