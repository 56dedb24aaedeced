#!/usr/bin/env bash
# Everything that must hold, from a clean clone. It needs Go, git and a C compiler, and nothing else: the tools it uses
# are Go modules, pinned in go.mod, and the cluster is built from source.
#
#   scripts/check.sh          all of it
#   scripts/check.sh quick    without the real control plane
#   scripts/check.sh cluster  only the real control plane
#   scripts/check.sh kind     only the controller in containers: beside the control plane, and in kind's nodes from
#                             source. It needs Docker, and is not part of the whole: a first run compiles half an hour.
#
# The steps go from fast to slow. After a failure in the first five, which need a minute or two, nothing else runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export GOTOOLCHAIN=local
names=() seconds=() verdicts=()
failed=0
# What runs beside is a process group of its own, so that Ctrl-C ends all of it.
trap 'for job in $(jobs -p); do kill -- "-$job" 2>/dev/null; done; rm -rf "$beside_dir"' EXIT
trap 'exit 130' INT TERM

# step NAME COMMAND… runs one part and notes how long it took.
step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s: %s\n' "$name" "$*"
  if "$@"; then verdicts+=(ok); else verdicts+=(FAILED); failed=1; fi
  names+=("$name") seconds+=($((SECONDS - start)))
}

# beside NAME COMMAND… begins a part that often waits, while the next ones run. joined NAME waits for its end and shows
# its output.
beside_dir=$(mktemp -d)
beside() {
  local name=$1 log=$beside_dir/$1
  shift
  printf '\n=== %s, beside what follows: %s\n' "$name" "$*"
  set -m
  (
    start=$SECONDS
    "$@" </dev/null >"$log" 2>&1
    verdict=$?
    echo $((SECONDS - start)) >"$log.seconds"
    exit $verdict
  ) &
  set +m
  echo $! >"$log.job"
}

joined() {
  local log=$beside_dir/$1
  if wait "$(cat "$log.job")"; then verdicts+=(ok); else verdicts+=(FAILED); failed=1; fi
  printf '\n=== %s, which ran beside:\n' "$1"
  cat "$log"
  names+=("$1 (beside)") seconds+=("$(cat "$log.seconds")")
}

# The compilers take less time when they collect their garbage less often, or only when they have 3 GB. The tests of the
# chapters then undo this for themselves. What the README tells a newcomer to run is run as a newcomer does.
compiling() { GOGC=400 "$@"; }
only_compiling() { GOGC=off GOMEMLIMIT=3GiB WORKSHOP_HASTY_BUILD=1 "$@"; }

formatted() {
  local files
  files=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
  [ -z "$files" ] || { printf 'gofmt would change:\n%s\n' "$files"; return 1; }
}

# For other systems from source: go vet would compile client-go for each of them first, which takes minutes.
vet_for() {
  mkdir -p .workshop && go build -o .workshop/vet ./internal/authoring/vet &&
    GOOS=$1 CGO_ENABLED=0 .workshop/vet ./... &&
    (cd cluster && GOOS=$1 CGO_ENABLED=0 ../.workshop/vet ./cmd/cluster ./internal/...)
}

# What the README tells a newcomer to run, for one chapter. The truth "solutions" runs the tests of all.
readme_test() { go test ./solutions -run 'TestSolutions/05'; }

# The modules beside the root's: each has its own dependencies.
modules=(. upstream cluster labs/controller-runtime scripts/codegen scripts/node-image .ci/browser .ci/mutate)

modules_tidy() {
  local module
  for module in "${modules[@]}"; do (cd "$module" && go mod tidy -diff) || return 1; done
}

# An attendee with an empty module cache and no internet does the whole workshop. It can only prove what is committed.
room() {
  go mod download && (cd cluster && go mod download) &&
    go test ./cmd/share -run Offline -count=1 -v -offline -timeout=30m
}

