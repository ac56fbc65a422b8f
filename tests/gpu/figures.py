#!/usr/bin/env python3
"""figures.py STEP [options]: measures a figure of docs/results on a GPU, in the folder that pack.sh made.

    search-seeds   regret of searches of 5, 20 and 60 s against the best known, four seeds, four problems
    search-time    seconds until a candidate within 1 % of the best known was measured, four seeds, eight problems
    wide-curated   winners of the wide and of the curated spaces, 60 s each, the same eight problems
    models         configs/suites/models.txt in 290 s, against cublasSgemm and the best of cublasLt
    models-bias    the same with a bias on every linear layer (the products nt without a batch)
    suite          configs/suites/public.txt in 350 s, against the winners that ship
    two-gpus       configs/suites/public.txt on one GPU in 130 s, on two of the same machine in less time
    epilogue-cost  what an epilogue adds to the time of the same configuration, 12 products
    pointers       arrays of pointers against cublasSgemmBatched and against strided batches of the same sizes

Every search begins with an empty database, an empty cache and nothing that ships. What is measured goes to --rows, a line each;
what is there is not measured again. Prints a table, and PASS or FAIL for each aim. Exits with 1 if an aim was missed or
something failed, with 75 if the limit of time came first (the same command goes on), with 77 without a GPU.
"""
import argparse
import math
import sys

import figures_run
from figures_run import plain
from figures_stats import geometric_mean, median, percent, quantile

GOES_ON = 75

SEEDS_PROBLEMS = ["sgemm:nn:512x11008x4096", "sgemm:nn:1024x1024x1024", "sgemm:nn:2048x2048x2048", "sgemm:nn:16x4096x7168"]
CLASSES = {
    "square": "sgemm:nn:1024x1024x1024",
    "nt": "sgemm:nt:1536x4096x1024",
    "tn": "sgemm:tn:1024x4096x1024",
    "batched": "sgemm:nt:384x384x64:batch=64",
    "skinny": "sgemm:nn:16x4096x7168",
    "tall": "sgemm:nn:64x559104x147",
    "ragged": "sgemm:nn:1023x1025x1027",
    "epilogue": "sgemm:nt:1024x4096x1024:epilogue=bias+gelu",
}
EPILOGUE_PROBLEMS = ["sgemm:nn:1024x1024x1024", "sgemm:nn:2048x2048x2048", "sgemm:nn:4096x4096x4096", "sgemm:nn:1500x3072x1024",
                     "sgemm:nn:4096x2112x7168", "sgemm:nt:1536x1024x1024", "sgemm:nt:1536x4096x1024", "sgemm:nt:1536x1024x4096",
                     "sgemm:nt:1024x4096x1024", "sgemm:nt:1576x4096x1024", "sgemm:nt:2048x6144x4096", "sgemm:nt:1024x5120x640"]
EPILOGUES = ["bias", "bias+relu", "bias+gelu", "rowbias"]
POINTERS_PROBLEMS = [f"sgemm:{p}:pointers" for p in ("nt:384x384x64:batch=64", "nn:384x64x384:batch=64", "nt:1x2048x128:batch=32",
                                                     "nn:1024x128x1024:batch=32")]
REGRETS = {20: 0.005, 60: 0.003}  # the aims, by budget
NEAR = 1.01  # times the best known
UNRACED = 0.7  # of a budget: the rest is the most that race and check take


class Report:
    def __init__(self):
        self.missed = 0

    def aim(self, passed, text):
        self.missed += not passed
        print(f"{'PASS' if passed else 'FAIL'}  {text}")


def spread(values, digits=3):
    return (f"median {median(values):.{digits}f}, quartiles {quantile(values, 0.25):.{digits}f} and "
            f"{quantile(values, 0.75):.{digits}f}")


def ratio_of(row, digits=3):
    """Of a row of side_by_side."""
    return f"{row['ratio']:.{digits}f} ({row['ratio_q1']:.{digits}f} to {row['ratio_q3']:.{digits}f})"


