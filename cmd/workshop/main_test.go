package main

// These tests run the program as a process, as a person or a script does.

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/authoring/author"
	"client-go-workshop/internal/authoring/cmdtest"
)

// raceOptions: a program with the race detector would wait a second for late news before it exits.
const raceOptions = "atexit_sleep_ms=0"

// program is the test binary under another name, in the PATH. It has the race detector if the tests have.
const program = "workshop"

func TestMain(m *testing.M) {
	os.Setenv("GORACE", raceOptions)
	testscript.Main(tests{m}, map[string]func(){program: main, "author": author.Main, "workshop-loop": stressLoop,
		"go-tool": goTool})
}

// goTool is a program that does with signals what the go command does behind `go tool workshop`.
func goTool() {
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 100)
	signal.Notify(signals)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	_ = cmd.Wait()
}

// run runs the program in dir.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return cmdtest.Run(t, program, dir, args...)
}

func TestWorkshop_outside_of_the_workshop(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"compare"}, {"cluster", "status"}, {"kubectl", "get", "pods"}} {
		_, stderr, code := run(t, t.TempDir(), args...)
		require.Equal(t, 1, code, args)
		require.Contains(t, stderr, "is not inside the workshop", args)
		require.Contains(t, stderr, "change into your clone", args)
	}
}

func TestWorkshop_in_a_pipe_says_where_you_are(t *testing.T) {
	stdout, _, code := run(t, "../..")
	require.Equal(t, 0, code)
	for _, word := range []string{"01-restclient", "07-controller", "Next: ", "go tool workshop hint",
		"go tool workshop help"} {
		require.Contains(t, stdout, word)
	}
}

func TestHelp_says_what_there_is(t *testing.T) {
	stdout, _, code := run(t, "../..", "help")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "go test ./01-restclient")
	require.NotContains(t, stdout, "Additional Commands", "commands that are in no group")
	for _, c := range newRoot().Commands() {
		require.Regexp(t, `(?m)^  `+c.Name()+` +`+regexp.QuoteMeta(c.Short)+`$`, stdout)
	}
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(line)), 86, line)
	}
}

// The README has no list of commands: what they can do is here.
func TestHelp_of_a_command_names_its_flags(t *testing.T) {
	for command, words := range map[string][]string{
		"watch": {"--plain", "screen readers", "--report"}, "test": {"test 05/2", "--json"}, "predict": {"predict 05/2"},
		"reset": {"--bare", "--tests", "copies your code"}, "skip": {"copies your code"}, "restore": {"--backup"},
		"solution": {"--diff", "--answers", "--yes"}, "bugs": {"--all", "--anyway"}, "progress": {"--json"},
		"completion": {"zsh", "fish", "powershell"},
	} {
		stdout, _, code := run(t, "../..", "help", command)
		require.Equal(t, 0, code)
		for _, word := range words {
			require.Contains(t, stdout, word, command)
		}
	}
}

func TestShare_is_handed_over(t *testing.T) {
	stdout, stderr, code := run(t, "../..", "share", "--help")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "go tool workshop share [flags]")
	_, stderr, code = run(t, "../..", "share", "--loud")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "go tool workshop share has no flag --loud")
}

// The real program takes a minute to link. A small one in its place says what it was built with and receives.
func TestShow_is_handed_over(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"go.mod":           "module client-go-workshop\n\ngo 1.26\n",
		"01-box/box.go":    "package box\n",
		"cmd/show/main.go": showsArguments,
		"cmd/show/a.go":    "//go:build yours\n\npackage main\n\nfunc init() { layers = \"yours\" }\n",
	})
	stdout, stderr, code := run(t, root, "show", "--no-open")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "solutions [--no-open]\n", stdout)
	require.NoError(t, os.WriteFile(filepath.Join(root, "cmd/show/help.txt"), []byte("the flags\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "cmd/show/main.go"), []byte("does not compile"), 0o644))
	stdout, stderr, code = run(t, root, "show", "--tour", "01", "--help")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "the flags\n", stdout, "without building it")
	require.NoError(t, os.WriteFile(filepath.Join(root, "cmd/show/main.go"), []byte(showsArguments), 0o644))
	stdout, _, code = run(t, root, "show", "--layers", "solutions,indexer=yours", "--loud")
	require.Equal(t, 3, code)
	require.Equal(t, "yours [--layers solutions,indexer=yours --loud]\n", stdout)
}

const showsArguments = `package main

import (
	"fmt"
	"os"
)

var layers = "solutions"

func main() {
	fmt.Println(layers, os.Args[1:])
	if len(os.Args) > 2 {
		os.Exit(3)
	}
}
`

func writeFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// Ctrl-C is for the whole process group; a service manager's SIGTERM is for one process.
func TestShare_ends_when_it_is_told_to(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can be told so there")
	}
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"go.mod":         "module client-go-workshop\n\ngo 1.26\n",
		"01-box/box.go":  "package box\n",
		"cmd/share/a.go": waitsForSIGTERM, // the real one wants all modules of the workshop to be there
	})
	cmd := exec.Command(program, "share")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	said, lines := "", bufio.NewReader(stdout)
	for !strings.Contains(said, "Ctrl-C ends it") {
		line, err := lines.ReadString('\n')
		said += line
		require.NoError(t, err, said)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(lines) // until the last process that could write is gone
	require.NoError(t, err)
	require.Contains(t, string(rest), "Nothing is served any more")
	require.NoError(t, cmd.Wait())
}

// A terminal that is closed sends SIGHUP. No process can ignore SIGKILL.
func TestWorkshop_takes_the_tests_along_when_it_ends(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the children of a process that is killed")
	}
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		root := home(t, "testdata/workshop.txtar")
		mark := filepath.Join(t.TempDir(), "pid")
		box, err := os.ReadFile(filepath.Join(root, "01-box/box.go"))
		require.NoError(t, err)
		spins := strings.NewReplacer(
			`panic(todo.Task(1, "Box.Put"))`,
			fmt.Sprintf("os.WriteFile(%q, fmt.Append(nil, os.Getpid()), 0o600)\nfor { }", mark),
			`import "client-go-workshop/internal/testkit/todo"`,
			"import (\n\"fmt\"\n\"os\"\n\n\"client-go-workshop/internal/testkit/todo\"\n)").Replace(string(box))
		require.NoError(t, os.WriteFile(filepath.Join(root, "01-box/box.go"), []byte(spins), 0o644))

		cmd := exec.Command(program, "test", "01/1")
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off")
		require.NoError(t, cmd.Start())
		pid := 0
		require.Eventually(t, func() bool {
			text, _ := os.ReadFile(mark)
			pid, err = strconv.Atoi(string(text))
			return err == nil
		}, time.Minute, 10*time.Millisecond, "the test spins")
		require.NoError(t, cmd.Process.Signal(signal))
		_ = cmd.Wait()
		require.Eventually(t, func() bool {
			_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // a zombie has none
			return err != nil
		}, time.Minute, 10*time.Millisecond, "process %d, the test, ends after %v", pid, signal)
	}
}

const waitsForSIGTERM = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	fmt.Println("Ctrl-C ends it")
	<-told
	fmt.Println("Nothing is served any more")
}
`

// The tool is built on a learner's machine, more than once, and has to be there in seconds.
func TestWorkshop_does_not_import_what_takes_long_to_compile(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "k8s.io/")
	require.NotContains(t, string(out), "net/http", "what serves is a program of its own: cmd/share, cluster/cmd/cluster")
}
