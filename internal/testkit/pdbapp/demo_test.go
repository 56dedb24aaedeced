package pdbapp

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// text is an io.Writer that can be read.
type text struct {
	lock sync.Mutex
	b    strings.Builder
}

func (x *text) Write(p []byte) (int, error) {
	x.lock.Lock()
	defer x.lock.Unlock()
	return x.b.Write(p)
}

// The back-off is random, so only the order of the controller's actions after the outage is certain, not their times.
func TestDemo(t *testing.T) {
	for _, choice := range []string{"solutions", "client-go", "client-go,informer=client-go",
		"solutions,workqueue=client-go"} {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options, err := parse("--layers", choice)
				require.NoError(t, err)
				var out text
				began := time.Now()
				require.NoError(t, runDemo(t.Context(), options, &out))
				require.Less(t, time.Since(began), time.Minute, "a newcomer has a minute")

				lines := regexp.MustCompile(`(?m)^ +[0-9.]+s +→ ((?:Created|Repaired|Removed).*)$`).FindAllStringSubmatch(out.b.String(), -1)
				var events []string
				for _, e := range lines {
					events = append(events, strings.ReplaceAll(e[1], "PodDisruptionBudget web", "it"))
				}
				require.GreaterOrEqual(t, len(events), 5, out.b.String())
				require.Equal(t, []string{"Created it with minAvailable 2", "Repaired it: set minAvailable to 4",
					"Created it with minAvailable 4"}, events[:3])
				require.Equal(t, "Removed it: spec.replicas is 1", events[len(events)-1])
				require.Contains(t, out.b.String(), "In the end there is no budget")
				require.Contains(t, out.b.String(), "workqueue  "+options.layers.From["workqueue"])
			})
		})
	}
}

func TestDemo_ends_at_once_with_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, err := parse()
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		var out text
		began := time.Now()
		require.NoError(t, runDemo(ctx, options, &out))
		require.Equal(t, 6*time.Second, time.Since(began))
		require.True(t, strings.HasSuffix(out.b.String(), "\nStopped after 6.0s, before the end.\n"), out.b.String())
		require.NotContains(t, out.b.String(), "budgets left", "that would be a failure")
	})
}

// runsDemo is the environment variable that makes this process run the demonstration.
const runsDemo = "WORKSHOP_TEST_RUNS_DEMO"

func TestDemo_is_interrupted_without_a_line_of_log(t *testing.T) {
	if os.Getenv(runsDemo) != "" {
		options, err := parse()
		require.NoError(t, err)
		require.NoError(t, run(context.Background(), options))
		return
	}
	if runtime.GOOS == "windows" {
		return // no process can be interrupted from outside there
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), runsDemo+"=1", "KUBECONFIG=", "KUBERNETES_SERVICE_HOST=")
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	stdoutLines, said := bufio.NewReader(stdout), ""
	for !strings.Contains(said, "what the controller does") {
		line, err := stdoutLines.ReadString('\n')
		said += line
		require.NoError(t, err, said)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(stdoutLines)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), said+string(rest))
	require.Contains(t, string(rest), "before the end.")
	require.Empty(t, log.String())
}

func TestChoose_client_go_s_informer_brings_its_layers(t *testing.T) {
	c, err := Choose("solutions,informer=client-go", parts)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"client": "solutions", "workqueue": "solutions", "reflector": "client-go",
		"deltafifo": "client-go", "indexer": "client-go", "informer": "client-go", "controller": "solutions"}, c.From)
	_, err = Choose("solutions,informer=theirs", parts)
	require.EqualError(t, err, `there is no informer "theirs" here; it is client-go or solutions`)
	_, err = Choose("solutions,controller=client-go", parts)
	require.EqualError(t, err, `there is no controller "client-go" here; it is solutions`)
}
