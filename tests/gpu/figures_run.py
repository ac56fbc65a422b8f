"""What the steps of figures.py are made of: searches, suites and comparisons, each a row of a file of JSON lines.

A row that is in the file is not measured again, so that a step that was cut short goes on with the same command, and the
rows of several calls can be put together. Nothing is begun that would probably not end within the limit of time.
"""
import csv
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NO_GPU = (5, 6)  # exit codes of tune: no GPU or driver, no compiler
SKIPPED = 77


def resource(path):
    """A file of the source tree, or of the folder that pack.sh made."""
    return next(top / path for top in (HERE, HERE.parent.parent) if (top / path).exists())


def plain(problem):
    """The same without epilogue, pointers and beta."""
    return ":".join(part for part in problem.split(":") if not part.startswith(("epilogue", "pointers", "beta")))


def suite_problems(name):
    lines = (line.split("#")[0].strip() for line in resource(f"configs/suites/{name}.txt").read_text().splitlines())
    return [line if ":" in line else f"sgemm:nn:{line}" for line in lines if line]


class Known:
    """The best configurations known of an H200: those that ship, and those of docs/results/h200-models.csv."""

    def __init__(self):
        with open(resource("docs/results/h200-models.csv"), newline="") as file:
            self.models = {row["problem"]: row["configuration"] for row in csv.DictReader(file)}
        with open(resource("configs/winners/h200.jsonl")) as file:
            self.shipped = {row["problem"]: row["config"] for row in map(json.loads, file)}

    def config(self, problem):
        """Of the problem, or of the same without an epilogue; None: not known."""
        name = plain(problem)
        return self.shipped.get(name) or self.models.get(name)


