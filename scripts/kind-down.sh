#!/usr/bin/env bash
# kind-down.sh removes what kind-up.sh has made: the cluster, the controller's images, and the kubeconfig. It can be run
# again, and when only a part is there.
#
# It leaves the nodes' images, which take long to come again, and the network called kind, which other clusters of yours
# may be in. The last lines say how to remove these.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

[ $# -eq 0 ] || { echo "kind-down.sh: it takes no options; $1 is one" >&2; exit 2; }

step 1/4 'what is needed'
need_programs

step 2/4 "the cluster $cluster"
if cluster_exists; then
  go tool kind delete cluster --name "$cluster" --kubeconfig "$kubeconfig" ||
    fail "removing the cluster $cluster" 'kind has failed, and says above why' 'run this again'
else
  say 'there is none'
fi

step 3/4 "the controller's images"
images=$(docker image ls --quiet --filter label=client-go-workshop=pdb-controller | sort -u)
if [ -z "$images" ]; then say 'there are none'; fi
for image in $images; do
  said=$(docker image rm --force "$image" 2>&1) ||
    fail "removing the image $image" "$(last_line "$said")" 'remove what uses it, and run this again'
  say "removed $image"
done

step 4/4 'the kubeconfig'
rm -rf "$(dirname "$kubeconfig")"

for image in "$node_image" "$source_image"; do
  if docker image inspect "$image" >/dev/null 2>&1; then
    printf '\nThe image of the nodes is kept for the next time. Without a next time:\n  docker image rm %s\n' "$image"
  fi
done
if docker network inspect kind >/dev/null 2>&1; then
  printf '\nSo is the network that all clusters of kind share:\n  docker network rm kind\n'
fi