# The packages of the workshop itself, with the race detector, but for those that mostly start other programs: the
# command line, which its tests drive through a terminal, the scripts, and the truths. They wait for compilers and for
# go test, which no race detector watches. The programs of the articles are a step of their own: the race detector
# would compile all types of Kubernetes again. vet has been there before.
own_tests() {
  local packages plain='^client-go-workshop/(cmd/workshop|scripts|internal/authoring/.*)$'
  packages=$(go list ./... ./labs/solutions/... |
    grep -vE '^client-go-workshop/(0[1-9]-|labs/[^s])|/solutions$') || return 1
  # shellcheck disable=SC2046 # one word for each package
  compiling go test -race -vet=off -ldflags='-w -s' -timeout=20m $(grep -vE "$plain" <<<"$packages")
  local raced=$?
  # shellcheck disable=SC2046
  compiling go test -vet=off -ldflags='-w -s' -timeout=20m $(grep -E "$plain" <<<"$packages") && return $raced
}

# The fake API server gives the recorded answers in its own tests; here a real one is asked whether they are still
# right. The layers run on it too: pages, a watch through a compaction and a restart, TLS, and the controller under
# fire.
conformance() {
  local real=(-count=1 -kubeconfig "$PWD/.workshop/cluster/kubeconfig")
  local compact=(-compact "cd '$PWD' && go tool workshop cluster compact")
  go tool workshop cluster up >/dev/null || return 1
  go tool workshop cluster kill kube-controller-manager &&
    go test ./internal/testkit/fakeapi -run Conformance "${real[@]}" "${compact[@]}" &&
    go test -p 1 ./internal/testkit/fakeapi/crd ./labs/solutions/custom-resource/cmd/bitcoin-controller \
      -run 'Conformance|Real' "${real[@]}" &&
    go test -p 1 ./solutions/02-watch-stream ./solutions/03-reflector ./labs/solutions/rewriting-proxy \
      -run Real "${real[@]}" "${compact[@]}" &&
    go tool workshop cluster restart kube-controller-manager &&
    go test -C labs/controller-runtime . -run Real "${real[@]}" &&
    go test -v ./solutions/07-controller -run 'Real_controller_under_fire/solutions' -deployments 300 \
      "${real[@]}" "${compact[@]}" &&
    go run ./solutions/01-restclient/cmd/deployments --kubeconfig "$PWD/.workshop/cluster/kubeconfig"
  local verdict=$?
  go tool workshop cluster down
  return $verdict
}

# staticcheck, over this module and over the cluster's launcher. It is a tool of a module of its own, so that its
# dependencies stay out of go.mod. internal/authoring/source_test.go has the rules that it lacks.
lint() {
  local tool=$PWD/.workshop/staticcheck findings
  go build -modfile=.ci/lint/go.mod -o "$tool" honnef.co/go/tools/cmd/staticcheck || return 1
  findings=$(run_staticcheck ./... && cd cluster && run_staticcheck ./cmd/cluster/... ./internal/...) || {
    printf '%s\n' "$findings"
    return 1
  }
  # Not reported: generated code and a copy of Kubernetes' code; what a stub has for the code that a learner is about to
  # write; interfaces that are deprecated and have a test; and what stands behind some calls of testify, which
  # staticcheck takes for calls that never return.
  findings=$(grep -vE '^(labs/custom-resource/generated|[^:]*/upstream)/'\
'|^(0[1-9]-|labs/).*\(U1000\)$|_test\.go:.*\(SA1019\)$'\
'|^(0[1-9]-|labs/).*_test\.go:.*\(SA40(06|08|17)\)$' <<<"$findings")
  [ -z "$findings" ] || { printf '%s\n' "$findings"; return 1; }
}

# run_staticcheck succeeds also with findings, which it prints. The checks left out are two rewrites, a matter of taste.
run_staticcheck() {
  "$tool" -checks all,-QF1001,-QF1008 "$@"
  [ $? -le 1 ]
}

# The pages of `workshop show` and of the board, in headless Chromium. As root on Debian the step installs Chromium;
# elsewhere it says that it is missing, and nothing is tested.
browser() {
  if ! command -v chromium chromium-browser google-chrome >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq && apt-get install -y -qq chromium >/dev/null || return 1
    else
      echo "SKIPPED: there is no Chromium here, and this user cannot install it"
      return 0
    fi
  fi
  (cd .ci/browser && go vet ./... && go test -count=1 -timeout=10m ./...)
}

