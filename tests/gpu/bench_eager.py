#!/usr/bin/env python3
"""The host time of products as PyTorch and CuPy call them, on a GPU: what bench_eager.c measures of cuBLAS and cublasLt alone.

    bench_eager.py --dropin build/portable/runtime/dropin/libgemmtune_cublas.so --tune build/portable/tune [--budget 60s]
                   [--repeats 5] [--limit 500] [--only cupy] [--json FILE]

mm, linear + bias and bmm in FP32, BF16 and FP16, of 64x256x256 and of 48 times 49x49x32, in processes of five kinds, in turns:

    plain      without the drop-in
    off        GEMMTUNE_DROPIN=off
    no winner  nothing was tuned
    tuned      with winners for all of them
    floor      every product returns at once: what the program itself costs

The host's speed changes by a half from second to second. So in each process groups of calls of each product alternate with groups of
additions, and the figures to compare are the least time and the median of product over addition. Printed are medians over
the processes, with the least and the greatest. 77: there is no PyTorch with CUDA, and no CuPy.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from figures_stats import median, quantile
from torch_child import SKIPPED, own_libraries, parser_of, tune

CALLS, WARM_GROUPS = 50, 3
CHILD_S = 90
KINDS = ("plain", "off", "no winner", "tuned", "floor")
FUNCTIONS = ("cublasSgemm_v2", "cublasSgemmEx", "cublasGemmEx", "cublasSgemmStridedBatched", "cublasGemmStridedBatchedEx",
             "cublasLtMatmul")
FLOOR = "".join(f"int {name}(void) {{ return 0; }}\n" for name in FUNCTIONS)

# ---- in the processes ----


def torch_calls():
    """(name -> call, the addition, what waits for the GPU)."""
    import torch
    if not torch.cuda.is_available():
        raise ImportError("PyTorch sees no GPU")
    calls = {}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        def some(*shape, dtype=dtype):
            return torch.randn(*shape, device="cuda", dtype=dtype)

        x, w, bias, q, k = some(64, 256), some(256, 256), some(256), some(48, 49, 32), some(48, 32, 49)
        name = {"float32": "FP32", "bfloat16": "BF16", "float16": "FP16"}[str(dtype).split(".")[1]]
        calls[f"mm, {name}"] = lambda x=x, w=w: torch.mm(x, w)
        calls[f"linear + bias, {name}"] = lambda x=x, w=w, bias=bias: torch.nn.functional.linear(x, w, bias)
        calls[f"bmm, {name}"] = lambda q=q, k=k: torch.bmm(q, k)
    one = torch.randn(64, 256, device="cuda")
    return calls, lambda: torch.add(one, one), torch.cuda.synchronize


def cupy_calls():
    import cupy
    calls = {}
    for letter, name in (("f", "FP32"), ("e", "FP16")):
        def some(*shape, letter=letter):
            return cupy.random.rand(*shape).astype(letter)

        x, w, q, k = some(64, 256), some(256, 256), some(48, 49, 32), some(48, 32, 49)
        calls[f"mm, {name}"] = lambda x=x, w=w: cupy.matmul(x, w)
        calls[f"bmm, {name}"] = lambda q=q, k=k: cupy.matmul(q, k)
    one = cupy.random.rand(64, 256).astype("f")
    return calls, lambda: cupy.add(one, one), cupy.cuda.Device().synchronize


MAKERS = {"torch": torch_calls, "cupy": cupy_calls}


def group_us(call, wait):
    """Microseconds of a call, the mean of a group that the GPU need not wait for."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    us = (time.perf_counter() - start) / CALLS * 1e6
    wait()
    return us


