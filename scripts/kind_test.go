package scripts

// These tests run kind-up.sh and kind-down.sh on a Docker and a kind that are played.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

func TestKind_up_says_in_one_sentence_what_is_missing(t *testing.T) {
	for name, c := range map[string]struct {
		lacks   func(*world)
		says    []string
		without bool // it offers a way without Docker
	}{
		"no Docker": {
			lacks:   func(w *world) { require.NoError(t, os.Remove(filepath.Join(w.bin, "docker"))) },
			says:    []string{"looking for Docker: there is no program docker in your PATH", "install Docker"},
			without: true,
		},
		"an engine that does not run": {
			lacks:   func(w *world) { w.is("docker-stopped", "") },
			says:    []string{"asking Docker for its version", "Is the docker daemon running?", "start Docker"},
			without: true,
		},
		"an image that cannot be pulled": {
			lacks:   func(w *world) { w.is("offline", "") },
			says:    []string{"pulling the image kindest/node:", "no such host", "scripts/kind-up.sh --from-source"},
			without: true,
		},
		"no Go": {
			lacks: func(w *world) { require.NoError(t, os.Remove(filepath.Join(w.bin, "go"))) },
			says:  []string{"looking for Go: there is no program go in your PATH"},
		},
		"no kind": {
			lacks: func(w *world) { w.is("no-kind", "") },
			says:  []string{"building the kind that go.mod pins", "sigs.k8s.io/kind@v0.33.0: no such host"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.lacks(w)
			_, stderr, code := w.run("kind-up.sh", "--controller")
			require.Equal(t, 1, code)
			require.Equal(t, 1, strings.Count(stderr, "\n"), "one line, not:\n%s", stderr)
			for _, words := range c.says {
				require.Contains(t, stderr, words)
			}
			require.Equal(t, c.without, strings.Contains(stderr, "go without Docker: go tool workshop cluster up"), stderr)
			require.NotContains(t, w.told("calls"), "create cluster", "nothing may have been begun")
		})
	}
}

func TestKind_up_makes_a_cluster_in_five_steps(t *testing.T) {
	w := newWorld(t)
	stdout := w.runs("kind-up.sh")
	requireInOrder(t, stdout, "1/5 ", "2/5 ", "3/5 ", "4/5 ", "5/5 ", "The cluster is up", "scripts/kind-down.sh")
	requireInOrder(t, w.told("calls"),
		"docker pull --quiet "+defaults.Image,
		"go tool kind create cluster --config scripts/kind.yaml --kubeconfig "+w.kubeconfig(),
		"kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw=/readyz",
		"wait --for=condition=Ready nodes --all",
		"apply --filename=-")
	require.Equal(t, w.deployed("rbac.yaml"), w.told("applied"), "the controller is applied only if asked for")
	require.Contains(t, stdout, "export KUBECONFIG="+w.kubeconfig())
}

func TestKind_up_again_goes_on_with_what_is_there(t *testing.T) {
	w := newWorld(t)
	w.runs("kind-up.sh")
	w.forget("calls")
	w.is("offline", "")
	stdout := w.runs("kind-up.sh")
	require.Contains(t, stdout, "is there already, going on with it")
	require.NotContains(t, w.told("calls"), "create cluster")
	require.NotContains(t, w.told("calls"), "docker pull")
	require.Contains(t, w.told("calls"),
		"go tool kind export kubeconfig --name client-go-workshop --kubeconfig "+w.kubeconfig(),
		"the kubeconfig may be lost, or old")
	require.Equal(t, strings.Repeat(w.deployed("rbac.yaml"), 2), w.told("applied"))
}

func TestKind_up_does_not_pull_an_image_that_is_there(t *testing.T) {
	w := newWorld(t)
	w.is("node-image", "")
	w.is("offline", "")
	w.runs("kind-up.sh")
	require.NotContains(t, w.told("calls"), "docker pull")
}

func TestKind_up_from_source_uses_the_image_built_here(t *testing.T) {
	for name, args := range map[string][]string{
		"the option":      {"--from-source"},
		"no registry":     {},
		"two options":     {"--controller", "--from-source"},
		"in either order": {"--from-source", "--controller"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.is("source-image", "")
			w.is("offline", "")
			w.runs("kind-up.sh", args...)
			image := strings.TrimSpace(w.runs("node-image.sh", "--name"))
			require.Regexp(t, `^client-go-workshop/node:v1\.\d+\.\d+$`, image, "the version of cluster/go.mod")

			original, err := os.ReadFile("kind.yaml")
			require.NoError(t, err)
			config, found := strings.CutSuffix(w.told("config"), "networking:\n  kubeProxyMode: nftables\n")
			require.True(t, found, "podnet and kube-proxy must not use iptables at the same time:\n%s", config)
			requireOneLineDiffers(t, string(original), config, "    image: &node "+image)
			require.Equal(t, len(args) == 2, strings.Contains(w.told("calls"), "rollout status"))
			require.Equal(t, len(args) == 0, strings.Contains(w.told("calls"), "docker pull"),
				"it asks the registry only without the option")
		})
	}
}

