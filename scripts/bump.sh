#!/usr/bin/env bash
# bump.sh puts the workshop on another version of client-go and of Kubernetes, and says what of it is no longer true.
#
#   scripts/bump.sh v0.38.0     that version of client-go, and Kubernetes v1.38.0
#   scripts/bump.sh             the newest release
#
# It changes go.mod and go.sum of all modules, and the version in every text and link. A person then handles what the
# new version moved or changed: `verify` lists it, and docs/develop/writing-a-chapter.md says what to look at. It
# commits nothing.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."

old=$(go list -m -f '{{.Version}}' k8s.io/client-go)
new=${1:-$(go list -m -f '{{.Version}}' k8s.io/client-go@latest)}
case $new in
  v0.*) ;;
  *) echo "bump.sh: $new is no version of client-go; they are called v0.38.0, or v0.38.0-alpha.1" >&2; exit 2 ;;
esac
if [ "$old" = "$new" ]; then
  echo "client-go is at $new already"
  exit 0
fi
echo "client-go: $old -> $new"
go get "k8s.io/client-go@$new" "k8s.io/api@$new" "k8s.io/apimachinery@$new"
# Chapters 01 and 02 are compared with apimachinery's decoder, so theirs has to be the very same.
json=$(go mod graph | sed -n "s|^k8s.io/apimachinery@$new sigs.k8s.io/json@||p" | head -n 1)
[ -z "$json" ] || go get "sigs.k8s.io/json@$json"
go mod tidy
# The generators of the lab custom-resource have the version of client-go.
(cd scripts/codegen && go get "k8s.io/code-generator@$new" && go mod tidy)
(cd upstream && go get "k8s.io/client-go@$new" "k8s.io/api@$new" "k8s.io/apimachinery@$new" && go mod tidy)
# The real control plane has the version of client-go, with 1 for 0, and the etcd that it requires. Kubernetes' own
# modules are replaced in cluster/go.mod. If tidy asks for one at v0.0.0, it is new, and needs a line there.
kubernetes() { (cd cluster && go list -m -f '{{.Version}}' "$1"); }
old_kubernetes=$(kubernetes k8s.io/kubernetes) new_kubernetes=v1${new#v0}
old_etcd=$(kubernetes go.etcd.io/etcd/server/v3)
if (cd cluster && go list -m "k8s.io/kubernetes@$new_kubernetes") >/dev/null 2>&1; then
  echo "Kubernetes: $old_kubernetes -> $new_kubernetes"
  sed -i.bumped "s|v0${old_kubernetes#v1}\$|$new|; s|$old_kubernetes\$|$new_kubernetes|" cluster/go.mod
  (cd cluster && go get "k8s.io/kubernetes@$new_kubernetes" && go mod tidy)
  (cd scripts/node-image && go get "k8s.io/client-go@$new" "k8s.io/api@$new" "k8s.io/apimachinery@$new" && go mod tidy)
else
  echo "Kubernetes stays at $old_kubernetes: there is no module of $new_kubernetes"
  new_kubernetes=$old_kubernetes
fi

# replaced OLD NEW FILE… puts the new version into the texts that name the old one.
replaced() {
  local from=${1//./\\.} to=$2
  shift 2
  git ls-files -z "$@" | xargs -0 grep -lZ -E "$from" | xargs -0 -r sed -i.bumped -E "s/$from/$to/g"
}
replaced "$old" "$new" '*.md' '*.go'
replaced "$old_kubernetes" "$new_kubernetes" '*.md' '*.go' ':!CHANGELOG.md'
replaced "$old_etcd" "$(kubernetes go.etcd.io/etcd/server/v3)" cluster/README.md
find . -name '*.bumped' -delete
echo
echo 'What is no longer true (symbols, lines, links; then client-go under our tests):'
untrue=0
go tool author verify --only references,oracle || untrue=1
go tool author verify --only references,oracle labs || untrue=1
exit "$untrue"