def child(program, rounds):
    try:
        calls, add, wait = MAKERS[program]()
    except ImportError as why:
        print(why, file=sys.stderr)
        return SKIPPED
    for call in (add, *calls.values()):
        for _ in range(WARM_GROUPS):
            group_us(call, wait)
    product, beside = {name: [] for name in calls}, {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            beside[name].append(group_us(add, wait))
            product[name].append(group_us(call, wait))
    found = {name: {"least_us": quantile(product[name], 0.02),
                    "in_adds": median([p / a for p, a in zip(product[name], beside[name])])} for name in calls}
    print(json.dumps({"calls": found, "add_us": median([us for of in beside.values() for us in of]), "libraries": own_libraries()}))
    return 0


# ---- around them ----


class Runs:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.until = time.monotonic() + options.limit - 10
        self.db, self.failed = folder / "tuned.db", False
        kept = ("GEMMTUNE_CACHE", "GEMMTUNE_LIBCUDA", "GEMMTUNE_LIBNVRTC")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GEMMTUNE_") or name in kept}
        self.environment |= {"GEMMTUNE_CONFIGS": str(folder / "no configs"), "GEMMTUNE_SYSTEM_DB": "off",  # no winners but our own
                             "GEMMTUNE_CACHE": os.environ.get("GEMMTUNE_CACHE", str(folder / "cache"))}
        preload, nothing = {"LD_PRELOAD": str(options.dropin)}, {"GEMMTUNE_DB": str(folder / "none.db")}
        quiet = {"GEMMTUNE_QUIET": "1"}
        self.kinds = {"plain": {}, "off": preload | nothing | quiet | {"GEMMTUNE_DROPIN": "off"}, "no winner": preload | nothing | quiet,
                      "tuned": preload | quiet | {"GEMMTUNE_DB": str(self.db)}}
        floor = self.build_floor()
        if floor:
            self.kinds["floor"] = {"LD_PRELOAD": floor}

    def left(self):
        return self.until - time.monotonic()

    def build_floor(self):
        """The library whose products return at once; None if there is no compiler."""
        source, library = self.folder / "floor.c", self.folder / "libfloor.so"
        source.write_text(FLOOR)
        try:
            done = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-o", library, source], capture_output=True,
                                  text=True, timeout=60)
        except OSError as why:
            print(f"no floor: {why}")
            return None
        if done.returncode:
            print(f"no floor: {done.stderr.strip().splitlines()[-1][:200]}")
        return str(library) if done.returncode == 0 else None

    def run(self, program, what, variables, rounds):
        """(what a process found, what it said on standard error); (None, why) after a line if it failed."""
        try:
            done = subprocess.run([sys.executable, __file__, "--child", program, str(rounds)], env=self.environment | variables,
                                  capture_output=True, text=True, timeout=max(1, min(CHILD_S, self.left())))
        except subprocess.TimeoutExpired:
            print(f"{program}, {what}: it was not done in time", flush=True)
            self.failed = True
            return None, "late"
        said = done.stderr.strip().splitlines()
        if done.returncode:
            word = "skipped" if done.returncode == SKIPPED else f"FAILED ({done.returncode})"
            self.failed |= done.returncode != SKIPPED
            print(f"{program}, {what}: {word}: {said[-1][:300] if said else 'it said nothing'}", flush=True)
            return None, word
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def time_all(self, program):
        """kind -> what its processes found, in turns, while there is time."""
        kinds, found, longest = list(self.kinds), {kind: [] for kind in self.kinds}, 0
        for turn in range(self.options.repeats):
            for kind in kinds[turn % len(kinds):] + kinds[:turn % len(kinds)]:
                begin = time.monotonic()
                if self.left() < longest + 2:
                    return found
                one, _ = self.run(program, kind, self.kinds[kind], self.options.rounds)
                longest = max(longest, time.monotonic() - begin)
                if one:
                    found[kind].append(one)
        return found


def tune_all(runs, programs):
    """Captures and tunes the products of all; the programs that are there."""
    capture, there, libraries = runs.folder / "seen.txt", [], {}
    preload = runs.kinds["no winner"] | {"GEMMTUNE_CAPTURE": str(capture)}
    for program in programs:
        found, _ = runs.run(program, "capture", preload, 2)
        if found:
            there.append(program)
            libraries = libraries or found["libraries"]  # PyTorch's: only it calls cublasLt
    if not capture.exists():
        print("nothing was captured", flush=True)
    else:
        print(capture.read_text(), flush=True)
        code = tune(runs.options, capture, runs.db, "--budget", runs.options.budget, limit=max(1, runs.left() / 2),
                    GEMMTUNE_CACHE=runs.environment["GEMMTUNE_CACHE"], **libraries)
        print(f"tune: exit code {code}")
    for program in there:  # a log changes what is timed, so a process of its own says who answered
        _, said = runs.run(program, "log", runs.kinds["tuned"] | {"GEMMTUNE_LOG": "1", "GEMMTUNE_QUIET": "0"}, 1)
        print("\n".join(f"{program}: {line}" for line in said.splitlines() if line.startswith("gemmtune: ")), flush=True)
    return there


