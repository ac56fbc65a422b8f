"""Mutated files: none crashes the program or hangs it for 10 s, and damaged parts are not accepted.

Most are mutated and read in one process by the fuzz programs (tests/fuzz, which also check what is accepted),
with other seeds than in the tests; a tenth of them under the sanitizers if there is such a build. Some are read by the
whole program. Rows changed by hand are tested, too: `tune verify` finds each, and nothing is exported.

Each reading of a mutated file counts once. The fuzz programs report how often something in a file was accepted; this is
among the figures, since files that are all refused at the first byte prove little.
"""
import os, random, re, shutil, sqlite3, subprocess, time

import common

HANG_S = 10
HANG_QUICK_S = 40  # as a test it may share its machine with other processes


def limit_s(setting): return HANG_QUICK_S if setting.quick else HANG_S


SEEDS = os.path.join(common.SOURCES, "tests", "fuzz", "seeds")
CONFIGS = os.path.join(common.SOURCES, "configs")

# Files to mutate, the program that reads them, the number of mutations, the additional number under the
# sanitizers, and the seeds.
TARGETS = [
    ("messages", "message", 20000, 2500, ["message"]),
    ("cache entries", "cache", 14000, 1500, ["cache"]),
    ("suites and captures", "suite", 22000, 3000, ["suite", os.path.join(CONFIGS, "suites")]),
    ("space files", "space", 14000, 1500, ["space", os.path.join(CONFIGS, "spaces")]),
    ("GPU files", "gpu", 2500, 200, ["gpu", os.path.join(CONFIGS, "gpus")]),
    ("other tuners' results", "recorded", 6000, 600, ["recorded"]),
    ("imports", "import", 6000, 400, ["import"]),
    ("winners that ship", "pretuned", 4000, 300, ["pretuned"]),
    ("databases, by the library", "database", 1000, 50, ["database"]),
    ("databases, by the commands", "commands", 300, 30, ["database"]),
]
FULL_S = 150  # for all of them, on a busy core; a longer campaign reads more, a shorter one the same number

SAID = re.compile(r"(\d+) seeds and (\d+) mutations of them, (\d+) accepted")


def keep(path, name, number=0):
    """Keeps a file that broke a program beyond the end of the campaign."""
    kept = os.path.join("/tmp", f"gemmtune-campaign-{name}-{os.getpid()}-{number}.input")
    if os.path.exists(path): shutil.copyfile(path, kept)
    return kept


def planted(setting, folder):
    """A crash or a hang during the work, caused by a signal from the shim."""
    if setting.plant not in ("crash", "hang"): return {}
    number = {"crash": 11, "hang": 19}[setting.plant]
    return {"LD_PRELOAD": setting.shim("io"), "CAMPAIGN_BELOW": folder.path, "CAMPAIGN_CALLS": "write", "CAMPAIGN_AT": "20",
            "CAMPAIGN_DO": f"signal{number}"}


def fuzz(setting, build, name, runs, seeds, rng, result):
    """Returns the number of files that were read."""
    program = os.path.join(build, "tests", "fuzz_" + name)
    paths = [seed if os.path.isabs(seed) else os.path.join(SEEDS, seed) for seed in seeds]
    with common.Folder() as folder, open(folder("said"), "w+") as said:
        env = common.clean_environment(folder) | planted(setting, folder)
        process = subprocess.Popen([program, "-n", str(runs), "-s", str(rng.randrange(1 << 40)), *paths], stdout=said, stderr=said,
                                   cwd=folder(), env=env)
        kept = folder(f"fuzz_{name}.{process.pid}.input")
        last, since = None, time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            try: now = os.stat(kept).st_mtime_ns
            except FileNotFoundError: now = 0
            if now != last: last, since = now, time.monotonic()
            elif time.monotonic() - since > limit_s(setting):
                result.found("hang", f"fuzz_{name} for more than {limit_s(setting)} s with {keep(kept, name)}")
                process.kill()
                process.wait()
                return 0, 0
        said.seek(0)
        text = said.read()
        if process.wait() != 0: result.found("crash", f"fuzz_{name} ended with {process.returncode} at {keep(kept, name)}: {text[-600:]}")
        match = SAID.search(text)
        if not match: return 0, 0
        return int(match[2]), int(match[3])


def in_process(setting, rng, result):
    sanitized = os.path.isdir(os.path.join(setting.debug, "tests"))
    share = 0.01 if setting.quick else max(1, (setting.until - time.monotonic()) / FULL_S)
    builds = [(setting.build, 2, "")] + ([(setting.debug, 3, " under sanitizers")] if sanitized else [])
    if not sanitized: result.figures["under sanitizers"] = "no such build"
    for build, column, suffix in builds:
        for target in TARGETS:
            what, name, seeds = target[0], target[1], target[4]
            if not os.path.exists(os.path.join(build, "tests", "fuzz_" + name)):
                if not column == 3: result.found("missing", f"fuzz_{name} is not built")
                continue
            if result.findings and setting.plant: return
            runs = max(int(target[column] * share), 4)
            if not setting.faults: continue
            done, accepted = fuzz(setting, build, name, runs, seeds, rng, result)
            result.tested += done
            result.add("read" + suffix, done)
            result.add("found good" + suffix, accepted)
            result.add(what, done)


