#!/usr/bin/env python3
"""merge_rate.py TUNE STORE_MANY: what tune merge costs for many trials, and that a merge which is killed leaves the file as it
was.

Rate in trials a second of processor time, so that other programs on the machine count little; the aim of 50,000 a second is of
docs/results/host-database.md, measured by hand with twenty times as many trials.
"""
import os, resource, signal, sqlite3, subprocess, sys, tempfile, time

SHARDS, TRIALS, PROBLEMS = 16, 20000, 40
RATE_LEAST = 45000  # trials a second of processor time
AGAIN_LEAST = 60000  # the same, where all of them are known
MEMORY_MOST = 700 << 20  # bytes: the cache of 400 MB, 64 for sorting, and the files being read


def check(holds, what):
    if not holds: sys.exit(f"merge_rate: {what}")


def content(path):
    """Numbers of rows, and the hashes of all that counts."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        def one(sql): return db.execute(sql).fetchone()
        indices = db.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1").fetchall()
        return [one("SELECT count(*), count(DISTINCT hash) FROM trials"), one("SELECT count(*) FROM problems"),
                one("SELECT count(*) FROM winners"), one("SELECT group_concat(hex(hash)) FROM (SELECT hash FROM decisions ORDER BY 1)"),
                one("SELECT total(substr(hash, 1, 1) = x'00'), min(hash), max(hash) FROM trials"), indices]


def main():
    tune, store_many = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="gemmtune-merge-") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        shards = [os.path.join(folder, f"shard{i}.db") for i in range(SHARDS)]
        out = os.path.join(folder, "all.db")
        for i, shard in enumerate(shards):
            subprocess.run([store_many, shard, str(TRIALS), str(PROBLEMS), str(PROBLEMS), str(i * PROBLEMS)], check=True,
                           stdout=subprocess.DEVNULL)

        def merge(files, **more):
            return subprocess.run([tune, "merge", out, *files], capture_output=True, text=True, **more)

        # Killed half way: what was in the file before is there, and nothing else.
        check(merge(shards[:1]).returncode == 0, "the first shard is not merged")
        before, killed = content(out), 0
        for share in (0.05, 0.3, 0.6):
            process = subprocess.Popen([tune, "merge", out, *shards], stdout=subprocess.DEVNULL)
            time.sleep(share * SHARDS * TRIALS / 1e5)
            process.send_signal(signal.SIGKILL)
            if process.wait() == -signal.SIGKILL: killed += 1
            check(subprocess.run([tune, "verify", "--db", out], capture_output=True).returncode == 0, f"killed at {share}: verify fails")
            now = content(out)
            check(now == before or process.returncode == 0, f"killed at {share}: the file has changed: {now}")
        check(killed > 0, "no merge was still going on when it was killed")
        for name in os.listdir(folder):  # a killed merge may leave a journal
            if name.startswith("all.db"): os.unlink(os.path.join(folder, name))

        def timed(files):
            """The run, and its trials a second of processor time."""
            start = resource.getrusage(resource.RUSAGE_CHILDREN)
            run = merge(files)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            check(run.returncode == 0, run.stderr)
            return run, SHARDS * TRIALS / (end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)

        run, rate = timed(shards)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10  # the most of all children
        print(f"{rate:.0f} trials a second of processor time, at most {memory >> 20} MiB")
        once = content(out)
        check(once[0] == (SHARDS * TRIALS, SHARDS * TRIALS), f"{once[0]} trials in place of {SHARDS * TRIALS}")
        check(once[1] == (SHARDS * PROBLEMS,) and once[2] == (SHARDS * PROBLEMS,), f"{once[1]} problems, {once[2]} winners")
        check(len(once[5]) == 3, f"indices {once[5]}")
        check(memory <= MEMORY_MOST, f"{memory} bytes of memory, at most {MEMORY_MOST} expected")

        run, again = timed(reversed(shards))
        print(f"{again:.0f} where all are known")
        check(": 0 trials, 0 decisions, 0 runs added" in run.stdout, f"merged twice: {run.stdout}{run.stderr}")
        check(content(out) == once, "merging twice has changed the file")
        check(rate >= RATE_LEAST, f"{rate:.0f} trials a second of processor time, at least {RATE_LEAST} expected")
        check(again >= AGAIN_LEAST, f"{again:.0f} known trials a second of processor time, at least {AGAIN_LEAST} expected")


main()