def print_table(program, found, figure, form):
    """Of each call and kind: the median of the processes, the least and the greatest."""
    kinds = [kind for kind in found if found[kind]]
    print(f"{program}, {figure}: median (least to greatest) of {min(len(found[k]) for k in kinds)} to {max(len(found[k]) for k in kinds)} processes")
    print(f"{'':22}" + "".join(f"  {kind:>22}" for kind in kinds))
    for name in found[kinds[0]][0]["calls"]:
        cells = []
        for kind in kinds:
            values = [one["calls"][name][figure] for one in found[kind]]
            cells.append(f"{median(values):{form}} ({min(values):{form}} {max(values):{form}})")
        print(f"{name:22}" + "".join(f"  {cell:>22}" for cell in cells))


def summary_of(found):
    """call -> what the kinds cost: in adds of the process, turned into microseconds by the median of all adds."""
    if not found["plain"]:
        return {}
    add_us = median([one["add_us"] for of in found.values() for one in of])
    rows = {}
    for name in found["plain"][0]["calls"]:
        us = {kind: add_us * median([one["calls"][name]["in_adds"] for one in of]) for kind, of in found.items() if of}
        rows[name] = {f"{kind}_us": value for kind, value in us.items()}
        rows[name] |= {f"{kind}_added_us": us[kind] - us["plain"] for kind in ("off", "no winner") if kind in us}
        if "tuned" in us:
            rows[name]["tuned_of_plain"] = us["tuned"] / us["plain"]
            if "floor" in us:
                rows[name]["tuned_above_floor_us"] = us["tuned"] - us["floor"]
    return rows


def print_summary(program, rows):
    columns = ("off_added_us", "no winner_added_us", "tuned_of_plain", "tuned_above_floor_us")
    titles = ("off - plain, us", "no winner - plain", "tuned / plain", "tuned - floor, us")
    print(f"{program}, by the ratio to the addition")
    print(f"{'':22}" + "".join(f"{title:>20}" for title in titles))
    for name, row in rows.items():
        print(f"{name:22}" + "".join(f"{row[c]:20.2f}" if c in row else f"{'-':>20}" for c in columns))


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], int(sys.argv[3]))
    parser = parser_of(__doc__.splitlines()[0])
    parser.add_argument("--budget", default="60s", help="of tuning all together (60s)")
    parser.add_argument("--repeats", type=int, default=5, help="processes of each kind, as far as the limit allows (5)")
    parser.add_argument("--rounds", type=int, default=60, help="groups of each call in a process (60)")
    parser.add_argument("--limit", type=float, default=500, help="seconds of the whole run (500)")
    parser.add_argument("--only", choices=MAKERS, help="PyTorch or CuPy alone")
    options = parser.parse_args()
    kept = {}
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(options, pathlib.Path(name))
        there = tune_all(runs, [options.only] if options.only else list(MAKERS))
        for i, program in enumerate(there):
            whole, share = runs.until, runs.left() / (len(there) - i)
            runs.until = time.monotonic() + share
            found = runs.time_all(program)
            runs.until = whole
            kept[program] = {"processes": found, "summary": summary_of(found)}
            if not found["plain"]:
                print(f"{program}: no process was done before the limit", flush=True)
                continue
            print_table(program, found, "least_us", ".2f")
            print_table(program, found, "in_adds", ".3f")
            print_summary(program, kept[program]["summary"])
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")
    measured = all(program["processes"]["plain"] and program["processes"]["tuned"] for program in kept.values())
    if not measured:
        print("WRONG: not every kind was measured")
    return 1 if runs.failed or not measured else 0 if there else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
