"""Runs the parts of the campaign one after the other and reports their findings. For the options see campaign.sh --help."""
import argparse, datetime, importlib, os, platform, random, signal, subprocess, sys, time

import common

# Each part with its share of the time; time that a part does not need goes to the later ones.
PARTS = {"kills": 40, "power": 6, "files": 25, "aliases": 4, "signals": 6, "clock": 4, "merge": 2, "faults": 40}


def arguments():
    parser = argparse.ArgumentParser(prog="campaign.sh", description=(
        "Does harm to the tuner as accidents would: kills, failing disks, power cuts, damaged files, second writers, signals, a "
        "wrong clock, merges in any order. No GPU is needed. Ends with 0 if each part did harm and found no damage, 1 if something "
        "was found, 3 if a part tested nothing."))
    parser.add_argument("time", nargs="?", default="quick", help="minutes for all parts, or quick (less than a minute)")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part alone; may be repeated")
    parser.add_argument("--seed", type=int, default=None, help="of all that is random; said at the start")
    parser.add_argument("--plant", metavar="DEFECT", help="put a defect under the program: lost-commit, deaf, no-fsync, lost-trial, lost-rows, "
                        "unchecked, two-writers, orphan, litter, wall-clock, crash, hang")
    parser.add_argument("--no-faults", action="store_true", help="inject nothing: must end with 3")
    parser.add_argument("--build", help="folder of an optimised build (build/release)")
    parser.add_argument("--debug", help="folder of a build with sanitizers (build/debug), for a tenth of the files")
    parser.add_argument("--figures", metavar="FILE", help="write the table of figures there")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def describe(results, options, seed, seconds):
    """The table of figures, in the form that docs/results uses."""
    head = subprocess.run(["git", "-C", common.SOURCES, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    lines = [f"{datetime.date.today()}, commit {head or 'unknown'}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
             f"{seconds / 60:.1f} minutes, seed {seed}", "", "| part | faults | findings | figures |", "|---|---|---|---|"]
    for r in results:
        figures = ", ".join(f"{name}: {number:,}" if isinstance(number, int) else f"{name}: {number}" for name, number in r.figures.items())
        lines.append(f"| {r.part} | {r.tested:,} | {len(r.findings)} | {figures} |")
    return "\n".join(lines) + "\n"


def run_part(part, setting, seconds):
    result = common.Result(part)
    setting.random = random.Random(f"{setting.seed} {part}")
    setting.until = time.monotonic() + seconds
    began = time.monotonic()
    try:
        importlib.import_module(f"part_{part}").run(setting, result)
    except RuntimeError as error:
        result.found("cannot go on", str(error))
    print(f"{part}: {result.tested} faults in {time.monotonic() - began:.0f} s, {len(result.findings)} findings; "
          + ", ".join(f"{name} {number}" for name, number in result.figures.items()), flush=True)
    if result.tested == 0: print(f"  {part} tested nothing", flush=True)
    for finding in result.findings[:20]: print("  FOUND " + finding, flush=True)
    if len(result.findings) > 20: print(f"  ... and {len(result.findings) - 20} more", flush=True)
    return result


def hear_all():
    """Stops ignoring signals (as a background job or under nohup): started programs would inherit that."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN: signal.signal(number, lambda *unused: None)


def main():
    options = arguments()
    hear_all()
    quick = options.time == "quick"
    total_s = 3600 if quick else 60 * float(options.time)  # quick ends by counts: the same on any machine
    build = os.path.realpath(options.build or os.path.join(common.SOURCES, "build", "release"))
    debug = os.path.realpath(options.debug or os.path.join(common.SOURCES, "build", "debug"))
    for program in ("tune", "tests/fake_child", "tests/campaign/campaign_io.so"):
        if not os.path.exists(os.path.join(build, program)): sys.exit(f"campaign.sh: {build}/{program} is not built")
    seed = options.seed if options.seed is not None else (1 if quick else int(time.time()))
    setting = common.Setting(build, debug, seed, not options.no_faults, options.plant, quick, options.verbose)
    parts = options.only or list(PARTS)
    print(f"campaign of {options.time}{'' if quick else ' minutes'}, seed {seed}{', planted: ' + options.plant if options.plant else ''}"
          f"{', no faults injected' if options.no_faults else ''}", flush=True)
    began = time.monotonic()
    parts = [part for part in PARTS if part in parts]
    results = []
    for i, part in enumerate(parts):
        left_s = max(0.0, began + total_s - time.monotonic())
        results.append(run_part(part, setting, left_s * PARTS[part] / sum(PARTS[p] for p in parts[i:])))
    if options.figures:
        with open(options.figures, "w") as file: file.write(describe(results, options, seed, time.monotonic() - began))
    if any(r.findings for r in results): return 1
    nothing = [r.part for r in results if r.tested == 0]
    if nothing:
        print(f"nothing was tested by {', '.join(nothing)}")
        return 3
    print("nothing was lost, nothing left behind")
    return 0


if __name__ == "__main__":
    sys.exit(main())
