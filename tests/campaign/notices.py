"""notices.py --build BUILD: tests that the campaign detects damage. With each planted defect its short form must exit with 1
and name the kind of damage; without faults each part must say that it tested nothing, and the campaign must exit with 3."""
import os, re, subprocess, sys

CAMPAIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "campaign.sh")
PLANTS = [  # the defect, the part that must notice it, a regular expression for its findings
    ("lost-commit", "kills", "lost"),
    ("lost-trial", "kills", "lost"),
    ("orphan", "kills", "orphans"),
    ("litter", "kills", "left behind|the run after the kills ended badly"),  # a journal left behind undoes a commit
    ("deaf", "faults", "verify"),
    ("no-fsync", "power", "lost"),
    ("unchecked", "files", "damaged rows are used"),
    ("crash", "files", "crash"),
    ("hang", "files", "hang"),
    ("two-writers", "aliases", "two writers"),
    ("orphan", "signals", "orphans"),
    ("wall-clock", "clock", "hang"),
    ("lost-rows", "merge", "lost"),
]


def campaign(*words):
    out = subprocess.run([CAMPAIGN, "quick", *sys.argv[1:], *words], capture_output=True, text=True)
    return out.returncode, out.stdout + out.stderr


wrong = 0
for defect, part, word in PLANTS:
    code, said = campaign("--only", part, "--plant", defect)
    found = re.search(f"FOUND ({word}).*", said)
    noticed = code == 1 and found
    wrong += not noticed
    print(f"{defect}, seen by {part}: {'noticed' if noticed else 'NOT NOTICED, exit code ' + str(code)}", flush=True)
    if not noticed: print(said)
    else: print("   " + found[0][:160], flush=True)
code, said = campaign("--no-faults")
silent = [part for part in ("kills", "faults", "power", "files", "aliases", "signals", "clock", "merge") if f"{part} tested nothing" not in said]
if code != 3 or silent:
    wrong += 1
    print(f"nothing injected: exit code {code}, not said by {silent}\n{said}")
else:
    print("nothing injected: " + said.splitlines()[-1])
sys.exit(wrong > 0)
