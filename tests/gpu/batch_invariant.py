#!/usr/bin/env python3
"""batch_invariant.py [options]: what it costs that the bits of a row of C do not depend on M, on a GPU.

A row's bits depend on how its sums over k are divided: on the family (the instruction that adds 16 of them) and on SPLIT_K.
Tiles, stages and the order of tiles do not matter. So all M of a layer N x K share a family and a SPLIT_K, and the rest is
free. Each of these classes, and no class (what would win today), is searched for each M in --budget seconds from an empty
database; times are those of the searches' races. Prints a line for each layer: the best class, and its time over that of the
free winners as a geometric mean over M. Rows go to --rows, and what is there is not measured again.
"""
import argparse
import pathlib
import re
import sys
import tempfile

import figures_run
from figures_stats import geometric_mean

LAYERS = ["6144x4096", "4096x14336"]
ROWS = [1, 8, 64, 2048]
SPLITS = [1, 2, 4, 8]
FAMILIES = ["wgmma", "mma16"]
FREE = "free"


def space_of(family, split):
    """The shipped values with this SPLIT_K alone; sections for more than one division of k keep it, too."""
    return re.sub(r"(?m)^SPLIT_K = .*$", f"SPLIT_K = {split}", figures_run.resource(f"configs/spaces/{family}.conf").read_text())


def classes():
    return [FREE] + [f"{family} SPLIT_K={split}" for family in FAMILIES for split in SPLITS]


def search(runs, problem, name, budget, folder):
    """Its time in us; None: nothing of this class computes it, or there was no time."""
    space = "curated"
    if name != FREE:
        family, split = re.fullmatch(r"(\w+) SPLIT_K=(\d+)", name).groups()
        space = folder / f"{family}-{split}"
        space.mkdir(exist_ok=True)
        (space / f"{family}.conf").write_text(space_of(family, split))
        space = str(space)
    row = {"kind": "class", "problem": problem, "seed": name, "budget": budget}
    if runs.key(row) not in runs.rows:
        found = runs.search(problem, 1, budget, space=space)
        if not found: return None
        runs.keep(row | {"time_us": found["race_us"], "config": found["config"]})
    return runs.rows[runs.key(row)]["time_us"]


def main():
    here = figures_run.HERE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default=",".join(LAYERS), help=f"N x K, separated by commas ({','.join(LAYERS)})")
    parser.add_argument("--m", default=",".join(map(str, ROWS)), help="rows, separated by commas")
    parser.add_argument("--budget", type=float, default=4, help="seconds a search (4)")
    parser.add_argument("--limit", type=float, default=560, help="seconds that this call may take (560)")
    parser.add_argument("--rows", default="batch_invariant.jsonl")
    parser.add_argument("--tune", default=str(here / "tune"))
    o = parser.parse_args()
    runs = figures_run.Runs(o.tune, None, o.rows, limit_s=o.limit)
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        for layer in o.layers.split(","):
            problems = [f"bf16gemm:nt:{m}x{layer}" for m in o.m.split(",")]
            times = {name: [search(runs, p, name, o.budget, pathlib.Path(folder)) for p in problems] for name in classes()}
            free = times.pop(FREE)
            whole = {name: us for name, us in times.items() if all(us)}
            if not all(free) or not whole: continue
            over = {name: [t / min(f, t) for t, f in zip(us, free)] for name, us in whole.items()}
            best = min(over, key=lambda name: geometric_mean(over[name]))
            costs.append(geometric_mean(over[best]))
            print(f"{layer:12} {best:18} costs {100 * (costs[-1] - 1):.1f} %: "
                  + ", ".join(f"M {m} {x:.3f}" for m, x in zip(o.m.split(","), over[best])), flush=True)
    for failure in runs.failures: print("FAILED:", failure)
    if runs.missing: print(f"{runs.missing} measurements are missing: the same command goes on")
    if costs: print(f"{len(costs)} layers: {100 * (geometric_mean(costs) - 1):.1f} % (the aim: at most 10)")
    return 75 if runs.missing else not costs


if __name__ == "__main__":
    sys.exit(main())
