"""test_cluster.py BUILD: tune cluster on a real Slurm of two nodes (slurm.py), with children that invent times: what is in the
databases after arrays, deaths, requeues and merges. Ends with 77 where there is no Slurm."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import slurm  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv.pop()).resolve()
TUNE = BUILD / "tune"
PROBLEMS = [f"sgemm:nn:{m}x{n}x256" for m in (64, 128, 192, 256) for n in (64, 128)]
SAVE_S = 60  # tune --save, from the start on

machine = None


def rows(path, sql):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db: return db.execute(sql).fetchall()


def hashes(path):
    return {row[0] for row in rows(path, "SELECT hash FROM trials")}


def content(path):
    """What counts in a database, whatever the numbers of its rows."""
    return [sorted(rows(path, sql)) for sql in (
        "SELECT hash FROM trials", "SELECT hash FROM problems", "SELECT hash FROM decisions", "SELECT hash, how FROM runs",
        "SELECT d.hash FROM winners w JOIN decisions d ON d.id = w.decision_id")]


class Cluster(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gemmtune-cluster-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.clear)
        self.folder = pathlib.Path(folder.name)
        self.dir, self.db, self.log = self.folder / "plan", self.folder / "all.db", self.folder / "fake.log"
        self.suite = self.folder / "suite.txt"
        self.suite.write_text("\n".join(PROBLEMS) + "\n")
        (self.folder / "disk").mkdir()

    def clear(self):
        """What a test that failed has left."""
        machine.run("scancel", "--signal=KILL", "--full", "--user=root", check=False)
        machine.run("scancel", "--user=root", check=False)
        for node in slurm.NODES:
            if node not in machine.daemons: machine.start_node(node)
        machine.wait_empty(60)
        machine.wait_idle()

    def tune(self, *words, **more):
        return self.run_with_fakes(TUNE, *words, **more)

    def run_with_fakes(self, *words, trial_ms=20, **more):
        """What it starts has children that invent times."""
        return machine.run(*words, GEMMTUNE_EXE=str(BUILD / "tests" / "fake_child"), FAKE_TRIAL_MS=str(trial_ms),
                           FAKE_LOG=str(self.log), HOME=str(self.folder), XDG_CACHE_HOME=str(self.folder / "cache"), **more)

    def submit(self, shards, trials=12, trial_ms=20, disk="${SLURMD_NODENAME}", dir=None, db=None, cpus=2, **more):
        """Jobs of the array and of the merge. disk: a node's, in the test's folder."""
        said = self.tune("cluster", "slurm", "--suite", self.suite, "--nodes", 2, "--shards", shards, "--gpus-per-node", 0,
                         "--cpus-per-task", cpus, "--db", db or self.db, "--dir", dir or self.dir, "--scratch",
                         f"{self.folder}/disk/{disk}", "--budget", "5m", "--submit", "--", "--space",
                         HERE.parent / "fake" / "space.conf", "--no-pretuned", "--no-transfer", "--jobs", 1, "--max-trials", trials,
                         trial_ms=trial_ms, **more).stdout
        return self.jobs(said)

    def jobs(self, said):
        found = re.search(r"submitted job (\d+) \(array\) and (\d+) \(merge", said)
        self.assertTrue(found, said)
        return found.groups()

    def resume(self, trial_ms=20):
        """What it says that it sends, and the jobs."""
        said = self.tune("cluster", "slurm", "--dir", self.dir, "--resume", "--submit", trial_ms=trial_ms).stdout
        return said.splitlines()[0].partition("to be sent: ")[2], self.jobs(said)

    def states(self):
        """State of each shard, by number, as tune cluster status has it."""
        said = self.tune("cluster", "status", "--dir", self.dir, "--format", "json").stdout
        return {row["shard"]: row["state"] for row in json.loads(said)}

    def merged(self):
        return (self.dir / "log" / "merge.log").read_text()

    def shard_log(self, shard):
        return (self.dir / "log" / f"shard-{shard}.log").read_text()

    def noted(self):
        """How often each (problem, configuration) was tried, as the GPU's workers noted it, and the last of each worker: if that
        was killed, its last trial may not be in a file."""
        tried, last, problem = collections.Counter(), {}, {}
        for line in self.log.read_text().splitlines():
            verb, pid, text = line.split(" ", 2)
            if verb == "prepare": problem[pid] = text
            elif verb == "trial":
                last[pid] = problem[pid], text
                tried[last[pid]] += 1
        return tried, last

    def tune_of(self, shard):
        """The process of the tuner of a shard, once it has begun with its trials."""
        def find():
            for pid in machine.marked():
                words = slurm.command_line(pid)
                if "--shard" in words and words[words.index("--shard") + 1].startswith(f"{shard}/") and words[0].endswith("tune"): return pid
        return slurm.wait_for(find, 60, f"a tuner of shard {shard}")

    def wait_trials(self, count, seconds=60):
        slurm.wait_for(lambda: self.log.exists() and sum(self.noted()[0].values()) >= count, seconds, f"{count} trials")

    def left_on_disks(self):
        """The folders of shards that no task has removed."""
        return sorted(path.name.rpartition("-")[2] for path in (self.folder / "disk").glob("*/*"))

    def assert_complete(self, db, shards_dir=None, problems=PROBLEMS):
        """Every problem has a winner, nothing is there twice, and it is the union of the shards."""
        self.assertEqual(sorted(row[0] for row in rows(db, "SELECT text FROM problems")), sorted(problems))
        self.assertEqual(rows(db, "SELECT count(*) FROM winners")[0][0], len(problems))
        self.assertEqual(*rows(db, "SELECT count(*), count(DISTINCT hash) FROM trials")[0])
        self.assertEqual(*rows(db, "SELECT count(*), count(DISTINCT hash) FROM decisions")[0])
        shards = [hashes(path) for path in sorted((shards_dir or self.dir / "shards").glob("*.db"))]
        self.assertEqual(hashes(db), set().union(*shards))
        self.assertEqual(len(hashes(db)), sum(map(len, shards)), "a trial is in two shards")
        self.assertEqual(machine.run(TUNE, "verify", "--db", db, check=False).returncode, 0)

    def assert_nothing_lost(self, db, killed=0):
        """All that was tried is in the file; of `killed` workers the last trial may be missing."""
        tried, last = self.noted()
        stored = collections.Counter(rows(db, "SELECT p.text, c.text FROM trials t JOIN problems p ON p.id = t.problem_id "
                                              "JOIN configs c ON c.id = t.config_id"))
        lost = tried - stored
        self.assertLessEqual(lost.total(), killed, lost)
        self.assertTrue(set(lost) <= set(last.values()), lost)

    # ---- tests ----

    def test_an_array_of_shards_and_its_merge(self):
        array, merge = self.submit(shards=4)
        machine.wait_task(0, "RUNNING")
        states = self.states()
        self.assertIn("running", states.values())
        self.assertEqual(set(states.values()) - {"running", "waiting", "done"}, set(), states)
        machine.wait_empty(180)
        self.assertEqual(self.states(), dict.fromkeys(range(4), "done"), self.shard_log(0))
        self.assert_complete(self.db)
        self.assert_nothing_lost(self.db)
        self.assertEqual(rows(self.db, "SELECT count(*) FROM trials")[0][0], 12 * len(PROBLEMS))
        self.assertEqual(rows(self.db, "SELECT count(*) FROM runs WHERE how = 'finished'")[0][0], 4)
        self.assertIn("4 of 4 shards; 96 trials", self.merged())
        # Once more, by both ways: nothing changes.
        before = content(self.db)
        self.assertIn(" 0 trials, 0 decisions, 0 runs added", self.tune("cluster", "merge", "--dir", self.dir).stdout)
        self.assertIn(": 0 trials, 0 decisions, 0 runs added", self.tune("merge", self.db, *(self.dir / "shards").glob("*.db")).stdout)
        self.assertEqual(content(self.db), before)
        self.assertIn("nothing to send", self.tune("cluster", "slurm", "--dir", self.dir, "--resume", "--submit").stdout)
        # What went missing is sent again, and nothing else.
        for path in self.dir.glob("*/2*"): path.unlink()
        self.assertEqual(self.left_on_disks(), [])
        self.assertEqual(self.states()[2], "missing")
        sent, _ = self.resume()
        self.assertEqual(sent, "2")
        self.assertEqual({q[1] for q in machine.queue()}, {"2", "N/A"})
        machine.wait_empty(120)
        self.assertEqual(self.states(), dict.fromkeys(range(4), "done"))
        self.assertIn(" 0 trials, 0 decisions", self.tune("merge", self.db, self.dir / "shards" / "2.db").stdout)

    def test_more_shards_than_an_array_may_have_tasks_are_not_submitted(self):
        most = int(re.search(r"MaxArraySize\s*=\s*(\d+)", machine.run("scontrol", "show", "config").stdout)[1])
        words = "cluster", "slurm", "--suite", self.suite, "--nodes", 2, "--gpus-per-node", 0, "--db", self.db, "--dir", self.dir
        said = self.tune(*words, "--shards", most + 1, "--submit", check=False)
        self.assertIn(f"job arrays of {most} tasks at most here (MaxArraySize), and there are {most + 1} shards", said.stderr)
        self.assertEqual((said.returncode, self.dir.exists(), machine.queue()), (3, False, []))
        self.assertNotIn("MaxArraySize", self.tune(*words, "--shards", most).stderr)

    def test_sbatch_may_say_a_sentence(self):
        """As where a site's wrapper drops --parsable."""
        wrapper = self.folder / "bin" / "sbatch"
        wrapper.parent.mkdir()
        wrapper.write_text(f"#!/bin/sh\n[ \"$1\" = --parsable ] && shift\nexec {shutil.which('sbatch')} \"$@\"\n")
        wrapper.chmod(0o755)
        self.submit(shards=2, trials=3, PATH=f"{wrapper.parent}:{machine.env['PATH']}")
        self.assertEqual(set(self.states().values()) - {"waiting", "running", "done"}, set())
        machine.wait_empty(120)
        self.assertEqual(self.states(), dict.fromkeys(range(2), "done"), self.shard_log(0))
        self.assertIn("2 of 2 shards", self.merged())

    def test_a_shard_killed_with_9_fails_and_resume_sends_it_alone(self):
        self.submit(shards=2, trial_ms=100, disk="both")
        pid = self.tune_of(0)
        self.wait_trials(10)
        os.kill(pid, signal.SIGKILL)
        machine.wait_empty(180)
        states = self.states()
        self.assertEqual(states, {0: "failed", 1: "done"}, self.shard_log(0))
        self.assertRegex(self.merged(), r"shard 0 is (missing|merged as far as it is)")
        self.assertEqual(rows(self.db, "SELECT count(*) FROM winners")[0][0], len(PROBLEMS) // 2)
        sent, _ = self.resume()
        self.assertEqual(sent, "0")
        machine.wait_empty(180)
        self.assertEqual(self.states(), {0: "done", 1: "done"}, self.shard_log(0))
        self.assert_complete(self.db)
        self.assert_nothing_lost(self.db, killed=1)

    def test_a_requeued_task_goes_on_and_loses_nothing(self):
        array, _ = self.submit(shards=2, trial_ms=100, disk="both")
        self.tune_of(1)
        self.wait_trials(10)
        machine.run("scontrol", "requeue", f"{array}_1")
        slurm.wait_for(lambda: self.states()[1] == "waiting", 30, "waiting again")
        machine.wait_empty(240)
        self.assertEqual(self.states(), {0: "done", 1: "done"}, self.shard_log(1))
        self.assert_complete(self.db)
        self.assert_nothing_lost(self.db, killed=1)
        runs = rows(self.dir / "shards" / "1.db", "SELECT how FROM runs ORDER BY id")
        self.assertEqual(len(runs), 2, runs)
        self.assertEqual(runs[-1][0], "finished")

    def test_a_notice_keeps_all_that_is_finished(self):
        array, _ = self.submit(shards=2, trial_ms=100)
        self.tune_of(0)
        self.wait_trials(10)
        machine.run("scancel", "--signal=TERM", "--batch", f"{array}_0")
        machine.wait_empty(180)
        self.assertEqual(self.states(), {0: "interrupted", 1: "done"}, self.shard_log(0))
        self.assertEqual(self.left_on_disks(), ["0"])
        self.assert_nothing_lost(self.db)  # not even the trial that was under way
        self.assertIn("shard 0 is merged as far as it is, but not finished (interrupted", self.merged())
        sent, _ = self.resume()
        self.assertEqual(sent, "0")
        machine.wait_empty(180)
        self.assertEqual(self.states(), {0: "done", 1: "done"})
        self.assert_complete(self.db)
        self.assert_nothing_lost(self.db)
        self.assertEqual(rows(self.db, "SELECT count(*) FROM trials")[0][0], 12 * len(PROBLEMS))

    def test_a_node_that_dies_has_its_shard_done_by_the_other(self):
        self.submit(shards=2, trials=14, trial_ms=1500)
        node = machine.wait_task(0, "RUNNING")
        copy = self.dir / "shards" / "0.db"
        slurm.wait_for(copy.exists, SAVE_S + 60, "a copy of shard 0")
        saved = hashes(copy)
        self.assertTrue(saved)
        machine.kill_node(node)
        shutil.rmtree(self.folder / "disk" / node)  # its disk is gone with it
        slurm.wait_for(lambda: machine.states()[node].startswith("down"), 90, f"{node} down")
        other = next(n for n in slurm.NODES if n != node)
        self.assertEqual(machine.wait_task(0, "RUNNING", 200), other)
        machine.wait_empty(240)
        self.assertEqual(self.states(), {0: "done", 1: "done"}, self.shard_log(0))
        self.assert_complete(self.db)
        self.assertTrue(saved <= hashes(self.db), "trials of the copy are lost")
        # The trial that was under way when the copy was made is stored as cut off, beside one that was told.
        told, cut_off = rows(self.db, "SELECT count(*), count(recovered_us) FROM trials")[0]
        self.assertEqual(told - cut_off, 14 * len(PROBLEMS))
        self.assertLessEqual(cut_off, 1)
        self.assertEqual(len(rows(copy, "SELECT 1 FROM runs")), 2)

    def test_two_arrays_at_once_into_two_databases(self):
        others = self.folder / "plan2", self.folder / "all2.db"
        # On one disk, as where tasks of both run on the same node.
        self.submit(shards=2, trial_ms=100, cpus=1, disk="both")
        self.submit(shards=2, trial_ms=100, cpus=1, disk="both", dir=others[0], db=others[1])
        slurm.wait_for(lambda: len([q for q in machine.queue() if q[1] != "N/A" and q[2] == "RUNNING"]) == 4, 60, "four tasks running")
        machine.wait_empty(240)
        for dir, db in (self.dir, self.db), others:
            self.dir = dir
            self.assertEqual(self.states(), {0: "done", 1: "done"}, self.shard_log(0))
            self.assert_complete(db, dir / "shards")
            self.assertEqual(rows(db, "SELECT count(*) FROM trials")[0][0], 12 * len(PROBLEMS))
        self.assertEqual(hashes(self.db) & hashes(others[1]), set(), "the arrays have mixed")

    def test_a_shard_that_is_sent_twice_loses_nothing_of_either_task(self):
        self.submit(shards=1, trial_ms=100)
        self.tune_of(0)
        self.run_with_fakes("sbatch", self.dir / "array.sh", trial_ms=100)  # past --resume, which would not send it now
        slurm.wait_for(lambda: len([q for q in machine.queue() if q[1] != "N/A" and q[2] == "RUNNING"]) == 2, 60, "two tasks running")
        machine.wait_empty(240)
        self.assertEqual(self.states(), {0: "done"}, self.shard_log(0))
        self.assertEqual(self.left_on_disks(), [])
        self.tune("cluster", "merge", "--dir", self.dir)
        self.assert_complete(self.db)
        self.assert_nothing_lost(self.db)
        self.assertEqual(rows(self.db, "SELECT count(*) FROM runs WHERE how = 'finished'")[0][0], 2)


if __name__ == "__main__":
    why = slurm.missing()
    if why:
        print("skipped:", why)
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="gemmtune-slurm-") as place:
        with slurm.Slurm(place) as machine: unittest.main(exit=False, verbosity=2).result.wasSuccessful() or sys.exit(1)
        left = machine.marked()
        if left: sys.exit(f"processes are left: {[slurm.command_line(pid) for pid in left]}")
