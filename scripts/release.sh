#!/usr/bin/env bash
# release.sh checks that a version is ready for release, and makes its annotated tag. It publishes nothing.
#
#   scripts/release.sh 1.0.0             all checks, then the tag v1.0.0 in this clone
#   scripts/release.sh --dry-run 1.0.0   all checks, without the tag
#
# Everything has to be committed, and the newest heading of CHANGELOG.md has to be the version and its date:
# "## 1.0.0 - 2026-11-24". The checks are all those of CI.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

checks='scripts/check.sh'

# wrong SENTENCE ends the script after a wrong argument.
wrong() {
  printf 'release.sh: %s\n' "$1" >&2
  exit 2
}

dry='' version=''
for argument in "$@"; do
  case $argument in
    --dry-run) dry=yes ;;
    -*) wrong "there is no option $argument; the only one is --dry-run" ;;
    *)
      [ -z "$version" ] || wrong "it takes one version, not $version and $argument"
      version=$argument
      ;;
  esac
done
[ -n "$version" ] || wrong 'name the version, such as: scripts/release.sh --dry-run 1.0.0'
number='(0|[1-9][0-9]*)' word='[0-9A-Za-z-]+'
semver="^$number\\.$number\\.$number(-$word(\\.$word)*)?\$"
[[ $version =~ $semver ]] || wrong "$version is not a semantic version without a v, such as 1.0.0 or 1.1.0-rc.1"
tag=v$version

step 1/4 'the tree and the tag'
changed=$(git status --porcelain)
[ -z "$changed" ] ||
  fail 'looking at the tree' "it has changes that are not committed ($(last_line "$changed"))" \
    'commit or remove them, and run this again'
if git rev-parse --quiet --verify "refs/tags/$tag" >/dev/null; then
  fail 'looking for the tag' "there is a tag $tag already" 'choose the next version'
fi
commit=$(git rev-parse HEAD)
say "commit ${commit:0:7}"

step 2/4 'CHANGELOG.md'
newest=$(sed -n '/^## /{s/^## //p;q;}' CHANGELOG.md)
case $newest in
  "$version - "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) say "$newest" ;;
  *)
    fail 'reading CHANGELOG.md' "its newest heading is \"$newest\"" \
      "write \"## $version - DATE\" above the changes of this version, with a date such as 2026-11-24"
    ;;
esac

step 3/4 "all checks: bash $checks"
bash "$checks" </dev/null ||
  fail "running bash $checks" 'a check fails, and says above why' 'fix it, and run this again'
if [ -n "$(git status --porcelain)" ] || [ "$(git rev-parse HEAD)" != "$commit" ]; then
  fail 'looking at the tree again' 'it has changed while the checks ran' \
    'commit or remove the changes, and run this again'
fi

step 4/4 "the tag $tag"
if [ -n "$dry" ]; then
  say "none, because of --dry-run. To make it: scripts/release.sh $version"
  exit
fi
git tag --annotate --message "The client-go workshop $version" "$tag" "$commit" ||
  fail "making the tag $tag" 'git says above why' 'fix it, and run this again'
say "$tag is commit ${commit:0:7}, in this clone only"
printf '\nTo publish it:\n  git push origin %s\nTo remove it:\n  git tag --delete %s\n' "$tag" "$tag"
