#!/usr/bin/env bash
# engine.sh COMMAND… runs a command with a Docker engine that can start kind's nodes.
#
# Usually that is the engine of the machine, and nothing else happens. If this shell lacks CAP_SYS_RESOURCE, that engine
# does, too, and refuses privileged containers. engine.sh then starts a second one, for the time of the command:
#
#   - with namespaces of its own for processes, mounts and the network, so that nothing is left when it ends, and the
#     first engine's bridges and firewall stay as they are
#   - with runtime.sh instead of runc
#   - with its images in .workshop/kind-engine, or the folder that KIND_ENGINE names, where the next run finds them
#
# It also sets KIND_SETTINGS, and the snapshotter that needs no support from the kernel.
set -euo pipefail
cd -P "$(dirname "$0")/../.."

capabilities=0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
if ((capabilities >> 24 & 1)); then exec "$@"; fi

if [ "${1:-}" != --inside ]; then
  [ "$(id -u)" = 0 ] || { echo 'engine.sh: the second engine needs root; run this as root' >&2; exit 1; }
  echo 'engine.sh: no CAP_SYS_RESOURCE here; starting a second Docker engine without it'
  run=$(mktemp -d)
  export run
  # The engine mounts below this folder. Its mounts end with the namespace, and only then can the folder be removed.
  trap 'rm -rf "$run"' EXIT
  unshare --net --mount --pid --fork --mount-proc --kill-child .ci/kind/engine.sh --inside "$@"
  exit
fi
shift

ip link set lo up
data=${KIND_ENGINE:-$PWD/.workshop/kind-engine}
mkdir -p "$data"
echo '{}' >"$run/daemon.json"
driver=$(docker info --format '{{.Driver}}' 2>/dev/null) || driver=vfs
# A containerd that is slow to end leaves a trace of its stacks in TMPDIR.
TMPDIR=$run dockerd --config-file "$run/daemon.json" --data-root "$data" --exec-root "$run/exec" --pidfile "$run/pid" \
  --host "unix://$run/docker.sock" --storage-driver "${driver:-vfs}" \
  --add-runtime "small=$PWD/.ci/kind/runtime.sh" --default-runtime small >"$data/log" 2>&1 &
engine=$!
export DOCKER_HOST=unix://$run/docker.sock
ended() {
  # It unmounts its containers' files before it ends.
  kill "$engine" 2>/dev/null || true # it may have failed
  wait "$engine" || true
}
trap ended EXIT
until docker version >/dev/null 2>&1; do
  kill -0 "$engine" 2>/dev/null || {
    tail "$data/log" >&2
    echo 'engine.sh: the second engine does not start, see above' >&2
    exit 1
  }
  sleep 0.2
done

export KIND_SETTINGS=$PWD/.ci/kind/small-engine.yaml
export KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER=native
"$@"
