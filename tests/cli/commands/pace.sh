# What limited a search, as explain says it, with children that invent times: a kernel takes 200 ms, a trial 2 ms.
# Compiling is the limit unless the machine is so slow that all else takes longer.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_EXE=$FAKE GEMMTUNE_DB=my.db FAKE_COMPILE_MS=200 FAKE_TRIAL_MS=2
search() {
    tune --shape "$1" --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials "$2" >/dev/null 2>&1
}
search 64x64x64 40
search 65x64x64 9
cat >pace.py <<'END'
import json, os, sys
said = json.loads(os.popen("tune explain --format json --shape " + sys.argv[1]).read())[0]
p = said["pace"]
if p is None:
    print("nothing")
    sys.exit()
print(list(p))
print(p["limit"] == ("compiling" if p["compilers"] >= 0.5 else "neither"), p["trials"], 0 < p["kernels"] <= 40)
print(round(p["gpu_seconds"], 6) == 0.08, abs(p["compile_seconds"] - 0.2 * p["kernels"]) < 1e-6)
print(abs(p["gpu_share"] - p["gpu_seconds"] / p["seconds"]) < 1e-9, abs(p["trials_per_second"] * p["seconds"] - 40) < 1e-9)
print(round(p["possible_per_second"]), 0 < p["compilers"] <= p["compile_seconds"] / p["seconds"])
END
t sh -c 'COLUMNS=300 tune explain --shape 64x64x64 | grep ^pace'
t python3 pace.py 64x64x64
t sh -c 'tune explain --shape 65x64x64 | grep ^pace'
t python3 pace.py 65x64x64
