"""A clock that jumps: the time of day is wrong by hours or decades, or changes at each query.

A tune with more trials than its budget of seconds allows still ends in time, since budgets use the monotonic clock. A time
that cannot be stored is refused with exit code 3. The trials are in the file, which `tune verify` accepts under the wrong
clock and under the right one; a tuner with the right clock continues from there.
"""
import random, time

import common

YEAR = 31557600
CLOCKS = {
    "an hour ahead": "3600", "a day behind": "-86400", "1970": f"{-(56 * YEAR + 27e6):.0f}", "before 1970": f"{-90 * YEAR}",
    "before 1901": f"{-140 * YEAR}", "after 2038": f"{20 * YEAR}", "after 2262": f"{300 * YEAR}", "the year 12000": f"{10000 * YEAR}",
    "forwards after a while": "0 " * 40 + "86400 " * 23, "backwards after a while": "0 " * 40 + "-86400 " * 23,
    "back and forth at each look": "0 3600 -3600 7200 -86400", "to before 1970 and back": "0 0 0 0 0 " + f"{-60 * YEAR} 0 0 0 0 0",
    "a second back at each look": " ".join(str(-i) for i in range(60)),
}
IMPOSSIBLE = ("before 1970", "before 1901", "the year 12000", "to before 1970 and back")  # may be refused with a message
BUDGET_S = 2
MARGIN_S, MARGIN_QUICK_S = 15, 40  # for a busy machine


def try_clock(setting, name, rng, result):
    with common.Folder() as folder:
        db = folder("t.db")
        first = common.Run(setting, folder, common.fake_tune(setting, db, ["512x512x512"], "--max-trials", "5"), common.UNPLANTED, log="log0")
        if first.wait() != 0: raise RuntimeError("no database to begin with: " + first.said())
        before = common.all_trials(db, folder)
        shim = setting.preload("clock") | {"CAMPAIGN_CLOCK": CLOCKS[name] if setting.faults else ""}
        env = shim | {"CAMPAIGN_FIRED": folder("fired"), "FAKE_TRIAL_MS": "400"}
        began = time.monotonic()
        run = common.Run(setting, folder, common.fake_tune(setting, db, ["1024x512x512"], "--budget", f"{BUDGET_S}s"), env)
        code = run.wait(BUDGET_S + (MARGIN_QUICK_S if setting.quick else MARGIN_S))
        took = time.monotonic() - began
        if code is None: result.found("hang", f"{name}: a budget of {BUDGET_S} s took more than {took:.0f} s")
        elif (why := common.wrong_end(run, code, {0, 3} if name in IMPOSSIBLE else {0})): result.found("ended badly", f"{name}: {why}")
        if run.left(): result.found("orphans", name)
        if setting.faults and "clock asked" in open(folder("fired")).read():
            result.tested += 1
        common.judge_trials(result, run, db, folder, before, name)
        for clock, variables in (("right", {}), ("wrong", shim)):
            verdict, said = common.verify(setting, db, folder, variables)
            if verdict: result.found("verify", f"exit code {verdict} with the {clock} clock: {name}: {said[-200:]}")
        last = common.Run(setting, folder, common.fake_tune(setting, db, ["512x1024x512"], "--max-trials", "5"), log="log2")
        if (why := common.wrong_end(last, last.wait(), {0})): result.found("the next run ended badly", f"{name}: {why}")


def run(setting, result):
    rng = random.Random(setting.random.random())
    names = ["before 1970", "back and forth at each look"] if setting.quick else list(CLOCKS)
    while True:
        for name in names:
            if (setting.time_is_up() and result.tested >= len(names)) or (result.findings and setting.plant): return
            try_clock(setting, name, rng, result)
            if not setting.faults: return
        result.add("times through all clocks")
        if setting.quick or setting.time_is_up(): return