func TestKind_up_appends_the_settings_of_a_machine(t *testing.T) {
	w := newWorld(t)
	w.is("settings", "featureGates: {}\n")
	t.Setenv("KIND_SETTINGS", filepath.Join(w.state, "settings"))
	w.runs("kind-up.sh")
	original, err := os.ReadFile("kind.yaml")
	require.NoError(t, err)
	require.Equal(t, string(original)+"featureGates: {}\n", w.told("config"))
}

func TestKind_up_starts_nodes_that_Docker_has_stopped(t *testing.T) {
	w := newWorld(t)
	w.is("cluster", "")
	w.is("stopped-node", "")
	w.is("starting", "") // the API server refuses the first connection
	stdout := w.runs("kind-up.sh")
	require.Contains(t, stdout, "starting the stopped node c0ffee")
	require.Equal(t, 2, strings.Count(w.told("calls"), "--raw=/readyz"), "it is asked until it answers")
}

func TestKind_up_that_fails_later_says_what_to_do(t *testing.T) {
	for name, c := range map[string]struct{ so, says, todo string }{
		"kind fails": {"kind-fails", "making the cluster client-go-workshop",
			"scripts/kind-down.sh removes what may be left of it"},
		"a cluster that is half made": {"half-made", "reading the kubeconfig of the cluster client-go-workshop: ERROR: " +
			"failed to read the kubeconfig", "scripts/kind-down.sh && scripts/kind-up.sh"},
		"a node is never ready": {"node-not-ready", "waiting for the nodes: not all are Ready",
			"go tool kind export logs --name client-go-workshop"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.is(c.so, "")
			if c.so == "half-made" {
				w.is("cluster", "")
			}
			_, stderr, code := w.run("kind-up.sh")
			require.Equal(t, 1, code)
			require.Contains(t, stderr, c.says)
			require.Contains(t, stderr, c.todo)
			require.Empty(t, w.told("applied"))
		})
	}
}

var controllerImage = regexp.MustCompile(`client-go-workshop/pdb-controller:[0-9a-f]{12}\b`)

func TestKind_up_with_the_controller_runs_the_image_it_has_built(t *testing.T) {
	w := newWorld(t)
	stdout := w.runs("kind-up.sh", "--controller")
	requireInOrder(t, stdout, "5/6 ", "6/6 ", "pdb-controller-1 leads", "The cluster is up")

	calls := w.told("calls")
	image := controllerImage.FindString(calls)
	require.NotEmpty(t, image)
	requireInOrder(t, calls,
		"./solutions/07-controller/cmd/pdb-controller\n",
		// The engine's architecture, which is not everywhere this machine's.
		"CGO_ENABLED=0 GOOS=linux GOARCH=arm64",
		"docker build --quiet --file solutions/07-controller/deploy/Dockerfile --tag "+image,
		"go tool kind load docker-image "+image+" --name client-go-workshop",
		"rollout status deployment/pdb-controller")
	require.Equal(t, "pdb-controller\n", w.told("context"), "Docker is given the binary and nothing else")

	applied := strings.TrimPrefix(w.told("applied"), w.deployed("rbac.yaml"))
	requireOneLineDiffers(t, w.deployed("deployment.yaml"), applied, "          image: "+image)
}

func TestKind_up_again_replaces_Pods_only_if_the_controller_has_changed(t *testing.T) {
	w := newWorld(t)
	image := func() string {
		w.runs("kind-up.sh", "--controller")
		applied := w.told("applied")
		w.forget("applied")
		return controllerImage.FindString(applied)
	}
	first := image()
	require.Equal(t, first, image(), "the same binary has the same name, and the Deployment is as it was")
	w.is("program", "another binary\n")
	require.NotEqual(t, first, image())
}

func TestKind_up_can_run_the_learners_controller(t *testing.T) {
	w := newWorld(t)
	w.runs("kind-up.sh", "--controller=yours")
	require.Contains(t, w.told("calls"), " ./07-controller/cmd/pdb-controller\n")
}

func TestKind_up_says_why_the_controller_does_not_run(t *testing.T) {
	t.Run("it does not compile", func(t *testing.T) {
		w := newWorld(t)
		w.is("does-not-compile", "")
		_, stderr, code := w.run("kind-up.sh", "--controller=yours")
		require.Equal(t, 1, code)
		requireInOrder(t, stderr, "./controller.go:7:1: syntax error",
			"image.sh: compiling ./07-controller/cmd/pdb-controller")
		require.NotContains(t, w.told("calls"), "docker build")
	})
	t.Run("its image is not built", func(t *testing.T) {
		w := newWorld(t)
		w.is("build-fails", "")
		_, stderr, code := w.run("kind-up.sh", "--controller")
		require.Equal(t, 1, code)
		requireInOrder(t, stderr, "it is Friday", "image.sh: building the image client-go-workshop/pdb-controller:")
		require.NotContains(t, w.told("calls"), "kind load")
	})
	t.Run("its leader ends", func(t *testing.T) {
		w := newWorld(t)
		w.is("leader-ends", "") // after both Pods were Ready
		stdout, stderr, code := w.run("kind-up.sh", "--controller=yours")
		require.Equal(t, 1, code)
		requireInOrder(t, stdout, "CrashLoopBackOff", "Run is not written yet")
		require.Contains(t, stderr, "waiting for the controller to lead: a Pod has ended, and says above why")
		require.Contains(t, w.told("calls"), "--previous=true", "the Pod has started again since")
	})
	t.Run("its Pods end", func(t *testing.T) {
		w := newWorld(t)
		w.is("no-rollout", "")
		stdout, stderr, code := w.run("kind-up.sh", "--controller=yours")
		require.Equal(t, 1, code)
		requireInOrder(t, stdout, "CrashLoopBackOff", "Run is not written yet")
		require.Contains(t, stderr, "waiting for the controller to run: its Pods are not ready")
	})
}

