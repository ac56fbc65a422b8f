"""Two tuners on one file under different names.

While one writes, a second one opens the same file under another name: it must be refused (exit code 8, or 4 for a file with
several names) before its first trial, and the first must end well with all of its trials. Or the first is killed: then a
tuner under the other name is refused, too, or finds every committed trial; under the first name all of them are found in any
case. A copy is another file, and may be written at the same time.

Bind mounts need a separate mount namespace (root); the figures say whether they were tested.
"""
import os, random, shutil, signal, subprocess, time

import common

BIND = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh"]


class Alias:
    """How the second tuner is started: its path of the file, its folder, a command before it, descriptors that it inherits."""

    def __init__(self, path, cwd=None, prefix=(), fd=None):
        self.path, self.cwd, self.prefix, self.fd = path, cwd, prefix, fd


def hard_link(f):
    os.link(f("t.db"), f("other", "hard.db"))
    return Alias(f("other", "hard.db"))


def hard_link_of_the_same_name(f):
    os.link(f("t.db"), f("other", "t.db"))
    return Alias(f("other", "t.db"))


def symlink(f):
    os.symlink("../t.db", f("other", "soft.db"))
    return Alias(f("other", "soft.db"))


def symlink_of_a_symlink(f):
    os.symlink(f("t.db"), f("other", "one"))
    os.symlink("one", f("other", "two"))
    return Alias(f("other", "two"))


def symlinked_folder(f):
    os.symlink(f(), f("other", "folder"))
    return Alias(f("other", "folder", "t.db"))


def relative(f): return Alias("t.db", cwd=f())


def relative_with_detours(f): return Alias("./other/..//./t.db", cwd=f())


def working_folder_of_a_process(f): return Alias("/proc/self/cwd/t.db", cwd=f())


def descriptor(f):
    fd = os.open(f("t.db"), os.O_RDWR)
    return Alias(f"/proc/self/fd/{fd}", fd=fd)


def bind_mount(f):
    open(f("other", "bound.db"), "w").close()
    return Alias(f("other", "bound.db"), prefix=BIND + [f("t.db"), f("other", "bound.db")])


def bind_mounted_folder(f):
    os.mkdir(f("other", "bound"))
    return Alias(f("other", "bound", "t.db"), prefix=BIND + [f(), f("other", "bound")])


def renamed(f):
    os.rename(f("t.db"), f("renamed.db"))
    return Alias(f("renamed.db"))


def left_name(f):
    """The file is renamed, and the second tuner creates one under the old name, where the first one's log is."""
    os.rename(f("t.db"), f("renamed.db"))
    return Alias(f("t.db"))


def copy(f): return Alias(f("copied.db"))


ALIASES = [hard_link, hard_link_of_the_same_name, symlink, symlink_of_a_symlink, symlinked_folder, relative, relative_with_detours,
           working_folder_of_a_process, descriptor, bind_mount, bind_mounted_folder, renamed, left_name, copy]


def can_bind(folder):
    os.mkdir(folder("a"))
    os.mkdir(folder("b"))
    done = subprocess.run(BIND + [folder("a"), folder("b"), "true"], capture_output=True)
    return done.returncode == 0


def writer(setting, folder, path, log, shape, alias=None, env=None, trials=60):
    alias = alias or Alias(path)
    words = common.fake_tune(setting, path, [shape], "--max-trials", str(trials))
    words[words.index("--cache") + 1] = folder("cache")
    more = {"pass_fds": [alias.fd]} if alias.fd is not None else {}
    return common.Run(setting, folder, words, env, log=log, cwd=alias.cwd, prefix=alias.prefix, **more)


def trials_of(log):
    if not os.path.exists(log): return 0
    with open(log) as file: return sum(line.startswith("trial ") for line in file)


def second_while_first(setting, folder, alias_of, rng, result):
    """Returns the first tuner, which is still running, and the other name."""
    env = {"FAKE_TRIAL_MS": "5"}
    first = writer(setting, folder, folder("t.db"), "log-first", "1024x512x512", env=env)
    while trials_of(first.log) < rng.randint(1, 20) and first.process.poll() is None: time.sleep(0.005)
    alias = alias_of(folder)
    os.kill(first.pid, signal.SIGSTOP)  # with its locks, before it can finish
    second = writer(setting, folder, alias.path, "log-second", "512x1024x512", alias)
    code = second.wait()
    os.kill(first.pid, signal.SIGCONT)
    case = alias_of.__name__.replace("_", " ")
    allowed = {0} if alias_of is copy else {4, 8}
    if (why := common.wrong_end(second, code, allowed)): result.found("two writers", f"{case}: the second {why}")
    if alias_of is not copy and trials_of(second.log): result.found("two writers", f"{case}: the second one made {trials_of(second.log)} trials")
    if second.left(): result.found("orphans", case)
    return first, alias, case


