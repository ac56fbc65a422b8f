"""terminal.py PROGRAM SOURCES: what a person sees in terminals of 60, 80, 110 and 200 columns.

The program runs on a pseudo-terminal of that size, with a driver that is not there, or with children that invent times.
No line is wider than the terminal; each row of a table tells its whole shape; the progress is one line with a bar, done
of planned, the best with its ratio to cuBLAS, and the time left.
"""
import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios

import pseudo_terminal

WIDTHS = (60, 80, 110, 200)
REPLACED = "\r\x1b[K"  # what stands before a line that takes another's place

program, sources = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
fake_child = os.path.join(os.path.dirname(program), "tests", "fake_child")
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
environment = {k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
environment.update(HOME=scratch.name, TERM="xterm", LC_ALL="C.UTF-8", GEMMTUNE_LIBCUDA=scratch.name + "/no-driver",
                   GEMMTUNE_DB=scratch.name + "/my.db")


def resize(terminal, width):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))


def run_in(width, *arguments, narrower=0, **more):
    """Exit code and all that reached a terminal of so many columns, which shrinks at the first line of progress."""
    left = [narrower] if narrower else []

    def shrink(terminal, piece):
        if not left or b"#" not in piece:
            return b""
        resize(terminal, left.pop())
        return b"<resized>"

    code, text = pseudo_terminal.run([program, *arguments], {**environment, **more}, lambda its: resize(its, width), shrink)
    return code, text.decode("utf-8")


def lines_of(text):
    """Lines that stay, and those that another took the place of."""
    stay, replaced = [], []
    for line in text.split("\r\n"):
        first, *others = line.split(REPLACED)
        stay.append(others[-1] if others else first)
        replaced += [other for other in others[:-1] if other]
    return stay, replaced


def check(holds, *why):
    if not holds:
        print(*why, sep="\n")
        sys.exit(1)


def check_width(width, text, what):
    stay, replaced = lines_of(text)
    for line in stay:
        check(len(line) <= width, f"{what}: a line of {len(line)} in a terminal of {width}:", line)
    for line in replaced:
        check(len(line) < width, f"{what}: progress of {len(line)} in a terminal of {width}:", line)


def check_rows(rows, text, width, what):
    """rows: shape, other texts that must stand in its row."""
    stay, _ = lines_of(text)
    for shape, *others in rows:
        found = [line for line in stay if re.search(rf"(^|\s){re.escape(shape)}(\s|$)", line)]
        check(found, f"{what} in {width} columns: no row tells {shape} whole:", text)
        for other in others:
            check(any(other in line for line in found), f"{what} in {width} columns: {shape} without {other}:", *found)


def check_progress(replaced, what, ratio):
    check(replaced, f"{what}: no progress was shown")
    tried = [line for line in replaced if re.search(r"\[[#-]{5,20}\]  \d+/\d+, (best )?\d", line)]
    check(tried, f"{what}: no bar, done/planned and best in one line:", *replaced)
    bars = [bar for line in replaced for bar in re.findall(r"\[([#-]{5,20})\]  ", line)]
    check(len({len(bar) for bar in bars}) == 1, f"{what}: the bar does not keep its width:", *replaced)
    check(all("#" not in line for line in replaced if re.search(r"\]  0/", line)), f"{what}: the bar is not empty at 0:", *replaced)
    check(all(re.search(r"(\d[smh] left|\d+/\d+, \d\w+ left\])", line) for line in replaced), f"{what}: no time left:", *replaced)
    if ratio:
        check(any(" x cuBLAS" in line for line in replaced), f"{what}: no ratio to cuBLAS:", *replaced)


def check_rest(replaced, of_each, problems):
    """What is told to be left is that of the whole run: at the rate that is told, the work of all problems."""
    for line in replaced:
        told = re.search(r"^\[(\d+)/\d+, (\d+)s left\].*  (\d+)/\d+, .* (\d+)/min", line)
        ended, left_s, done, rate = map(int, told.groups()) if told else (0, 0, 0, 0)
        rest = of_each * (problems - ended) - done
        if rate and rest > of_each and rest * 60 / rate >= 4:
            check(left_s * rate / 60 > rest / 2, "what is left of one problem is told to be all:", line)


def squeezed(text):
    return " ".join(text.split())


# Stored winners: all that tell rows apart, once what they share. Names of other types leave no room for ratios in 60 columns.
with open(sources + "/configs/winners/h200.jsonl") as shipped, open("strict.jsonl", "w") as strict:
    strict.writelines(line for line in shipped if '"problem": "sgemm:' in line)
subprocess.run([program, "import", "strict.jsonl"], env=environment, check=True, stdout=subprocess.DEVNULL)
winners = json.loads(subprocess.run([program, "query", "--own", "--format", "json"], env=environment, check=True,
                                    stdout=subprocess.PIPE).stdout)