# ---- searches ----


def searches(runs, problems, seeds, budgets, **more):
    """(problem, seed, budget) -> row; those that there are."""
    rows = {}
    for seed in seeds:
        for problem in problems:
            for budget in budgets:
                row = runs.search(problem, seed, budget, **more)
                if row: rows[problem, seed, budget] = row
    return rows


def found_by(row, seconds):
    """The fastest trial that a search had measured by then; None: none."""
    return next((config for at, _, config in reversed(row["bests"]) if at <= seconds), None)


def search_seeds(runs, o, report):
    problems, seeds = o.problems or SEEDS_PROBLEMS, o.seeds or [1, 2, 3, 4]
    budgets = sorted(o.budgets or [5, 20, 60])
    rows = searches(runs, problems, seeds, budgets[-1:] if o.derive else budgets)
    winners = {key: row["config"] for key, row in rows.items()}
    for (problem, seed, longest), row in rows.items() if o.derive else ():
        for budget in budgets[:-1]: winners[problem, seed, budget] = found_by(row, UNRACED * budget)
    if runs.missing: return
    regrets = {}
    for problem in problems:
        mine = {key: config for key, config in winners.items() if key[0] == problem}
        pairs = [(problem, config) for config in [runs.known.config(problem), *mine.values()] if config]
        times = runs.side_by_side(problem, pairs)
        if not times: continue
        best = min(row["ratio"] for row in times.values())
        for key, config in mine.items():
            row = times.get((problem, config))
            regrets[key] = row["ratio"] / best - 1 if row else math.inf
    print(f"{'problem':28}{'budget':>8}" + "".join(f"{f'seed {seed}':>10}" for seed in seeds))
    for problem in problems:
        for budget in budgets:
            cells = (regrets.get((problem, seed, budget)) for seed in seeds)
            print(f"{problem:28}{budget:6g} s" + "".join(f"{'-' if c is None else percent(c):>10}" for c in cells))
    for budget in budgets:
        values = [regret for (_, _, of), regret in regrets.items() if of == budget]
        if not values: continue
        print(f"{budget:g} s: {len(values)} searches, regret median {percent(median(values))}, third quartile "
              f"{percent(quantile(values, 0.75))}, worst {percent(max(values))}"
              + (f" (fastest trial after {UNRACED * budget:g} s, not raced)" if o.derive and budget != budgets[-1] else ""))
        if budget in REGRETS:
            report.aim(len(values) == len(problems) * len(seeds) and max(values) <= REGRETS[budget],
                       f"worst regret at {budget:g} s at most {percent(REGRETS[budget])}: {percent(max(values))}")


def reference_us(runs, problem, rows):
    """The fastest that is known, by races of the tuner: of the best known configuration and of all winners."""
    config = runs.known.config(problem)
    pinned = config and runs.search(problem, 1, 6, pin=config)
    return min([row["race_us"] for row in rows] + ([pinned["race_us"]] if pinned else []))


def search_time(runs, o, report):
    problems, seeds, budget = o.problems or list(CLASSES.values()), o.seeds or [1, 2, 3, 4], (o.budgets or [20])[0]
    rows, seconds = searches(runs, problems, seeds, [budget]), {}
    best = {}
    for problem in problems:
        mine = [row for (of, _, _), row in rows.items() if of == problem]
        if mine: best[problem] = reference_us(runs, problem, mine)
    if runs.missing: return
    for (problem, seed, _), row in rows.items():
        seconds[problem, seed] = next((at for at, us, _ in row["bests"] if us <= NEAR * best[problem]), math.inf)
    print(f"{'problem':44}{'best (us)':>10}{'first':>7}" + "".join(f"{f'seed {seed}':>8}" for seed in seeds)
          + f"   s; inf: not within {budget:g} s")
    for problem in problems:
        first = [row["first_s"] for (of, _, _), row in rows.items() if of == problem]
        if not first: continue
        print(f"{problem:44}{best[problem]:10.2f}{median(first):7.1f}"
              + "".join(f"{seconds.get((problem, seed), math.nan):8.1f}" for seed in seeds))
    if not seconds: return
    values = list(seconds.values())
    whole = len(values) == len(problems) * len(seeds)
    for name, value, aim in (("median", median(values), 6), ("90th percentile", quantile(values, 0.9), 15)):
        report.aim(whole and value <= aim, f"{name} of {len(values)} searches at most {aim} s: {value:.1f} s")


