#!/usr/bin/env bash
# class.sh says how far each person of a class is: it clones their repositories, runs the tests of each chapter by plain
# go test, and prints a table in Markdown, with a row for each person.
#
#   scripts/class.sh <FILE        each line of FILE is a name and the URL of a clone, with a space between
#
# In a fork on GitHub, .github/workflows/class.yml gives it the forks of that fork. It runs the code of these people
# with your rights: the rows are a help for a class, not an examination.
# A repository that cannot be cloned has a row that says so. class.sh ends with 0 whatever the tests say.
set -uo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.." || exit 1
clones=$(mktemp -d) || exit 1
trap 'rm -rf "$clones"' EXIT

# A fork's code could change the scripts for the next fork, so bash reads them as a whole before the first one runs.
rows() {
  local head='| person |' line='|---|' progress name url
  progress=$(<scripts/progress.sh)
  for readme in 0[1-9]-*/README.md; do
    head="$head ${readme%/*} |" line="$line---|"
  done
  printf '%s labs finished |\n%s---|\n' "$head" "$line"
  while read -r name url; do
    [ -n "$url" ] || continue
    name=${name//[^[:alnum:]._-]/} # a name is not markup
    rm -rf "$clones/one"
    if GIT_TERMINAL_PROMPT=0 git clone --quiet --depth 1 -- "$url" "$clones/one" </dev/null >/dev/null 2>&1; then
      printf '| %s %s\n' "$name" "$(bash -c "$progress" scripts/progress.sh --row "$clones/one" </dev/null)"
    else
      printf '| %s | cannot be cloned |\n' "$name"
    fi
  done
  exit
}
rows
