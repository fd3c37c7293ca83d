#!/bin/bash
# ptxas accepts every kernel: check.sh PTXAS
cd "$(dirname "$0")"
for file in *.ptx; do "$1" -arch=$(sed -n 's/^\.target //p' $file) $file -o /dev/null || echo "no: $file"; done
