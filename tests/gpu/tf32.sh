#!/bin/sh
# tf32.sh: tf32gemm from end to end on a GPU, in the folder that pack.sh made: tunes twelve problems (all ops,
# large, plain and ragged), races the winners against cuBLAS with TF32, and prints a line for each:
#
#     tf32gemm:nn:4096x4096x4096  0.500 x cublasGemmEx TF32  (680.00 us against 340.00)  measured, exact  rms 1.0 x  mma BM=...
#
# the ratio of the times (above 1 the kernel is faster), the judge's verdict, the winner's root mean square
# error over the rival's, both from the decision, and the configuration. Takes about 100 s (BUDGET=70s is for
# tuning). Exits with 1 if a problem has no winner, a wrong winner, no rival or no measured errors; with 77
# without a driver, NVRTC or cuBLAS.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
: "${GEMMTUNE_CONFIGS:=$here/configs}"
export GEMMTUNE_CONFIGS
tune=${TUNE:-$here/tune}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GEMMTUNE_CACHE="$scratch/cache" GEMMTUNE_DB="$scratch/tf32.db"
for shape in 1000x1000x1000 4096x4096x4096 1023x1025x1027; do
    for op in nn nt tn tt; do echo "tf32gemm:$op:$shape"; done
done >"$scratch/suite.txt"

code=0
"$tune" --suite "$scratch/suite.txt" --budget "${BUDGET:-70s}" --no-pretuned >"$scratch/table" 2>"$scratch/progress" || code=$?
if [ $code = 5 ] || [ $code = 6 ]; then
    tail -n 1 "$scratch/progress"
    exit 77
fi
if [ $code != 0 ]; then
    cat "$scratch/progress" "$scratch/table"
    echo "tune ended with $code"
fi
"$tune" bench --suite "$scratch/suite.txt" --rounds 7 --block-ms 10 --format csv >"$scratch/bench.csv" || code=$?
"$tune" export --json --measured >"$scratch/winners.jsonl" || code=$?

# From the decisions: problem, rival, root mean squares.
sed -n 's/.*"problem": "\([^"]*\)".*"rival": "\([^"]*\)".*"errors": {[^}]*"rms": \([^,]*\),.*"rival_errors": {[^}]*"rms": \([^,]*\),.*/\1,\2,\3,\4/p' \
    "$scratch/winners.jsonl" >"$scratch/errors.csv"
awk -F, -v code=$code '
    FILENAME ~ /errors/ { rival[$1] = $2; errors[$1] = sprintf("rms %.2f x", $4 > 0 ? $3 / $4 : 0); next }
    FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    {
        problem = $at["problem"]
        right = $at["verdict"] == "measured" && $at["bitwise"] == "true" && rival[problem] == "cublasGemmEx TF32" && $at["ratio"] > 0
        printf "%-28s %.3f x %s  (%.2f us against %.2f)  %s, %s  %s  %s\n", problem, $at["ratio"], rival[problem], $at["time_us"],
            $at["cublas_us"], $at["verdict"], $at["bitwise"] == "true" ? "exact" : "not exact", errors[problem], $at["config"]
        good += right
        half += $at["ratio"] >= 0.5
        seen++
    }
    END {
        printf "%d problems, %d judged right and raced against TF32, %d at least half as fast\n", seen, good, half
        exit code != 0 || seen != 12 || good != 12
    }' "$scratch/errors.csv" "$scratch/bench.csv"
