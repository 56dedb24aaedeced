#!/usr/bin/env bash
# image.sh builds the image of a controller, from nothing but its binary, and prints the image's name.
#
#   scripts/image.sh                                the finished controller of chapter 07
#   scripts/image.sh yours                          yours, from the folder 07-controller
#   scripts/image.sh finished bitcoin-controller    the one of the lab custom-resource, or yours
#
# Go compiles here and not in a container: no image with a compiler has to be pulled, and what is compiled once stays in
# Go's cache.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

whose=${1:-finished} name=${2:-pdb-controller}
case "$name" in
  pdb-controller) folder=07-controller solution=solutions/07-controller ;;
  bitcoin-controller) folder=labs/custom-resource solution=labs/solutions/custom-resource ;;
  *)
    echo "image.sh: there is no controller called $name; it is pdb-controller or bitcoin-controller" >&2
    exit 2
    ;;
esac
case "$whose" in
  finished) program=./$solution/cmd/$name ;;
  yours) program=./$folder/cmd/$name ;;
  *)
    echo "image.sh: there is no controller called $whose; it is finished or yours" >&2
    exit 2
    ;;
esac

# The engine may be another machine than this one: on a Mac it is a virtual Linux.
architecture=$(docker version --format '{{.Server.Arch}}' 2>&1) ||
  fail 'asking Docker for its architecture' "$(last_line "$architecture")" 'start Docker, and run this again'

# To stderr: stdout has the name of the image alone.
step 1/2 "compiling $program for linux/$architecture; the first time this takes a minute" >&2
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
# With leader election, because several instances may run. Without C, because FROM scratch has no C library.
said=$(CGO_ENABLED=0 GOOS=linux GOARCH=$architecture \
  go build -tags elect -trimpath -buildvcs=false -ldflags='-s -w' -o "$context/$name" "$program" 2>&1) ||
  {
    printf '%s\n' "$said" >&2
    fail "compiling $program" 'Go says above what is wrong' 'fix it, and run this again'
  }
# Whoever has a strict umask would get a program that only root can run, and it does not run as root.
chmod 755 "$context/$name"

# The name tells one content from another, so a Deployment sees when there is something new.
content=$(git hash-object "$context/$name")
image=client-go-workshop/$name:${content:0:12}
# An attestation, which newer Docker adds unasked, is lost on the way into a node of kind, and the image does not arrive
# (kubernetes-sigs/kind#3795).
step 2/2 "building the image $image; this takes seconds" >&2
said=$(BUILDX_NO_DEFAULT_ATTESTATIONS=1 docker build --quiet --file "$solution/deploy/Dockerfile" \
  --tag "$image" "$context" 2>&1) ||
  {
    printf '%s\n' "$said" >&2
    fail "building the image $image" 'Docker says above what is wrong' 'fix it, and run this again'
  }
echo "$image"
