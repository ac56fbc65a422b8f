#!/bin/sh
# build.sh PROGRAM: builds tensor_bench with the CUDA toolkit at CUDA_HOME (/usr/local/cuda). LIBCUDA: folder of a
# libcuda.so to link, where no driver is installed.
set -eu
cuda=${CUDA_HOME:-/usr/local/cuda}
program=$(realpath -m "$1")
cd "$(dirname "$0")"
for lib in "$cuda/lib64" "$cuda/lib"; do test -e "$lib/libnvrtc.so" && break; done
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
for source in *.cpp; do
    ${CXX:-g++} -std=c++17 -O2 -Wall -Wextra -Wconversion -Werror -isystem "$cuda/include" \
        -c -o "$objects/$source.o" "$source" &
done
wait
${CXX:-g++} -o "$program" "$objects"/*.o -L"$lib" -Wl,-rpath,"$lib" ${LIBCUDA:+-L"$LIBCUDA" -Wl,-rpath,"$LIBCUDA"} \
    -lcuda -lnvrtc -lcublas -lcublasLt -lcudart
