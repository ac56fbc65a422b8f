"""Errors of the disk at the n-th call on a file, n from 1 to the end.

Jobs: a whole tune with invented times into a new file, the same into one that has trials, a prediction whose compilers
fill the cache, exports to a file, an import, a merge, a verify. Each kind of fault is applied to all n of the supervisor,
or of a prediction's compiler: an error once or from then on, a full disk once or from then on, a write cut in
half with or without room for its rest, no locks, no memory for a mapping. After each: a documented exit code with one
sentence; every acknowledged trial and all older ones are in the file; `tune verify` accepts it; the command
without faults then ends well and leaves no extra files.

After a fault that was survived (exit code 0) nothing may be missing. Not tested: partial effects of a call that fails on a
real disk, and writes by stdio (the output of a command; tests/cli uses /dev/full).
"""
import errno, os, random, shutil, sqlite3, subprocess

import common

ALL = "open,create,read,write,sync,truncate,rename,unlink,mkdir,map,close"
CHANGES = "create,write,sync,truncate,rename,mkdir"
WAYS = [  # name, CAMPAIGN_DO, CAMPAIGN_CALLS
    ("EIO once", f"{errno.EIO}", ALL),
    ("EIO from then on", f"{errno.EIO}+", ALL),
    ("ENOSPC once", f"{errno.ENOSPC}", CHANGES),
    ("ENOSPC from then on", f"{errno.ENOSPC}+", CHANGES),
    ("short write", "short", "write"),
    ("short write, then ENOSPC", "short+", CHANGES),
    ("EIO from a lock", f"{errno.EIO}", "lock"),
    ("no locks", f"{errno.ENOLCK}+", "lock"),
    ("ENOMEM for a mapping", f"{errno.ENOMEM}+", "map"),
    ("EACCES", f"{errno.EACCES}", "open,create,rename,unlink,mkdir"),
]


class Job:
    def __init__(self, name, words, fake=True, who="-", outputs=()):
        self.name, self.words, self.fake, self.who = name, words, fake, who
        self.outputs, self.reads, self.content = outputs, words[0] in ("export", "verify", "query"), b""


def jobs(setting, folder):
    db, trials = folder("t.db"), ["--max-trials", "6"]
    real = ["tune", "--shape", "64x64x64", "--gpu", "h200", "--budget", "20s", "--max-trials", "1", "--jobs", "1", "--db", db,
            "--cache", folder("cache")]
    found = [
        Job("tune into a new file", common.fake_tune(setting, db, ["512x512x512"], *trials)),
        Job("tune into a full one", common.fake_tune(setting, db, ["640x512x512"], *trials)),
        Job("export", ["export", "--db", db, "--header", folder("w.h")], outputs=["w.h"]),
        Job("export of trials", ["export", "--db", db, "--t4", "-o", folder("t4.json")], outputs=["t4.json"]),
        Job("import", ["import", folder("in.jsonl"), "--db", db]),
        Job("merge", ["merge", db, folder("other.db")]),
        Job("verify", ["verify", "--db", db]),
        Job("query", ["query", "--db", db]),
    ]
    if not setting.quick: found += [Job("prediction", real, fake=False), Job("compiler of a prediction", real, fake=False, who="_compiler")]
    return found


def worth_it(job, way):
    """A compiler takes seconds, and has no database."""
    return job.fake or way[0] in ("EIO once", "ENOSPC from then on", "short write", "EACCES")


def prepare(setting, seed):
    """Input of the jobs: a database, another one, an export."""
    for name, shape in (("t.db", "512x512x512"), ("other.db", "768x512x512")):
        run = common.Run(setting, seed, common.fake_tune(setting, seed(name), [shape], "--max-trials", "12"), common.UNPLANTED)
        if run.wait() != 0: raise RuntimeError("no database to begin with: " + run.said())
    out = subprocess.run([setting.tune, "export", "--json", "--db", seed("other.db")], capture_output=True, text=True,
                         env=common.clean_environment(seed))
    with open(seed("in.jsonl"), "w") as file: file.write(out.stdout)
    if not setting.quick:
        words = next(j.words for j in jobs(setting, seed) if j.name == "prediction")
        words = [seed("p.db") if word == seed("t.db") else word for word in words]
        if common.Run(setting, seed, words, common.UNPLANTED, fake=False).wait() != 0: raise RuntimeError("no kernels to begin with")
    shutil.rmtree(seed("home"), ignore_errors=True)


