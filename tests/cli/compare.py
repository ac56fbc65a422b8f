"""compare.py EXPECTED SHOWN: 0 if SHOWN is what EXPECTED describes ({*}: any text in a line, a line {**}: any lines)."""
import difflib
import re
import sys


def pattern(expected):
    parts = []
    for line in expected.splitlines():
        if line == "{**}":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*".join(re.escape(piece) for piece in line.split("{*}")) + "\n")
    return "".join(parts)


expected = open(sys.argv[1], encoding="utf-8").read()
shown = open(sys.argv[2], encoding="utf-8").read()
if re.fullmatch(pattern(expected), shown):
    sys.exit(0)
sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), shown.splitlines(True), "expected", "shown"))
sys.exit(1)
