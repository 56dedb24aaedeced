#!/usr/bin/env bash
# kind-up.sh makes a Kubernetes cluster in Docker, with nodes on which Pods really run, and gives the controller of
# chapter 07 its rights. Nothing in the workshop needs it: `go tool workshop cluster up` is a real API without Docker.
#
#   scripts/kind-up.sh                      the cluster, and the rights of the controller
#   scripts/kind-up.sh --controller         and the finished controller in it, as two Pods
#   scripts/kind-up.sh --controller=yours   yours instead, from the folder 07-controller
#   scripts/kind-up.sh --from-source        with the node image of scripts/node-image.sh; also with --controller
#
# It also uses that image if it exists and Docker cannot pull kind's own.
#
# It can be run again at any time: what is there stays, what is missing is made. scripts/kind-down.sh removes it.
#
# kubectl is the one in the control plane's node, so that there is nothing else to install.
#
# If a machine needs other settings of kind, put them into a file and set KIND_SETTINGS to its path: the script appends
# them to scripts/kind.yaml. .ci/kind/small-engine.yaml is an example.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

deploy=solutions/07-controller/deploy

controller=
source=no
for option in "$@"; do
  case $option in
    --from-source) source=yes ;;
    --controller | --controller=yours)
      [ -z "$controller" ] || { echo "kind-up.sh: one controller is enough; $option is too many" >&2; exit 2; }
      case $option in *=yours) controller=yours ;; *) controller=finished ;; esac
      ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' scripts/kind-up.sh
      exit 0
      ;;
    *)
      echo "kind-up.sh: there is no option $option;" \
        'it takes --controller, --controller=yours, --from-source, or nothing' >&2
      exit 2
      ;;
  esac
done
last=5
[ -z "$controller" ] || last=6

# kubectl reads manifests from its standard input; the other calls have nothing there.
kubectl() { docker exec -i "$cluster-control-plane" kubectl --kubeconfig=/etc/kubernetes/admin.conf "$@"; }

# controllers prints a line for each Pod that runs the image: the image, the name and the number of restarts.
controllers() {
  local each='{.spec.containers[0].image} {.metadata.name} {.status.containerStatuses[0].restartCount}'
  kubectl --namespace=pdb-controller get pods --selector=app=pdb-controller \
    --output=jsonpath="{range .items[*]}$each{\"\\n\"}{end}" </dev/null | grep "^$image " || true
}

# explain shows what the controller's Pods said, also before a restart.
explain() {
  kubectl --namespace=pdb-controller get pods </dev/null || true
  for run in false true; do
    kubectl --namespace=pdb-controller logs --selector=app=pdb-controller --tail=5 --prefix --ignore-errors \
      --previous=$run </dev/null || true
  done
}

restart='start again: scripts/kind-down.sh && scripts/kind-up.sh'
look="look at it with: go tool kind export logs --name $cluster .workshop/kind/logs, or $restart"

step "1/$last" 'what is needed'
need_programs

step "2/$last" "the nodes' image"
exists=no
use_image=$node_image
if cluster_exists; then
  exists=yes
  say 'not needed, the cluster is there already'
elif [ $source = no ] && docker image inspect "$node_image" >/dev/null 2>&1; then
  say 'is there already'
elif [ $source = yes ]; then
  # The script says itself what went wrong.
  scripts/node-image.sh || exit 1
  use_image=$source_image
else
  say "Docker pulls ${node_image%@*}, some hundred megabytes; once"
  # kind would do it, too. Here it can be told from all that may go wrong with a cluster.
  if ! said=$(docker pull --quiet "$node_image" 2>&1); then
    docker image inspect "$source_image" >/dev/null 2>&1 ||
      fail "pulling the image $node_image" "$(last_line "$said")" \
        "try again where there is a network, build an image with scripts/kind-up.sh --from-source, or $without_docker"
    say "that fails; going on with the image built here, $source_image"
    use_image=$source_image
  fi
fi

step "3/$last" "the cluster $cluster"
mkdir -p "$(dirname "$kubeconfig")"
if [ $exists = yes ]; then
  say 'is there already, going on with it'
  # Containers do not come back by themselves when Docker has been stopped.
  stopped=$(docker ps --quiet --filter "label=io.x-k8s.kind.cluster=$cluster" --filter status=exited)
  for container in $stopped; do
    say "starting the stopped node $(docker start "$container")"
  done
  said=$(go tool kind export kubeconfig --name "$cluster" --kubeconfig "$kubeconfig" 2>&1) ||
    fail "reading the kubeconfig of the cluster $cluster" "$(last_line "$said")" \
      "it was perhaps never finished; $restart"
