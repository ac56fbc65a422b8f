# The winners against NVIDIA's libraries: what is asked wrongly, and a whole run with children that invent times.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_DB=$SCRATCH/winners.db
t tune bench
t tune bench --shape 12x
t tune bench --suite nosuch.txt
t tune bench --shape 64x64x64 --rival nosuch
t tune bench --shape 64x64x64 --launch later
t tune bench --shape 64x64x64 --rounds 0
t tune bench --shape 64x64x64 --rounds 2.5
t tune bench --shape 64x64x64 --plot ratios.jpg
GEMMTUNE_CONFIGS=$SCRATCH t tune bench --shape 64x64x64
# A small space: enumerating the shipped one takes the sanitizers long.
GEMMTUNE_EXE=$FAKE tune --shape 64x64x64 --shape sgemm:tn:65x66x67 --space "$SOURCES/tests/fake/space.conf" \
    --budget 2h --max-trials 40 >tuned 2>&1
GEMMTUNE_LIBCUDA=$SCRATCH/no-driver t tune bench --shape 64x64x64
export GEMMTUNE_EXE=$FAKE
t tune bench --shape 64x64x64 --shape sgemm:tn:65x66x67 --rival all
t tune bench --shape 64x64x64 --shape 7x7x7
FAKE_NO_CUBLAS=1 tune bench --shape 64x64x64 --rival lt --format json >alone.json
FAKE_NO_RIVAL=lt tune bench --shape 64x64x64 --rival lt --rounds 3 --format json >some.json 2>means
cat >look.py <<'END'
import json
alone, some = (json.load(open(f))[0] for f in ("alone.json", "some.json"))
print(alone["mark"], alone["cublas_us"], alone["ratio"], alone["lt_us"], alone["time_us"] > 0)
print(some["mark"], 1 < some["ratio_low"] <= some["ratio"] <= some["ratio_high"] < 1.2, some["lt_us"], some["lt"])
print(some["source"], some["verdict"], some["bitwise"], some["rounds"], some["cold"], some["config"].split()[0])
print(abs(some["tflops"] - 2 * 64**3 / some["time_us"] * 1e-6) < 1e-9)
END
t python3 look.py
t cat means
t tune bench --shape 64x64x64 --rounds 3 --hot --format csv
# What cuBLAS wins is no victory, whatever is asked.
FAKE_FAST_CUBLAS=1 tune --shape 64x64x64 --again --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials 40 >tuned 2>said
t grep -o '^sgemm:nn:64x64x64 *cuBLAS won' tuned
t grep -o 'cuBLAS is faster.*' said
t sh -c 'tune query --own --shape 64x64x64 | head -1'
t sh -c 'tune explain --shape 64x64x64 | head -3'
t sh -c 'tune bench --shape 64x64x64 --rounds 3 --format json 2>&1 | grep -o "\"mark\": [^,]*"'
t sh -c 'tune export --header lost.h --shape 64x64x64 2>&1; grep -o "\"cublas\", \".*\"}" lost.h'
t tune export --without-cublas --csv --shape 64x64x64
# Of an accuracy class the errors are beside the speed, after a search and in bench.
cat >errors.py <<'END'
import json, sys
for row in json.load(open(sys.argv[1])):
    print(row["problem"], row["error"], row["error_rms"], row["cublas_error_rms"], row["checked"])
END
tune --shape sgemm_accurate:nn:64x64x64 --shape 64x64x65 --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials 40 --json >tuned.json 2>said
t python3 errors.py tuned.json
tune bench --shape sgemm_accurate:nn:64x64x64 --shape 64x64x65 --rounds 3 --json >bench.json 2>said
t python3 errors.py bench.json
t sh -c 'tune --shape sgemm_accurate:nn:64x64x64 2>said | grep -o "error / FP32"'
t sh -c 'tune bench --shape sgemm_accurate:nn:64x64x64 --rounds 3 | grep -o "error / FP32"'
t sh -c 'tune bench --shape 64x64x65 --rounds 3 | grep -c error'
