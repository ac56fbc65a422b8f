"""Every signal that can be caught, in every phase.

The phases of a tune follow from the last request to its children (start, compiling, measuring, race, last check). In tune,
export, import and merge, signals also arrive at the n-th call on a file. INT, TERM and HUP end a tune with 130, and finished
trials are kept; other commands end by the signal or with 130. After a stop signal the command continues with CONT. A signal
that is ignored by default changes nothing; any other may end the process, with the same result as a kill. HUP that was
ignored at the start (nohup) stays ignored. An export with running compilers leaves neither them nor a header.

After each: no process is left, acknowledged trials are in the file, `tune verify` accepts it, an output is complete or
absent with no temporary file beside it, and the next tuner leaves one file. If a process dies of an unhandled signal
(SEGV, for example), a temporary file is no finding.
"""
import os, random, shutil, signal, subprocess, time

import common

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
IGNORED = [signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE]
STOPPING = [signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU]
CATCHABLE = [s for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP) and s < 32] + [signal.SIGRTMIN]
PHASES = {"start": None, "compiling": "compile ", "measuring": "trial ", "race": "block ", "last check": "verify "}
SLOW = {"compiling": {"FAKE_COMPILE_MS": "50"}, "measuring": {"FAKE_TRIAL_MS": "50"}, "race": {"FAKE_BLOCK_MS": "20"}}


def outcomes(number, command):
    """Correct exit codes for a signal that arrived while the command was working."""
    if number in ENDING: return {130} if command == "tune" else {130, -number}
    if number in IGNORED: return {0, -number} if number == signal.SIGPIPE and command != "tune" else {0}
    if number in STOPPING: return {0}
    if number == signal.SIGXFSZ: return {0, 7, -number}
    return {-number}


def look(setting, folder, run, code, before, case, result, number, output=None):
    if run.left(): result.found("orphans", case)
    db = folder("t.db")
    total = common.judge_trials(result, run, db, folder, before, case)
    common.judge_file(result, setting, db, folder, before, total, case)
    handled = number in ENDING + IGNORED + STOPPING + [signal.SIGXFSZ]
    fine = ("other.db", "in.jsonl", "w.h")
    names = common.litter(folder, db, fine, running=code < 0, cut_off=not handled)
    if names and handled: result.found("left behind", f"{names}: {case}")
    if output and os.path.exists(folder(output)):
        with open(folder(output)) as file: text = file.read()
        if not text.rstrip().endswith("#endif"): result.found("output", f"{output} is not whole: {case}")


def wait_for(run, verb):
    """Waits until a child got that request; False if the run ended first."""
    while run.process.poll() is None:
        if os.path.exists(run.log):
            with open(run.log, errors="replace") as file:
                if any(line.startswith(verb) for line in file): return True
        time.sleep(0.002)
    return False


def in_a_phase(setting, seed, number, phase, rng, result):
    with common.Folder() as folder:
        shutil.copyfile(seed("t.db"), folder("t.db"))
        before = common.all_trials(folder("t.db"), folder)
        words = common.fake_tune(setting, folder("t.db"), ["1024x512x512"], "--max-trials", "60")
        run = common.Run(setting, folder, words, SLOW.get(phase, {}))
        if PHASES[phase] is None: time.sleep(rng.uniform(0, 0.02))
        elif not wait_for(run, PHASES[phase]): return
        if setting.faults and run.process.poll() is None:
            run.process.send_signal(number)
            result.tested += 1
            result.add("by phase")
            if number in STOPPING:
                time.sleep(0.03)
                run.process.send_signal(signal.SIGCONT)
        code = run.wait()
        case = f"{signal.Signals(number).name}, {phase}"
        right = outcomes(number, "tune")
        # At the start no handler is installed yet; in the last check the signal may come too late.
        if phase in ("start", "last check"): right = right | {0, -number}
        if not setting.faults: right = {0}
        if (why := common.wrong_end(run, code, right)): result.found("ended badly", f"{case}: {why}")
        look(setting, folder, run, code or 0, before, case, result, number)


