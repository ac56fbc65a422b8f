#!/bin/sh
# gpu.sh TUNE WINNERS CC CUDA_INCLUDE: export WINNERS (a file FOLDER/NAME.jsonl, or the program make_winners) as a header with
# kernels, compile it and run them all on the GPU of this machine, as machine code and, where PTX is the only way, as that.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tune=$1 winners=$2 cc=$3 cuda=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
driver=
for folder in /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/lib; do
    if [ -e "$folder/libcuda.so.1" ]; then driver="$folder/libcuda.so.1"; fi
done
if [ -z "$driver" ]; then
    echo "skipped: no driver"
    exit 77
fi
case $winners in
*.jsonl) cp "$winners" winners.jsonl ;;
*) "$here/winners.sh" "$winners" 60 >winners.jsonl ;;
esac
"$tune" import winners.jsonl --db winners.db
code=0
"$tune" export --db winners.db --header kernels.h --with-kernels --ptx || code=$?
if [ $code = 6 ]; then
    echo "skipped: no NVRTC"
    exit 77
fi
[ $code = 0 ]
strict="-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -isystem $cuda -I."
$cc $strict "$here/run_gpu.c" "$driver" -lm -o run_gpu
code=0
./run_gpu || code=$?
[ $code = 0 ] || exit $code
if grep -q gt_kernels_winners_epilogues kernels.h; then
    $cc $strict "$here/run_epilogues.c" "$driver" -lm -o run_epilogues
    ./run_epilogues
fi
# The same with the machine code gone: the driver compiles the PTX.
sed 's/if (10 \* major + minor == gpu->arch)/if (0)/; s/10 \* major + minor > gpu->arch \&\& kernel->ptx/kernel->ptx/' \
    kernels.h >ptx.h
cmp -s kernels.h ptx.h && exit 1
mv ptx.h kernels.h
$cc $strict "$here/run_gpu.c" "$driver" -lm -o run_ptx
./run_ptx
