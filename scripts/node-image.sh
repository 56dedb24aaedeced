#!/usr/bin/env bash
# node-image.sh builds the image of kind's nodes from Go modules and Debian packages, where no container registry can be
# reached. Its Kubernetes is the version in cluster/go.mod. scripts/kind-up.sh --from-source uses the image.
#
#   scripts/node-image.sh           builds the image, or says that it is there already
#   scripts/node-image.sh --again   builds it in any case
#   scripts/node-image.sh --save    saves it where go tool workshop share serves it to a room; builds it first if needed
#   scripts/node-image.sh --parts   only downloads and compiles the parts, without Docker
#   scripts/node-image.sh --name    only prints its name
#
# It needs Linux, Docker, Go, mmdebstrap and a C compiler, but no root. After go tool workshop cluster build it takes
# about ten minutes, most of them for compiling the kubelet.
#
# docs/develop/node-image.md lists the parts of the image, and its differences to kindest/node.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

debian=bookworm
# The programs that containerd, the kubelet, kube-proxy, the network's plugins and kind's entrypoint call.
packages=systemd,dbus,runc,containernetworking-plugins,conntrack,iptables,nftables,iproute2,ethtool,kmod
packages=$packages,mount,procps,jq,ca-certificates,e2fsprogs

again=no
save=no
parts_only=no
case "${1:-}" in
  '') ;;
  --again) again=yes ;;
  --save) save=yes ;;
  --parts) parts_only=yes ;;
  --name)
    echo "$source_image"
    exit 0
    ;;
  -h | --help)
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' scripts/node-image.sh
    exit 0
    ;;
  *)
    echo "node-image.sh: there is no option $1; it takes --again, --save, --parts, --name, or nothing" >&2
    exit 2
    ;;
esac

work=$PWD/.workshop/node-image
programs=$work/programs # all that is compiled; the go command skips what is current
context=$work/context   # the files of the node, for Docker
images=$work/images     # a folder for each image in the node: its files
log=$work/log
mkdir -p "$programs"

# quietly WHAT-IS-TRIED COMMAND… runs a command. It shows the command's output only if it fails.
quietly() {
  local what=$1
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 20 "$log" >&2
    fail "$what" 'it fails, and says above why' 'fix that, and run this again'
  }
}

# saved saves the image if that was asked for. share omits names with a dot at the beginning, so it never serves a half.
saved() {
  [ $save = yes ] || return 0
  local name folder=.workshop/share
  name=node-linux-$(docker version --format '{{.Server.Arch}}').tar.gz
  say "saving it as $folder/$name; about a minute"
  mkdir -p "$folder"
  docker save "$source_image" | gzip >"$folder/.$name" ||
    fail "saving the image $source_image" 'it fails, and says above why' 'fix that, and run this again'
  mv "$folder/.$name" "$folder/$name"
}

step 1/7 'what is needed'
if [ $parts_only = no ]; then
  need_programs
  if [ $again = no ] && docker image inspect "$source_image" >/dev/null 2>&1; then
    say "the image $source_image is there already; --again builds a new one"
    saved
    exit 0
  fi
  [ "$(docker version --format '{{.Server.Arch}}')" = "$(go env GOARCH)" ] ||
    fail "looking at Docker's engine" 'it has another architecture than this machine' \
      'run this on the machine of the engine'
fi
[ "$(uname -s)" = Linux ] ||
  fail 'looking at the system' 'Debian packages can be unpacked on Linux only' "run this on Linux, or $without_docker"
for program in mmdebstrap cc; do
  command -v $program >/dev/null 2>&1 ||
    fail "looking for $program" "there is no program $program in your PATH" \
      'install it; on Debian and Ubuntu: apt install mmdebstrap uidmap gcc libc6-dev'
done

step 2/7 "Debian's packages ($debian)"
# The name tells one list of packages from another.
root=$work/debian-$(git hash-object --stdin <<<"$debian $packages" | cut -c 1-12).tar
if [ -e "$root" ]; then
  say "are there already; for newer ones, remove $root"
else
  say 'mmdebstrap downloads and unpacks them; two to three minutes'
  quietly 'unpacking Debian packages with mmdebstrap' \
    mmdebstrap --format=tar --variant=minbase --include="$packages" "$debian" "$root.part"
  mv "$root.part" "$root"
fi
# build MODULE PACKAGE… compiles programs of the module in a folder. The settings are those of the launcher's build
# (cluster/internal/build), so that each package is compiled once for both.
flags=$(version=k8s.io/component-base/version
  IFS=. read -r major minor _ <<<"${kubernetes#v}"
  echo "-s -w -X=$version.gitCommit=unknown -X=$version.gitMajor=$major -X=$version.gitMinor=$minor" \
    "-X=$version.gitTreeState=clean -X=$version.gitVersion=$kubernetes")
build() {
  (cd "$1" && shift &&
    GOWORK=off CGO_ENABLED=0 \
      go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags="$flags" -o "$programs/" "$@")
}

step 3/7 "Kubernetes $kubernetes and etcd"
go tool workshop cluster build ||
  fail 'building the programs of the control plane' 'it fails, and says above why' 'fix that, and run this again'
cp .workshop/bin/etcd .workshop/bin/kube-apiserver .workshop/bin/kube-controller-manager .workshop/bin/kube-scheduler \
  .workshop/bin/kubectl "$programs/"
say 'compiling kubelet, kubeadm and kube-proxy'
quietly 'compiling kubelet, kubeadm and kube-proxy' build cluster ./cmd/kubelet ./cmd/kubeadm ./cmd/kube-proxy