def at_a_call(setting, seed, number, command, rng, result):
    with common.Folder() as folder:
        for name in ("t.db", "other.db", "in.jsonl"): shutil.copyfile(seed(name), folder(name))
        db = folder("t.db")
        before = common.all_trials(db, folder)
        words = {"tune": common.fake_tune(setting, db, ["1024x512x512"], "--max-trials", "10"),
                 "export": ["export", "--db", db, "--header", folder("w.h")],
                 "import": ["import", folder("in.jsonl"), "--db", db], "merge": ["merge", db, folder("other.db")]}[command]
        env = setting.preload("io") | {"CAMPAIGN_WHO": "-", "CAMPAIGN_AT": str(int(2 ** rng.uniform(0, 8.5))), "CAMPAIGN_FIRED": folder("fired"),
                                       "CAMPAIGN_DO": f"signal{number:d}", "CAMPAIGN_CALLS": "open,create,read,write,sync,truncate,rename,unlink,close"}
        if not setting.faults: env["CAMPAIGN_AT"] = "0"
        run = common.Run(setting, folder, words, env)
        if number in STOPPING:
            while run.process.poll() is None:  # it stops itself
                run.process.send_signal(signal.SIGCONT)
                time.sleep(0.01)
        code = run.wait()
        if not os.path.exists(folder("fired")) or os.path.getsize(folder("fired")) == 0: return
        case = f"{signal.Signals(number).name}, {command} at the call {open(folder('fired')).readline().strip()}"
        result.tested += 1
        result.add("at a call of " + command)
        right = outcomes(number, command) | ({0, -number} if command == "tune" or number in ENDING else set())
        if (why := common.wrong_end(run, code, right)): result.found("ended badly", f"{case}: {why}")
        look(setting, folder, run, code or 0, before, case, result, number, "w.h")
        after = common.Run(setting, folder, common.fake_tune(setting, db, ["512x512x1024"], "--max-trials", "3"), log="log2")
        if (why := common.wrong_end(after, after.wait(), {0})): result.found("the next run ended badly", f"{case}: {why}")
        handled = number in ENDING + IGNORED + STOPPING + [signal.SIGXFSZ]
        names = common.litter(folder, db, ("other.db", "in.jsonl", "w.h"))
        if names and handled: result.found("left behind", f"{names} at rest: {case}")


def while_kernels_are_built(setting, seed, number, rng, result):
    """An export with running real compilers."""
    with common.Folder() as folder:
        shutil.copyfile(seed("t.db"), folder("t.db"))
        before = common.all_trials(folder("t.db"), folder)
        words = ["export", "--db", folder("t.db"), "--header", folder("w.h"), "--with-kernels"]
        run = common.Run(setting, folder, words, fake=False)
        try: code = run.process.wait(rng.uniform(0.05, 0.6))
        except subprocess.TimeoutExpired:
            run.process.send_signal(number)
            result.tested += 1
            result.add("while kernels are built")
            code = run.wait()
        case = f"{signal.Signals(number).name}, export --with-kernels"
        if (why := common.wrong_end(run, code, {0, 130, -number})): result.found("ended badly", f"{case}: {why}")
        if code and os.path.exists(folder("w.h")): result.found("output", f"exit code {code}, but there is a header: {case}")
        look(setting, folder, run, code or 0, before, case, result, number)


def hang_up_under_nohup(setting, seed, result):
    with common.Folder() as folder:
        words = common.fake_tune(setting, folder("t.db"), ["1024x512x512"], "--max-trials", "60")
        run = common.Run(setting, folder, words, SLOW["measuring"], preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        if not wait_for(run, "trial ") or not setting.faults:
            run.wait()
            return
        run.process.send_signal(signal.SIGHUP)
        result.tested += 1
        result.add("HUP under nohup")
        if (why := common.wrong_end(run, run.wait(), {0})): result.found("ended badly", f"HUP that was ignored from the start: {why}")
        if run.left(): result.found("orphans", "HUP under nohup")


def prepare(setting, seed):
    for name, shape in (("t.db", "512x512x512"), ("other.db", "768x512x512")):
        if common.Run(setting, seed, common.fake_tune(setting, seed(name), [shape], "--max-trials", "12"), common.UNPLANTED).wait() != 0:
            raise RuntimeError("no database to begin with")
    out = subprocess.run([setting.tune, "export", "--json", "--db", seed("other.db")], capture_output=True, text=True,
                         env=common.clean_environment(seed))
    with open(seed("in.jsonl"), "w") as file: file.write(out.stdout)


def run(setting, result):
    rng = random.Random(setting.random.random())
    with common.Folder() as seed:
        prepare(setting, seed)
        hang_up_under_nohup(setting, seed, result)
        numbers = ENDING + [signal.SIGUSR1, signal.SIGTSTP, signal.SIGXFSZ] if setting.quick else CATCHABLE
        cases = [(in_a_phase, number, phase) for number in numbers for phase in PHASES]
        cases += [(at_a_call, number, command) for number in numbers for command in ("tune", "export", "import", "merge")]
        if setting.quick: cases = rng.sample(cases, 24)
        for number in 3 * ENDING if setting.faults and not setting.quick else []: while_kernels_are_built(setting, seed, number, rng, result)
        while True:
            rng.shuffle(cases)
            for case, number, where in cases:
                if setting.time_is_up() or (result.findings and setting.plant): return
                case(setting, seed, number, where, rng, result)
            result.add("times through all signals and phases")
            if setting.quick or not setting.faults: return
