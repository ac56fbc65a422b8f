"""control.py PROGRAM SOURCES: no text from a database, a file, the environment or the command line reaches a terminal
with a character that it would obey. Each is given the sequence that sets a terminal's title, a mark that turns the
direction of writing, and a byte that is no UTF-8; what comes out must have them escaped.
"""
import json
import os
import re
import sys
import tempfile

import pseudo_terminal

TITLE = b"\x1b]0;owned\x07"
EVIL = TITLE + "\u202e\u009b31m".encode() + b"\xff"

program, sources = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
plain = {k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
plain.update(HOME=scratch.name, LC_ALL="C.UTF-8", TERM="dumb", GEMMTUNE_LIBCUDA=scratch.name + "/no-driver")
wrong = []


def run(*arguments, codes=range(11), **more):
    """Run on a pseudo-terminal, and look at all that it got."""
    code, text = pseudo_terminal.run([program.encode(), *arguments], {**plain, **more})
    found = re.findall(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]",
                       text.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n"))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        found.append(b"what is no UTF-8")
    if found or code not in codes:
        wrong.append((arguments, more, code, sorted(set(found)), text[-300:]))
    return text


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


# A database whose texts came from elsewhere.
row = json.loads(open(sources + "/configs/winners/h200.jsonl", encoding="utf-8").readline())
text = EVIL[:-1].decode("utf-8")  # JSON has no place for the last byte
for name, change in (("driver", {"driver": "5" + text, "cublas": "13" + text}), ("gpu", {"gpu": "NVIDIA" + text}),
                     ("config", {"config": "simt" + text + " BM=1"}), ("problem", {"problem": "4x4x4" + text})):
    write(name + ".jsonl", json.dumps({**row, **change}).encode())
    run("import", name + ".jsonl", "--db", name + ".db")
for arguments in (("query",), ("query", "--all"), ("query", "--format", "json"), ("query", "--format", "csv"),
                  ("explain", "--shape", row["problem"]), ("explain", "--shape", row["problem"], "--format", "json"),
                  ("verify",), ("verify", "--format", "csv"), ("export", "--header", "driver.h"), ("export", "--csv"), ("export", "--json"),
                  ("doctor",)):
    shown = run(*arguments, "--db", "driver.db", codes=(0, 1, 6))
    if arguments[0] == "query" and "json" not in arguments and "\\x1b" not in shown.decode("utf-8", "replace"):
        wrong.append((arguments, {}, 0, ["the driver's name is not shown"], shown))

# Files.
write("suite.txt", b"4x4x4" + EVIL + b"\n")
write("space.conf", b"[si" + EVIL + b"mt]\n")
write("capture.txt", b"sgemm" + EVIL + b":nn:4x4x4 # count=3\n")
write("count.txt", b"sgemm:nn:4x4x4 # cou" + EVIL + b"nt=3\n")
write("cache.json", b'{"kernel_name": "x' + TITLE + b'"}')
write("no.db", EVIL * 100)
for command in ("tune", "bench", "ladder"):
    run(command, "--suite", "suite.txt")
run("--space", "space.conf", "--shape", "4x4x4", "--gpu", "h200")
run("--from-capture", "capture.txt")
run("--from-capture", "count.txt")
run("import", "cache.json")
run("query", "--db", "no.db")

# The command line.
for arguments in ((EVIL,), ("help", EVIL), ("--shape", b"4x4x4" + EVIL), ("--shape", EVIL), ("--shape", "4x4x4", "--gpu", EVIL),
                  ("--suite", EVIL), ("--from-capture", EVIL), ("--op", EVIL, "--shape", "4x4x4"), ("--budget", EVIL),
                  ("--gpus", EVIL), ("--seed", EVIL), ("--space", EVIL, "--shape", "4x4x4"), ("--format", EVIL),
                  ("--workspace", EVIL), ("--strategy", EVIL, "--shape", "4x4x4"), (b"--" + EVIL,), (b"--" + EVIL + b"=3",),
                  (b"--shape=4x4x4" + EVIL,), (b"-" + EVIL,), (b"--cold=" + EVIL,),
                  ("query", EVIL), ("query", "--gpu", EVIL, "--db", "driver.db"), ("query", b"--" + EVIL),
                  ("query", "--db", EVIL), ("verify", "--db", EVIL), ("explain", "--shape", EVIL), ("import", EVIL),
                  ("merge", EVIL, EVIL), ("export", EVIL), ("export", "--header", EVIL), ("bench", EVIL),
                  ("bench", "--rival", EVIL), ("ladder", EVIL), ("ladder", "--rung", EVIL, "--shape", "4x4x4"),
                  ("doctor", EVIL), ("doctor", "--db", EVIL), ("_worker", b"--" + EVIL), ("_compiler", EVIL)):
    run(*arguments)

# The environment.
for name in ("GEMMTUNE_LIBCUDA", "GEMMTUNE_LIBNVRTC", "GEMMTUNE_DB", "GEMMTUNE_CONFIGS", "GEMMTUNE_WORKSPACE",
             "GEMMTUNE_CACHE", "XDG_DATA_HOME"):
    run("doctor", **{name: EVIL})
    run("--shape", "4x4x4", "--budget", "1s", **{name: EVIL})
run("query", "--help", ARGP_HELP_FMT=EVIL)

for arguments, more, code, found, text in wrong:
    print(f"{arguments} {more} ended with {code} and showed {found}: ...{text}")
if wrong:
    sys.exit(f"{len(wrong)} of them showed what a terminal obeys")
print("nothing got through")
