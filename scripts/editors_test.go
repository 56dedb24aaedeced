package scripts

// These tests read the files for editors and for GitHub, which nothing here runs: a typing error in one would be found
// by a learner.

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// readCommented reads JSON with comments, which have lines of their own.
func readCommented(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", path))
	require.NoError(t, err)
	content = regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAll(content, nil)
	require.NoError(t, json.Unmarshal(content, into), path)
}

// goMinor is the Go that go.mod asks for, without the last number.
func goMinor(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	minor := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(content)
	require.NotNil(t, minor)
	return string(minor[1])
}

func TestTasks_for_VS_Code_are_commands_that_exist(t *testing.T) {
	var file struct {
		Version string
		Tasks   []struct {
			Label, Type, Command string
			Args                 []string
		}
		Inputs []struct{ ID string }
	}
	readCommented(t, ".vscode/tasks.json", &file)
	require.Equal(t, "2.0.0", file.Version)
	require.NotEmpty(t, file.Tasks)
	for _, task := range file.Tasks {
		require.Equal(t, "process", task.Type, "%s: a shell is another one on Windows", task.Label)
		switch line := task.Command + " " + strings.Join(task.Args, " "); {
		case strings.HasPrefix(line, "go tool workshop "): // cmd/workshop runs those with a chapter
		case task.Command == "bash":
			require.FileExists(t, filepath.Join("..", task.Args[0]), task.Label)
		default:
			t.Errorf("%s: %q is no command of the workshop", task.Label, line)
		}
		for _, used := range regexp.MustCompile(`\$\{input:(\w+)\}`).FindAllStringSubmatch(strings.Join(task.Args, " "), -1) {
			require.Len(t, file.Inputs, 1)
			require.Equal(t, used[1], file.Inputs[0].ID, task.Label)
		}
	}
}

func TestTasks_for_VS_Code_are_committed_and_settings_are_not(t *testing.T) {
	ignored := func(path string) bool {
		cmd := exec.CommandContext(t.Context(), "git", "check-ignore", "--quiet", "--no-index", path)
		cmd.Dir = ".."
		err := cmd.Run()
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Skipf("git has nothing to say of %s: %v", path, err)
		}
		return err == nil
	}
	require.False(t, ignored(".vscode/tasks.json"))
	require.True(t, ignored(".vscode/settings.json"), "how your editor looks is yours")
}

func TestDevcontainer_has_the_Go_that_go_mod_asks_for(t *testing.T) {
	var file struct {
		Build      struct{ Dockerfile string }
		RemoteUser string

		UpdateContentCommand string
	}
	readCommented(t, ".devcontainer/devcontainer.json", &file)
	content, err := os.ReadFile(filepath.Join("..", ".devcontainer", file.Build.Dockerfile))
	require.NoError(t, err)
	require.Contains(t, string(content), "FROM golang:"+goMinor(t)+"-")
	require.Regexp(t, `useradd .*\b`+file.RemoteUser+`\n`, string(content), "its user has to be made")
	require.Regexp(t, `(?s)USER `+file.RemoteUser+`\n.*go install golang\.org/x/tools/gopls@v\d+\.\d+\.\d+\n`,
		string(content), "gopls is there before the editor asks for it, and belongs to the user")
	require.Equal(t, "go run ./cmd/prepare", file.UpdateContentCommand, "a prebuild runs this command, too")
	require.FileExists(t, "../cmd/prepare/main.go")
}

// step is a step of a workflow.
type step struct {
	Uses, Run string
	With, Env map[string]any
}

// stepsOf returns the steps of a workflow's only job. It may only read.
func stepsOf(t *testing.T, workflow string) []step {
	t.Helper()
	content, err := os.ReadFile("../.github/workflows/" + workflow + ".yml")
	require.NoError(t, err)
	var file struct {
		Permissions map[string]string
		Jobs        map[string]struct{ Steps []step }
	}
	require.NoError(t, yaml.Unmarshal(content, &file))
	require.Equal(t, map[string]string{"contents": "read"}, file.Permissions)
	require.Len(t, file.Jobs, 1)
	return file.Jobs[workflow].Steps
}

func TestWorkflow_runs_progress_and_may_only_read(t *testing.T) {
	steps := stepsOf(t, "progress")
	require.Len(t, steps, 4)
	require.Equal(t, "go.mod", steps[1].With["go-version-file"])
	require.Equal(t, `scripts/progress.sh | tee -a "$GITHUB_STEP_SUMMARY"`, steps[2].Run)
	require.FileExists(t, "progress.sh")
	require.Contains(t, steps[3].Run, "https://codespaces.new/$GITHUB_REPOSITORY")
}

func TestWorkflow_runs_class_without_a_token(t *testing.T) {
	steps := stepsOf(t, "class")
	require.Len(t, steps, 4)
	require.Equal(t, false, steps[0].With["persist-credentials"])
	require.Equal(t, "go.mod", steps[1].With["go-version-file"])
	require.Contains(t, steps[2].Env, "GH_TOKEN")
	require.Empty(t, steps[3].Env, "this step runs the code of the forks")
	require.Equal(t, `scripts/class.sh <"$RUNNER_TEMP/forks" | tee -a "$GITHUB_STEP_SUMMARY"`, steps[3].Run)
	require.FileExists(t, "class.sh")
}

// The tag of an action can be moved to other code; a hash cannot.
func TestWorkflows_name_actions_by_their_hash(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, uses := range regexp.MustCompile(`uses:.*`).FindAllString(string(content), -1) {
			require.Regexp(t, `^uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`, uses, file)
		}
		require.Equal(t, filepath.Base(file) == "drift.yml", strings.Contains(string(content), "govulncheck"), file)
	}
}

func TestForms_that_report_a_problem_ask_for_the_version(t *testing.T) {
	for _, form := range []string{"bug", "failure", "wrong-code"} {
		content, err := os.ReadFile("../.github/ISSUE_TEMPLATE/" + form + ".yml")
		require.NoError(t, err)
		var file struct {
			Body []struct{ Attributes struct{ Description string } }
		}
		require.NoError(t, yaml.Unmarshal(content, &file), form)
		var descriptions strings.Builder
		for _, field := range file.Body {
			descriptions.WriteString(field.Attributes.Description + "\n")
		}
		require.Contains(t, descriptions.String(), "`go tool workshop version`", form)
	}
}
