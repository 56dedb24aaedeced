#!/usr/bin/env bash
# progress.sh says how far you are: it runs the tests of each chapter by plain go test and prints a table in Markdown,
# for you, or for the page of a job on GitHub (.github/workflows/progress.yml).
#
#   scripts/progress.sh                   your table
#   scripts/progress.sh --row FOLDER      one row without a name, about the clone in FOLDER, for scripts/class.sh
#
# An unfinished chapter is no failure, so it ends with 0 whatever the tests say.
set -uo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.." || exit 1
row=""
if [ "${1:-}" = --row ]; then
  row="|"
  cd -P "$2" || exit 1
fi

# lines counts those that match.
lines() { grep -c "$1" <<<"$log"; }

finished=0 chapters=0 labs=0
[ -n "$row" ] || printf '| chapter | tests passed | next |\n|---|---|---|\n'
for readme in 0[1-9]-*/README.md labs/*/README.md; do
  [ -e "$readme" ] || continue # there is no lab
  chapter=${readme%/*}
  # The time is for code that waits for itself.
  log=$(go test -v -timeout=5m "./$chapter" 2>&1)
  code=$?
  passed=$(lines '^--- PASS') failed=$(lines '^--- FAIL')
  case $chapter in
    # A lab is an extra. It has no row while every test fails.
    labs/*) [ "$failed" -eq 0 ] || [ "$passed" -gt 0 ] || continue ;;
    *) chapters=$((chapters + 1)) ;;
  esac
  # The lowest task with a failing test is where to go on.
  task=$(sed -n 's/^--- FAIL: TestTask\([0-9]*\).*/\1/p' <<<"$log" | sort -n | head -n 1)
  if [ $code -eq 0 ]; then
    case $chapter in labs/*) labs=$((labs + 1)) ;; *) finished=$((finished + 1)) ;; esac
    next=finished
  elif [ "$(lines '^panic: \|^fatal error: ')" -gt 0 ]; then
    next="the tests were cut off: \`go test ./$chapter\` says why"
  elif [ -n "$task" ]; then
    next="\`go test ./$chapter -run Task$task\`"
  elif [ $((passed + failed)) -eq 0 ]; then
    next="does not compile: \`go vet ./$chapter\` says why"
  else
    next="\`go test ./$chapter\`"
  fi
  if [ -z "$row" ]; then
    printf '| %s | %d of %d | %s |\n' "$chapter" "$passed" $((passed + failed)) "$next"
    continue
  fi
  case $chapter in labs/*) continue ;; esac
  cell="$passed of $((passed + failed))"
  [ $((passed + failed)) -gt 0 ] || cell="does not compile"
  [ "$next" != finished ] || cell=finished
  row="$row $cell |"
done
if [ -n "$row" ]; then
  printf '%s %d |\n' "$row" $labs
  exit 0
fi
printf '\n%d of %d chapters are finished.\n' $finished $chapters
[ $labs -eq 0 ] || printf 'Labs finished: %d.\n' $labs