def wide_curated(runs, o, report):
    problems, seed, budget = o.problems or list(CLASSES.values()), (o.seeds or [1])[0], (o.budgets or [60])[0]
    spaces = ["curated", "wide"]
    found = {space: searches(runs, problems, [seed], [budget], space=space) for space in spaces}
    if runs.missing: return
    ratios = {}
    for problem in problems:
        rows = [found[space].get((problem, seed, budget)) for space in spaces]
        if not all(rows): continue
        pairs = [(problem, row["config"]) for row in rows]
        known = runs.known.config(problem)
        times = runs.side_by_side(problem + " wide", pairs + ([(problem, known)] if known else []))
        if not times or not all(pair in times for pair in pairs): continue
        ratios[problem] = times[pairs[1]]["ratio"]
        best = times.get((problem, known))
        print(f"{problem:44} wide {times[pairs[1]]['time_us']:9.2f} us, curated {times[pairs[0]]['time_us']:9.2f}"
              + (f", best known {best['time_us']:9.2f}" if best else "") + f", wide / curated {ratio_of(times[pairs[1]], 4)}")
    if not ratios: return
    worst = max(ratios.values())
    print(f"{len(ratios)} problems, wide / curated: geometric mean {geometric_mean(ratios.values()):.4f}, worst {worst:.4f}")
    report.aim(len(ratios) == len(problems) and worst <= 1.02, f"wide within 2 % of curated: {percent(worst - 1)}")


# ---- suites ----


def models(runs, o, report, name="models", bias="", aim=1.28):
    problems = [p + bias if p.startswith("sgemm:nt:") and "batch" not in p else p for p in figures_run.suite_problems("models")]
    suite = runs.suite(name, o.problems or problems, (o.budgets or [290])[0], (o.seeds or [1])[0])
    rows = suite and runs.bench(name, suite)
    if not rows: return
    best = {}
    for row in rows:
        first, lt = float(row["ratio"] or 0), float(row["lt_ratio"] or 0)
        best[row["problem"]] = min(first, lt) if first and lt else first or lt
        print(f"{row['problem']:44}{float(row['time_us']):10.2f} us  x cuBLAS {first:.3f}  x best of cublasLt {lt:.3f}")
    anchors, ratios = [float(row["ratio"]) for row in rows if float(row["ratio"] or 0)], [r for r in best.values() if r]
    if not ratios: return
    raced = [ratio for ratio in suite["ratios"].values() if ratio]
    if raced: print(f"in the races of the search: geometric mean {geometric_mean(raced):.3f}, least {min(raced):.3f}")
    print(f"cuBLAS's own choice: geometric mean {geometric_mean(anchors):.3f}, least {min(anchors):.3f}")
    print(f"the best of cublasSgemm and cublasLt: geometric mean {geometric_mean(ratios):.3f}, {spread(ratios)}, least "
          f"{min(ratios):.3f}")
    report.aim(geometric_mean(ratios) >= aim, f"geometric mean of {len(ratios)} at least {aim}: {geometric_mean(ratios):.3f}")
    report.aim(len(ratios) == len(rows) and min(ratios) >= 1, f"none slower: least {min(ratios):.3f}")


def models_bias(runs, o, report):
    models(runs, o, report, "models-bias", ":epilogue=bias", 1.30)


