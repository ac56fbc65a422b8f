"""test_figures.py BUILD: figures.py without a GPU: its statistics, its tables of recorded rows, and every step with a tuner whose
children invent times and a driver made of host memory."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import figures  # noqa: E402
import figures_run  # noqa: E402
import figures_stats  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop()).resolve()
TESTS = BUILD / "tests"
FAKES = {"GEMMTUNE_LIBCUDA": "libfake_gpu.so", "GEMMTUNE_LIBCUBLAS": "libfake_gpu.so", "GEMMTUNE_LIBCUBLASLT": "libfake_gpu.so",
         "GEMMTUNE_LIBNVRTC": "libfake_nvrtc.so", "GEMMTUNE_EXE": "fake_child"}
SQUARE = "sgemm:nn:256x256x256"

# The tuner with a small space: enumerating those that ship takes the sanitizers long.
TUNE = f"""#!{sys.executable}
import os, sys
args = sys.argv[1:]
if "--budget" in args and "--pin" not in args:
    args = [a for a in args if a not in ("--space", "wide")] + ["--space", {str(HERE.parent / "fake" / "space.conf")!r}]
os.execv({str(BUILD / "tune")!r}, ["tune", *args])
"""


def write_tune(path):
    path.unlink(missing_ok=True)
    path.write_text(TUNE)
    path.chmod(0o755)
    return path


def on_fakes(*command, **variables):
    env = {**os.environ, **{name: str(TESTS / file) for name, file in FAKES.items()}, "FAKE_GPU_EVENTS": "1",
           "FAKE_CUBLAS_POOL": "1", "FAKE_TRIAL_MS": "5", "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env)


def search_row(problem, seed, budget, config, bests, **more):
    return {"kind": "search", "problem": problem, "seed": seed, "budget": budget, "space": "curated", "pin": None,
            "config": config, "race_us": bests[-1][1], "ratio": 1.1, "trials": 9, "first_s": bests[0][0], "bests": bests,
            "seconds": budget} | more


def timed_row(group, ratios):
    """ratios: (problem, configuration) -> time over the first one's."""
    rows = [{"problem": p, "config": c, "asked_problem": p, "asked_config": c, "time_us": 10 * ratio, "why": "", "ratio": ratio,
             "ratio_q1": ratio, "ratio_q3": ratio} for (p, c), ratio in ratios.items()]
    return {"kind": "timed", "group": group, "rows": rows}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rows = self.folder / "rows.jsonl"

    def write(self, *rows, to=None):
        (to or self.rows).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def figure(self, step, *words, status=0, **variables):
        """What the step says."""
        tune = write_tune(self.folder / "tune")
        done = on_fakes(sys.executable, HERE / "figures.py", step, "--rows", self.rows, "--tune", tune, "--side-by-side",
                        TESTS / "side_by_side", "--rounds", "3", *words, **variables)
        self.assertIn(done.returncode, status if isinstance(status, tuple) else (status,), done.stdout + done.stderr)
        return done.stdout


class Statistics(Case):
    def test_quantiles_are_interpolated_and_infinity_is_the_largest(self):
        self.assertEqual(figures_stats.quantile([4, 1, 3, 2], 0.5), 2.5)
        self.assertEqual(figures_stats.quantile([1, 2, 3, 4, 5], 0.9), 4.6)
        self.assertEqual(figures_stats.quantile([7], 0.25), 7)
        self.assertEqual(figures_stats.median([1, 2, math.inf]), 2)
        self.assertEqual(figures_stats.quantile([1, 2, math.inf], 0.75), math.inf)
        self.assertEqual(figures_stats.quantile([math.inf, math.inf], 0.75), math.inf)

    def test_means_are_geometric(self):
        self.assertAlmostEqual(figures_stats.geometric_mean([1, 4]), 2)

    def test_bests_are_the_trials_that_were_faster_than_all_before(self):
        bests = figures_run.bests_of([[1, 30, "a"], [2, 40, "b"], [3, 20, "c"], [4, 20, "d"]])
        self.assertEqual([config for _, _, config in bests], ["a", "c"])
        row = {"bests": bests}
        self.assertEqual([figures.found_by(row, s) for s in (0.5, 1, 2.9, 9)], [None, "a", "a", "c"])

    def test_a_problem_with_an_epilogue_is_known_without_it(self):
        known = figures_run.Known()
        self.assertEqual(figures_run.plain("sgemm:nt:8x8x8:batch=4:pointers"), "sgemm:nt:8x8x8:batch=4")
        self.assertEqual(known.config(SQUARE + ":beta=1:epilogue=out"), known.shipped[SQUARE])
        self.assertIsNone(known.config("sgemm:nn:7x7x7"))
        for problem in [*figures.SEEDS_PROBLEMS, *figures.CLASSES.values(), *figures.EPILOGUE_PROBLEMS]:
            self.assertTrue(known.config(problem), problem)
        self.assertTrue(set(figures_run.suite_problems("public")) <= known.shipped.keys())


