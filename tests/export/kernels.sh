#!/bin/sh
# kernels.sh TUNE MAKE_WINNERS CC CXX CUDA_INCLUDE: export a header with kernels, compile it strictly as C and C++ and run
# its launcher on a fake driver.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tune=$1 make_winners=$2 cc=$3 cxx=$4 cuda=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export GEMMTUNE_CACHE="$scratch/cache" SOURCE_DATE_EPOCH=1795000000 GEMMTUNE_LIBCUDA=/no/driver

"$make_winners" 14 >winners.jsonl
"$tune" import winners.jsonl --db winners.db
code=0
"$tune" export --db winners.db --header kernels.h --with-kernels || code=$?
if [ $code = 6 ]; then
    echo "skipped: no NVRTC"
    exit 77
fi
[ $code = 0 ]
cp kernels.h first.h
"$tune" export --db winners.db --header kernels.h --with-kernels
cmp first.h kernels.h # the same bytes again

strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -isystem $cuda -I. -I$here -I$here/../../kernel_templates"
$cc -std=c99 -O1 $strict "$here/launch.c" "$here/fake_driver.c" -o launch
./launch
echo '#define GT_WINNERS_IMPLEMENTATION
#include "kernels.h"
int main() { return gt_winner_gpu_find(&gt_kernels_winners, "NVIDIA H200", 90, 132) == nullptr; }' >main.cpp
$cc -std=c99 $strict -c "$here/fake_driver.c" -o fake_driver.o
$cxx -std=c++11 -O1 $strict main.cpp fake_driver.o -o main
./main
