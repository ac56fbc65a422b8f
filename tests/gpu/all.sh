#!/bin/sh
# all.sh [NAME...]: the checks that need a GPU, run in the folder that pack.sh made. NAME is one of the steps
# below; without one all are run. Needs the driver, NVRTC and cuBLAS, a C compiler with cuda.h for `export`,
# and PyTorch for `torch` (options: PYTHON, BUDGET=90s, MODEL_BUDGET=150s) and `torch-models` (MODELS_BUDGET=300s).
# tune-run runs if it is named (CUBLAS=/usr/local/cuda/lib64, LEARN=60s, PYTHON): four minutes.
# programs runs if it is named (PROGRAMS_BUDGET=100s, PROGRAMS_REPEATS=3, PROGRAMS_LIMIT=500, PROGRAMS_ONLY="BERT;swin"): at most
# eight minutes; so does torch-eager (EAGER_BUDGET=60s, EAGER_REPEATS=5, EAGER_LIMIT=500).
# The steps of figures.py run if they are named: FIGURES are options for them, FIGURES_ROWS is the file of what was
# measured (figures.jsonl), FIGURES_LIMIT the seconds after which all of them end (530; the same command goes on).
# Prints a table at the end; exits with 1 if anything failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" GEMMTUNE_CONFIGS="$here/configs"
cuda=${CUDA_HOME:-/usr/local/cuda}/include
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_DATA_HOME="$scratch" XDG_CACHE_HOME="$scratch"
wanted=" ${*:-device launcher judge tf32 runtime prepared export host dropin torch torch-models} "
failed=0
started=$(date +%s)

# step NAME COMMAND...: runs a step and adds a line to the table.
step() {
    name=$1
    shift
    case $wanted in *" $name "*) ;; *) return ;; esac
    echo "== $name: $*"
    begin=$(date +%s) code=0
    "$@" || code=$?
    case $code in
    0) said=passed ;;
    75) said="goes on" ;;
    77) said=skipped ;;
    *) said="FAILED ($code)" failed=1 ;;
    esac
    printf '%-14s %-12s %5d s\n' "$name" "$said" $(($(date +%s) - begin)) >>"$scratch/table"
}

step device "$here/test_device_gpu"
step launcher "$here/test_launcher_gpu"
step judge "$here/test_judge_gpu"
step tf32 "$here/tf32.sh"
step runtime "$here/test_runtime_gpu"
step runtime-memory "$here/test_runtime_memory_gpu"
step prepared "$here/test_prepared_gpu"
step types "$here/test_types_gpu"
step invariant "$here/test_invariant_gpu"
step export "$here/gpu.sh" "$here/tune" "$here/winners.jsonl" "${CC:-cc}" "$cuda"
step host "$here/bench_host"
step dropin "$here/bench_eager" "$here/libgemmtune_cublas.so"
step dropin-types "$here/test_dropin_gpu.sh" "$here/test_dropin_gpu" "$here/libgemmtune_cublas.so" "$here/tune"
step torch "${PYTHON:-python3}" "$here/torch_dropin.py" --dropin "$here/libgemmtune_cublas.so" --tune "$here/tune" \
    --budget "${BUDGET:-90s}" --model-budget "${MODEL_BUDGET:-150s}" --json "$here/torch.json"
step torch-models "${PYTHON:-python3}" "$here/torch_models.py" --dropin "$here/libgemmtune_cublas.so" --tune "$here/tune" \
    --budget "${MODELS_BUDGET:-300s}" --json "$here/torch_models.json"
step tune-run "$here/test_tune_run.sh" "$here/tune" "${CUBLAS:-/usr/local/cuda/lib64}"
step programs "${PYTHON:-python3}" "$here/programs.py" --tune "$here/tune" --budget "${PROGRAMS_BUDGET:-100s}" --only "${PROGRAMS_ONLY:-}" \
    --repeats "${PROGRAMS_REPEATS:-3}" --limit "${PROGRAMS_LIMIT:-500}" --json "$here/programs.json"
step torch-eager "${PYTHON:-python3}" "$here/bench_eager.py" --dropin "$here/libgemmtune_cublas.so" --tune "$here/tune" \
    --budget "${EAGER_BUDGET:-60s}" --repeats "${EAGER_REPEATS:-5}" --limit "${EAGER_LIMIT:-500}" --json "$here/bench_eager.json"
for figure in search-seeds search-time wide-curated models models-bias suite two-gpus epilogue-cost pointers; do
    # shellcheck disable=SC2086 # FIGURES is a list of options
    step $figure "${PYTHON:-python3}" "$here/figures.py" $figure --rows "${FIGURES_ROWS:-figures.jsonl}" \
        --limit=$((${FIGURES_LIMIT:-530} + started - $(date +%s))) ${FIGURES:-}
done
echo
cat "$scratch/table"
exit $failed