check(len(winners) > 30, "too few winners to look at")
for width in WIDTHS:
    code, text = run_in(width, "query", "--own")
    check(code == 0, text)
    check_width(width, text, "query")
    check_rows([(w["problem"], f"{w['time_us']:.2f}", f"{w['ratio']:.3f}") for w in winners], text, width, "query")
    for shared in ("NVIDIA H200", "cuBLAS 13.1.0", "driver"):
        check(text.count(shared) == 1, f"query in {width} columns tells {shared} {text.count(shared)} times")
    for family in {w["configuration"].split()[0] for w in winners}:
        wanted = sum(w["configuration"].split()[0] == family for w in winners)
        check(len(re.findall(rf"\b{family} \w", squeezed(text))) == wanted,
              f"query in {width} columns tells other than {wanted} configurations of {family}:", text)
    one = winners[0]
    for arguments in (("query", "--own", "--shape", one["problem"], "--all"), ("explain", "--shape", one["problem"]),
                      ("verify",), ("doctor",),
                      ("ladder", "--shape", "64x64x64", "--compile-only", "--gpu", "h200", "--rung", "naive")):
        code, text = run_in(width, *arguments)
        if code == 6 and arguments[0] == "ladder":
            continue  # no NVRTC
        check(code in (0, 1, 6), f"{arguments} ended with {code}", text)
        if arguments[0] in ("query", "explain"):
            check_width(width, text, arguments[0])
        if "--all" in arguments:
            check(squeezed(one["configuration"]) in squeezed(text), "--all cuts the configuration:", text)
            check(f"{one['cublas_us']:.2f}" in text, "--all rounds cuBLAS's time:", text)

# A search, with children that invent times, and take some: progress is drawn five times a second.
if os.access(fake_child, os.X_OK):
    for width in WIDTHS:
        code, text = run_in(width, "--shape", "64x64x64", "--shape", "sgemm:tn:65x66x67:batch=3", "--space",
                            sources + "/tests/fake/space.conf", "--budget", "6s", "--db", f"search{width}.db",
                            GEMMTUNE_EXE=fake_child, FAKE_TRIAL_MS="10")
        check(code == 0, text)
        check_width(width, text, "tune")
        check_rows([("sgemm:nn:64x64x64", "tuned"), ("sgemm:tn:65x66x67:batch=3", "tuned")], text, width, "tune")
        check_progress(lines_of(text)[1], "tune", True)
        check("combinations" not in text, "the start-up sentences are for those who want to know all:", text)

# A problem that nothing is legal for has its GPU, too, so that all rows share it.
with open(sources + "/tests/fake/space.conf") as shipped, open("aligned.conf", "w") as space:
    space.write(re.sub(r"(?m)^(V[ABC]) = first 4 2 1", r"\1 = 4", shipped.read()))
for more in ([], ["--gpu", "h200"]):
    if not more and not os.access(fake_child, os.X_OK):
        continue
    code, text = run_in(110, "--shape", "64x64x64", "--shape", "63x63x63", "--space", "aligned.conf", "--max-trials", "1", "--db",
                        f"aligned{len(more)}.db", *more, **({} if more else {"GEMMTUNE_EXE": fake_child}))
    if code == 6:
        continue  # no NVRTC
    check_rows([("sgemm:nn:63x63x63", "no winner")], text, 110, "tune")
    check(re.search(r"(?m)^GPU \w", text), "the GPU of all rows does not stand above them:", text)

# A prediction of as many kernels as take longer to compile than the progress takes to be drawn twice.
PREDICTED = 12
for width in WIDTHS:
    several = ("--shape", "264x256x256", "--shape", "272x256x256") if width == 110 else ()
    code, text = run_in(width, "--shape", "256x256x256", *several, "--gpu", "h200", "--max-trials", str(PREDICTED),
                        "--cache", f"cache{width}", "--db", f"predicted{width}.db", narrower=60 if width == 200 else 0)
    if code == 6:
        print("no NVRTC: predictions were not looked at")
        break
    check(code == 0, text)
    before, _, after = text.partition("<resized>")
    check_width(width, before, "prediction")
    if after:  # a line may have been on its way
        check_width(60, REPLACED + REPLACED.join(after.split(REPLACED)[2:]), "prediction in a terminal that shrank")
    text = before + after
    check_rows([("sgemm:nn:256x256x256", "predicted")], text, width, "prediction")
    check_progress(lines_of(before)[1], "prediction", False)
    check_rest(lines_of(text)[1], PREDICTED, 1 + len(several) // 2)
    check("combinations" not in text, "the start-up sentences are for those who want to know all:", text)

# Terminals that cannot go back in a line, and none: plain lines. Colour is never used.
for more in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
    code, text = run_in(80, "--shape", "256x256x256", "--gpu", "h200", "--max-trials", "4", "--cache", "plain", "--again",
                        "--db", "plain.db", **more)
    if code == 6:
        break
    check(code == 0, text)
    check(not re.search("\x1b\\[[0-9;]*m", text), f"colour with {more}:", repr(text))
    if "TERM" in more:
        check("\x1b" not in text and "\r" not in text.replace("\r\n", ""), "a dumb terminal was sent:", repr(text))
print("every line fits, every row tells its shape")
