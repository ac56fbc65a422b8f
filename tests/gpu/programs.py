#!/usr/bin/env python3
"""Real programs under `tune run`, on a GPU: PyTorch models in FP32, BF16, FP16, under autocast and in accurate FP32, training
steps, and programs that open cuBLAS themselves (ctypes; CuPy and JAX where they are installed). All are captured, tuned
together, and compared.

    programs.py --tune build/portable/tune [--budget 100s] [--repeats 3] [--limit 500] [--only "BERT;swin"] [--json FILE]

Each program of PyTorch is timed in processes of its own, plain, tuned and `--off` in turns, in rounds: first of all programs,
then again while there is time. Eager, groups of torch.add alternate with its steps, since the host's speed changes from second
to second: where the host is what a step waits for, the ratio is that of steps measured in such adds; where it is the GPU, that of
milliseconds. In a CUDA graph the time is the GPU's. Prints a row for each program: the share of GEMM time that tuned kernels
answered, these ratios with the least and greatest of the rounds, and the error against FP64 without and with. The limit is that
of the whole run, which prints what it has by then. 77: there is no PyTorch with CUDA.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from figures_stats import geometric_mean, median
from torch_child import tune
from torch_programs import COMPILED, cases_of, is_wanted, run_job
from torch_server import Server, serve

HERE = pathlib.Path(__file__).resolve().parent
SIDES = ("plain", "tuned", "off")
CAPTURE_S = 0.2  # of each, so that all count alike
WARM_S = 0.4  # before a program is timed
JOB_S = 60  # at most, of a process
GPU_BOUND = 0.8  # a step whose host is done by this share of its time waits for the GPU
GROUPS = {"strict": ("fp32",), "16 bit": ("bf16", "fp16", "autocast"), "accurate": ("accurate",)}

CUPY = """import cupy, time
a, b = cupy.ones((512, 768), "f"), cupy.ones((768, 3072), "f")
for shape in range(40): c = a @ b
cupy.cuda.Device().synchronize(); start = time.perf_counter()
for i in range(1000): c = a @ b
cupy.cuda.Device().synchronize()
print("cupy 512x3072x768", round(1e3 * (time.perf_counter() - start), 2), int(c.sum()))
"""
JAX = """import jax, time
import jax.numpy as np
jax.config.update("jax_default_matmul_precision", "highest")
x, up, down = np.ones((512, 768)), np.ones((768, 3072)) / 768, np.ones((3072, 768)) / 3072
block = jax.jit(lambda x: x + jax.nn.gelu(x @ up) @ down)
block(x).block_until_ready(); start = time.perf_counter()
for i in range(300): y = block(x)
y.block_until_ready()
print("jax block 512x768", round((time.perf_counter() - start) / 300 * 1e6, 2), int(y.sum()))
"""


def text_of(case):
    return ", ".join(case)


# ---- processes ----


class Runs:
    """Programs without and under `tune run`, with a database and a cache in one folder, until the limit."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.until = time.monotonic() + options.limit - 10  # for the end, and a process that has to be killed
        self.capture = folder / "all.txt"
        self.environment = dict(os.environ, GEMMTUNE_DB=str(folder / "db"), GEMMTUNE_CACHE=str(folder / "cache"),
                                TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"), TRITON_CACHE_DIR=str(folder / "triton"),
                                TORCHINDUCTOR_COMPILE_THREADS="1")  # in the process itself, which ends with its limit
        ways = {"plain": None, "tuned": (), "off": ("--off",), "watched": ("--capture", str(folder / "none.txt"))}
        self.servers = {way: Server(self.command(more, [HERE / "programs.py", "--serve"]), self.environment, folder / f"{way}.err")
                        for way, more in ways.items()}

    def left(self):
        return self.until - time.monotonic()

    def command(self, more, words):
        """more: options of tune run; None: without it."""
        under = [self.options.tune, "run", *more, "--"] if more is not None else []
        return [*under, sys.executable, *words]

    def ask(self, way, job, limit=JOB_S, **variables):
        """A job in a process of its own: the server's reply."""
        if self.left() < 2:
            return {"why": "no time is left", "late": True, "ended": True}
        limit = min(limit, self.left())
        reply = self.servers[way].ask(job | {"err": str(self.folder / "child.err"), "environment": variables}, limit)
        return reply | {"ended": self.left() < 2}

    def run(self, words, more, limit=JOB_S):
        """(standard output, standard error) of a program, None if it failed."""
        try:
            done = subprocess.run(list(map(str, self.command(more, words))), env=self.environment, capture_output=True, text=True,
                                  timeout=max(1, min(limit, self.left())))
        except subprocess.TimeoutExpired:
            return None
        return (done.stdout, done.stderr) if done.returncode == 0 else None

    def stop(self):
        for server in self.servers.values():
            server.stop()


