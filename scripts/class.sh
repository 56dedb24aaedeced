#!/usr/bin/env bash
# class.sh says how far each person of a class is: it clones their repositories, runs the tests of each chapter by plain
# go test, and prints a table in Markdown, with a row for each person.
#
#   scripts/class.sh <FILE        each line of FILE is a name and the URL of a clone, with a space between
#
# In a fork on GitHub, .github/workflows/class.yml gives it the forks of that fork. It runs the code of these people.
# A repository that cannot be cloned has a row that says so. class.sh ends with 0 whatever the tests say.
set -uo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.." || exit 1
clones=$(mktemp -d) || exit 1
trap 'rm -rf "$clones"' EXIT

head='| person |' line='|---|' chapters=0
for readme in 0[1-9]-*/README.md; do
  head="$head ${readme%/*} |" line="$line---|" chapters=$((chapters + 1))
done
printf '%s labs finished |\n%s---|\n' "$head" "$line"
while read -r name url; do
  [ -n "$url" ] || continue
  name=${name//[^[:alnum:]._-]/} # a name is not markup
  rm -rf "$clones/one"
  if GIT_TERMINAL_PROMPT=0 git clone --quiet --depth 1 -- "$url" "$clones/one" </dev/null >/dev/null 2>&1; then
    printf '| %s %s\n' "$name" "$(bash scripts/progress.sh --row "$clones/one" </dev/null)"
  else
    printf '| %s | cannot be cloned |\n' "$name"
  fi
done