else
  config=scripts/kind.yaml
  if [ "$use_image" != "$node_image" ] || [ -n "${KIND_SETTINGS:-}" ]; then
    config=$(dirname "$kubeconfig")/kind.yaml
    # In the image from source, podnet and kube-proxy use Debian's iptables at the same time. Then kube-proxy's
    # iptables-restore may fail, and the node has no Services until it tries again. In its mode nftables, kube-proxy has
    # a table of its own.
    networking=
    [ "$use_image" = "$node_image" ] || networking=$'networking:\n  kubeProxyMode: nftables\n'
    sed "s|image: &node .*|image: \&node $use_image|" scripts/kind.yaml |
      cat - <(printf %s "$networking") ${KIND_SETTINGS:+"$KIND_SETTINGS"} >"$config" ||
      fail "writing $config" 'it fails, and says above why' 'fix that, and run this again'
  fi
  go tool kind create cluster --config "$config" --kubeconfig "$kubeconfig" ||
    fail "making the cluster $cluster" 'kind has failed, and says above why' \
      "scripts/kind-down.sh removes what may be left of it; or $without_docker"
fi

step "4/$last" 'until it is ready'
# An API server that was stopped takes a while; each attempt asks it again, until it has had two minutes.
deadline=$((SECONDS + 120))
until said=$(kubectl get --raw=/readyz </dev/null 2>&1); do
  [ "$SECONDS" -lt "$deadline" ] ||
    fail 'waiting for the API server' "it is not ready after two minutes ($(last_line "$said"))" "$look"
  sleep 1
done
kubectl wait --for=condition=Ready nodes --all --timeout=180s </dev/null ||
  fail 'waiting for the nodes' 'not all are Ready after three minutes' "$look"

step "5/$last" 'the rights of the controller'
kubectl apply --filename=- <$deploy/rbac.yaml ||
  fail "applying $deploy/rbac.yaml" 'the API server has refused it, and says above why' \
    'fix the file, and run this again'

if [ -n "$controller" ]; then
  step "6/$last" "the controller ($controller)"
  # The script says itself what went wrong.
  image=$(scripts/image.sh "$controller") || exit 1
  go tool kind load docker-image "$image" --name "$cluster" ||
    fail "giving the image $image to the nodes" 'kind has failed, and says above why' 'run this again'
  existing=$(controllers | sed 's/^[^ ]* \([^ ]*\) .*/\1/')
  # The image's name changes with its content, and only then are the Pods replaced.
  sed "s|image: .*|image: $image|" $deploy/deployment.yaml | kubectl apply --filename=- ||
    fail "applying $deploy/deployment.yaml" 'the API server has refused it, and says above why' \
      'fix the file, and run this again'
  if ! kubectl --namespace=pdb-controller rollout status deployment/pdb-controller --timeout=120s </dev/null; then
    explain
    fail 'waiting for the controller to run' 'its Pods are not ready after two minutes; above is what they say' \
      'fix that, and run this again'
  fi
  # A Pod is Ready as soon as it has started, and a controller that ends does so when it begins to lead. So wait until a
  # leader with this image has renewed its Lease.
  deadline=$((SECONDS + 60))
  before=
  while :; do
    now=$(kubectl --namespace=pdb-controller get lease pdb-controller \
      --output=jsonpath='{.spec.holderIdentity} {.spec.renewTime}' </dev/null 2>&1) || now=
    pods=$(controllers)
    if [ "$now" != "$before" ] && [ "${now% *}" = "${before% *}" ] && grep -q "^$image ${now%_*} " <<<"$pods"; then
      break
    fi
    # Only for a new Pod: those that existed may start again with their node.
    if sed -n 's/^[^ ]* \([^ ]*\) [1-9].*/\1/p' <<<"$pods" | grep -Fxvq -e "$existing"; then
      explain
      fail 'waiting for the controller to lead' 'a Pod has ended, and says above why' 'fix that, and run this again'
    fi
    if [ "$SECONDS" -ge "$deadline" ]; then
      explain
      fail 'waiting for the controller to lead' "none leads after a minute (the Lease: $now); above is what they say" \
        'fix that, and run this again'
    fi
    before=$now
    sleep 0.5
  done
  say "${now%_*} leads"
fi

cat <<END

The cluster is up.
  export KUBECONFIG=$kubeconfig
  kubectl get nodes
If you have no kubectl: go tool workshop kubectl --kubeconfig .workshop/kind/kubeconfig get nodes
END
if [ -n "$controller" ]; then
  echo 'What the controller does:' \
    ' kubectl --namespace pdb-controller logs --selector app=pdb-controller --follow --prefix'
else
  echo 'The controller, from here:' \
    'go run ./solutions/07-controller/cmd/pdb-controller --kubeconfig .workshop/kind/kubeconfig'
fi
echo 'All of it away again:      scripts/kind-down.sh'