# ---- the whole program ----

def mutate(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(6)
        if way == 0 and data: data[at % len(data)] ^= 1 << rng.randrange(8)
        elif way == 1: del data[at:]
        elif way == 2: data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif way == 3: data[at:at] = data[max(0, at - rng.randint(1, 200)):at]
        elif way == 4: del data[at:at + rng.randint(1, 40)]
        else: data[at:at] = rng.choice([b"-1", b"9" * 30, b"1e999", b"\0", b"\xff\xfe", b"\n", b'"', b"{", b"\x1b[31m", b"nan"])
    return bytes(data)


def make_originals(setting, folder):
    """Each file, and the command that reads it; {} stands for its name."""
    db = folder("t.db")
    common.Run(setting, folder, common.fake_tune(setting, db, ["512x512x512"], "--max-trials", "8")).wait()
    env = common.clean_environment(folder)
    subprocess.run([setting.tune, "export", "--json", "--db", db, "-o", folder("w.jsonl")], env=env, check=True, capture_output=True)
    subprocess.run([setting.tune, "export", "--t4", "--db", db, "-o", folder("t4.json")], env=env, check=True, capture_output=True)
    tune = ["tune", "--gpu", "h200", "--budget", "1s", "--max-trials", "1", "--db", folder("new.db")]
    return [
        (db, ["verify", "--db", "{}"]), (db, ["query", "--db", "{}"]), (db, ["merge", folder("new.db"), "{}"]),
        (db, ["explain", "--shape", "512x512x512", "--db", "{}"]),
        (folder("w.jsonl"), ["import", "{}", "--db", folder("new.db")]), (folder("t4.json"), ["import", "{}", "--db", folder("new.db")]),
        (os.path.join(CONFIGS, "suites", "public.txt"), ["bench", "--suite", "{}", "--db", folder("new.db")]),
        (os.path.join(SEEDS, "suite", "capture.txt"), [*tune, "--from-capture", "{}"]),
        (os.path.join(common.SOURCES, "tests", "fake", "space.conf"), [*tune, "--shape", "64x64x64", "--space", "{}"]),
    ]


def whole_program(setting, rng, result):
    with common.Folder() as folder:
        originals = make_originals(setting, folder)
        if not setting.faults: return
        for number in range(22 if setting.quick else 330):
            path, words = originals[number % len(originals)]
            with open(path, "rb") as file: content = file.read()
            with open(folder("mutated"), "wb") as file: file.write(mutate(content, rng))
            # Without GPU and children: the files are read before either is needed.
            run = common.Run(setting, folder, [folder("mutated") if word == "{}" else word for word in words],
                             {"FAKE_NO_NVRTC": "1", "GEMMTUNE_LIBCUDA": folder("none")})
            code = run.wait(limit_s(setting))
            result.tested += 1
            result.add("by the whole program")
            if (why := common.wrong_end(run, code, most=2)):  # messages: invalid lines, and none is left
                result.found("hang" if code is None else "crash", f"tune {' '.join(words)}: {why}; {keep(folder('mutated'), 'whole', number)}")
            for name in ("mutated-wal", "mutated-shm", "mutated-journal", "mutated.lock"):
                if os.path.exists(folder(name)): os.unlink(folder(name))


# ---- rows changed by hand ----

CHANGES = [
    "UPDATE trials SET time_us = time_us / 2 WHERE id = (SELECT min(id) FROM trials)",
    "UPDATE trials SET verdict = 'wrong' WHERE id = (SELECT max(id) FROM trials)",
    "UPDATE configs SET text = replace(text, 'BM=64', 'BM=65')",
    "UPDATE decisions SET ratio = 9, ratio_low = 8, ratio_high = 10",
    "UPDATE decision_samples SET time_us = time_us / 2 WHERE position = 1",
    "UPDATE runs SET driver = '999.0'",
    "UPDATE problems SET text = 'sgemm:nn:512x512x1024', k = 1024",
    "UPDATE gpu_figures SET clock_mhz = 9999",
    "DELETE FROM runs",
    "UPDATE winners SET cold = 1 - cold",
]


def changed_rows(setting, rng, result):
    with common.Folder() as folder:
        common.Run(setting, folder, common.fake_tune(setting, folder("t.db"), ["512x512x512"], "--max-trials", "8")).wait()
        for change in CHANGES if setting.faults else []:
            shutil.copyfile(folder("t.db"), folder("changed.db"))
            base = sqlite3.connect(folder("changed.db"))
            touched = base.execute(change).rowcount
            base.commit()
            base.close()
            if not touched: raise RuntimeError("changes nothing: " + change)
            result.tested += 1
            result.add("rows changed by hand")
            env = common.clean_environment(folder) | setting.preload()
            for words in (["verify"], ["export", "--json"]):
                out = subprocess.run([setting.tune, *words, "--db", folder("changed.db")], capture_output=True, text=True, env=env)
                if out.returncode != 4: result.found("damaged rows are used", f"tune {words[0]} ends with {out.returncode} after {change}")


def run(setting, result):
    rng = random.Random(setting.random.random())
    changed_rows(setting, rng, result)
    if result.findings and setting.plant: return
    if setting.plant not in ("crash", "hang"): whole_program(setting, rng, result)
    in_process(setting, rng, result)