class Programs:
    """What is found of the programs of PyTorch."""

    def __init__(self, runs, cases):
        self.runs, self.cases = runs, cases
        self.found = {case: {side: [] for side in SIDES} for case in cases}  # (round, what a process found)
        self.compared, self.spent = {}, {}
        self.wrong, self.skipped = {}, {}  # case -> why; neither is run again

    def going(self):
        return [c for c in self.cases if c not in self.wrong and c not in self.skipped]

    def ask(self, way, case, do, seconds, **more):
        """What was found, or None after a line that says why."""
        variables = {"GEMMTUNE_ACCURACY": "accurate"} if case[1] == "accurate" and way != "plain" else {}
        if way == "watched":
            file = self.runs.capture if do == "capture" else self.own_capture(case)
            variables["GEMMTUNE_CAPTURE"] = str(file)
        job = {"do": do, "program": case[0], "kind": case[1], "seconds": seconds} | more
        reply = self.runs.ask(way, job, **variables)
        if "found" in reply:
            return reply["found"]
        if reply.get("ended"):  # it was cut short, which says nothing of it
            return None
        optional = reply.get("skipped") or (reply.get("late") and case[0] == COMPILED and do == "capture")
        (self.skipped if optional else self.wrong)[case] = reply["why"]
        print(f"{text_of(case)}, {way}: {'skipped: ' if optional else 'FAILED: '}{reply['why']}", flush=True)
        return None

    def file_of(self, case, suffix):
        return self.runs.folder / (re.sub(r"[^A-Za-z0-9]+", "-", text_of(case)) + suffix)

    def own_capture(self, case):
        return self.file_of(case, ".txt")

    def capture_all(self):
        begin = time.monotonic()
        for case in self.cases:
            self.ask("watched", case, "capture", CAPTURE_S)
        print(f"captured: {len(self.going())} of {len(self.cases)} programs in {time.monotonic() - begin:.0f} s", flush=True)

    def time_round(self, turn):
        for case in self.going():
            begin = time.monotonic()
            if max(2, self.spent.get(case, 0)) > self.runs.left():
                continue  # another may be shorter
            reference = str(self.file_of(case, ".pt"))
            for side in SIDES[turn % 3:] + SIDES[:turn % 3]:
                more = {"reference": reference} if side == "plain" and turn == 0 else {}
                found = case not in self.wrong and self.ask(side, case, "time", WARM_S, **more)
                if found:
                    self.found[case][side].append((turn, found))
            if turn == 0 and case not in self.wrong:
                self.compare(case, reference)
            self.spent[case] = time.monotonic() - begin
            self.tell(case, turn)

    def compare(self, case, reference):
        found = self.ask("watched", case, "compare", CAPTURE_S, reference=reference)
        if found is not None:
            said = (self.runs.folder / "child.err").read_text(errors="replace")
            self.compared[case] = found | dict(zip(("tuned_share", "cublas_share"), shares(said)))

    def tell(self, case, turn):
        """A line, so that something is known of a run that is killed."""
        cells = [f"{side} {f['ms']:.3f} ms, {f['in_adds']:.0f} adds, graph {f.get('graph_ms', 0):.3f} ms"
                 for side in SIDES for t, f in self.found[case][side] if t == turn]
        missing = {f["no_graph"] for side in SIDES for t, f in self.found[case][side] if t == turn and "no_graph" in f}
        print(f"round {turn + 1}: {text_of(case)}: {'; '.join(cells) or 'nothing'}", flush=True)
        for why in missing:
            print(f"{text_of(case)}: no graph: {why}", flush=True)


def shares(text):
    """Percent of the GPU time of products: by tuned kernels, by cuBLAS because it is as fast."""
    found = re.search(r"products: ([0-9.]+) % answered by tuned kernels, ([0-9.]+) % by cuBLAS because", text)
    return (float(found[1]), float(found[2])) if found else (None, None)


def others(runs, libraries):
    """name -> command of the programs that open cuBLAS by path, are there and are wanted."""
    found = {"ctypes": [HERE / "opened_cublas.py", pathlib.Path(libraries.get("GEMMTUNE_LIBCUBLAS", "")).parent], "cupy": ["-c", CUPY],
             "jax": ["-c", JAX]}
    found = {name: words for name, words in found.items() if is_wanted(name, runs.options.only)}
    for name in [name for name in found if name != "ctypes"]:
        if runs.run(["-c", f"import {name}"], None) is None:
            print(f"{name}: not installed", flush=True)
            del found[name]
    return found


