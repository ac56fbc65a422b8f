"""test_programs.py: what programs.py says of times that are given, its processes, and whole runs of it without PyTorch and GPU, with
programs that are invented here: some fail, hang or are killed, and the others are measured all the same."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import programs  # noqa: E402
from torch_server import Server  # noqa: E402

JOBS = f"""import os, sys, time
sys.path.insert(0, {str(HERE)!r})
import torch_server
def run(job):
    if job["do"] == "raise": raise ValueError("no such layer")
    if job["do"] == "skip": raise torch_server.Skip("not installed")
    if job["do"] == "sleep": time.sleep(60)
    if job["do"] == "die": os.kill(os.getpid(), 11)
    print("a program prints")
    return {{"pid": os.getpid(), "way": os.environ.get("WAY")}}
sys.exit(torch_server.serve(run))
"""

# In the place of torch_programs.py: each program is what its name says.
INVENTED = """import os, time
from torch_server import Skip
COMPILED = "compiled"
def is_wanted(name, only): return any(part in name for part in only.split(";"))
def cases_of(only): return [c for c in (("good", "fp32"), ("good", "bf16"), ("broken under tune", "fp32"), ("absent", "fp32"),
                                        ("compiled", "bf16"), ("hangs", "fp32")) if is_wanted(", ".join(c), only)]
def run_job(job):
    if job["do"] == "facts": return {"gpu": "none", "libraries": {"GEMMTUNE_LIBCUBLAS": "/nowhere/libcublas.so"}}
    name, way = job["program"], os.environ["WAY"]
    if name == "absent": raise Skip("not installed")
    if name == "compiled": raise Skip("it does not compile")
    if name == "hangs": time.sleep(100)
    if name == "broken under tune" and way == "tuned": raise RuntimeError("wrong bits")
    if job["do"] == "capture": open(os.environ["GEMMTUNE_CAPTURE"], "a").write("sgemm:nn:8x8x8\\n")
    if job["do"] == "compare":
        print("gemmtune: 3.21 s of GPU time in products: 81.4 % answered by tuned kernels, 12.2 % by cuBLAS because it is as fast")
        return {"differs": 0.0, "error_plain": 1e-7, "error_tuned": 1e-7}
    fast = 2 if way == "tuned" else 1
    return {"steps": 60, "ms": 8 / fast, "min_ms": 7 / fast, "host_ms": 8 / fast, "add_us": 8, "in_adds": 1000 / fast, "graph_ms": 4}
