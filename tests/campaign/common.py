"""Shared by the parts of the campaign: a tuner whose children invent times, the trials that it acknowledged, the content of
the file afterwards, and its processes that are left.

A trial is acknowledged when the program has gone on from it: a GPU worker is asked for its next trial, block or check
only after the outcome of the one before has been committed. So the log that the fake children write (FAKE_LOG) says what
must be in the file, and it is written by other processes than the one that is tested.
"""
import collections, json, os, random, re, shutil, signal, sqlite3, subprocess, tempfile, time, uuid

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130}  # exit codes (tuner/manual.txt)
HANG_S = 60  # a tune of a few dozen invented trials takes a tenth of a second
DATABASE_FILES = {"", "-wal", "-shm", "-journal", ".lock"}


PLANTED_BY = {"lost-commit": ["io"], "no-fsync": ["io"], "deaf": ["io"], "wall-clock": ["clock"]} | {
    defect: ["plant"] for defect in ("lost-trial", "lost-rows", "unchecked", "two-writers", "orphan", "litter")}


UNPLANTED = {"LD_PRELOAD": "", "CAMPAIGN_PLANT": ""}  # for preparing an experiment


class Result:
    """Results of a part: number of faults, findings and figures."""

    def __init__(self, part):
        self.part, self.tested, self.findings, self.figures = part, 0, [], {}

    def add(self, figure, number=1):
        self.figures[figure] = self.figures.get(figure, 0) + number

    def found(self, what, detail=""):
        self.findings.append(f"{what}: {detail}" if detail else what)


class Setting:
    """The programs' paths, the time limit of a part, whether faults are injected, and the planted defect."""

    def __init__(self, build, debug, seed, faults, plant, quick, verbose):
        self.build, self.debug, self.seed, self.faults, self.plant = build, debug, seed, faults, plant
        self.quick, self.verbose = quick, verbose
        self.tune = os.path.join(build, "tune")
        self.child = os.path.join(build, "tests", "fake_child")
        self.random = random.Random(seed)
        self.until = 0.0

    def shim(self, name):
        return os.path.join(self.build, "tests", "campaign", f"campaign_{name}.so")

    def time_is_up(self):
        return time.monotonic() >= self.until

    def preload(self, *names):
        """Environment variables that preload the shims and set the planted defect."""
        names = list(dict.fromkeys(list(names) + PLANTED_BY.get(self.plant, [])))
        env = {"LD_PRELOAD": " ".join(map(self.shim, names))} if names else {}
        if self.plant: env["CAMPAIGN_PLANT"] = self.plant
        return env


class Folder:
    """A folder for one experiment, in memory if there is room; removed with its content afterwards."""

    def __init__(self, on_disk=False):
        memory = not on_disk and os.access("/dev/shm", os.W_OK)
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="gemmtune-campaign-", dir="/dev/shm" if memory else None))

    def __enter__(self): return self

    def __exit__(self, *unused):
        shutil.rmtree(self.path, ignore_errors=True)

    def __call__(self, *names): return os.path.join(self.path, *names)


def clean_environment(folder):
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return keep | {"HOME": folder("home"), "LC_ALL": "C"}


class Run:
    """A started process of `tune`; its output goes to files in the folder."""

    def __init__(self, setting, folder, words, env=None, fake=True, log="log", cwd=None, prefix=(), **more):
        self.folder, self.mark, self.log = folder, uuid.uuid4().hex, folder(log)
        variables = clean_environment(folder) | {"CAMPAIGN_RUN": self.mark, "FAKE_LOG": self.log, "CAMPAIGN_BELOW": folder.path}
        if fake: variables["GEMMTUNE_EXE"] = setting.child
        else: variables["GEMMTUNE_LIBCUDA"] = folder("no-driver")
        self.out, self.err = folder(log + ".out"), folder(log + ".err")
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([*prefix, setting.tune, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            cwd=cwd or folder(), env=variables | setting.preload() | (env or {}), **more)
        self.pid = self.process.pid

    def wait(self, limit_s=HANG_S):
        """The exit code, or the negative signal number; None: it hung and was killed."""
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def said(self):
        with open(self.err, "rb") as file: return file.read().decode(errors="replace")

    def printed(self):
        with open(self.out, "rb") as file: return file.read().decode(errors="replace")

    def left(self, patience_s=20):
        """Its processes that still exist, after some time for pending signals. All of them are killed."""
        end = time.monotonic() + patience_s
        while (found := self.processes()) and time.monotonic() < end: time.sleep(0.005)
        for pid in found:
            try: os.kill(pid, signal.SIGKILL)
            except ProcessLookupError: pass
        return found

    def processes(self):
        mark, found = f"CAMPAIGN_RUN={self.mark}".encode(), []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            if int(entry) == self.pid and self.process.returncode is None: continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file: mine = mark in file.read().split(b"\0")
                with open(f"/proc/{entry}/stat") as file: dead = file.read().rsplit(")", 1)[1].split()[0] in "ZX"
            except OSError:
                continue
            if mine and not dead: found.append(int(entry))
        return found


def fake_tune(setting, db, shapes, *words, jobs=1):
    """The arguments of a complete tune with invented times."""
    space = os.path.join(SOURCES, "tests", "fake", "space.conf")
    shape_words = [word for shape in shapes for word in ("--shape", shape)]
    return ["tune", "--space", space, "--db", db, "--cache", os.path.join(os.path.dirname(db), "cache"), "--format", "json",
            "--jobs", str(jobs), "--no-pretuned", *shape_words, *words]


def random_shape(rng):
    return "x".join(str(64 * rng.randint(4, 40)) for _ in range(3))


# ---- acknowledged and stored trials ----

def acknowledged(log):
    """How often each configuration's trial was finished according to the children of one run (see the module's docstring)."""
    last, done = {}, collections.Counter()
    if not os.path.exists(log): return done
    with open(log, errors="replace") as file:
        for line in file:
            verb, pid, config = (line.rstrip("\n").split(" ", 2) + ["", ""])[:3]
            if verb not in ("trial", "block", "verify") or not line.endswith("\n"): continue
            if pid in last: done[last.pop(pid)] += 1
            if verb == "trial": last[pid] = config
    return done


def whole(log):
    """The same for a run that ended well: every requested trial."""
    with open(log) as file: return collections.Counter(l.split(" ", 2)[2].strip() for l in file if l.startswith("trial "))


def rows(db, sql, *values):
    base = sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=10)
    try: return base.execute(sql, values).fetchall()
    finally: base.close()


