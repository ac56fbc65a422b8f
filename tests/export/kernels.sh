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

"$here/winners.sh" "$make_winners" 14 >winners.jsonl
"$tune" import winners.jsonl --db winners.db
code=0
"$tune" export --db winners.db --header kernels.h --with-kernels 2>said || code=$?
cat said
if [ $code = 6 ]; then
    echo "skipped: no NVRTC"
    exit 77
fi
[ $code = 0 ]
# How many kernels, for which GPUs, how large and how long is said before a compiler works: about right. Then all is in the cache.
of='machine code of ([0-9]+) kernels for sm_90a, about ([0-9]+)\.([0-9]) MB'
kernels=$(sed -nE "s/.*$of; \1 to compile on [0-9]+ cores?, about [1-9][0-9]* s\$/\1/p" said)
[ "$kernels" = "$(grep -c '^static const uint64_t gt_kernels_winners_cubin' kernels.h)" ]
about() { # what was said is within a factor of $1/10 of what the header has
    expected=$(sed -nE "s/.*$of;.*/\2\3/p" said)
    measured=$(($(stat -c %s kernels.h) / 100000))
    [ $((expected * 10)) -ge $((measured * 100 / $1)) ] && [ $((expected * 10)) -le $((measured * $1)) ] || {
        echo "expected $expected and measured $measured tenths of a megabyte"
        exit 1
    }
}
about 15
cp kernels.h first.h
"$tune" export --db winners.db --header kernels.h --with-kernels 2>said
cat said
grep -Eq "$of; all are in the cache\$" said
about 11
cmp first.h kernels.h # the same bytes again
# Of one kernel, too, where most is not machine code.
"$tune" export --db winners.db --header one.h --with-kernels --shape nt:640x768x512 2>said
cat said
expected=$(sed -nE 's/.*machine code of 1 kernel for sm_90a, about ([0-9]+) kB; all.*/\1/p' said) measured=$(($(stat -c %s one.h) / 1000))
[ $((expected * 10)) -ge $((measured * 9)) ] && [ $((expected * 10)) -le $((measured * 11)) ] || {
    echo "expected ${expected:-nothing} and measured $measured kB"
    exit 1
}

strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -isystem $cuda -I. -I$here -I$here/../../kernel_templates/device"
$cc -std=c99 -O1 $strict "$here/launch.c" "$here/fake_driver.c" -o launch
mkdir code
./launch code
# The machine code is byte for byte what was compiled, which an entry of the cache begins with.
for code in code/*; do
    bytes=$(stat -c %s "$code") same=0
    for entry in cache/*.cubin; do
        if cmp -s -n "$bytes" "$code" "$entry"; then same=1; fi
    done
    [ $same = 1 ] || {
        echo "$code of $bytes bytes is not what was compiled"
        exit 1
    }
done
# PTX only where it is asked for, at a price.
"$tune" export --db winners.db --header kernels.h --with-kernels --ptx
[ "$(stat -c %s kernels.h)" -gt $((2 * $(stat -c %s first.h))) ]
$cc -std=c99 -O1 $strict -DWITH_PTX "$here/launch.c" "$here/fake_driver.c" -o launch_ptx
./launch_ptx
# The definitions in C++, used from C; with clang, too, where it is.
echo '#define GT_WINNERS_IMPLEMENTATION
#include "kernels.h"
extern "C" CUresult use(const gt_winner_gpu *gpu);
int main() { return use(gt_winner_gpu_find(&gt_kernels_winners, "NVIDIA H200", 90, 132)); }' >main.cpp
echo '#include "kernels.h"
CUresult use(const struct gt_winner_gpu *gpu);
CUresult use(const struct gt_winner_gpu *gpu)
{
    struct gt_winner_loaded kernel;
    const struct gt_winner *winner = gpu->winners;
    CUresult result;
    while (winner->kernel < 0) winner++;
    result = gt_winner_load(gpu, winner, &kernel);
    return result == CUDA_SUCCESS ? gt_winner_unload(&kernel) : result;
}' >use.c
for pair in "$cc $cxx" "clang clang++" "clang-14 clang++-14"; do
    command -v "${pair% *}" >/dev/null && command -v "${pair#* }" >/dev/null || continue
    # shellcheck disable=SC2086 # several options
    ${pair% *} -std=c99 -O1 $strict -c use.c "$here/fake_driver.c"
    if nm --defined-only use.o | grep gt_; then exit 1; fi
    [ "$(stat -c %s use.o)" -lt 8192 ]
    # shellcheck disable=SC2086
    ${pair#* } -std=c++11 -O1 $strict main.cpp use.o fake_driver.o -o main
    ./main
done