class Tables(Case):
    def test_regret_is_against_the_fastest_of_all_that_were_timed_together(self):
        bests = [[1.0, 12.0, "slow"], [9.0, 11.0, "fast"]]
        known = figures_run.Known().config(SQUARE)
        self.write(*(search_row(SQUARE, seed, budget, config, bests)
                     for seed, budget, config in [(1, 20, "slow"), (2, 20, "fast"), (1, 60, "fast"), (2, 60, "fast")]),
                   timed_row(SQUARE, {(SQUARE, known): 1, (SQUARE, "slow"): 0.996, (SQUARE, "fast"): 0.992}))
        words = ["--report", "--problems", SQUARE, "--seeds", "1,2", "--budgets", "20,60"]
        said = self.figure("search-seeds", *words)
        self.assertIn("20 s: 2 searches, regret median 0.20 %, third quartile 0.30 %, worst 0.40 %\n", said)
        self.assertIn("PASS  worst regret at 20 s at most 0.50 %: 0.40 %", said)
        self.assertIn("PASS  worst regret at 60 s at most 0.30 %: 0.00 %", said)
        # After 14 of 20 s the fastest trial was the other one.
        said = self.figure("search-seeds", *words, "--derive")
        self.assertIn("20 s: 2 searches, regret median 0.00 %", said)
        # A missing search is no pass.
        said = self.figure("search-seeds", "--report", "--problems", SQUARE, "--budgets", "60", status=1)
        self.assertIn("FAIL  worst regret at 60 s at most 0.30 %: 0.00 %", said)

    def test_seconds_are_counted_to_within_one_per_cent_of_the_best_of_all(self):
        config = figures_run.Known().config(SQUARE)
        other = self.folder / "other.jsonl"
        self.write(search_row(SQUARE, 1, 20, "a", [[2.5, 103.0, "a"], [4.0, 101.0, "b"]]),
                   search_row(SQUARE, 1, 6, config, [[2.0, 100.0, config]], pin=config))
        self.write(search_row(SQUARE, 2, 20, "c", [[3.0, 101.5, "c"]]), to=other)
        words = ["--report", "--also", other, "--problems", SQUARE]
        said = self.figure("search-time", *words, "--seeds", "1,2", status=1)
        self.assertRegex(said, r"100\.00 +2\.8 +4\.0 +inf")
        self.assertIn("FAIL  90th percentile of 2 searches at most 15 s: inf s", said)
        said = self.figure("search-time", *words, "--seeds", "1")
        self.assertIn("PASS  median of 1 searches at most 6 s: 4.0 s", said)

    def test_models_are_compared_with_the_better_of_the_rivals(self):
        def bench(problem, ratio, lt): return {"problem": problem, "time_us": "10", "ratio": ratio, "lt_ratio": lt}

        problems = ["sgemm:nt:8x8x8", "sgemm:nt:9x9x9"]
        of = {"suite": "models", "budget": 290, "seed": 1}
        suite = {"kind": "suite", **of, "seconds": 290, "configs": dict.fromkeys(problems, "simt"),
                 "ratios": dict.fromkeys(problems, 1.5), "exported": []}
        words = ["models", "--report", "--problems", ",".join(problems)]
        self.write(suite, {"kind": "bench", **of, "rows": [bench(problems[0], "1.40", "1.30"), bench(problems[1], "1.28", "")]})
        said = self.figure(*words)
        self.assertIn("PASS  geometric mean of 2 at least 1.28: 1.290\nPASS  none slower: least 1.280", said)
        self.write(suite, {"kind": "bench", **of, "rows": [bench(problems[0], "1.90", "1.80"), bench(problems[1], "1.30", "0.99")]})
        said = self.figure(*words, status=1)
        self.assertIn("PASS  geometric mean of 2 at least 1.28: 1.335\nFAIL  none slower: least 0.990", said)

    def test_each_epilogue_has_its_aim(self):
        config = figures_run.Known().config(SQUARE)
        groups = {SQUARE: [(f"{SQUARE}:epilogue={e}", 1.009) for e in figures.EPILOGUES],
                  SQUARE + ":beta=1": [(SQUARE + ":beta=1:epilogue=out", 1.011)]}
        self.write(*(timed_row(f"{base} epilogue", {(base, config): 1} | {(p, config): x for p, x in others})
                     for base, others in groups.items()))
        said = self.figure("epilogue-cost", "--report", "--problems", SQUARE, status=1)
        self.assertIn("PASS  bias+gelu adds at most 1 %: 0.90 %", said)
        self.assertIn(f"FAIL  out adds at most 1 %: 1.10 % ({SQUARE})", said)


