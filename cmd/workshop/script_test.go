package main

// These are transcripts of every command, in testdata/script: what a learner types, and what the command prints. Each
// has its own small workshop (testdata/workshop.txtar) with the real guard. With -update the golden parts are made
// again.

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/authoring/cmdtest"
	"client-go-workshop/internal/authoring/verify"
	"client-go-workshop/internal/course"
)

// stamp is how a backup is named.
var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\d_\d\d\.\d\d\.\d\d`)

var update = flag.Bool("update", false, "make the golden parts of testdata/script again, and the screens in the README")

func TestScripts(t *testing.T) {
	env := goEnv(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for name, value := range env {
				e.Setenv(name, value)
			}
			root, giveBack := takeHome()
			e.Defer(giveBack)
			e.Setenv("ROOT", root)
			e.Cd = root
			return layOut(root, "testdata/workshop.txtar")
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "cc":
				_, err := exec.LookPath(env["CC"])
				return err == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"addlab": addLab,
			"edit":   edit,
			"solve":  solve,
			"mask":   mask,
			"noPATH": noPATH,
		},
	})
}

// goEnv is what the go command needs of the world outside: its caches above all, so that a script compiles only what it
// changes, and the guard, which lies elsewhere in each script. (With -trimpath it would not have to, but then all of
// the standard library once more on a fresh machine.)
func goEnv(t *testing.T) map[string]string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "CC"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	require.NoError(t, err)
	env := map[string]string{
		"GOFLAGS": "-buildvcs=false", "GORACE": raceOptions, "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOENV": "off",
		"NO_COLOR": "1", "TERM": "dumb", "VISUAL": "", "EDITOR": "",
		// For git, which must not read the configuration of the person who runs the tests.
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
	}
	for i, value := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		env[names[i]] = strings.TrimSpace(value)
	}
	if fields := strings.Fields(env["CC"]); len(fields) > 0 {
		env["CC"] = fields[0]
	}
	return env
}

// layOut makes the small workshop: two chapters with their stubs, and the packages that their tests need.
func layOut(root, archive string) error {
	if err := cmdtest.Workshop(root, archive); err != nil {
		return err
	}
	return generateAll(root)
}

// generateAll makes the stubs of all chapters.
func generateAll(root string) error {
	all, err := course.All(root)
	for _, c := range all {
		if _, _, err := verify.Generate(root, c); err != nil {
			return err
		}
	}
	return err
}

// addlab adds the lab of testdata/lab.txtar to the small workshop.
func addLab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: addlab")
	}
	ts.Check(cmdtest.Add(ts.MkAbs("."), "testdata/lab.txtar"))
	ts.Check(generateAll(ts.MkAbs(".")))
}

// edit FILE OLD NEW puts NEW in OLD's place, which must be there. \n is a new line.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	lines := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	text, old := ts.ReadFile(args[0]), lines.Replace(args[1])
	if !strings.Contains(text, old) {
		ts.Fatalf("%s does not contain %q:\n%s", args[0], old, text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, old, lines.Replace(args[2]), 1)), 0o644))
}

// solve CHAPTER writes the solution into a chapter, with a comment of the learner's in each file.
func solve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: solve CHAPTER")
	}
	solution := "solutions/" + args[0]
	if lab, isLab := strings.CutPrefix(args[0], "labs/"); isLab {
		solution = "labs/solutions/" + lab
	}
	paths, err := filepath.Glob(ts.MkAbs(solution + "/*.go"))
	ts.Check(err)
	if len(paths) == 0 {
		ts.Fatalf("there is no solution in %s", solution)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[0]+"/"+filepath.Base(path)), append(content, "\n// Mine.\n"...), 0o644))
	}
}

// mask FILE makes the file "masked", with words in place of what differs from run to run: backups are named for the
// time.
func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask stdout|stderr|FILE")
	}
	text := strings.NewReplacer(ts.Getenv("ROOT"), "$ROOT", ts.Getenv("WORK"), "$WORK").Replace(ts.ReadFile(args[0]))
	ts.Check(os.WriteFile(ts.MkAbs("masked"), []byte(stamp.ReplaceAllString(text, "TIME")), 0o644))
}

// noPATH leaves PATH with nothing but the workshop's program and the go command, so there is no git.
func noPATH(ts *testscript.TestScript, neg bool, args []string) {
	bin := ts.MkAbs("../bin")
	ts.Check(os.MkdirAll(bin, 0o755))
	for _, name := range []string{"go", program} {
		from, err := exec.LookPath(name)
		ts.Check(err)
		ts.Check(os.Symlink(from, filepath.Join(bin, name)))
	}
	ts.Setenv("PATH", bin)
}

func TestScripts_cover_every_command(t *testing.T) {
	paths, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, c := range newRoot().Commands() {
		switch c.Name() {
		case "verify", "generate", "cluster", "kubectl", "share", "show": // main_test.go, cmd/share and cmd/show have them
			continue
		}
		require.True(t, strings.Contains(all.String(), "exec workshop "+c.Name()), "no transcript runs %s", c.Name())
	}
}