class Runs:
    def __init__(self, tune, timer, rows, also=(), limit_s=530, rounds=21, block_ms=10, report=False):
        self.tune, self.timer, self.file = tune, timer, pathlib.Path(rows)
        self.until = time.monotonic() + limit_s
        self.rounds, self.block_ms, self.report = rounds, block_ms, report
        self.known = Known()
        self.missing = 0  # rows for which there was no time
        self.failures = []
        self.rows = {}  # by key
        for path in [*map(pathlib.Path, also), self.file]:
            if path.exists():
                for row in map(json.loads, path.read_text().splitlines()): self.rows[self.key(row)] = row

    # ---- rows ----

    @staticmethod
    def key(row):
        return row["kind"], *(row.get(name) for name in ("problem", "seed", "budget", "space", "pin", "suite", "group", "gpus"))

    def keep(self, row):
        self.rows[self.key(row)] = row
        with open(self.file, "a") as file: file.write(json.dumps(row) + "\n")
        return row

    def has_time(self, seconds):
        if self.report: return False
        late = time.monotonic() + seconds > self.until
        self.missing += late
        return not late

    def command(self, what, *words, env=None):
        """Its standard output; None if it failed."""
        done = subprocess.run([what, *map(str, words)], env={**os.environ, **(env or {})}, capture_output=True, text=True)
        if done.returncode in (NO_GPU if what == self.tune else (SKIPPED,)):
            print("skipped:", (done.stdout + done.stderr).strip().splitlines()[-1])
            sys.exit(SKIPPED)
        if done.returncode == 0 or (what == self.timer and done.returncode == 1): return done.stdout
        self.failures.append(f"{' '.join(map(str, words))[:200]}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        return None

    # ---- searches ----

    def search(self, problem, seed, budget, space="curated", pin=None):
        """A row of a search from an empty database and cache: what it found, and when; None: not yet.

        bests: [seconds from the start of the command, time in us, configuration] of each trial that was faster than all
        before it. pin: no search, but a trial and a race of this configuration.
        """
        row = {"kind": "search", "problem": problem, "seed": seed, "budget": budget, "space": space, "pin": pin}
        if self.key(row) in self.rows: return self.rows[self.key(row)]
        if not self.has_time(budget + 6): return None
        with tempfile.TemporaryDirectory() as folder:
            began = time.time()
            said = self.command(self.tune, "--shape", problem, "--budget", f"{budget}s", "--no-pretuned", "--seed", seed,
                                "--db", f"{folder}/tune.db", "--cache", f"{folder}/cache", "--format", "json",
                                *(["--space", space] if space != "curated" else []), *(["--pin", pin] if pin else []))
            if said is None: return None
            found, trials = json.loads(said)[0], trials_of(f"{folder}/tune.db", began)
            if not found["time_us"] or not trials:
                self.failures.append(f"{problem}: {found['result']}: {found['why']}")
                return None
            row |= {"seconds": time.time() - began, "config": found["config"] or "cublas", "race_us": found["time_us"],
                    "ratio": found["ratio"], "trials": found["trials"], "first_s": trials[0][0], "bests": bests_of(trials)}
        print(f"{problem}, seed {seed}, {budget} s, {space}{', pinned' if pin else ''}: {row['race_us']:.2f} us in a race, "
              f"{row['trials']} trials", flush=True)
        return self.keep(row)

    def suite(self, name, problems, budget, seed, gpus=None):
        """A row of the search of several problems in one command. gpus: "0,1"; None: the first."""
        row = {"kind": "suite", "suite": name, "budget": budget, "seed": seed, "gpus": gpus}
        if self.key(row) in self.rows: return self.rows[self.key(row)]
        if not self.has_time(budget + 10): return None
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "suite.txt").write_text("\n".join(problems) + "\n")
            began = time.time()
            said = self.command(self.tune, "--suite", f"{folder}/suite.txt", "--budget", f"{budget}s", "--no-pretuned",
                                "--seed", seed, "--db", f"{folder}/tune.db", "--cache", f"{folder}/cache", "--format", "json",
                                *(["--gpus", gpus] if gpus else []))
            exported = said and self.command(self.tune, "export", "--json", "--db", f"{folder}/tune.db")
            if not exported: return None
            row |= {"seconds": time.time() - began, "exported": exported.splitlines(),
                    "configs": {r["problem"]: r["config"] or "cublas" for r in json.loads(said)},
                    "ratios": {r["problem"]: r["ratio"] for r in json.loads(said)},
                    "trials": sum(r["trials"] for r in json.loads(said))}
        print(f"{name}: {len(problems)} problems in {row['seconds']:.0f} s{f' on GPUs {gpus}' if gpus else ''}, "
              f"{row['trials']} trials", flush=True)
        return self.keep(row)

    # ---- comparisons ----

    def bench(self, name, suite, rounds=5, block_ms=4):
        """`tune bench` of the winners of a suite's row against cuBLAS and cublasLt: its rows; None: not yet."""
        row = {"kind": "bench", "suite": name, "budget": suite["budget"], "seed": suite["seed"]}
        if self.key(row) in self.rows: return self.rows[self.key(row)]["rows"]
        if not self.has_time(30 + 4 * len(suite["configs"])): return None
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "winners.jsonl").write_text("\n".join(suite["exported"]) + "\n")
            pathlib.Path(folder, "suite.txt").write_text("\n".join(suite["configs"]) + "\n")
            if self.command(self.tune, "import", f"{folder}/winners.jsonl", "--db", f"{folder}/tune.db") is None: return None
            said = self.command(self.tune, "bench", "--suite", f"{folder}/suite.txt", "--rival", "lt", "--rounds", rounds,
                                "--block-ms", block_ms, "--db", f"{folder}/tune.db", "--format", "csv",
                                env={"GEMMTUNE_CACHE": f"{folder}/cache"})
        if said is None: return None
        return self.keep(row | {"rows": list(csv.DictReader(said.splitlines()))})["rows"]

    def in_turns(self, name, pairs):
        """{(problem, configuration): us} of all of them in one call, those of a problem in turns; None: not yet."""
        row = {"kind": "turns", "group": name}
        wanted = list(dict.fromkeys(pairs))
        done = self.rows.get(self.key(row))
        if not done or not set(wanted) <= {tuple(r[:2]) for r in done["rows"]}:
            if not self.has_time(10 + 1.2 * len(wanted)): return None
            wanted.sort(key=lambda pair: pair[0])  # a problem's lines are a group
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "lines")
                path.write_text("".join(f"{problem}\t{problem}\t{config}\n" for problem, config in wanted))
                said = self.command(self.timer, path, self.rounds, self.block_ms, env={"GEMMTUNE_CACHE": f"{folder}/cache"})
            if said is None: return None
            timed = list(csv.DictReader(said.splitlines()))
            bad = [f"{r['group']} by {config}: {r['why']}" for r, (_, config) in zip(timed, wanted) if r["why"]]
            if len(timed) != len(wanted): bad.append(f"{name}: {len(timed)} times of {len(wanted)}")
            self.failures += bad
            if bad: return None
            done = self.keep(row | {"rows": [[*pair, float(r["time_us"])] for pair, r in zip(wanted, timed)]})
        return {(problem, config): us for problem, config, us in done["rows"]}

    def side_by_side(self, group, pairs):
        """(problem, configuration) -> row of side_by_side, timed in turns; what did not run is left out; None: not yet."""
        wanted = list(dict.fromkeys(pairs))
        row = {"kind": "timed", "group": group}
        done = self.rows.get(self.key(row))
        if not done or not set(wanted) <= {(r["asked_problem"], r["asked_config"]) for r in done["rows"]}:
            if not self.has_time(15 + 2 * len(wanted)): return None
            done = self.time(row, group, wanted)
        return done and {(r["asked_problem"], r["asked_config"]): r for r in done["rows"] if not r["why"]}

    def time(self, row, group, wanted):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "lines")
            path.write_text("".join(f"{group}\t{problem}\t{config}\n" for problem, config in wanted))
            said = self.command(self.timer, path, self.rounds, self.block_ms, env={"GEMMTUNE_CACHE": f"{folder}/cache"})
        if said is None: return None
        rows = list(csv.DictReader(said.splitlines()))
        if [r["group"] for r in rows] != [group] * len(wanted):
            self.failures.append(f"{group}: {said.strip().splitlines()[-1]}")
            return None
        for r, (problem, config) in zip(rows, wanted):
            r |= {"asked_problem": problem, "asked_config": config}
            r |= {name: float(r[name]) for name in r if name.startswith(("time_", "ratio"))}
        bad = [f"{r['problem']} by {r['config']}: {r['why']}" for r in rows if r["why"]]
        self.failures += bad
        row |= {"rows": rows}
        return row if bad else self.keep(row)


def trials_of(path, began):
    """[seconds, us, configuration] of every candidate that was measured, in the order of time."""
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = base.execute("select t.ended_us, t.time_us, c.text from trials t join configs c on c.id = t.config_id "
                        "where t.verdict = 'measured' order by t.ended_us").fetchall()
    base.close()
    return [[ended_us / 1e6 - began, time_us, config] for ended_us, time_us, config in rows]


def bests_of(trials):
    bests = []
    for trial in trials:
        if not bests or trial[1] < bests[-1][1]: bests.append(trial)
    return bests
