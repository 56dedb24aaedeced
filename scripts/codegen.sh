#!/usr/bin/env bash
# codegen.sh runs the generators of k8s.io/code-generator over the types of the lab custom-resource: deep copies,
# apply configurations, a client, a lister and an informer.
#
#   scripts/codegen.sh             from the types in labs/custom-resource, into that folder
#   scripts/codegen.sh --solution  from the types of the solution, into the solution and labs/custom-resource/generated
#   scripts/codegen.sh --verify    from the types of the solution; it writes nothing, and fails if a file differs
#
# The generators read the API group and version from the path of a package. The lab's folder is flat, so the script
# copies the types to apis/bitcoin/v1alpha1 first, and names the real package in the output.
set -euo pipefail
unset CDPATH
cd -P "$(dirname "$0")/.."

lab=labs/custom-resource
package=client-go-workshop/$lab
from=$lab
verify=
case ${1:-} in
  '') ;;
  --solution) from=labs/solutions/custom-resource ;;
  --verify) from=labs/solutions/custom-resource verify=yes ;;
  *) echo "codegen.sh: there is no option $1; the options are --solution and --verify" >&2; exit 2 ;;
esac

work=.workshop/codegen
types=$work/apis/bitcoin/v1alpha1
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$types" "$work/generated"
for file in doc.go types.go register.go; do
  cp "$from/$file" "$types/$file"
done
: >"$work/no-header.txt"
header=$work/no-header.txt
[ "$from" = "$lab" ] || header=scripts/codegen/solution-header.txt

# gen PROGRAM FLAG… runs one generator.
gen() {
  local program=$1 header=$2
  shift 2
  echo "$program"
  go tool -modfile=scripts/codegen/go.mod "$program" --go-header-file "$header" "$@"
}

gen deepcopy-gen "$header" --output-file zz_generated.deepcopy.go "./$types"
gen applyconfiguration-gen "$work/no-header.txt" --output-dir "$work/generated/applyconfiguration" \
  --output-pkg "$package/generated/applyconfiguration" "./$types"
gen client-gen "$work/no-header.txt" --clientset-name versioned --fake-clientset=false --input-base '' \
  --input "client-go-workshop/$types" --apply-configuration-package "$package/generated/applyconfiguration" \
  --output-dir "$work/generated/clientset" --output-pkg "$package/generated/clientset"
gen lister-gen "$work/no-header.txt" --output-dir "$work/generated/listers" --output-pkg "$package/generated/listers" \
  "./$types"
gen informer-gen "$work/no-header.txt" --output-dir "$work/generated/informers" \
  --output-pkg "$package/generated/informers" --listers-package "$package/generated/listers" \
  --versioned-clientset-package "$package/generated/clientset/versioned" "./$types"

find "$work/generated" -name '*.go' -exec sed -i.bak "s|client-go-workshop/$types|$package|g" {} +
# The generator names the package after its folder.
sed -i.bak 's|^package v1alpha1$|package customresource|' "$types/zz_generated.deepcopy.go"
find "$work" -name '*.bak' -delete
gofmt -w "$work/generated"

if [ -n "$verify" ]; then
  diff -u "$from/zz_generated.deepcopy.go" "$types/zz_generated.deepcopy.go"
  diff -ru "$lab/generated" "$work/generated"
  echo 'the generated files are what the generators print'
  exit
fi
cp "$types/zz_generated.deepcopy.go" "$from/"
rm -rf "$lab/generated"
cp -R "$work/generated" "$lab/generated"
echo "written: $from/zz_generated.deepcopy.go, $lab/generated"