def compare_others(runs, programs):
    """Rows of the programs that open cuBLAS themselves; their sums must be the same. Their own clocks are the host's."""
    rows = []
    for name, words in programs.items():
        if runs.left() < 10:
            break
        done = {side: runs.run(words, more) for side, more in (("plain", None), ("tuned", ()))}
        watched = runs.run(words, ("--capture", str(runs.folder / f"{name}.txt")))
        row = {"program": name}
        with contextlib.suppress(TypeError, ValueError, IndexError, ZeroDivisionError):  # it failed, or printed something else
            lines = {side: [line.split() for line in both[0].splitlines()] for side, both in done.items()}
            times = {side: sum(float(line[-2]) for line in of) / 1e3 for side, of in lines.items()}
            row |= {"plain_ms": times["plain"], "tuned_ms": times["tuned"], "ratio": times["plain"] / times["tuned"],
                    "same": [line[-1] for line in lines["plain"]] == [line[-1] for line in lines["tuned"]]}
        row |= dict(zip(("tuned_share", "cublas_share"), shares(watched[1] if watched else "")))
        rows.append(row)
    return rows


# ---- rows ----


def waits_for_gpu(found):
    return found["host_ms"] < GPU_BOUND * found["ms"]


def values_of(found, side, key):
    """round -> the value, of the processes that have it."""
    return {turn: f[key] for turn, f in found[side] if key in f}


def ratio_of(found, side, key):
    """(plain's median over the side's, the least and the greatest of the rounds); None where a side has nothing."""
    plain, other = values_of(found, "plain", key), values_of(found, side, key)
    if not plain or not other:
        return None
    pairs = [plain[turn] / other[turn] for turn in plain if turn in other]
    ratio = median(plain.values()) / median(other.values())
    return ratio, min(pairs, default=ratio), max(pairs, default=ratio)


def row_of(case, found, compared):
    """Of a program of PyTorch."""
    row = {"program": text_of(case), "kind": case[1], "processes": len(found["tuned"])} | compared
    both = [f for side in ("plain", "tuned") for _, f in found[side]]
    if both:
        row["waits_for"] = "GPU" if sum(map(waits_for_gpu, both)) * 2 >= len(both) else "host"
        key = "ms" if row["waits_for"] == "GPU" else "in_adds"
        for name, side, of in (("eager", "tuned", key), ("eager_off", "off", key), ("eager_by_ms", "tuned", "ms"),
                               ("eager_by_min", "tuned", "min_ms"), ("graph", "tuned", "graph_ms"), ("graph_off", "off", "graph_ms")):
            ratio = ratio_of(found, side, of)
            if ratio:
                row[name], row[f"{name}_least"], row[f"{name}_most"] = ratio
    for side in SIDES:
        for of in ("ms", "min_ms", "host_ms", "add_us", "in_adds", "graph_ms"):
            values = values_of(found, side, of)
            if values:
                row[f"{side}_{of}"] = median(values.values())
    return row | {"found": found}


# title, key, width, form
COLUMNS = (("program", "program", 46, "s"), ("tuned %", "tuned_share", 7, ".1f"), ("cuBLAS %", "cublas_share", 8, ".1f"),
           ("waits for", "waits_for", 9, "s"), ("eager", "eager", 6, ".3f"), ("least", "eager_least", 6, ".3f"),
           ("most", "eager_most", 6, ".3f"), ("by min", "eager_by_min", 6, ".3f"), ("off", "eager_off", 6, ".3f"),
           ("plain ms", "plain_ms", 8, ".3f"), ("tuned ms", "tuned_ms", 8, ".3f"), ("graph", "graph", 6, ".3f"),
           ("least", "graph_least", 6, ".3f"), ("most", "graph_most", 6, ".3f"), ("plain ms", "plain_graph_ms", 8, ".3f"),
           ("tuned ms", "tuned_graph_ms", 8, ".3f"), ("n", "processes", 2, "d"), ("error", "error_plain", 8, ".1e"),
           ("tuned's", "error_tuned", 8, ".1e"))
OTHERS = (*COLUMNS[:3], ("plain ms", "plain_ms", 8, ".3f"), ("tuned ms", "tuned_ms", 8, ".3f"), ("ratio", "ratio", 6, ".3f"))


def print_rows(rows, columns):
    def line(cells):
        print("  ".join(f"{cell:{'>' if i else '<'}{c[2]}}" for i, (cell, c) in enumerate(zip(cells, columns))).rstrip())

    line([c[0] for c in columns])
    for row in rows:
        line([f"{row[key]:{form}}" if row.get(key) is not None else "-" for _, key, _, form in columns])


def means_of(rows):
    """group -> column -> (geometric mean, the least, its program, of how many)."""
    found = {}
    for group, kinds in GROUPS.items():
        for column in ("eager", "graph"):
            of = [(row[column], row["program"]) for row in rows if row["kind"] in kinds and column in row]
            if of:
                found.setdefault(group, {})[column] = (geometric_mean([r for r, _ in of]), *min(of), len(of))
    return found


