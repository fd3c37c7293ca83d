#!/usr/bin/env bash
# How the files beside this one were made, with nvcc 13.5: one kernel in every container. ORACLE names the folder of the tools.
set -euo pipefail
cd "$(dirname "$0")"
targets=(-gencode arch=compute_75,code=sm_75 -gencode "arch=compute_90,code=[sm_90,compute_90]")
"$ORACLE/nvcc" -fatbin "${targets[@]}" -Xfatbin --compress-mode=size scale.cu -o scale.zstd.fatbin
"$ORACLE/nvcc" -fatbin "${targets[@]}" -Xfatbin --compress-all -Xfatbin --compress-mode=speed scale.cu -o scale.lz4.fatbin
"$ORACLE/nvcc" -fatbin "${targets[@]}" -Xfatbin --compress-all -Xfatbin --concat scale.cu -o scale.group.fatbin
"$ORACLE/nvcc" -cubin -arch=sm_90 scale.cu -o scale.sm_90.cubin
"$ORACLE/nvcc" -c -arch=sm_90 -Xfatbin --compress-mode=size scale.cu -o scale.o
"$ORACLE/nvcc" -dc -arch=sm_90 -Xfatbin --compress-mode=size scale.cu -o scale.rdc.o
rm -f scale.a
ar rcsD scale.a scale.o scale.rdc.o
rm scale.o scale.rdc.o
"$ORACLE/cuobjdump" -sass scale.sm_90.cubin > scale.cuobjdump.txt
"$ORACLE/nvdisasm" -hex scale.sm_90.cubin > scale.nvdisasm.txt