"""
TUNE = """#!/bin/sh
[ "$1" = run ] || exit 0
shift
WAY=tuned
while [ "$1" != -- ]; do case $1 in --off) WAY=off ;; --capture) WAY=watched ;; esac; shift; done
shift
export WAY
exec "$@"
"""


def found_of(ms, host_ms, in_adds, **more):
    return {"ms": ms, "min_ms": ms, "host_ms": host_ms, "in_adds": in_adds, "add_us": 8} | more


class Rows(unittest.TestCase):
    def row(self, plain, tuned):
        found = {"plain": list(enumerate(plain)), "tuned": list(enumerate(tuned)), "off": []}
        return programs.row_of(("Some", "bf16"), found, {})

    def test_a_step_that_waits_for_the_host_is_compared_in_additions(self):
        # The host was half as fast when the tuned processes ran: their milliseconds say nothing.
        row = self.row([found_of(8, 8, 1000)] * 3, [found_of(16, 16, 1250), found_of(16, 16, 800), found_of(16, 16, 1000)])
        self.assertEqual(row["waits_for"], "host")
        self.assertAlmostEqual(row["eager"], 1)
        self.assertAlmostEqual(row["eager_least"], 0.8)
        self.assertAlmostEqual(row["eager_most"], 1.25)
        self.assertAlmostEqual(row["eager_by_ms"], 0.5)
        self.assertNotIn("eager_off", row)
        self.assertNotIn("graph", row)

    def test_a_step_that_waits_for_the_gpu_is_compared_by_its_time(self):
        row = self.row([found_of(8, 2, 1000, graph_ms=6)], [found_of(4, 2, 2000, graph_ms=3)])
        self.assertEqual((row["waits_for"], row["eager"], row["graph"]), ("GPU", 2, 2))

    def test_sides_of_other_rounds_are_compared_without_a_pair(self):
        found = {"plain": [(0, found_of(8, 8, 1000))], "tuned": [(1, found_of(8, 8, 500))], "off": []}
        self.assertEqual(programs.ratio_of(found, "tuned", "in_adds"), (2, 2, 2))
        self.assertIsNone(programs.ratio_of(found, "off", "in_adds"))

    def test_means_are_apart_and_what_is_slower_is_named(self):
        rows = [{"program": "a", "kind": "fp32", "eager": 4.0, "graph": 1.0}, {"program": "b", "kind": "fp32", "eager": 1.0},
                {"program": "c", "kind": "autocast", "eager": 0.5}]
        means = programs.means_of(rows)
        self.assertAlmostEqual(means["strict"]["eager"][0], 2)
        self.assertEqual(means["strict"]["eager"][1:], (1.0, "b", 2))
        self.assertEqual(means["16 bit"], {"eager": (0.5, 0.5, "c", 1)})
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            programs.print_means(rows)
        self.assertIn("eager, below 0.99: c 0.500\n", out.getvalue())
        self.assertIn("graph, below 0.99: none\n", out.getvalue())

    def test_an_error_that_is_no_number_has_grown(self):
        rows = [{"program": name, "error_plain": 1e-7, "error_tuned": tuned} for name, tuned in
                (("same", 1e-7), ("large", 1e-5), ("none", float("nan")))]
        self.assertEqual(programs.errors_that_grew(rows), ["large", "none"])


class Servers(unittest.TestCase):
    def test_what_a_child_does_is_told_and_the_server_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server([sys.executable, "-c", JOBS], dict(os.environ), folder + "/server.err")
            self.addCleanup(server.stop)

            def ask(do, limit=20):
                return server.ask({"do": do, "err": folder + "/err", "environment": {"WAY": "here"}}, limit)

            first, second = ask("fine")["found"], ask("fine")["found"]
            self.assertNotEqual(first["pid"], second["pid"])
            self.assertEqual(first["way"], "here")
            self.assertEqual(ask("raise"), {"why": "ValueError: no such layer", "skipped": False})
            self.assertEqual(ask("skip"), {"why": "not installed", "skipped": True})
            self.assertEqual(ask("die")["why"], "ended by signal 11: it said nothing")
            begin = time.monotonic()
            self.assertTrue(ask("sleep", limit=1)["late"])
            self.assertLess(time.monotonic() - begin, 10)
            self.assertIn("found", ask("fine"))
            server.process.kill()
            server.process.wait()
            self.assertIn("found", ask("fine"))

    def test_a_server_that_does_not_start_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server([sys.executable, "-c", "raise SystemExit('no PyTorch')"], dict(os.environ), folder + "/server.err")
            self.addCleanup(server.stop)
            why = server.ask({"err": folder + "/err", "environment": {}}, 20)["why"]
            self.assertIn("it did not start: no PyTorch", why)


class Whole(unittest.TestCase):
    def run_programs(self, *options, end_after=None):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file in ("programs.py", "torch_server.py", "torch_child.py", "figures_stats.py", "opened_cublas.py"):
                shutil.copy(HERE / file, folder)
            (folder / "torch_programs.py").write_text(INVENTED)
            (folder / "tune").write_text(TUNE)
            (folder / "tune").chmod(0o755)
            (folder / "torch.py").touch()
            process = subprocess.Popen([sys.executable, folder / "programs.py", "--tune", folder / "tune", "--json", folder / "out.json",
                                        *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=dict(os.environ, WAY="plain", PYTHONDONTWRITEBYTECODE="1"))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(end_after)
            if end_after:
                process.terminate()
            out, err = process.communicate(timeout=200)
            self.assertEqual(err.splitlines()[-1:], ["KeyboardInterrupt"] if end_after else [])
            return process.returncode, out, json.loads((folder / "out.json").read_text())

    def test_a_program_that_fails_is_one_line_and_the_others_are_measured(self):
        code, out, kept = self.run_programs("--only", "good;broken;absent;compiled", "--repeats", "2")
        self.assertEqual(code, 1)
        self.assertIn("broken under tune, fp32, tuned: FAILED: RuntimeError: wrong bits\n", out)
        self.assertIn("absent, fp32, watched: skipped: not installed\n", out)
        self.assertIn("WRONG: failed: broken under tune, fp32\n", out)
        self.assertNotIn("not measured", out)
        self.assertIn("strict, eager: 2.000 (geometric mean of 1), least 2.000 (good, fp32)\n", out)
        self.assertIn("strict, graph: 1.000 (geometric mean of 1)", out)
        rows = {row["program"]: row for row in kept["rows"]}
        self.assertEqual((rows["good, bf16"]["processes"], rows["good, bf16"]["tuned_share"]), (2, 81.4))
        self.assertEqual(rows["good, fp32"]["eager_off"], 1)

    def test_nothing_that_fails_is_a_success(self):
        code, out, _ = self.run_programs("--only", "good;absent", "--repeats", "1")
        self.assertEqual((code, "WRONG" in out), (0, False), out)

    def test_the_table_comes_at_the_limit(self):
        begin = time.monotonic()
        code, out, _ = self.run_programs("--only", "good;hangs", "--limit", "18")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(code, 1)
        self.assertIn("WRONG: not measured before the limit: good, fp32; good, bf16; hangs, fp32\n", out)
        self.assertIn("program  ", out)

    def test_the_table_comes_when_it_is_ended(self):
        code, out, _ = self.run_programs("--only", "good;hangs", end_after=6)
        self.assertEqual(code, 1)
        self.assertIn("program  ", out)
        self.assertIn("WRONG: not measured before the limit: ", out)


if __name__ == "__main__":
    unittest.main()
