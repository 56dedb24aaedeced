#!/usr/bin/env bash
# bump.sh puts the workshop on another version of client-go, and says what of it is no longer true.
#
#   scripts/bump.sh v0.38.0     that version
#   scripts/bump.sh             the newest release
#
# It changes go.mod, go.sum, and the version in every text and link. A person then handles what the new version moved or
# changed: `verify` lists it, and docs/develop/writing-a-chapter.md says what to look at. Nothing is committed.
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
git ls-files -z '*.md' '*.go' | xargs -0 grep -lZ -F "$old" | xargs -0 -r sed -i.bumped "s|${old//./\\.}|$new|g"
find . -name '*.bumped' -delete
echo
echo 'What is no longer true (symbols, lines, links; then client-go under our tests):'
exec go tool author verify --only references,oracle