func TestKind_up_refuses_what_it_does_not_know(t *testing.T) {
	for _, args := range [][]string{{"--contoller"}, {"--controller=client-go"}, {"--controller", "yours"},
		{"--from-source", "--controller", "--controller=yours"}} {
		w := newWorld(t)
		_, stderr, code := w.run("kind-up.sh", args...)
		require.Equal(t, 2, code, args)
		require.Contains(t, stderr, args[len(args)-1])
		require.Empty(t, w.told("calls"))
	}
}

func TestKind_up_help_is_what_the_file_begins_with(t *testing.T) {
	w := newWorld(t)
	stdout := w.runs("kind-up.sh", "--help")
	require.Contains(t, stdout, "\n  scripts/kind-up.sh --controller=yours ")
	require.NotContains(t, stdout, "set -euo")
	require.Empty(t, w.told("calls"))
}

func TestKind_down_removes_all_that_kind_up_has_made(t *testing.T) {
	w := newWorld(t)
	w.runs("kind-up.sh", "--controller")
	require.DirExists(t, filepath.Dir(w.kubeconfig()))
	w.forget("calls")
	stdout := w.runs("kind-down.sh")
	requireInOrder(t, w.told("calls"),
		"go tool kind delete cluster --name client-go-workshop --kubeconfig "+w.kubeconfig(),
		"docker image rm --force abc")
	require.Equal(t, 1, strings.Count(w.told("calls"), "image rm"), "an image with two names is removed once")
	require.NoDirExists(t, filepath.Dir(w.kubeconfig()))
	require.Contains(t, stdout, "docker image rm "+defaults.Image, "what is kept is said, and how to remove it")
	require.NotContains(t, stdout, "docker image rm client-go-workshop/node", "it was never there")
	require.Contains(t, stdout, "docker network rm kind")
}

func TestKind_down_again_has_nothing_to_do(t *testing.T) {
	w := newWorld(t)
	stdout := w.runs("kind-down.sh")
	require.Contains(t, stdout, "there is none")
	require.Contains(t, stdout, "there are none")
	require.NotContains(t, w.told("calls"), "delete cluster")
	require.NotContains(t, w.told("calls"), "image rm")
}

func TestKind_down_without_Docker_says_so(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(filepath.Join(w.bin, "docker")))
	_, stderr, code := w.run("kind-down.sh")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "kind-down.sh: looking for Docker: there is no program docker in your PATH")
}

func TestKind_yaml_is_one_control_plane_and_two_workers_on_the_pinned_image(t *testing.T) {
	content, err := os.ReadFile("kind.yaml")
	require.NoError(t, err)
	var config v1alpha4.Cluster
	require.NoError(t, yaml.UnmarshalStrict(content, &config))
	require.Equal(t, v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"}, config.TypeMeta)
	require.Equal(t, "client-go-workshop", config.Name)
	var roles []v1alpha4.NodeRole
	for _, node := range config.Nodes {
		roles = append(roles, node.Role)
		require.Equal(t, defaults.Image, node.Image, "kind knows how to start the image that it was released with")
		require.Contains(t, node.Image, "@sha256:")
	}
	require.Equal(t, []v1alpha4.NodeRole{"control-plane", "worker", "worker"}, roles)
}

func (w *world) kubeconfig() string {
	// As the scripts say it, without symbolic links on the way.
	root, err := filepath.EvalSymlinks(w.root)
	require.NoError(w.t, err)
	return filepath.Join(root, ".workshop", "kind", "kubeconfig")
}

// deployed is a file of the folder deploy.
func (w *world) deployed(name string) string {
	content, err := os.ReadFile(filepath.Join(w.root, "solutions", "07-controller", "deploy", name))
	require.NoError(w.t, err)
	return string(content)
}

func requireInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "%q is missing, or too early, in:\n%s", part, text)
		rest = after
	}
}

// requireOneLineDiffers is for a text that was changed in passing.
func requireOneLineDiffers(t *testing.T, original, changed, line string) {
	t.Helper()
	before, after := strings.Split(original, "\n"), strings.Split(changed, "\n")
	require.Len(t, after, len(before))
	var different []string
	for i := range before {
		if before[i] != after[i] {
			different = append(different, after[i])
		}
	}
	require.Equal(t, []string{line}, different)
}