def print_means(rows):
    for group, columns in means_of(rows).items():
        for column, (mean, least, program, count) in columns.items():
            print(f"{group}, {column}: {mean:.3f} (geometric mean of {count}), least {least:.3f} ({program})")
    for column in ("eager", "graph"):
        below = [f"{row['program']} {row[column]:.3f}" for row in rows if row.get(column, 1) < 0.99]
        print(f"{column}, below 0.99: {'; '.join(below) or 'none'}")


def errors_that_grew(rows):
    return [row["program"] for row in rows if "error_tuned" in row and not row["error_tuned"] <= 4 * row["error_plain"] + 1e-7]


# ---- the run ----


def seconds_of(text):
    """Of a budget as tune takes it."""
    found = re.fullmatch(r"([0-9.]+)(s|m|h)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 100s or 5m")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tune", type=lambda p: pathlib.Path(p).resolve(strict=True), required=True)
    parser.add_argument("--budget", type=seconds_of, default=100, help="of tuning all together (100s)")
    parser.add_argument("--repeats", type=int, default=3, help="processes of each kind, as far as the limit allows (3)")
    parser.add_argument("--limit", type=float, default=500, help="seconds of the whole run (500)")
    parser.add_argument("--only", default="", help="programs whose name and type contain this, or one of several, separated by ;")
    parser.add_argument("--json", help="write what was measured")
    return parser.parse_args()


def tune_all(runs, libraries):
    """At most half of the time that is left, since all is in vain if nothing is measured."""
    if not runs.capture.exists():
        print("nothing was captured")
        return
    print(runs.capture.read_text(), flush=True)
    budget, begin = min(runs.options.budget, runs.left() / 2), time.monotonic()
    code = tune(runs.options, runs.capture, runs.folder / "db", "--budget", f"{budget:.0f}s", limit=min(budget + 60, runs.left()),
                **libraries | {name: runs.environment[name] for name in ("GEMMTUNE_CACHE",)})
    print(f"tune: {time.monotonic() - begin:.0f} s of {budget:.0f}, exit code {code}", flush=True)


def measure(runs, found, keep):
    """Everything, in order; found is filled on the way, so that its caller has it whenever the time is over."""
    programs, libraries = found["programs"], found["facts"].pop("libraries")
    by_path = others(runs, libraries)
    programs.capture_all()
    for words in by_path.values():
        runs.run(words, ("--capture", str(runs.capture)))
    tune_all(runs, libraries)
    for turn in range(runs.options.repeats):
        programs.time_round(turn)
        if turn == 0:
            found["others"] = compare_others(runs, by_path)
        keep()


def conclude(programs, rows, other_rows):
    """The tables and what is wrong; the exit code."""
    for case, why in programs.skipped.items():
        print(f"skipped: {text_of(case)}: {why}")
    print_rows(rows, COLUMNS)
    if other_rows:
        print_rows(other_rows, OTHERS)
    print_means(rows)
    known = [text_of(c) for c in [*programs.wrong, *programs.skipped]]
    faults = {"failed": list(map(text_of, programs.wrong)),
              "not measured before the limit": [r["program"] for r in rows if "eager" not in r and r["program"] not in known],
              "no result or another one": [r["program"] for r in other_rows if not r.get("same")],
              "the error grew": errors_that_grew(rows)}
    for what, names in faults.items():
        if names:
            print(f"WRONG: {what}: {'; '.join(names)}")
    return 1 if any(faults.values()) else 0


def main():
    if sys.argv[1:] == ["--serve"]:
        with contextlib.suppress(ImportError):  # before the forks; CUDA starts after them
            import torch  # noqa: F401
            import torchvision  # noqa: F401
        return serve(run_job)
    options, broken = parse(), False
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as by Ctrl-C, the table comes
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(options, pathlib.Path(name))
        try:
            facts = runs.ask("plain", {"do": "facts"}, 120)
            if "found" not in facts:
                print(f"skipped: {facts['why']}")
                return 77
            programs = Programs(runs, cases_of(options.only))
            found = {"programs": programs, "facts": facts["found"], "others": []}

            def rows():
                return [row_of(c, programs.found[c], programs.compared.get(c, {})) for c in programs.cases]

            def keep():
                if options.json:
                    kept = found["facts"] | {"budget": options.budget, "rows": rows(), "others": found["others"], "means": means_of(rows())}
                    pathlib.Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")

            measure(runs, found, keep)
        except (Exception, KeyboardInterrupt):  # what was measured until then counts
            traceback.print_exc()
            broken = True
        finally:
            runs.stop()
    keep()
    return conclude(programs, rows(), found["others"]) or broken


if __name__ == "__main__":
    sys.exit(main())