# Words that are often misspelt, in texts and comments.
spelling() {
  git ls-files -z '*.md' '*.go' '*.sh' | xargs -0 go run github.com/golangci/misspell/cmd/misspell@v0.8.0 -error
}

# The controller in containers. The engine of some machines cannot start kind's nodes, see .ci/kind/engine.sh.
containers() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v mmdebstrap >/dev/null; then
    apt-get update -qq && apt-get install -y -qq mmdebstrap >/dev/null || return 1
  fi
  # engine.sh may be without a network: everything is downloaded before.
  go mod download && (cd cluster && go mod download) && (cd scripts/node-image && go mod download) &&
    compiling scripts/node-image.sh --parts &&
    .ci/kind/engine.sh go test ./scripts -run 'Real' -real -count=1 -v -timeout=60m
}

# summary prints the verdict and the time of each step, and ends the run.
summary() {
  local i passed=0
  printf '\n=== what ran\n'
  for i in "${!names[@]}"; do
    printf '%-7s %5ds  %s\n' "${verdicts[$i]}" "${seconds[$i]}" "${names[$i]}"
    [ "${verdicts[$i]}" = FAILED ] || passed=$((passed + 1))
  done
  printf '%-7s %5ds\n' total "$SECONDS"
  printf '%d passed, %d failed\n' "$passed" "$((${#names[@]} - passed))"
  exit "$failed"
}

if [ "${1:-}" = kind ]; then
  step "controller in containers" containers
  summary
fi

# control_plane builds a real control plane from source, and tests it, and what runs on it.
control_plane() {
  # With the settings of the launcher's own build, Kubernetes is compiled once.
  local as_cluster='-trimpath -gcflags=all=-dwarf=false'
  step "build the cluster" only_compiling go tool workshop cluster build
  beside "launcher's tests" sh -c 'cd cluster && go test -race ./cmd/cluster/... ./internal/...'
  # Its client-go is the cluster's, which has just been compiled.
  beside "end to end" \
    sh -c "cd cluster && CGO_ENABLED=0 go test $as_cluster -tags=e2e -count=1 -timeout=40m -v ./e2e"
  step "conformance" conformance
  step "the Pod network of kind's nodes" sh -c "cd scripts/node-image && CGO_ENABLED=0 go test $as_cluster ./podnet"
  # Not the components' mains: they are a few lines each, and vet would analyse all of Kubernetes for them.
  step "vet cluster" sh -c "cd cluster && CGO_ENABLED=0 go vet $as_cluster -tags=e2e ./cmd/cluster ./internal/... ./e2e"
  joined "launcher's tests"
  joined "end to end"
}

if [ "${1:-}" = cluster ]; then
  control_plane
  summary
fi

step gofmt formatted
step spelling spelling
step "go mod tidy" modules_tidy
step vet only_compiling go vet ./...
step lint only_compiling lint
[ "$failed" = 0 ] || summary
# It needs no other step's result, and it waits for a control plane a third of its time.
[ "${1:-}" = quick ] || beside "the real control plane" scripts/check.sh cluster
step "defects of client-go" go test -C upstream -race .
step "programs of the articles" go test ./labs/programs/...
step "vet for darwin" vet_for darwin
step "vet for windows" vet_for windows
step "generated code" scripts/codegen.sh --verify
step "controller-runtime" sh -c 'cd labs/controller-runtime && go vet -tags=yours ./... && go test ./...'
step "README's tests" readme_test
beside "the page in a browser" browser
step "a room without internet" room
joined "the page in a browser"
step "the texts' commands" compiling go test ./internal/authoring/commands -count=1 -timeout=20m -commands
step "own tests" own_tests
step "the truths" only_compiling go tool author verify --pristine
step "the truths of the labs" only_compiling go tool author verify --pristine labs
[ "${1:-}" = quick ] || joined "the real control plane"
summary
