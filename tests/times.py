"""What a run of the tests cost, by label.

    times.py BUILD REFERENCE OUT

Adds up what timed.c noted in BUILD/times and writes to OUT the CPU minutes of each label, of the short run and of
the long tests, and the pace: the median of the milliseconds that the same piece of work took before each test.
A label of REFERENCE, a file of the same form, that has grown by more than a fifth is told. Exit 1: one has grown by more
than half, which no load of the machine explains. To accept it, copy OUT's lines of short tests to REFERENCE, if the run
began in an empty build folder. Labels that REFERENCE lacks are not compared: what tidy costs depends on the change.

A slower machine is no growth: what a label may cost grows with the pace, or with the median of the other labels, if that
is more. So one label that grows is found, and one that shrinks, because its kernels are kept from the last run, changes
nothing for the others. Growth of all labels alike is told from a half on, but never fails: it looks like a machine that
is slower at them than at the fixed work.
"""
import json
import math
import pathlib
import statistics
import subprocess
import sys

# Growth of a label, of all labels, and minutes that are noise whatever the growth.
TOLD_FROM = 1.2, 1.5, 0.2
FAILS_FROM = 1.5, math.inf, 0.5


def labels_of(build):
    """The line of the table that each test belongs to."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True)
    lines = {}
    for test in json.loads(listed.stdout)["tests"]:
        labels = next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), [])
        kinds = [label for label in labels if label not in ("short", "long", "threads")]
        lines[test["name"]] = (kinds[0] if kinds else "other") + ("" if "short" in labels else "-long")
    return lines


def measured(build):
    """Minutes of each line, and the pace."""
    lines, minutes, paces = labels_of(build), {}, []
    for file in sorted(pathlib.Path(build, "times").iterdir()):
        if file.name not in lines:
            continue
        seconds, pace = map(float, file.read_text().split())
        minutes[lines[file.name]] = minutes.get(lines[file.name], 0) + seconds / 60
        paces.append(1000 * pace)
    return minutes, statistics.median(paces or [1])


def read(path):
    """Minutes of each line of a file, and the pace."""
    rows = [line.split() for line in pathlib.Path(path).read_text().splitlines() if line and line[0] != "#"]
    minutes = {name: float(number) for name, number in rows}
    return minutes, minutes.pop("pace")


def write(path, minutes, pace):
    """Writes a file that read() reads."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("# CPU minutes of the tests by label, without building them; pace: ms of the work in tests/timed.c.\n")
        out.write(f"pace {pace:.2f}\n")
        for name in sorted(minutes):
            out.write(f"{name} {minutes[name]:.2f}\n")


def grown(now, now_pace, before, before_pace, limits):
    """A sentence for each label that has grown beyond limits, TOLD_FROM or FAILS_FROM."""
    growth, total_growth, noise_minutes = limits
    both = [name for name in before if name in now]
    ratio = {name: now[name] / before[name] for name in both if before[name] >= TOLD_FROM[2]}
    slower = now_pace / before_pace
    found = []
    for name in both:
        others = [ratio[other] for other in ratio if other != name]
        allowed = before[name] * max(slower, statistics.median(others or [1]))
        if now[name] > growth * allowed and now[name] > allowed + noise_minutes:
            found.append(f"{name} took {now[name]:.2f} CPU minutes, {allowed:.2f} were expected on this machine")
    total, allowed = sum(now[name] for name in both), slower * sum(before[name] for name in both)
    if total > total_growth * allowed:
        found.append(f"all labels took {total:.2f} CPU minutes, {allowed:.2f} were expected on this machine")
    return found


def main(build, reference, out):
    """Returns the exit status."""
    minutes, pace = measured(build)
    write(out, minutes, pace)
    before = read(reference)
    failed = grown(minutes, pace, *before, FAILS_FROM)
    for sentence in grown(minutes, pace, *before, TOLD_FROM):
        print(f"{out}: {'' if sentence in failed else 'warning: '}{sentence}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
