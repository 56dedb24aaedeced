#!/usr/bin/env bash
# kind-up.sh makes a Kubernetes cluster in Docker, with nodes on which Pods really run, and what the controller of chapter
# 07 needs there. Nothing in the workshop needs it: `go tool workshop cluster up` is a real API without Docker.
#
#   scripts/kind-up.sh                      the cluster, and the rights of the controller
#   scripts/kind-up.sh --controller         and the finished controller in it, as two Pods
#   scripts/kind-up.sh --controller=yours   yours instead, from the folder 07-controller
#
# It can be run again at any time: what is there stays, what is missing is made. scripts/kind-down.sh removes it.
#
# kubectl is the one in the control plane's node, so that there is nothing else to install.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

deploy=solutions/07-controller/deploy

controller=
case "${1:-}" in
  '') ;;
  --controller) controller=finished ;;
  --controller=yours) controller=yours ;;
  -h | --help)
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' scripts/kind-up.sh
    exit 0
    ;;
  *)
    echo "kind-up.sh: there is no option $1; it takes --controller, --controller=yours, or nothing" >&2
    exit 2
    ;;
esac
[ $# -le 1 ] || { echo "kind-up.sh: one option is enough; $2 is too many" >&2; exit 2; }
last=5
[ -z "$controller" ] || last=6

# kubectl reads manifests from its standard input; the other calls have nothing there.
kubectl() { docker exec -i "$cluster-control-plane" kubectl --kubeconfig=/etc/kubernetes/admin.conf "$@"; }

anew="look at it with: go tool kind export logs --name $cluster .workshop/kind/logs, or begin anew: scripts/kind-down.sh && scripts/kind-up.sh"

step "1/$last" 'what is needed'
need_programs

step "2/$last" "the nodes' image"
exists=no
if cluster_exists; then
  exists=yes
  say 'not needed, the cluster is there already'
elif docker image inspect "$node_image" >/dev/null 2>&1; then
  say 'is there already'
else
  say "Docker pulls ${node_image%@*}, some hundred megabytes; once"
  # kind would do it, too. Here it can be told from all that may go wrong with a cluster.
  said=$(docker pull --quiet "$node_image" 2>&1) ||
    fail "pulling the image $node_image" "$(last_line "$said")" "try again where there is a network, or $without_docker"
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
      'it was perhaps never finished; begin anew: scripts/kind-down.sh && scripts/kind-up.sh'
else
  go tool kind create cluster --config scripts/kind.yaml --kubeconfig "$kubeconfig" ||
    fail "making the cluster $cluster" 'kind has failed, and says above why' \
      "scripts/kind-down.sh removes what may be left of it; or $without_docker"
fi

step "4/$last" 'until it is ready'
# An API server that was stopped takes a while; each attempt asks it anew, until it has had two minutes.
deadline=$((SECONDS + 120))
until said=$(kubectl get --raw=/readyz </dev/null 2>&1); do
  [ "$SECONDS" -lt "$deadline" ] ||
    fail 'waiting for the API server' "it is not ready after two minutes ($(last_line "$said"))" "$anew"
  sleep 1
done
kubectl wait --for=condition=Ready nodes --all --timeout=180s </dev/null ||
  fail 'waiting for the nodes' 'not all are Ready after three minutes' "$anew"

step "5/$last" 'the rights of the controller'
kubectl apply --filename=- <$deploy/rbac.yaml ||
  fail "applying $deploy/rbac.yaml" 'the API server has refused it, and says above why' 'mend the file, and run this again'

if [ -n "$controller" ]; then
  step "6/$last" "the controller ($controller)"
  # The script says itself what went wrong.
  image=$(scripts/image.sh "$controller") || exit 1
  go tool kind load docker-image "$image" --name "$cluster" ||
    fail "giving the image $image to the nodes" 'kind has failed, and says above why' 'run this again'
  # The image's name changes with its content, and only then are the Pods replaced.
  sed "s|image: .*|image: $image|" $deploy/deployment.yaml | kubectl apply --filename=- ||
    fail "applying $deploy/deployment.yaml" 'the API server has refused it, and says above why' 'mend the file, and run this again'
  if ! kubectl --namespace=pdb-controller rollout status deployment/pdb-controller --timeout=120s </dev/null; then
    kubectl --namespace=pdb-controller get pods </dev/null || true
    kubectl --namespace=pdb-controller logs --selector=app=pdb-controller --tail=5 --prefix </dev/null || true
    fail 'waiting for the controller to run' 'its Pods are not ready after two minutes; above is what they say' \
      'mend that, and run this again'
  fi
fi

cat <<END

The cluster is up.
  export KUBECONFIG=$kubeconfig
  kubectl get nodes
If you have no kubectl: go tool workshop kubectl --kubeconfig .workshop/kind/kubeconfig get nodes
END
if [ -n "$controller" ]; then
  echo 'What the controller does:  kubectl --namespace pdb-controller logs --selector app=pdb-controller --follow --prefix'
else
  echo 'The controller, from here: go run ./solutions/07-controller/cmd/pdb-controller --kubeconfig .workshop/kind/kubeconfig'
fi
echo 'All of it away again:      scripts/kind-down.sh'
