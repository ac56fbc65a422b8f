"""compare.py EXPECTED SHOWN: 0 if SHOWN is what EXPECTED describes ({*}: any text in a line, a line {**}: any lines)."""
import difflib
import re
import sys


def line_pattern(line):
    return "[^\n]*".join(re.escape(piece) for piece in line.split("{*}"))


def pattern(lines):
    return "".join(r"(?:[^\n]*\n)*?" if line == "{**}" else line_pattern(line) + "\n" for line in lines)


def named(line, expected):
    """For the difference that is printed: a line that fits an expected one is shown as that."""
    return next((e for e in expected if e != "{*}" and re.fullmatch(line_pattern(e), line)), line)


expected = open(sys.argv[1], encoding="utf-8").read().splitlines()
shown = open(sys.argv[2], encoding="utf-8").read()
if re.fullmatch(pattern(expected), shown):
    sys.exit(0)
lines = [named(line, expected) for line in shown.splitlines()]
print("\n".join(difflib.unified_diff(expected, lines, "expected", "shown", lineterm="")))
sys.exit(1)
