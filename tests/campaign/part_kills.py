"""Random SIGKILLs of supervisor and children during whole runs of the tuner.

After each: SQLite without the program finds every acknowledged trial in the file, and all of earlier runs; `tune verify`
accepts it; no process of the run and no unexpected file is left. Killed are the supervisor, after a random time or
at a random call on its files (so that every place in the code is reached), workers and compilers, and the real
compilers of a prediction. At the end the same command finishes and leaves one file.

Not tested: the state after a power cut (part power), kills of the real GPU worker (tests/gpu/kills.py).
"""
import os, random, signal, time

import common

TARGET = 1000
IN_A_FOLDER = 20  # kills of tuners with the same file


def children_of(run):
    """(pid, whether it is a worker) of each running child."""
    found = []
    for pid in run.processes():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file: words = file.read().split(b"\0")
        except OSError:
            continue
        if b"_worker" in words or b"_compiler" in words: found.append((pid, b"_worker" in words))
    return found


def slow_down(rng):
    """Varies the durations of the phases, so that random moments fall into each."""
    return {"FAKE_TRIAL_MS": rng.choice("0001"), "FAKE_COMPILE_MS": rng.choice("0002"), "FAKE_BLOCK_MS": rng.choice("001"),
            "FAKE_PREPARE_MS": rng.choice(["0", "0", "20"]), "FAKE_DEVICES": rng.choice("1112")}


def kill_supervisor(setting, run, result, rng):
    time.sleep(rng.choice([rng.uniform(0, 0.02), rng.uniform(0, 0.3)]))
    run.process.kill()
    if run.wait() == -signal.SIGKILL: result.add("supervisor, at a random time")


def kill_children(setting, run, result, rng):
    """Kills a worker or a compiler once or a few times, then possibly the supervisor."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        time.sleep(rng.uniform(0.005, 0.1))
        victims = children_of(run)
        if not victims: break
        pid, worker = rng.choice(victims)
        try: os.kill(pid, signal.SIGKILL)
        except ProcessLookupError: continue
        result.add("workers" if worker else "compilers")
    if rng.random() < 0.5:
        kill_supervisor(setting, run, result, rng)
        return
    why = common.wrong_end(run, run.wait())
    if why: result.found("a run whose children were killed ended badly", why)


def start_one(setting, folder, db, rng):
    """Starts a run, and chooses how it is killed."""
    way = rng.choices(["time", "call", "children", "compilers"], [4, 3, 2.5, 0 if setting.quick else 0.3])[0]
    shapes = [common.random_shape(rng) for _ in range(rng.choice([1, 1, 2]))]
    env = slow_down(rng)
    if way == "compilers":
        words = ["tune", "--shape", shapes[0], "--gpu", "h200", "--budget", "6s", "--db", db, "--cache", folder("cache"),
                 "--max-trials", "6", "--jobs", "2"]
        return way, common.Run(setting, folder, words, env, fake=False)
    if way == "call":
        env |= setting.preload("io") | {"CAMPAIGN_WHO": "-", "CAMPAIGN_DO": "signal9",
                                        "CAMPAIGN_AT": str(int(2 ** rng.uniform(0, 11.5)))}
    words = common.fake_tune(setting, db, shapes, "--max-trials", str(rng.choice([20, 60, 256])), jobs=rng.choice([1, 2, 4]))
    return way, common.Run(setting, folder, words, env)


def kill_one(setting, folder, db, result, rng):
    before = common.all_trials(db, folder)
    if os.path.exists(folder("log")): os.unlink(folder("log"))
    way, run = start_one(setting, folder, db, rng)
    if not setting.faults:
        run.wait()
    elif way == "time":
        kill_supervisor(setting, run, result, rng)
    elif way == "children":
        kill_children(setting, run, result, rng)
    elif way == "call":
        if run.wait() == -signal.SIGKILL: result.add("supervisor, at the n-th call on a file")
    else:
        time.sleep(rng.uniform(0.2, 4))
        run.process.kill()
        if run.wait() == -signal.SIGKILL: result.add("supervisor of real compilers")
    look(setting, folder, db, run, before, result, way)


def look(setting, folder, db, run, before, result, way):
    orphans = run.left()
    result.add("orphans", len(orphans))
    if orphans: result.found("orphans", f"{len(orphans)} after a kill ({way})")
    total = common.judge_trials(result, run, db, folder, before, f"after a kill ({way})")
    common.judge_file(result, setting, db, folder, before, total, f"after a kill ({way})")
    if (names := common.litter(folder, db, running=True)): result.found("left behind", f"{names} after a kill ({way})")


def finish(setting, folder, db, result, rng):
    """A tuner that is not killed cleans up after all others."""
    before = common.all_trials(db, folder)
    if os.path.exists(folder("log")): os.unlink(folder("log"))
    run = common.Run(setting, folder, common.fake_tune(setting, db, [common.random_shape(rng)], "--max-trials", "30"))
    why = common.wrong_end(run, run.wait(), {0})
    if why: result.found("the run after the kills ended badly", why)
    if run.left(): result.found("orphans", "after a run that ended by itself")
    if before - common.all_trials(db, folder): result.found("lost", "trials of earlier runs, by a run that ended by itself")
    short = common.whole(run.log) - common.stored(common.copy_database(db, folder))
    if short: result.found("lost", f"{sum(short.values())} trials of a run that ended by itself")
    code, said = common.verify(setting, db, folder)
    if code: result.found("verify", f"exit code {code} at rest: {said[-300:]}")
    if (names := common.litter(folder, db, cut_off=True)): result.found("left behind", f"{names} at rest")
    result.add("runs that were let through")


HITS = ("supervisor, at a random time", "supervisor, at the n-th call on a file", "workers", "compilers", "supervisor of real compilers")


def run(setting, result):
    rng = random.Random(setting.random.random())
    target = 30 if setting.quick else TARGET
    while result.tested < target and not setting.time_is_up():
        with common.Folder() as folder:
            db = folder("t.db")
            for _ in range(IN_A_FOLDER):
                kill_one(setting, folder, db, result, rng)
                result.tested = sum(result.figures.get(hit, 0) for hit in HITS)
                if result.findings and setting.plant: return
                if result.tested >= target or setting.time_is_up(): break
            finish(setting, folder, db, result, rng)
        if not setting.faults: break
