# A type of problems from its tuning to its files: TF32 on tensor cores beside strict FP32, predicted without a GPU.
export GEMMTUNE_LIBCUDA="$SCRATCH/no-driver" SOURCE_DATE_EPOCH=1795000000
code=0
tune --shape tf32gemm:tn:1000x1000x1000 --shape sgemm:tn:1000x1000x1000 --gpu h200 --budget 2h --max-trials 4 --db one.db \
    >/dev/null 2>progress || code=$?
if [ $code = 6 ]; then skip "no NVRTC"; fi
[ $code = 0 ]

t tune query --db one.db
t tune query --db one.db --shape tf32gemm:tn:1000x1000x1000
tune query --db one.db --format json >query.json
t python3 -c 'import json; print([(w["problem"], w["configuration"].split()[0]) for w in json.load(open("query.json"))])'
t sh -c 'tune query --db one.db --format csv | cut -d, -f2,10 | sort'
t tune query --db one.db --shape tf32gemm:nn:1000x1000x1000
t tune explain --db one.db --shape tf32gemm:tn:1000x1000x1000

t tune export --db one.db --header winners.h
cat >types.sed <<'END'
s/^    {1000, 1000, 1000, 1, \(.\), \(.\),.*"\([a-z0-9_]*\) BM.*/type \1, op \2: \3/p
END
t sed -n -f types.sed winners.h
tune export --db one.db --json -o one.jsonl
t sh -c 'tune export --db one.db --csv | cut -d, -f1 | sort'
t tune import one.jsonl --db two.db
t sh -c 'tune query --db two.db --format csv | cut -d, -f2,10 | sort'
t tune merge all.db one.db two.db
t tune verify --db all.db

# What a race on a GPU adds: its rival by name, and how far both were from the right answer.
python3 - <<'END'
import json
line = json.loads(next(line for line in open("one.jsonl") if "tf32gemm" in line))
line.update(predicted=False, exact=True, rounds=12, time_us=30, cublas_us=20, ratio=2 / 3, ratio_low=0.66, ratio_high=0.67,
            rival="cublasGemmEx TF32", errors={"componentwise": 2e-5, "rms": 3e-6, "max": 4e-5},
            rival_errors={"componentwise": 2.5e-5, "rms": 3.5e-6, "max": 4.5e-5})
json.dump(line, open("raced.jsonl", "w"))
END
t tune import raced.jsonl --db two.db
t sh -c 'tune query --db two.db --shape tf32gemm:tn:1000x1000x1000 --format csv | cut -d, -f2,10,24'
t sh -c 'tune explain --db two.db --shape tf32gemm:tn:1000x1000x1000 | sed -n 2,10p'
tune explain --db two.db --shape tf32gemm:tn:1000x1000x1000 --format json >explain.json
t python3 -c 'import json; w = json.load(open("explain.json"))[0]["winner"]; print(w["x_cublas"]["rival"], w["errors"], w["rival_errors"])'
t tune merge all.db two.db
t sh -c 'tune export --db all.db --json --measured | grep -o "\"rival\".*"'
t tune verify --db all.db
