"""picture.py TUNE [--write]: README's picture (docs/results/h200-suite.svg) is what the page of tune report draws of the winners
that ship, by the same code. --write draws it anew, and the pictures of the page in docs/pictures.
"""
import os
import subprocess
import sys
import tempfile

import browser

tune = os.path.abspath(sys.argv[1])
os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PICTURE = "docs/results/h200-suite.svg"
TITLE = "Winners that ship for the H200 against cuBLAS: public suite, strict FP32"
program = browser.find()
if not program:
    print("skipped: no Chromium is installed (tools/setup.sh all)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch:
    environment = {k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
    environment.update(HOME=scratch, LC_ALL="C", GEMMTUNE_LIBCUDA="none", GEMMTUNE_DB=scratch + "/shipped.db")
    html = scratch + "/page.html"
    for command in (["import", "configs/winners/h200.jsonl"], ["report", "--suite", "configs/suites/public.txt", "-o", html]):
        subprocess.run([tune, *command], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page = browser.Browser(program)
    page.open(html)
    drawn = page.run("gemmtune.picture(800, '%s')" % TITLE)
    if "--write" in sys.argv:
        with open(PICTURE, "w", encoding="utf-8") as file:
            file.write(drawn)
        for width in (1400, 400):
            page.open(html, width, 900)
            page.picture("docs/pictures/report-%d.png" % width, whole=False)
    problems, height = page.run("gemmtune.rows.length"), page.run("""new DOMParser().parseFromString(%r, 'image/svg+xml')
        .documentElement.getAttribute('height')""" % drawn)
    errors = page.errors
    page.close()
if errors:
    sys.exit("script errors: %s" % errors)
if int(height) > 700 or drawn.count('class="row"') != problems:
    sys.exit("%d rows of %d, %s px high: at most 700, so that it fits on a screen" % (drawn.count('class="row"'), problems, height))
with open(PICTURE, encoding="utf-8") as file:
    if file.read() != drawn:
        sys.exit("%s is not what the page draws of configs/winners/h200.jsonl: python3 tests/report/picture.py TUNE --write" % PICTURE)
for width in (1400, 400):
    size = os.path.getsize("docs/pictures/report-%d.png" % width)
    if size > 150e3:
        sys.exit("docs/pictures/report-%d.png has %d bytes: at most 150,000" % (width, size))
