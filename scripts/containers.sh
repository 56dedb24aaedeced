#!/usr/bin/env bash
# containers.sh runs the controller of chapter 07 as two containers, beside the cluster of
# `go tool workshop cluster up`. One leads, and the other waits for the Lease. It needs Docker on Linux, and pulls no
# image.
#
#   scripts/containers.sh           the finished controller
#   scripts/containers.sh yours     yours, from the folder 07-controller
#   scripts/containers.sh down      removes the containers and their image
#
# The last lines say which one leads. Kill it, and the other one takes over after 15 seconds.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

label=client-go-workshop=container
cluster_kubeconfig=$PWD/.workshop/cluster/kubeconfig

# remove removes the containers, and their image if it is not the one in $1.
remove() {
  local container image
  for container in $(docker ps --all --quiet --filter "label=$label"); do
    image=$(docker inspect --format '{{.Config.Image}}' "$container")
    # A controller that is stopped gives its Lease back, and the next one need not wait until it expires.
    docker stop --time 20 "$container" >/dev/null
    docker rm --force "$container" >/dev/null
    say "removed the container $container"
    # The same image may still have a second container.
    if [ "$image" != "${1:-}" ] && docker image rm "$image" >/dev/null 2>&1; then say "removed the image $image"; fi
  done
}

case "${1:-finished}" in
  finished | yours) ;;
  down)
    step 1/1 'the containers'
    remove
    exit 0
    ;;
  -h | --help)
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' scripts/containers.sh
    exit 0
    ;;
  *)
    echo "containers.sh: there is no option $1; it takes yours, down, or nothing" >&2
    exit 2
    ;;
esac

step 1/4 'the cluster'
[ -e "$cluster_kubeconfig" ] ||
  fail 'looking for the cluster' "there is no $cluster_kubeconfig" \
    'start it, and run this again: go tool workshop cluster up'
say "$(sed -n 's/^ *server: *//p' "$cluster_kubeconfig")"

step 2/4 "the controller's image"
# The script says itself what went wrong.
image=$(scripts/image.sh "${1:-finished}") || exit 1
say "$image"

step 3/4 'the containers'
remove "$image"
for number in 1 2; do
  # The API server listens on 127.0.0.1 only, and only you can read the kubeconfig. The host name becomes the first part
  # of the name in the Lease.
  said=$(docker run --detach --label $label --name "client-go-workshop-controller-$number" \
    --network host --hostname "controller-$number" --user "$(id -u):$(id -g)" \
    --read-only --cap-drop ALL --security-opt no-new-privileges \
    --volume "$cluster_kubeconfig:/kubeconfig:ro" "$image" --kubeconfig /kubeconfig --leader-elect -v=2 2>&1) ||
    # Docker ends with a hint at its help.
    fail "starting the container $number" "$(last_line "$(grep -v '^Run ' <<<"$said")")" 'fix that, and run this again'
  say "client-go-workshop-controller-$number"
done

step 4/4 'until one leads'
# The Lease of a controller that was killed expires after 15 seconds.
leader=
deadline=$((SECONDS + 60))
while [ -z "$leader" ]; do
  for container in client-go-workshop-controller-1 client-go-workshop-controller-2; do
    log=$(docker logs "$container" 2>&1)
    if [ "$(docker inspect --format '{{.State.Running}}' "$container")" != true ]; then
      grep -v '^[IWEF][0-9]' <<<"$log" | tail -n 20 >&2
      fail "waiting for the container $container" 'it has ended, and says above why' 'fix that, and run this again'
    fi
    case $log in *'"Leader"'*' me=true'*) leader=$container ;; esac
  done
  if [ -z "$leader" ]; then
    [ "$SECONDS" -lt "$deadline" ] ||
      fail 'waiting for a leader' "none leads after a minute ($(last_line "$log"))" 'fix that, and run this again'
    sleep 0.5
  fi
done
say "$leader"

cat <<END

What they do:       docker logs --follow $leader
Kill the leader:    docker kill $leader
All of it away:     scripts/containers.sh down
END
