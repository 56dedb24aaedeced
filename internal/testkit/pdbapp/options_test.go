// options_test.go tests the command line, and where the cluster is looked for.

package pdbapp

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/todo"
	controller "client-go-workshop/solutions/07-controller"
)

// parts are those of the finished program.
var parts = Parts{
	Sets: map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers},
	Own:  "solutions",
	Upper: map[string]Upper{"solutions": {controller.NewSharedIndexInformerOn,
		func(logger klog.Logger, config Config) (Runner, error) {
			return controller.New(logger, controller.Config(config))
		}}},
	Yours: "run it",
}

func parse(args ...string) (options, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return parseOptions(flags, args, parts)
}

func TestOptions(t *testing.T) {
	got, err := parse()
	require.NoError(t, err)
	got.layers = Chosen{}
	require.Equal(t, options{choice: "solutions", workers: 2, resync: 10 * time.Minute, leaseNamespace: "default"}, got)

	got, err = parse("--kubeconfig=f", "--namespace=shop", "--workers=8", "--resync=0", "--leader-elect=false",
		"--lease-namespace=ops", "-v=0")
	require.NoError(t, err)
	got.layers = Chosen{}
	want := options{choice: "solutions", kubeconfig: "f", namespace: "shop", workers: 8, leaseNamespace: "ops"}
	require.Equal(t, want, got)

	for wrong, says := range map[string]string{
		"--workers=0":  "--workers=0: at least 1 is needed",
		"--resync=-1s": "--resync=-1s: cannot be negative; 0 turns it off",
		"start":        `unexpected argument "start": everything is given by flags, see -h`,
		"--layers=own": `--layers: choose layers by "own": there is no set "own"; it is one of solutions, client-go, or ` +
			`with -tags yours also yours`,
		"--layers=solutions,reflector=yours": `--layers: "solutions,reflector=yours": this program was built ` +
			`without your layers; run it`,
		"--wrong": "flag provided but not defined: -wrong; -h lists all flags",
	} {
		_, err := parse(wrong)
		require.EqualError(t, err, says)
	}
	_, err = parse("-h")
	require.ErrorIs(t, err, flag.ErrHelp)
}

func TestUnwritten_names_the_chapter_and_the_ways_out(t *testing.T) {
	missing := todo.NotWritten{Task: 5, Symbol: "NewListWatchFromClient", File: "/w/02-watch-stream/listwatch.go", Line: 55}
	require.Equal(t, `chapter 02-watch-stream is not written yet: it needs NewListWatchFromClient (listwatch.go:55, task 5)
  to write it               go tool workshop 02
  to run the finished code  --layers yours,client=solutions`, Unwritten(missing, finished(missing, "yours")))
	_, err := layers.Choose("yours,client=solutions", map[string]layers.Layers{"yours": {}, "solutions": {}})
	require.NoError(t, err)

	missing = todo.NotWritten{Task: 5, Symbol: "Pop", File: "/w/labs/todays-informer/informer.go", Line: 33}
	require.Equal(t, `chapter labs/todays-informer is not written yet: it needs Pop (informer.go:33, task 5)
  to write it               go tool workshop todays-informer
  to run the finished code  --layers solutions,deltafifo=real`,
		Unwritten(missing, finished(missing, "yours,deltafifo=real")))

	missing = todo.NotWritten{Task: 1, Symbol: "New", File: `C:\w\07-controller\controller.go`, Line: 5}
	require.Contains(t, Unwritten(missing, finished(missing, "solutions")),
		"go run ./solutions/07-controller/cmd/pdb-controller")
}

// writeConfig writes a kubeconfig for server, or one without any cluster.
func writeConfig(t *testing.T, server string) string {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := "apiVersion: v1\nkind: Config\n"
	if server != "" {
		content += "clusters: [{name: c, cluster: {server: " + server + "}}]\n" +
			"contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestFindConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // this is not a Pod
	one, two := writeConfig(t, "https://127.0.0.1:1"), writeConfig(t, "https://127.0.0.1:2")
	empty := writeConfig(t, "")

	for title, test := range map[string]struct{ flagged, environment, host string }{
		"the flag":                    {one, "", "https://127.0.0.1:1"},
		"the environment":             {"", two, "https://127.0.0.1:2"},
		"the flag before the rest":    {one, two, "https://127.0.0.1:1"},
		"several, the first set wins": {"", two + string(filepath.ListSeparator) + one, "https://127.0.0.1:2"},
		"several, one of them absent": {"", "absent" + string(filepath.ListSeparator) + one, "https://127.0.0.1:1"},
	} {
		t.Run(title, func(t *testing.T) {
			config, err := findConfig(test.flagged, test.environment)
			require.NoError(t, err)
			require.Equal(t, test.host, config.Host)
		})
	}

	for title, test := range map[string]struct{ flagged, environment, says string }{
		"nothing": {"", "", "no cluster to connect to: --kubeconfig is not given, $KUBECONFIG is empty, and this " +
			"is not a Pod"},
		"an absent file": {"absent", two, "reading --kubeconfig=absent: "},
		"an absent one":  {"", "absent", "$KUBECONFIG (absent) says nothing about a cluster"},
		"an empty one":   {empty, "", "--kubeconfig=" + empty + " says nothing about a cluster"},
	} {
		t.Run(title, func(t *testing.T) {
			_, err := findConfig(test.flagged, test.environment)
			require.ErrorContains(t, err, test.says)
		})
	}
}