class Steps(Case):
    def test_searches_go_on_where_the_time_ended_and_are_not_repeated(self):
        words = ["search-seeds", "--problems", SQUARE, "--seeds", "1,2", "--budgets", "0.5,1"]
        self.assertIn("4 measurements are missing", self.figure(*words, "--limit", "1", status=figures.GOES_ON))
        said = self.figure(*words)
        self.assertIn("1 s: 2 searches, regret median 0.00 %", said)
        self.assertEqual([json.loads(line)["kind"] for line in self.rows.read_text().splitlines()], ["search"] * 4 + ["timed"])
        before = self.rows.read_text()
        again = self.figure(*words, "--limit", "0")
        self.assertEqual(self.rows.read_text(), before)
        self.assertEqual(again, said[said.index("problem  "):])
        said = self.figure("search-time", "--problems", SQUARE, "--seeds", "1", "--budgets", "1")
        self.assertIn("PASS  90th percentile of 1 searches at most 15 s: 0.", said)
        self.assertEqual(self.rows.read_text().count('"kind": "search"'), 5)  # of the best known, besides

    def test_wide_and_curated_winners_are_timed_side_by_side(self):
        said = self.figure("wide-curated", "--problems", SQUARE, "--budgets", "1")
        self.assertIn("PASS  wide within 2 % of curated", said)
        self.assertEqual(self.rows.read_text().count('"space": "wide"'), 1)

    def test_models_are_tuned_and_compared(self):
        for step, problems in ("models", SQUARE + ",sgemm:nt:64x64x64"), ("models-bias", SQUARE + ":epilogue=bias"):
            said = self.figure(step, "--problems", problems, "--budgets", "1", status=1)
            self.assertRegex(said, r"FAIL  geometric mean of \d at least 1\.\d+: 0\.\d+\nFAIL  none slower: least 0\.")

    def test_the_suite_is_compared_with_what_ships(self):
        self.assertIn("PASS  geometric mean within 0.5 %", self.figure("suite", "--problems", SQUARE, "--budgets", "1"))

    def test_two_gpus_are_compared_with_one_in_less_time(self):
        other = "sgemm:nn:64x64x64"
        words = ["two-gpus", "--problems", f"{SQUARE},{other}", "--budgets", "3.6"]
        self.figure(*words, status=(0, 1), FAKE_DEVICES="2")  # the invented searches may end before their time
        rows = [json.loads(line) for line in self.rows.read_text().splitlines()]
        self.assertEqual([row.get("gpus") for row in rows], ["0", "0,1", "0,1", "0", None])

        def said(status, seconds):
            rows[0]["seconds"], rows[1]["seconds"] = 3.6, seconds
            self.write(*rows)
            return self.figure(*words, "--report", status=status)

        aim = "two GPUs reach the same geometric mean within 0.5 % 1.8 times as fast: "
        self.assertIn(f"PASS  {aim}0.00 % after 1/1.89 of the time", said(0, 1.9))
        self.assertIn(f"FAIL  {aim}0.00 % after 1/1.71 of the time", said(1, 2.1))
        rows[1]["configs"] = {SQUARE: "other", other: "other"}
        rows[4]["rows"] += [[problem, "other", 2 * us] for problem, config, us in rows[4]["rows"]
                            if config == rows[0]["configs"][problem]]
        self.assertIn(f"FAIL  {aim}100.00 % after 1/1.89 of the time", said(1, 1.9))

    def test_epilogues_are_timed_with_the_configuration_of_the_plain_product(self):
        said = self.figure("epilogue-cost", "--problems", SQUARE)
        for epilogue in [*figures.EPILOGUES, "out"]: self.assertIn(f"PASS  {epilogue} adds at most 1 %: 0.00 %", said)

    def test_pointers_are_compared_with_cublas_and_with_strides(self):
        said = self.figure("pointers", "--problems", "sgemm:nt:32x32x32:batch=2:pointers", "--budgets", "1")
        self.assertIn("PASS  none slower than cublasSgemmBatched", said)

    def test_invariant_problems_are_compared_with_what_answers_plain_ones(self):
        problems = [f"bf16gemm:nt:{m}x8x8{kind}" for kind in ("", ":invariant") for m in (1, 2)]
        self.write(*({"kind": "answer", "problem": problem, "seed": 1, "budget": 6.0, "time_us": us}
                     for problem, us in zip(problems, (10, 10, 10, 11.025))))
        words = ["--rows", self.rows, "--tune", BUILD / "tune", "--m", "1,2"]
        done = on_fakes(sys.executable, HERE / "batch_invariant.py", *words, "--layers", "8x8,8x16", "--limit", "0")
        self.assertEqual(done.returncode, figures.GOES_ON, done.stderr)
        self.assertIn("8x8          costs 5.0 %: M 1 1.000, M 2 1.103\n4 measurements are missing", done.stdout)
        self.rows.unlink()
        done = on_fakes(sys.executable, HERE / "batch_invariant.py", *words, "--layers", "8x8", "--budget", "0.5")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"1 layers: -?\d+\.\d % \(the aim: at most 10\)\n$")

    def test_the_packed_folder_has_all_that_is_needed(self):
        subprocess.run([HERE / "pack.sh", BUILD, self.folder / "packed"], check=True, capture_output=True)
        write_tune(self.folder / "packed" / "tune")

        def suite(limit):
            done = on_fakes(self.folder / "packed" / "all.sh", "suite", FIGURES=f"--problems {SQUARE} --budgets 1 --rounds 3",
                            FIGURES_ROWS=str(self.rows), FIGURES_LIMIT=limit)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout

        self.assertRegex(suite("1"), r"the same command goes on\n\nsuite +goes on +\d s\n$")
        self.assertRegex(suite("60"), r"PASS  geometric mean within 0\.5 %(.|\n)*\nsuite +passed +\d+ s\n$")

    def test_what_cannot_run_is_a_failure(self):
        said = self.figure("pointers", "--problems", "sgemm:nt:32x32x32:batch=nonsense", "--budgets", "1", status=1)
        self.assertIn("FAILED: --shape sgemm:nt:32x32x32:batch=nonsense", said)
        said = self.figure("epilogue-cost", "--problems", "sgemm:nn:8192x8192x8192", status=1)  # for the fake driver
        self.assertIn("FAILED: sgemm:nn:8192x8192x8192 epilogue: operands: the operands do not fit into the memory left", said)
        said = self.figure("epilogue-cost", "--problems", "sgemm:nn:7x7x7", status=1)
        self.assertIn("FAILED: sgemm:nn:7x7x7: no configuration is known for it", said)
        self.assertFalse(self.rows.exists())


if __name__ == "__main__":
    unittest.main()