def copy_database(db, folder, name="copy"):
    """A copy of the file with its log, as after a power failure; only SQLite reads it, not the program."""
    target = folder(name, "t.db")
    shutil.rmtree(folder(name), ignore_errors=True)
    os.mkdir(folder(name))
    for suffix in ("", "-wal", "-journal"):
        if os.path.exists(db + suffix): shutil.copyfile(db + suffix, target + suffix)
    return target


def stored(copy):
    """Configurations of the newest run's trials; none if there is no run."""
    base = sqlite3.connect(copy)  # opened for writing, so that it replays the log
    try:
        if not base.execute("SELECT 1 FROM sqlite_schema WHERE name = 'trials'").fetchone(): return collections.Counter()
        return collections.Counter(row[0] for row in base.execute(
            "SELECT c.text FROM trials t JOIN configs c ON c.id = t.config_id "
            "WHERE t.run_id = (SELECT max(id) FROM runs) AND t.recovered_us IS NULL"))
    finally:
        base.close()


def all_trials(db, folder):
    """The hashes of all trials, read by SQLite without the program."""
    if not os.path.exists(db) or os.path.getsize(db) == 0: return set()
    base = sqlite3.connect(copy_database(db, folder, "copy-all"))
    try:
        if not base.execute("SELECT 1 FROM sqlite_schema WHERE name = 'trials'").fetchone(): return set()
        return {row[0] for row in base.execute("SELECT hash FROM trials")}
    finally:
        base.close()


def missing(run, db):
    """Acknowledged trials that are not in the file, and the number of acknowledged trials."""
    acks = acknowledged(run.log)
    total = sum(acks.values())
    if total == 0: return [], 0
    if not os.path.exists(db): return list(acks), total
    return list((acks - stored(copy_database(db, run.folder))).elements()), total


def judge_trials(result, run, db, folder, before, case):
    """Counts what was acknowledged by this run, or was there before it, and is not there any more; how many were acknowledged."""
    lost, total = missing(run, db)
    result.add("trials acknowledged", total)
    gone = before - all_trials(db, folder)
    result.add("trials lost", len(lost) + len(gone))
    if lost or gone:
        first = f", the first acknowledged: {lost[0]}" if lost else ""
        result.found("lost", f"{len(lost)} of {total} acknowledged and {len(gone)} earlier trials: {case}{first}")
    return total


def judge_file(result, setting, db, folder, before, total, case):
    """`tune verify` finds nothing; there may be no file if no trial was in one."""
    code, said = verify(setting, db, folder)
    if code and not (code == 1 and not before and total == 0): result.found("verify", f"exit code {code}: {case}: {said[-300:]}")


def verify(setting, db, folder, env=None):
    """The result of `tune verify` for it: exit code and message."""
    out = subprocess.run([setting.tune, "verify", "--db", db], capture_output=True, text=True, errors="replace", timeout=HANG_S,
                         env=clean_environment(folder) | (setting.preload() if setting.plant == "unchecked" else {}) | (env or {}),
                         cwd=folder())
    return out.returncode, out.stderr.strip() or out.stdout.strip()


def litter(folder, db, allowed=(), running=False, cut_off=False):
    """Unexpected names in the folder. A database that is not in use is one file. cut_off: files that the program could not
    remove are no finding either, because it was killed or the disk allowed no removal."""
    names = set(os.listdir(os.path.dirname(db)))
    base = os.path.basename(db)
    fine = {base + suffix for suffix in (DATABASE_FILES if running else {""})} | set(allowed)
    names = {n for n in names - fine if not re.match(r"(log|copy|cache|home|fired|trace)", n)}
    if cut_off: names = {n for n in names if not n.startswith(".")}
    cache = os.path.join(os.path.dirname(db), "cache")
    if os.path.isdir(cache) and not running and not cut_off: names |= {f"cache/{n}" for n in os.listdir(cache) if n.startswith(".")}
    return sorted(names)


SENTENCE = re.compile(r"^tune: \S.*", re.M)


def wrong_end(run, code, allowed=None, most=1):
    """In what way a run did not end as documented; "" if it did."""
    said = run.said()
    if code is None: return f"it hung for {HANG_S} s"
    if "Sanitizer" in said or "runtime error" in said: return "sanitizer: " + said[-300:]
    if code not in (allowed or DOCUMENTED): return f"exit code {code}: {said[-200:]}"
    if code > 0 and not 1 <= len(SENTENCE.findall(said)) <= most: return f"exit code {code} with {len(SENTENCE.findall(said))} sentences: {said[-300:]}"
    return ""
