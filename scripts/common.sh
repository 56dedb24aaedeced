# common.sh is what several scripts here share: names, numbered steps, and how a script gives up. It is sourced, from
# the root of the repository. Like all scripts here it is written for bash 3.2, which macOS has.
# shellcheck shell=bash disable=SC2034

# The cluster's name and node image stand in kind's own configuration, and nowhere else.
cluster=$(sed -n 's/^name: *//p' scripts/kind.yaml)
node_image=$(sed -n 's/.*image: &node *//p' scripts/kind.yaml)

# The node image that scripts/node-image.sh builds, with the Kubernetes of the folder cluster.
kubernetes=$(sed -n 's/^[[:space:]]*k8s.io\/kubernetes *//p' cluster/go.mod)
source_image=client-go-workshop/node:$kubernetes

# The kubeconfig is the workshop's own. Yours, and the cluster that it points at, are left alone.
kubeconfig=$PWD/.workshop/kind/kubeconfig

# kind could use other engines as well, but the scripts speak to Docker themselves.
export KIND_EXPERIMENTAL_PROVIDER=docker

without_docker='go without Docker: go tool workshop cluster up'

# step N/M says what comes next.
step() { printf '%s  %s\n' "$1" "$2"; }

# say adds to the step.
say() { printf '     %s\n' "$*"; }

# fail WHAT-WAS-TRIED WHAT-HAPPENED WHAT-TO-DO
fail() {
  printf '%s: %s: %s; %s\n' "$(basename "$0")" "$1" "$2" "$3" >&2
  exit 1
}

# last_line is what a program that failed has said last, which is most often why.
last_line() { sed -e '/^[[:space:]]*$/d' <<<"$1" | tail -n 1; }

# need_programs looks for Docker and Go, and fails in one sentence that says which one is missing.
need_programs() {
  local said
  command -v docker >/dev/null 2>&1 ||
    fail 'looking for Docker' 'there is no program docker in your PATH' "install Docker, or $without_docker"
  said=$(docker version --format '{{.Server.Version}} on {{.Server.Os}}/{{.Server.Arch}}' 2>&1) ||
    fail 'asking Docker for its version' "its engine does not answer ($(last_line "$said"))" \
      "start Docker and see that you may use it, or $without_docker"
  say "Docker $(last_line "$said")"
  command -v go >/dev/null 2>&1 ||
    fail 'looking for Go' 'there is no program go in your PATH' 'install the Go that go.mod names'
  # Building it is the first thing that can go wrong, for instance without a network.
  said=$(go tool kind version 2>&1) ||
    fail 'building the kind that go.mod pins (go tool kind)' "$(last_line "$said")" 'fix that, and run this again'
  say "$(last_line "$said")"
}

# cluster_exists asks kind, which looks for containers with the cluster's name on them, also stopped ones.
cluster_exists() {
  local names
  names=$(go tool kind get clusters 2>/dev/null) ||
    fail 'asking kind for its clusters' 'it fails' 'go tool kind get clusters says why'
  grep -Fxq "$cluster" <<<"$names"
}