def let_end(setting, folder, first, case, result):
    if (why := common.wrong_end(first, first.wait(), {0, 4})): result.found("the first ended badly", f"{case}: {why}")


def kill_and_go_on(setting, folder, first, alias, case, result, before):
    """The last trials are in the log, which is named after the first name."""
    first.process.kill()
    first.wait()
    first.left()
    acks = common.acknowledged(first.log)
    result.add("trials acknowledged", sum(acks.values()))
    third = writer(setting, folder, alias.path, "log-third", "512x512x1024", alias, trials=5)
    code = third.wait()
    if (why := common.wrong_end(third, code, {0, 4, 8})): result.found("after a kill, the other name", f"{case}: {why}")
    if os.path.exists(folder("renamed.db")):  # as its message advises: rename it back
        if os.path.exists(folder("t.db")): os.rename(folder("t.db"), folder("new.db"))
        os.rename(folder("renamed.db"), folder("t.db"))
    home = folder("t.db")
    check_all(setting, folder, home, acks, before, case + ", killed", result)


def check_all(setting, folder, home, acks, before, case, result):
    names = [n for n in os.listdir(folder("other")) if n.endswith("hard.db") or n == "t.db"]
    for name in names: os.unlink(folder("other", name))  # a file with several names is refused
    last = writer(setting, folder, home, "log-last", "576x512x512", trials=5)
    if (why := common.wrong_end(last, last.wait(), {0})): result.found("the next run ended badly", f"{case}: {why}")
    texts = [row[0] for row in common.rows(home, "SELECT c.text FROM trials t JOIN configs c ON c.id = t.config_id JOIN problems p "
             "ON p.id = t.problem_id WHERE p.text LIKE '%:1024x512x512' AND t.recovered_us IS NULL")]
    there = common.collections.Counter(texts)
    lost = acks - there
    result.add("trials lost", sum(lost.values()))
    if lost: result.found("lost", f"{sum(lost.values())} of {sum(acks.values())} acknowledged trials: {case}")
    if before - common.all_trials(home, folder): result.found("lost", f"trials of earlier runs: {case}")
    code, said = common.verify(setting, home, folder)
    if code: result.found("verify", f"exit code {code}: {case}: {said[-200:]}")


def try_alias(setting, alias_of, killed, rng, result):
    with common.Folder() as folder:
        os.mkdir(folder("other"))
        writer(setting, folder, folder("t.db"), "log-zero", "512x512x512").wait()
        shutil.copyfile(folder("t.db"), folder("copied.db"))
        before = common.all_trials(folder("t.db"), folder)
        if not setting.faults:
            writer(setting, folder, folder("t.db"), "log-first", "1024x512x512").wait()
            return
        first, alias, case = second_while_first(setting, folder, alias_of, rng, result)
        result.tested += 1
        result.add("with the first one killed" if killed else "with the first one to its end")
        if killed:
            kill_and_go_on(setting, folder, first, alias, case, result, before)
        else:
            let_end(setting, folder, first, case, result)
            acks = common.acknowledged(first.log)
            result.add("trials acknowledged", sum(acks.values()))
            if alias_of in (renamed, left_name): os.rename(folder("renamed.db"), folder("t.db"))
            check_all(setting, folder, folder("t.db"), acks, before, case, result)
        if alias.fd is not None: os.close(alias.fd)


def run(setting, result):
    rng = random.Random(setting.random.random())
    with common.Folder() as folder: binding = can_bind(folder)
    aliases = [a for a in ALIASES if binding or not a.__name__.startswith("bind")]
    result.figures["bind mounts"] = "yes" if binding else "not possible here"
    if setting.quick: aliases = [hard_link, symlink, bind_mount if binding else relative, renamed, copy]
    for number in range(1 if setting.quick or not setting.faults else 50):
        for i, alias in enumerate(aliases):
            for killed in ([bool(i % 2)] if setting.quick else [False, True]):
                if setting.time_is_up() and number > 0 or result.findings and setting.plant: return
                try_alias(setting, alias, killed, rng, result)
        if setting.time_is_up(): return
