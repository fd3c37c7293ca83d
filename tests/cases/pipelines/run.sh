#!/bin/sh
# run.sh PTXC PTXAS SEED COUNT: runs random pipelines three ways, and prints those that fail.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 "$here/pipelines.py" "$3" "$4" "$folder" >"$folder/log" || { cat "$folder/log"; exit 1; }
failures=0
# Fails with the first lines of what a run says.
try() {
    "$@" >"$folder/said" 2>&1 && return
    failures=$((failures + 1))
    echo "$*: $(head -3 "$folder/said" | tr '\n' ' ')"
}
for case in "$folder"/cases/*.json; do
    kernel=$folder/$(basename "$case" .json)
    try "$1" run "$case" --engine ssa
    try "$1" run "$case" --arch sm_90a --hazards --seed 3
    try "$2" -arch=sm_90a "$kernel.ptx" -o "$kernel.cubin"
    try "$1" run "$case" --cubin "$kernel.cubin"
done
echo "$4 programs from seed $3: $failures failures"
[ "$failures" -eq 0 ]
