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

// The back-off has chance in it, so what the controller does after the outage comes at a time of its own; in order it is.
func TestStory(t *testing.T) {
	for _, choice := range []string{"solutions", "client-go", "client-go,informer=client-go", "solutions,workqueue=client-go"} {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options, err := parse("--layers", choice)
				require.NoError(t, err)
				var out text
				began := time.Now()
				require.NoError(t, tellStory(t.Context(), options, &out))
				require.Less(t, time.Since(began), time.Minute, "a newcomer has a minute")

				events := regexp.MustCompile(`(?m)^ +[0-9.]+s +→ ((?:Created|Repaired|Removed).*)$`).FindAllStringSubmatch(out.b.String(), -1)
				var told []string
				for _, e := range events {
					told = append(told, strings.ReplaceAll(e[1], "PodDisruptionBudget web", "it"))
				}
				require.GreaterOrEqual(t, len(told), 5, out.b.String())
				require.Equal(t, []string{"Created it with minAvailable 2", "Repaired it: set minAvailable to 4", "Created it with minAvailable 4"}, told[:3])
				require.Equal(t, "Removed it: spec.replicas is 1", told[len(told)-1])
				require.Contains(t, out.b.String(), "In the end there is no budget")
				require.Contains(t, out.b.String(), "workqueue  "+options.layers.From["workqueue"])
			})
		})
	}
}

func TestStory_ends_at_once_with_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, err := parse()
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		var out text
		began := time.Now()
		require.NoError(t, tellStory(ctx, options, &out))
		require.Equal(t, 6*time.Second, time.Since(began))
		require.True(t, strings.HasSuffix(out.b.String(), "\nStopped after 6.0s, before the story's end.\n"), out.b.String())
		require.NotContains(t, out.b.String(), "budgets left", "that would be a failure")
	})
}

// tells, in the environment, says that this process is to tell the story.
const tells = "WORKSHOP_TEST_TELLS_THE_STORY"

func TestStory_is_interrupted_without_a_line_of_log(t *testing.T) {
	if os.Getenv(tells) != "" {
		options, err := parse()
		require.NoError(t, err)
		require.NoError(t, run(context.Background(), options))
		return
	}
	if runtime.GOOS == "windows" {
		return // no process can be interrupted from outside there
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), tells+"=1", "KUBECONFIG=", "KUBERNETES_SERVICE_HOST=")
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	told, said := bufio.NewReader(stdout), ""
	for !strings.Contains(said, "what the controller does") {
		line, err := told.ReadString('\n')
		said += line
		require.NoError(t, err, said)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(told)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), said+string(rest))
	require.Contains(t, string(rest), "before the story's end.")
	require.Empty(t, log.String())
}

func TestChoose_client_go_s_informer_brings_its_layers(t *testing.T) {
	c, err := choose("solutions,informer=client-go", parts)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"client": "solutions", "workqueue": "solutions", "reflector": "client-go", "deltafifo": "client-go", "indexer": "client-go"}, c.From)
	require.Equal(t, "client-go", c.informer)
	_, err = choose("solutions,informer=theirs", parts)
	require.EqualError(t, err, `there is no informer "theirs" here; it is solutions or client-go`)
}
