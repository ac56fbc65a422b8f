"""64 shards, merged twice in shuffled order: the content does not depend on the order, nothing is missing or duplicated.

The content is read by SQLite without the program: the hashes of all rows of all tables (db/schema.sql lists what they
cover), how runs ended, the runners of races, and the winner of each key; row ids do not count. `tune verify` checks that
the hashes match the rows.
"""
import hashlib, os, random, shutil, sqlite3, subprocess

import common

SHARDS = 64
PARTS = [
    "SELECT 'gpu', hash, name, arch, sm_count FROM gpus",
    "SELECT 'figures', hash FROM gpu_figures",
    "SELECT 'problem', hash, text, m, n, k, batch FROM problems",
    "SELECT 'config', hash, text FROM configs",
    "SELECT 'run', hash, ended_us, how FROM runs",
    "SELECT 'trial', t.hash, r.hash, p.text, c.text, t.time_us, t.samples_us FROM trials t JOIN runs r ON r.id = t.run_id "
    "JOIN problems p ON p.id = t.problem_id JOIN configs c ON c.id = t.config_id",
    "SELECT 'decision', d.hash, r.hash, p.text, d.time_us FROM decisions d JOIN runs r ON r.id = d.run_id "
    "JOIN problems p ON p.id = d.problem_id",
    "SELECT 'runner', d.hash, x.runner, c.text FROM decision_runners x JOIN decisions d ON d.id = x.decision_id "
    "JOIN configs c ON c.id = x.config_id",
    "SELECT 'sample', d.hash, x.position, x.runner, x.round, x.time_us FROM decision_samples x JOIN decisions d ON d.id = x.decision_id",
    "SELECT 'winner', g.hash, p.text, w.cold, d.hash FROM winners w JOIN gpus g ON g.id = w.gpu_id "
    "JOIN problems p ON p.id = w.problem_id JOIN decisions d ON d.id = w.decision_id",
]


def content(db):
    """A hash of the sorted rows."""
    base = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    try: lines = sorted(repr(row) for part in PARTS for row in base.execute(part))
    finally: base.close()
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def make_shards(setting, folder, count, rng):
    """Few problems for many shards, so that their winners compete; an interrupted run, and one that continues in the same file."""
    shapes = [common.random_shape(rng) for _ in range(max(3, count // 6))]
    paths = []
    for i in range(count):
        os.mkdir(folder(f"s{i}"))
        path = folder(f"s{i}", "t.db")
        for part in range(rng.choice([1, 1, 2])):
            words = common.fake_tune(setting, path, [rng.choice(shapes)], "--max-trials", str(rng.randint(3, 25)))
            run = common.Run(setting, folder, words, common.UNPLANTED, log=f"log-{i}-{part}")
            if i % 8 == 7 and part == 0:
                while run.process.poll() is None and not common.acknowledged(run.log): pass
                run.process.kill()
                run.wait()
                run.left()
            elif run.wait() != 0: raise RuntimeError("no shard: " + run.said())
        if i % 5 == 4:  # the same rows in two shards
            for name in os.listdir(folder(f"s{i}")):
                if name.startswith("t.db"): os.unlink(folder(f"s{i}", name))
            shutil.copyfile(rng.choice([p for p in paths if not os.path.exists(p + "-wal")]), path)
        if os.path.exists(path): paths.append(path)
    return paths


def merge(setting, folder, to, paths, result):
    out = subprocess.run([setting.tune, "merge", to, *paths], capture_output=True, text=True, timeout=600,
                         env=common.clean_environment(folder) | setting.preload())
    if out.returncode: result.found("merge", f"exit code {out.returncode}: {out.stderr.strip()[-300:]}")
    return out.returncode == 0


def run(setting, result):
    rng = random.Random(setting.random.random())
    with common.Folder() as folder:
        if not setting.faults: return
        paths = make_shards(setting, folder, 12 if setting.quick else SHARDS, rng)
        want = set().union(*(common.all_trials(path, folder) for path in paths))
        seen = set()
        orders = 0
        while orders < 2 or (not setting.quick and not setting.time_is_up()):
            to = folder(f"all{orders}.db")
            for again in range(2):
                rng.shuffle(paths)
                cuts = sorted(rng.sample(range(1, len(paths)), 3))  # several calls
                for part in (paths[a:b] for a, b in zip([0, *cuts], [*cuts, len(paths)])):
                    if not merge(setting, folder, to, part, result): return
                result.tested += len(paths)
                seen.add(content(to))
                missing, more = want - common.all_trials(to, folder), common.all_trials(to, folder) - want
                # A shard whose tuner was killed has open attempts, which a merge does not turn into trials.
                if missing: result.found("lost", f"{len(missing)} of {len(want)} trials, order {orders + 1}, merged {again + 1} times")
                if more: result.found("merge", f"{len(more)} trials that no shard has")
            code, said = common.verify(setting, to, folder)
            if code: result.found("verify", f"exit code {code}: {said[-200:]}")
            orders += 1
            os.unlink(to)
            if result.findings and setting.plant: return
        result.figures |= {"shards": len(paths), "orders": orders, "trials": len(want), "different contents": len(seen),
                           "content": sorted(seen)[0][:16]}
        if len(seen) != 1: result.found("merge", f"{len(seen)} different contents after merging in {orders} orders")