def begin(seed, folder, job):
    for name in os.listdir(folder.path):
        path = folder(name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for name in ("t.db", "other.db", "in.jsonl"):
        if name == "t.db" and job.name in ("tune into a new file", "prediction", "compiler of a prediction"): continue
        shutil.copyfile(seed(name), folder(name))
    with open(seed("t.db"), "rb") as file: job.content = file.read()
    if job.name == "prediction": shutil.copytree(seed("cache"), folder("cache"))


def strike(setting, seed, folder, job, way, n, result):
    """One run with one fault. False: there were fewer than n calls."""
    name, do, calls = way
    begin(seed, folder, job)
    before = common.all_trials(folder("t.db"), folder)
    env = setting.preload("io") | {"CAMPAIGN_WHO": job.who, "CAMPAIGN_AT": str(n), "CAMPAIGN_DO": do if setting.faults else "",
                                   "CAMPAIGN_FIRED": folder("fired")}
    if not setting.faults: env["CAMPAIGN_AT"] = "0"
    if calls: env["CAMPAIGN_CALLS"] = calls
    run = common.Run(setting, folder, job.words, env, fake=job.fake)
    code = run.wait()
    fired = open(folder("fired")).readline().strip() if os.path.exists(folder("fired")) else ""
    if not fired: return False
    result.tested += 1
    result.add(job.name)
    case = f"{job.name}, {name} at call {n} ({fired})"
    if (why := common.wrong_end(run, code)): result.found("ended badly", f"{case}: {why}")
    if run.left(): result.found("orphans", case)
    try: judge(setting, folder, job, run, code, before, case, result)
    except sqlite3.DatabaseError as why: result.found("verify", f"SQLite cannot read the file ({why}): {case}")
    return True


def judge(setting, folder, job, run, code, before, case, result):
    db = folder("t.db")
    total = common.judge_trials(result, run, db, folder, before, case)
    if code == 0 and job.fake and job.words[0] == "tune":
        short = common.whole(run.log) - common.stored(common.copy_database(db, folder))
        if short: result.found("lost", f"{sum(short.values())} trials of a run that ended with 0: {case}")
    if job.reads:
        with open(db, "rb") as file: unchanged = file.read() == job.content
        if not unchanged: result.found("written by a reader", case)
    else:
        common.judge_file(result, setting, db, folder, before, total, case)
    for output in job.outputs:
        whole = os.path.exists(folder(output))
        if whole != (code == 0): result.found("output", f"exit code {code}, but the file is {'there' if whole else 'absent'}: {case}")
    # Commands that only read are not repeated; those that write the same file in the same way are repeated
    # for every third n.
    if (job.words[0] == "tune" or job.outputs or code) and result.tested % 3 == 0: again(setting, folder, job, before, case, result)


def again(setting, folder, job, before, case, result):
    """Repeats the command without faults."""
    run = common.Run(setting, folder, job.words, fake=job.fake, log="log2")
    if (why := common.wrong_end(run, run.wait(), {0})): result.found("the next run ended badly", f"{case}: {why}")
    if before - common.all_trials(folder("t.db"), folder): result.found("lost", f"by the next run: {case}")
    # On a disk where nothing can be removed, temporary files remain.
    stuck = "unlink " in open(folder("fired")).read()
    names = common.litter(folder, folder("t.db"), ("other.db", "in.jsonl", *job.outputs), cut_off=stuck)
    if names: result.found("left behind", f"{names}: {case}")


def step_of(setting, way, rng):
    """The first n and the step to the next. There are so many lock calls that only every seventh is tested."""
    if way[0] == "no locks": return 1, 1
    if setting.quick: return rng.randint(1, 90), 90
    return (rng.randint(1, 7), 7) if way[0] == "EIO from a lock" else (1, 1)


def run(setting, result):
    rng = random.Random(setting.random.random())
    ended = 0
    with common.Folder() as seed, common.Folder() as folder:
        prepare(setting, seed)
        # The ways of failing alternate, so that each gets a part of the time if it is too short for all.
        plan = [[job, way, *step_of(setting, way, rng), False] for way in WAYS for job in jobs(setting, folder) if worth_it(job, way)]
        turn = 0
        while (open_ones := [p for p in plan if not p[4]]) and not setting.time_is_up():
            turn += 1
            if result.findings and setting.plant: return
            for p in open_ones:
                if not p[0].fake and turn % 20 != 1: continue
                if setting.time_is_up() or (result.findings and setting.plant): break
                job, way, n, step, _ = p
                p[4] = not strike(setting, seed, folder, job, way, n, result) or way[0] == "no locks"  # then for all calls
                p[2] = n + step
                if p[4] and step == 1 and way[0] == "EIO once": result.figures[f"calls of {job.name}"] = n - 1
                ended += p[4]
        result.figures["ways that went to the end of their job"] = f"{ended} of {len(plan)}"