def public_suite(runs, o, report):
    problems = o.problems or figures_run.suite_problems("public")
    suite = runs.suite("public", problems, (o.budgets or [350])[0], (o.seeds or [1])[0])
    if not suite: return
    ratios = {}
    for problem in problems:
        shipped, found = (problem, runs.known.shipped[problem]), (problem, suite["configs"][problem])
        times = runs.side_by_side(f"{problem} suite", [shipped, found])
        if not times or not {shipped, found} <= times.keys(): continue
        ratios[problem] = times[found]["ratio"] / times[shipped]["ratio"]
        print(f"{problem:28}{times[shipped]['time_us']:10.2f} us shipped,{times[found]['time_us']:10.2f} found, ratio "
              f"{ratio_of(times[found], 4)}")
    if runs.missing or not ratios: return
    values, mean = list(ratios.values()), geometric_mean(ratios.values())
    print(f"{len(values)} problems, {suite['seconds']:.0f} s: found / shipped: {spread(values, 4)}, worst {max(values):.4f}")
    report.aim(len(values) == len(problems) and suite["seconds"] <= 360 and mean <= 1.005,
               f"geometric mean within 0.5 %, in 6 minutes: {percent(mean - 1)} in {suite['seconds']:.0f} s")


def two_gpus(runs, o, report):
    """Two GPUs, in the time of one over 1.85 and over 2; one GPU in that time shows what the time is worth."""
    problems, seed = o.problems or figures_run.suite_problems("public"), (o.seeds or [1])[0]
    budget = (o.budgets or [130])[0]
    asked = {"one GPU": (budget, "0"), "two GPUs": (budget / 1.85, "0,1"), "two GPUs, half": (budget / 2, "0,1"),
             "one GPU, short": (budget / 1.85, "0")}
    suites = {name: runs.suite("public", problems, round(s, 1), seed, gpus) for name, (s, gpus) in asked.items()}
    if not all(suites.values()): return
    pairs = [(problem, suite["configs"][problem]) for problem in problems for suite in suites.values()]
    times = runs.in_turns(f"two-gpus {budget} {seed} {len(problems)}", pairs)
    if not times: return
    means = {}
    for name, suite in suites.items():
        ratios = [times[p, suite["configs"][p]] / times[p, suites["one GPU"]["configs"][p]] for p in problems]
        means[name] = geometric_mean(ratios)
        mean_us = geometric_mean([times[p, suite["configs"][p]] for p in problems])
        print(f"{name:16}{suite['seconds']:7.1f} s{suite['trials']:7} trials, geometric mean {mean_us:.3f} us, "
              f"{means[name]:.4f} times that of one GPU: {spread(ratios, 4)}")
    faster = suites["one GPU"]["seconds"] / suites["two GPUs"]["seconds"]
    report.aim(faster >= 1.8 and means["two GPUs"] <= 1.005,
               f"two GPUs reach the same geometric mean within 0.5 % 1.8 times as fast: {percent(means['two GPUs'] - 1)} after "
               f"1/{faster:.2f} of the time")


# ---- comparisons ----


def epilogue_cost(runs, o, report):
    ratios = {}
    problems = o.problems or EPILOGUE_PROBLEMS
    for problem in problems:
        config = runs.known.config(problem)
        if not config:
            runs.failures.append(f"{problem}: no configuration is known for it")
            continue
        for base, others in (problem, [f"{problem}:epilogue={e}" for e in EPILOGUES]), (f"{problem}:beta=1",
                                                                                       [f"{problem}:beta=1:epilogue=out"]):
            times = runs.side_by_side(f"{base} epilogue", [(p, config) for p in [base, *others]])
            for other in others if times and (base, config) in times else ():
                row = times.get((other, config))
                if not row: continue
                ratios.setdefault(other.split("epilogue=")[1], {})[problem] = row["ratio"]
                print(f"{other:52}{row['time_us']:10.2f} us  x {ratio_of(row, 4)}")
    if runs.missing: return
    for epilogue, by_problem in ratios.items():
        values, most = list(by_problem.values()), max(by_problem, key=by_problem.get)
        print(f"{epilogue}: geometric mean {geometric_mean(values):.4f}, {spread(values, 4)}, at most 1 %: "
              f"{sum(v <= 1.01 for v in values)} of {len(values)}")
        report.aim(len(values) == len(problems) and max(values) <= 1.01,
                   f"{epilogue} adds at most 1 %: {percent(max(values) - 1)} ({most})")


