#!/usr/bin/env python3
"""batch_invariant.py [options]: what it costs that the bits of a row of C do not depend on M, on a GPU.

Each M of a layer N x K is searched twice from an empty database, in --budget seconds: as an invariant problem (`:invariant`), whose
winner is a kernel in the one order of additions of N and K, and as a plain one, answered by whatever is the fastest: a kernel,
an algorithm of cublasLt, or cuBLAS. Times are those of the searches' races. Prints a line for each layer: the time of the
first over that of the second for each M, and the geometric mean. Rows go to --rows, and what is there is not measured again.
"""
import argparse
import sys

import figures_run
from figures_stats import geometric_mean

LAYERS = ["6144x4096", "4096x14336"]
ROWS = [1, 8, 64, 2048]


def answer_us(runs, problem, budget):
    """None: it was not measured."""
    row = {"kind": "answer", "problem": problem, "seed": 1, "budget": budget}
    if runs.key(row) not in runs.rows:
        found = runs.search(problem, 1, budget)
        if not found: return None
        cublas = not problem.endswith(":invariant") and found["ratio"] and found["ratio"] < 1
        runs.keep(row | {"time_us": found["race_us"] * (found["ratio"] if cublas else 1), "config": found["config"],
                         "ratio": found["ratio"]})
    return runs.rows[runs.key(row)]["time_us"]


def main():
    here = figures_run.HERE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default=",".join(LAYERS), help=f"N x K, separated by commas ({','.join(LAYERS)})")
    parser.add_argument("--m", default=",".join(map(str, ROWS)), help="rows, separated by commas")
    parser.add_argument("--budget", type=float, default=6, help="seconds a search (6)")
    parser.add_argument("--limit", type=float, default=560, help="seconds that this call may take (560)")
    parser.add_argument("--rows", default="batch_invariant.jsonl")
    parser.add_argument("--tune", default=str(here / "tune"))
    o = parser.parse_args()
    runs = figures_run.Runs(o.tune, None, o.rows, limit_s=o.limit)
    costs = []
    for layer in o.layers.split(","):
        problems = [f"bf16gemm:nt:{m}x{layer}" for m in o.m.split(",")]
        plain = [answer_us(runs, p, o.budget) for p in problems]
        invariant = [answer_us(runs, f"{p}:invariant", o.budget) for p in problems]
        if not all(plain + invariant): continue
        over = [t / f for t, f in zip(invariant, plain)]
        costs.append(geometric_mean(over))
        print(f"{layer:12} costs {100 * (costs[-1] - 1):.1f} %: " + ", ".join(f"M {m} {x:.3f}" for m, x in zip(o.m.split(","), over)),
              flush=True)
    for failure in runs.failures: print("FAILED:", failure)
    if runs.missing: print(f"{runs.missing} measurements are missing: the same command goes on")
    if costs: print(f"{len(costs)} layers: {100 * (geometric_mean(costs) - 1):.1f} % (the aim: at most 10)")
    return 75 if runs.missing else not costs


if __name__ == "__main__":
    sys.exit(main())
