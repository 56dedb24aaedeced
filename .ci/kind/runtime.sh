#!/usr/bin/env bash
# runtime.sh is runc without CAP_SYS_RESOURCE. An engine that lacks this capability cannot give it to a container, and
# runc refuses to start a privileged one. Docker calls this instead (engine.sh): it removes the capability from the
# specification of the container (--bundle) or of the further process (--process), and calls runc.
set -euo pipefail
before=
for argument in "$@"; do
  file=
  case $before in
    --bundle | -b) file=$argument/config.json ;;
    --process | -p) file=$argument ;;
  esac
  [ -z "$file" ] || sed -i 's/"CAP_SYS_RESOURCE",//g; s/,"CAP_SYS_RESOURCE"//g' "$file"
  before=$argument
done
exec runc "$@"