def pointers(runs, o, report):
    problems, seed, budget = o.problems or POINTERS_PROBLEMS, (o.seeds or [1])[0], (o.budgets or [20])[0]
    rows = searches(runs, [p for problem in problems for p in (problem, plain(problem))], [seed], [budget])
    if runs.missing: return
    against = {}
    for problem in problems:
        strided = plain(problem)
        if not ((problem, seed, budget) in rows and (strided, seed, budget) in rows): continue
        own, other = (problem, rows[problem, seed, budget]["config"]), (strided, rows[strided, seed, budget]["config"])
        pairs = [own, other, (problem, "cublas"), (strided, "cublas")]
        times = runs.side_by_side(problem, pairs)
        if not times or not all(pair in times for pair in pairs): continue
        against[problem] = [times[pair]["ratio"] for pair in pairs[1:]]
        print(f"{problem:44}{times[own]['time_us']:9.2f} us; times as fast as cublasSgemmBatched {ratio_of(times[pairs[2]])}, as "
              f"the strided kernel {ratio_of(times[other])}, as cuBLAS's strided {ratio_of(times[pairs[3]])}")
    if runs.missing or not against: return
    batched = [ratios[1] for ratios in against.values()]
    print(f"{len(batched)} problems: cublasSgemmBatched {geometric_mean(batched):.3f}, strided kernel "
          f"{geometric_mean([ratios[0] for ratios in against.values()]):.3f} (geometric means)")
    report.aim(len(batched) == len(problems) and min(batched) >= 1,
               f"none slower than cublasSgemmBatched: least {min(batched):.3f}")


STEPS = {"search-seeds": search_seeds, "search-time": search_time, "wide-curated": wide_curated, "models": models,
         "models-bias": models_bias, "suite": public_suite, "two-gpus": two_gpus,
         "epilogue-cost": epilogue_cost, "pointers": pointers}


def arguments():
    def some(kind):
        return lambda text: [kind(word) for word in text.split(",")]

    here = figures_run.HERE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--rows", default="figures.jsonl", help="file of raw rows, which is added to (figures.jsonl)")
    parser.add_argument("--also", action="append", default=[], help="file of rows of other calls; may be repeated")
    parser.add_argument("--limit", type=float, default=530, help="seconds that this call may take (530)")
    parser.add_argument("--report", action="store_true", help="measure nothing: the table of the rows that there are")
    parser.add_argument("--problems", type=some(str), help="these, separated by commas, in full (sgemm:nn:...)")
    parser.add_argument("--seeds", type=some(int))
    parser.add_argument("--budgets", type=some(float), help="seconds")
    parser.add_argument("--derive", action="store_true",
                        help="search-seeds: the longest searches alone, and their state after the shorter times")
    parser.add_argument("--rounds", type=int, default=21, help="of comparisons")
    parser.add_argument("--tune", default=str(here / "tune"))
    parser.add_argument("--side-by-side", dest="timer", default=str(here / "side_by_side"))
    return parser.parse_args()


def main():
    o = arguments()
    runs = figures_run.Runs(o.tune, o.timer, o.rows, o.also, o.limit, o.rounds, report=o.report)
    report = Report()
    STEPS[o.step](runs, o, report)
    for failure in runs.failures: print("FAILED:", failure)
    if runs.missing: print(f"{runs.missing} measurements are missing: the same command goes on")
    return 1 if runs.failures else GOES_ON if runs.missing else report.missed > 0


if __name__ == "__main__":
    sys.exit(main())
