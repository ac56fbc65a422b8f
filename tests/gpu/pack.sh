#!/bin/sh
# pack.sh BUILD FOLDER: copies everything that tests/gpu/all.sh and sanitize.sh need, for a machine with a GPU
# that has neither cmake nor the libraries of the programs. FOLDER then has the libraries beside the programs,
# and tools/suite.sh:
#     LD_LIBRARY_PATH=FOLDER/lib GEMMTUNE_CONFIGS=FOLDER/configs TUNE=FOLDER/tune FOLDER/tools/suite.sh results
set -eu
build=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mkdir -p "$folder/lib" "$folder/tools" "$folder/docs/results"
programs="tune tests/test_device_gpu tests/test_launcher_gpu tests/test_judge_gpu tests/test_runtime_gpu tests/test_runtime_memory_gpu tests/test_prepared_gpu tests/test_types_gpu tests/test_invariant_gpu tests/test_dropin_gpu tests/sanitize_one tests/side_by_side tests/row_bits tests/bench_host tests/bench_first tests/bench_calls tests/bench_eager
runtime/dropin/libgemmtune_cublas.so runtime/dropin/libgemmtune_cublas_engine.so"
for program in $programs; do
    cp "$build/$program" "$folder/"
    ldd "$build/$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
        grep -vE '/(libc|libm|libdl|libpthread|librt|libgcc_s)\.so' | xargs -r cp -L -t "$folder/lib"
done
"$here/../export/winners.sh" "$build/tests/make_winners" 60 >"$folder/winners.jsonl"
cp -r "$top/configs" "$folder/"
for code in "$build"/configs/winners/code-*.sqlite; do
    [ ! -e "$code" ] || cp "$code" "$folder/configs/winners/" # else the machine compiles what ships
done
cp "$top/docs/results/h200-models.csv" "$folder/docs/results/"
cp "$top/tools/suite.sh" "$top/tools/suite_classes.awk" "$folder/tools/"
cp "$here/all.sh" "$here/tf32.sh" "$here/test_dropin_gpu.sh" "$here/test_tune_run.sh" "$here/opened_cublas.py" "$here/programs.py" "$here/bench_eager.py" "$here/sanitize/sanitize.sh" "$here"/torch_*.py "$here"/figures*.py "$here/batch_invariant.py" "$here/../measure/row_bits.list" "$here/../export/gpu.sh" \
    "$here"/../export/run_*.[ch] "$folder/"
du -sh "$folder"