step 4/7 'containerd, CoreDNS, the network of the Pods, and pause'
# The kubelet needs containerd 2, which Debian does not have.
quietly 'compiling containerd' build scripts/node-image github.com/containerd/containerd/v2/cmd/containerd \
  github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2 github.com/containerd/containerd/v2/cmd/ctr
quietly 'compiling CoreDNS and podnet' build scripts/node-image ./coredns ./podnet
# pause holds the namespaces of each Pod. Its C program needs 0.2 MB of memory there.
kubernetes_files=$(cd cluster && go list -m -f '{{.Dir}}' k8s.io/kubernetes)
quietly 'compiling pause' cc -Os -Wall -static -DVERSION="$kubernetes" -o "$programs/pause" \
  "$kubernetes_files/build/pause/linux/pause.c"
if [ $parts_only = yes ]; then
  say "the parts are in $work"
  exit 0
fi

step 5/7 'the node without images'
rm -rf "$context" "$images"
mkdir -p "$context/node/kind/manifests" "$images"
ln "$root" "$context/debian.tar" 2>/dev/null || quietly "copying $root" cp "$root" "$context/debian.tar"
cp -R "$(go list -m -f '{{.Dir}}' sigs.k8s.io/kind)/images/base/files" "$context/kind"
rm -rf "$context/kind/LICENSES" "$context/kind/usr/local/bin/clean-install"
# The module cache keeps no modes: programs are 755, everything else is 644.
chmod -R u=rwX,go=rX "$context/kind"
chmod 755 "$context"/kind/usr/local/bin/* "$context"/kind/kind/bin/*
for name in containerd containerd-shim-runc-v2 ctr; do
  install -m 755 "$programs/$name" "$context/kind/usr/local/bin/$name"
done
for name in kubelet kubeadm kubectl; do install -D -m 755 "$programs/$name" "$context/node/usr/bin/$name"; done
printf '%s' "$kubernetes" >"$context/node/kind/version"
cp scripts/node-image/default-storage.yaml "$context/node/kind/manifests/"
sed "s|podnet:VERSION|podnet:$kubernetes|" scripts/node-image/default-cni.yaml \
  >"$context/node/kind/manifests/default-cni.yaml"
quietly "building the image $source_image-empty" env BUILDX_NO_DEFAULT_ATTESTATIONS=1 docker build --network none \
  --file scripts/node-image/Dockerfile --tag "$source_image-empty" "$context"

step 6/7 'the images in the node'
required=$("$programs/kubeadm" config images list --kubernetes-version "$kubernetes" 2>"$log") ||
  fail 'asking kubeadm for its images' "$(last_line "$(cat "$log")")" 'fix that, and run this again'
# kubeadm and containerd differ in the version of pause, and containerd starts it.
pause=$(sed -n 's/ *sandbox_image = "\(.*\)"/\1/p' "$context/kind/etc/containerd/config.toml")
names=$(grep -v /pause: <<<"$required")" $pause client-go-workshop/podnet:$kubernetes"
container=$(docker create --network none --entrypoint sleep "$source_image-empty" infinity)
trap 'docker rm --force "$container" >/dev/null 2>&1' EXIT
quietly 'starting a container of the node' docker start "$container"
docker exec --interactive "$container" sh -s <scripts/node-image/tools.sh >"$work/tools.tar" ||
  fail 'collecting the programs for the network' 'it fails, and says above why' 'fix that, and run this again'
for name in $names; do
  program=${name##*/}
  program=${program%:*}
  install -D -m 755 "$programs/$program" "$images/$program/usr/local/bin/$program"
  case $program in 'kube-proxy' | podnet) tar -C "$images/$program" -xf "$work/tools.tar" ;; esac
  say "$name"
  tar -C "$images/$program" --owner=0 --group=0 -c . |
    docker import --change 'ENV PATH=/usr/local/bin:/usr/sbin' --change "ENTRYPOINT [\"$program\"]" - "$name" \
      >"$log" 2>&1 ||
    fail "making the image $name" "$(last_line "$(cat "$log")")" 'fix that, and run this again'
done
# shellcheck disable=SC2086 # one word for each image
quietly 'saving the images' docker save --output "$work/images.tar" $names
# shellcheck disable=SC2086
quietly 'removing the images from Docker again' docker image rm $names

step 7/7 "the node's image"
docker exec --detach "$container" containerd
deadline=$((SECONDS + 60))
until docker exec "$container" ctr version >"$log" 2>&1; do
  [ "$SECONDS" -lt "$deadline" ] || fail 'waiting for containerd' "$(last_line "$(cat "$log")")" 'run this again'
  sleep 1
done
# Each node unpacks them, with the snapshotter that its machine can use.
docker exec --interactive "$container" ctr --namespace=k8s.io images import --all-platforms --no-unpack - \
  <"$work/images.tar" >"$log" 2>&1 ||
  fail 'importing the images into the node' "$(last_line "$(cat "$log")")" 'fix that, and run this again'
quietly 'stopping containerd' docker exec "$container" pkill -x containerd
quietly "making the image $source_image" docker commit \
  --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' --change 'CMD []' "$container" "$source_image"
quietly 'removing the container' docker rm --force "$container"
trap - EXIT
quietly 'removing the image without images' docker image rm "$source_image-empty"
rm -rf "$context" "$images" "$work/images.tar" "$work/tools.tar"
say "$source_image, $(docker image inspect --format '{{.Size}}' "$source_image" | awk '{printf "%d MB", $1 / 1e6}')"
saved
