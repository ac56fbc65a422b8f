"""test_page.py TUNE FAKE_CHILD FOLDER: the page of tune report in a real browser, headless. No script errors and no
requests, figures equal to the database's, sorting and filtering, hostile texts, the live page of a run, and pictures at 1400
and 400 pixels in FOLDER, to be looked at.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

import browser

tune, fake, pictures = (os.path.abspath(x) for x in sys.argv[1:4])
sources = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
program = browser.find()
if not program:
    print("skipped: no Chromium is installed (tools/setup.sh all)")
    sys.exit(77)
os.makedirs(pictures, exist_ok=True)
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
environment = {k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
environment.update(HOME=scratch.name, LC_ALL="C", GEMMTUNE_DB="my.db", GEMMTUNE_EXE=fake, GEMMTUNE_LIBCUDA="none",
                   FAKE_SMOOTH="1", FAKE_UNBUILDABLE="STAGES=4", FAKE_WRONG="GROUP=8")
search = ["--space", sources + "/tests/fake/space.conf", "--no-pretuned"]


def run(*arguments):
    done = subprocess.run([tune, *arguments], env=environment, capture_output=True, check=False)
    if done.returncode:
        sys.exit("%s: %d\n%s" % (arguments, done.returncode, done.stderr.decode()))
    return done.stdout


def check(held, what):
    if not held:
        sys.exit("not so: " + what)


run("import", sources + "/configs/winners/h200.jsonl")
run(*search, "--shape", "1000x1000x1000", "--shape", "333x777x555", "--again")
with sqlite3.connect("my.db") as database:  # the fake GPU has no clocks
    database.execute("UPDATE trials SET sm_clock_mhz = 1980 - id % 30, power_w = 600 + id % 50, temperature_c = 55")
run("report", "-o", "page.html")
known = {r["problem"]: r for r in json.loads(run("query", "--own", "--json"))}
check(os.path.getsize("page.html") < 3e6, "the page has less than 3 MB")

page = browser.Browser(program)
page.open("page.html")
check(page.run("typeof Chart") == "function", "the charts are there (libjs-chart.js)")

# The figures.
rows = page.run("""Array.from(document.querySelectorAll('#winners tbody tr')).map(tr => Array.from(tr.cells).map(c => c.textContent))""")
heads = page.run("Array.from(document.querySelectorAll('#winners thead th')).map(th => th.textContent)")
check(len(rows) == len(known), "a row for each winner: %d of %d" % (len(rows), len(known)))
at = {name: heads.index(name) for name in ("problem", "× rival", "low", "high", "time (µs)", "TFLOPS")}
for row in rows:
    stored = known[row[at["problem"]]]
    used = stored["cublas_us"] if stored["used"] == "cuBLAS" else stored["time_us"]
    for name, value, digits in (("× rival", stored["ratio"], 3), ("low", stored["ratio_low"], 3), ("high", stored["ratio_high"], 3),
                                ("time (µs)", used, 2)):
        check(abs(float(row[at[name]]) - value) <= 0.6 * 10 ** -digits, "%s of %s: %s, stored %s" % (name, row[0], row[at[name]], value))
bars = page.run("Chart.getChart('ratio').data.datasets[0].data")
check(len(bars) == min(len(known), 80), "a bar for each, 80 at most")
points = page.run("Chart.getChart('roofline').data.datasets.filter(d => !d.label.startsWith('limit')).reduce((n, d) => n + d.data.length, 0)")
check(points == len(known), "a point for each on the roofline")

# Sorting: both ways, by numbers and by texts as numbers.
column = "Array.from(document.querySelectorAll('#winners tbody tr')).map(tr => tr.cells[%d].textContent)"
press = "Array.from(document.querySelectorAll('#winners thead button')).find(b => b.textContent === '%s').click()"
page.run(press % "time (µs)")
times = [float(x) for x in page.run(column % at["time (µs)"])]
check(times == sorted(times, reverse=True), "sorted by time, the longest first")
page.run(press % "time (µs)")
check([float(x) for x in page.run(column % at["time (µs)"])] == times[::-1], "and the other way round")
page.run(press % "problem")
check(page.run(column % 0) != page.run("'%s'" % "") and len(page.run(column % 0)) == len(known), "sorted by problem")

# Filtering narrows table and charts.
page.run("document.getElementById('filter').value = 'skinny 6144'; document.getElementById('filter').dispatchEvent(new Event('input'))")
left = page.run(column % 0)
check(left and all("6144" in x and known[x]["configuration"].startswith("skinny") for x in left), "the filter holds: %s" % left)
check(page.run("Chart.getChart('ratio').data.labels.length") == len(left), "for the chart, too")
page.run("document.getElementById('filter').value = ''; document.getElementById('filter').dispatchEvent(new Event('input'))")

# One problem: its search.
page.run("Array.from(document.querySelectorAll('#winners tbody tr')).find(tr => tr.cells[0].textContent === 'sgemm:nn:1000x1000x1000').click()")
database = sqlite3.connect("my.db")
best, count = database.execute("""SELECT min(nullif(t.time_us, 0)), count(*) FROM trials t JOIN problems p ON p.id = t.problem_id
    WHERE p.text = 'sgemm:nn:1000x1000x1000' AND t.verdict IN ('measured', 'slow')""").fetchone()
progress = page.run("Chart.getChart('progress').data.datasets[0].data.map(p => p.y)")
check(abs(progress[-1] / best - 1) < 1e-4 and progress == sorted(progress, reverse=True), "the best so far ends with the best trial")
check(page.run("Chart.getChart('progress').data.datasets[1].data.length") <= count, "no more trials than are stored")
check(page.run("Chart.getChart('effect').data.labels.length") > 3, "parameters have an effect")
check(page.run("document.querySelectorAll('#pair td').length") > 3, "and pairs")
check(page.run("Chart.getChart('race').data.labels.length") > 1, "there was a race")
clocks = page.run("Chart.getChart('clock').data.datasets.map(d => d.data.map(p => p.y))")
check(len(clocks[0]) > 20 and all(1950 < c <= 1980 for c in clocks[0]) and all(600 <= w < 650 for w in clocks[1]), "clock and power")
failed = database.execute("""SELECT count(DISTINCT t.config_id) FROM trials t JOIN problems p ON p.id = t.problem_id
    WHERE p.text = 'sgemm:nn:1000x1000x1000' AND t.verdict NOT IN ('measured', 'slow')""").fetchone()[0]
shown = sum(int(x) for x in page.run("Array.from(document.querySelectorAll('#failures tr')).slice(1).map(tr => tr.cells[1].textContent)"))
check(failed and shown == failed, "failures by reason: %d of %d" % (shown, failed))
check(page.requests == ["file://" + os.path.abspath("page.html")], "nothing else is asked for: %s" % page.requests)
check(not page.errors, "no script errors: %s" % page.errors)

# Pictures, and nothing wider than the screen.
for width, dark in ((1400, False), (1400, True), (400, False), (400, True)):
    page.open("page.html", width, 900, dark)
    time.sleep(0.3)
    check(page.run("document.documentElement.scrollWidth") <= width, "the page is not wider than %d" % width)
    page.picture("%s/%d%s.png" % (pictures, width, "-dark" if dark else ""))
page.call("Page.printToPDF")
check(not page.errors, "no script errors: %s" % page.errors)

# What changed since another database, as tune diff has it.
with open(sources + "/configs/winners/h200.jsonl", encoding="utf-8") as shipped:
    lines = shipped.read().splitlines()
earlier = json.loads(lines[1])
earlier["time_us"] *= 2
with open("earlier.jsonl", "w", encoding="utf-8") as file:
    file.write("\n".join([lines[0], json.dumps(earlier), *lines[3:]]))
run("import", "earlier.jsonl", "--db", "earlier.db")
run("report", "--before", "earlier.db", "-o", "since.html")
changes = {r["problem"]: r for r in json.loads(run("diff", "earlier.db", "my.db", "--json"))}
page.open("since.html")
rows = page.run("JSON.parse(document.getElementById('data').textContent).rows")
for row in rows:
    told = changes[row["problem"]]
    check(row["change"] == told["change"].replace("only in B", "new"), "%s: %s, by tune diff %s" % (row["problem"], row["change"], told["change"]))
    if told["change_percent"] is not None:
        check(abs(row["change_percent"] - told["change_percent"]) < 1e-6, "%s: by how much" % row["problem"])
check(page.run(column % 0) and "faster" in [r["change"] for r in rows] and "new" in [r["change"] for r in rows], "something changed")
for row in rows[:60]:
    page.run("Array.from(document.querySelectorAll('#winners tbody tr')).find(tr => tr.cells[0].textContent === %s).click()" % json.dumps(row["problem"]))
check(not page.errors, "no script errors: %s" % page.errors)

# Built without Chart.js: tables, and a remark.
with open("page.html", encoding="utf-8") as file:
    text = file.read()
start = text.index("<script>", text.index('id="data"'))
with open("plain.html", "w", encoding="utf-8") as file:
    file.write(text[:start] + text[text.index("</script>", start) + 9:])
page.open("plain.html")
check(page.run("document.getElementById('no-charts').hidden") is False, "the page says that it has no charts")
check(len(page.run(column % 0)) == len(known) and not page.errors, "and has its tables: %s" % page.errors)

# Texts that would be markup, or end the script.
evil = "</script><img src=x onerror=\"document.title=1\"><!--\u001b"
database.execute("UPDATE runs SET driver = ?, command = ?", (evil, evil))
database.commit()
database.close()
run("report", "-o", "evil.html")
page.open("evil.html")
check(page.run("document.title") == "gemmtune report", "no text is run")
check(page.run("document.images.length + document.scripts.length") == 3, "nor is it markup")
check(page.run("document.getElementById('provenance').textContent.includes('</script><img')"), "it is shown")
check(not page.errors, "no script errors: %s" % page.errors)

# An empty page of a run that has found nothing, the page while it works, and at its end.
environment.update(FAKE_TRIAL_MS="150", GEMMTUNE_DB="live.db")
worker = subprocess.Popen([tune, *search, "--shape", "512x512x512", "--max-trials", "150", "--report", "live.html"], env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait(held, what):
    for _ in range(600):
        if held():
            return
        time.sleep(0.1)
    sys.exit("in vain: " + what)


wait(lambda: os.path.exists("live.html"), "the page of a run that works")
page.open("live.html")
wait(lambda: page.run("""(document.getElementById('made') || {textContent: ''}).textContent.startsWith('1 problem') &&
    document.getElementById('live').hidden === false"""), "it loads itself again, and says that the run goes on")
check(worker.wait() == 0, "the run ends well")
wait(lambda: page.run("(document.getElementById('live') || {}).hidden === true"), "the last page says that it is over")
check(not page.errors, "no script errors: %s" % page.errors)
page.close()
