#!/usr/bin/env python3
"""Kill the tuner 20 times at random moments on a real GPU: nothing finished may be lost.

    kills.py TUNE SHAPE [KILLS] [TRIALS]

A first run, with a separate database, is not killed. A second one is killed (SIGKILL: the supervisor, or its GPU worker)
at random moments and started again each time. Then:
  - every trial that was in the file before a kill is there afterwards, unchanged, and there was at least one;
  - the file passes `tune verify`;
  - the run that is not killed ends with the same winner, or one whose ratio to cuBLAS is within 1 %.
Exits 77 (skipped) without a GPU.
"""
import json, os, random, signal, sqlite3, subprocess, sys, tempfile, time

tune, shape = os.path.abspath(sys.argv[1]), sys.argv[2]
kills = int(sys.argv[3]) if len(sys.argv) > 3 else 20
trials = sys.argv[4] if len(sys.argv) > 4 else "400"
folder = tempfile.mkdtemp(prefix="gemmtune-kills-")


def command(db, budget):
    return [tune, "--shape", shape, "--db", db, "--strategy", "exhaustive", "--max-trials", trials, "--budget", budget,
            "--cache", os.path.join(folder, "cache"), "--format", "json"]


def finished(db):
    """Every stored trial as a row: key, verdict, samples."""
    if not os.path.exists(db): return set()
    base = sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=5)
    try:
        return {tuple(map(str, row)) for row in base.execute("select * from trials")}
    except sqlite3.OperationalError:
        return set()  # no table yet
    finally:
        base.close()


def worker_of(pid):
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{entry}/cmdline").read().split("\0")
            parent = int(open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == pid and "_worker" in words: return int(entry)
    return None


def winner(db):
    out = subprocess.run([tune, "query", "--db", db, "--shape", shape, "--format", "json"], capture_output=True, text=True)
    return json.loads(out.stdout)[0]


if subprocess.run([tune, "doctor"], capture_output=True, text=True).stdout.find("GPU 0     yes") < 0:
    print("skipped: no GPU")
    sys.exit(77)

random.seed(int(os.environ.get("GEMMTUNE_SEED", "1")))
calm, wild = os.path.join(folder, "calm.db"), os.path.join(folder, "wild.db")
subprocess.run(command(calm, "60s"), check=True, capture_output=True)

supervisors = workers = lost = 0
for number in range(kills):
    run = subprocess.Popen(command(wild, "20s"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0.05, 6.0))
    before = finished(wild)
    worker = worker_of(run.pid)
    if worker and number % 2:
        workers += 1
        os.kill(worker, signal.SIGKILL)
        time.sleep(random.uniform(0.05, 0.8))
        before |= finished(wild)
    else:
        supervisors += 1
    run.kill()
    run.wait()
    lost += len(before - finished(wild))
kept = len(finished(wild))
end = subprocess.run(command(wild, "60s"), capture_output=True, text=True)
check = subprocess.run([tune, "verify", "--db", wild], capture_output=True, text=True)

x, y = winner(calm), winner(wild)
same = x["configuration"] == y["configuration"]
near = abs(x["ratio"] / y["ratio"] - 1) <= 0.01
print(f"kills: {supervisors} of the supervisor alone, {workers} of the worker and then the supervisor; "
      f"trials kept {kept}, lost {lost}; resumed run exit {end.returncode}; verify exit {check.returncode}")
print(f"calm winner {x['ratio']:.4f} x cuBLAS, wild winner {y['ratio']:.4f} x cuBLAS: "
      f"{'the same configuration' if same else 'a tie' if near else 'DIFFERENT'}")
sys.exit(0 if kept > 0 and lost == 0 and end.returncode == 0 and check.returncode == 0 and (same or near) else 1)
