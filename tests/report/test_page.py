"""test_page.py TUNE FAKE_CHILD STORE_MANY FOLDER: the page of tune report in a real browser, headless. No script errors and no
requests, figures equal to the database's, sorting and filtering, hostile texts, predictions, 10,000 winners, the live page of a
run, and pictures at 1400 and 400 pixels in FOLDER, to be looked at.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

import browser

tune, fake, store_many, pictures = (os.path.abspath(x) for x in sys.argv[1:5])
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
check("rival" not in page.run("document.body.innerText"), "people read of cuBLAS")
check(heads[:2] == ["problem", "× cuBLAS"], "the ratio is the second column: %s" % heads)
at = {name: heads.index(name) for name in ("problem", "× cuBLAS", "low", "high", "time (µs)", "TFLOPS")}
for row in rows:
    stored = known[row[at["problem"]]]
    used = stored["cublas_us"] if stored["used"] == "cuBLAS" else stored["time_us"]
    for name, value, digits in (("× cuBLAS", stored["ratio"], 3), ("low", stored["ratio_low"], 3), ("high", stored["ratio_high"], 3),
                                ("time (µs)", used, 2)):
        check(abs(float(row[at[name]]) - value) <= 0.6 * 10 ** -digits, "%s of %s: %s, stored %s" % (name, row[0], row[at[name]], value))
bars = page.run("""Array.from(document.querySelectorAll('#ratio-box .row')).map(g => [g.querySelector('title').textContent.split('\\n')[0],
    g.lastChild.textContent, Array.from(g.querySelectorAll('rect')).filter(r => r.getAttribute('fill') === getComputedStyle(document.documentElement)
    .getPropertyValue('--blue').trim()).map(r => Number(r.getAttribute('width')))[0]])""")
check(len(bars) == min(len(known), 80), "a bar for each, 80 at most")
check(all(abs(float(bar[1]) - known[bar[0]]["ratio"]) <= 6e-4 for bar in bars), "with its ratio")
scale = [bar[2] / (known[bar[0]]["ratio"] - 1) for bar in bars if known[bar[0]]["ratio"] > 1.2]
check(len(scale) > 10 and max(scale) - min(scale) < 0.01 * max(scale), "as long as the ratio is beyond 1: %s" % scale)
cards = page.run("Array.from(document.querySelectorAll('.card')).map(c => c.innerText.split('\\n'))")
measured = [r for r in known.values() if r["used"] and r["ratio"]]
rival_us = sum(r["cublas_us"] for r in measured)
saved = sum(r["cublas_us"] - r["time_us"] for r in measured if r["used"] == "kernel")
told = [c for c in cards if c[1].startswith("saved")]
check(len(told) == 1 and told[0][0] == "%.3f ms (%.1f %%)" % (1e-3 * saved, 100 * saved / rival_us) and
      "%.3f ms" % (1e-3 * rival_us) in told[0][1], "time saved: %s, by the database %s of %s us" % (told, saved, rival_us))
check(not [c for c in cards if "due" in c[1]] and page.run("document.getElementById('due-hint').hidden") and "due" not in heads,
      "without a GPU nothing is due, imported or not: %s" % cards)
check("imported" in page.run("document.getElementById('provenance').innerText"), "what was imported is called so")
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
check(page.run("document.querySelectorAll('#ratio-box .row').length") == len(left), "for the chart, too")
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
    ends = page.run("Array.from(document.querySelectorAll('#winners tbody tr')).map(tr => tr.cells[1].getBoundingClientRect().right)")
    check(max(ends) <= width, "the ratio is seen at %d pixels: it ends at %s" % (width, max(ends)))
    heights = page.run("Array.from(document.querySelectorAll('#winners tbody tr')).map(tr => tr.getBoundingClientRect().height)")
    check(width < 600 or max(heights) < 1.5 * min(heights) < 60, "where there is room a row is one line: %s" % heights)
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
rows = page.run("gemmtune.rows")
for row in rows:
    told = changes[row["problem"]]
    check(row["change"] == told["change"].replace("only in B", "new"), "%s: %s, by tune diff %s" % (row["problem"], row["change"], told["change"]))
    if told["change_percent"] is not None:
        check(abs(row["change_percent"] - told["change_percent"]) <= 1e-6 * abs(100 + told["change_percent"]), "%s: by how much" % row["problem"])
check(page.run(column % 0) and "faster" in [r["change"] for r in rows] and "new" in [r["change"] for r in rows], "something changed")
for row in rows[:60]:
    page.run("Array.from(document.querySelectorAll('#winners tbody tr')).find(tr => tr.cells[0].textContent === %s).click()" % json.dumps(row["problem"]))
check(not page.errors, "no script errors: %s" % page.errors)

# Bars of two GPUs at 400 pixels keep the shape and what tells the GPUs apart.
for gpu in ("h200", "h100_sxm"):
    run("import", "%s/configs/winners/%s.jsonl" % (sources, gpu), "--db", "two.db")
run("report", "--db", "two.db", "-o", "two.html")
page.run("sessionStorage.clear()")
for width in (1400, 400):
    page.open("two.html", width, 900)
    labels = page.run("""Array.from(document.querySelectorAll('#ratio-box .row')).map(g => [g.querySelector('title').textContent.split('\\n')[0],
        g.querySelector('text').textContent])""")
    check(len(labels) == 80 and {label.split(" ", 1)[1] for _, label in labels} == {"H100", "H200"}, "each bar names its GPU: %s" % labels)
    lost = [(problem, label) for problem, label in labels if re.search(r"\d+x\d+x\d+", problem)[0] not in label]
    check(not lost, "at %d pixels the bars have their shapes: %s" % (width, lost))
    check(width < 600 or "sgemm_accurate:" in " ".join(label for _, label in labels), "where there is room they have their types")
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
check(page.run("document.querySelectorAll('#ratio-box .row').length") == 80, "and its bars")

# Texts that would be markup, or end the script.
evil = "</script><img src=x onerror=\"document.title=1\"><!--\u001b"
database.execute("UPDATE runs SET driver = ?, command = ?", (evil, evil))
database.commit()
database.close()
run("report", "-o", "evil.html")
page.open("evil.html")
check(page.run("document.title") == "gemmtune report", "no text is run")
check(page.run("document.images.length + document.scripts.length") == 4, "nor is it markup")
check(page.run("document.getElementById('provenance').textContent.includes('</script><img')"), "it is shown")
check(not page.errors, "no script errors: %s" % page.errors)

# Predictions: neither ratio nor bars, nor a frame without them.
run("import", sources + "/configs/winners/h200.jsonl", "--db", "predicted.db")
with sqlite3.connect("predicted.db") as database:
    database.execute("UPDATE decisions SET predicted = 1, rival = '', anchor_us = 0, ratio = 0, ratio_low = 0, ratio_high = 0")
run("report", "--db", "predicted.db", "-o", "predicted.html")
page.open("predicted.html")
check(page.run("document.getElementById('ratio-section').hidden"), "no empty chart for predictions")
check(page.run(column % 0) and page.run("gemmtune.rows.every(r => r.state === 'predicted')"), "they are rows")
check(not page.run("document.querySelector('.cards, #cards').innerText").count("saved"), "which save no time that is known")

# 10,000 winners, each with figures of its own: size, and processor time of the page's thread. All of them can be reached.
subprocess.run([store_many, "many.db", "100", "10", "10000"], check=True, stdout=subprocess.DEVNULL)
with sqlite3.connect("many.db") as database:
    database.execute("""UPDATE decisions SET time_us = 10 + (id * 7919 % 99991) * 1.0123457e-2, decided_us = decided_us + id * 1000003,
        ratio = 0.9 + (id * 104729 % 99991) * 1.2345678e-5, trials = id % 2903, legal_count = 100003 + id * 37""")
    database.execute("UPDATE decisions SET ratio_low = ratio - 1.234567e-3, ratio_high = ratio + 1.345678e-3, anchor_us = time_us * ratio")
run("report", "--db", "many.db", "-o", "many.html")
with open("about.html", "w", encoding="utf-8") as file:
    file.write("<!DOCTYPE html><title>nothing</title>")
size = os.path.getsize("many.html")
check(size < 3e6, "the page of 10,000 winners has less than 3 MB: %d bytes" % size)
page.run("sessionStorage.clear()")
spent = []
for _ in range(3):  # other programs make it longer
    page.open("about.html")
    page.call("Performance.enable", timeDomain="threadTicks")
    page.open("many.html")
    spent.append({m["name"]: m["value"] for m in page.call("Performance.getMetrics")["metrics"]}["TaskDuration"])
    page.call("Performance.disable")
print("10,000 winners: %.2f MB, %.2f s of processor time" % (1e-6 * size, min(spent)))
check(min(spent) < 2, "it is drawn in 2 s: %s" % spent)
many = {r["problem"]: r for r in json.loads(run("query", "--own", "--db", "many.db", "--json"))}
rows = page.run("gemmtune.rows.map(r => [r.problem, r.configuration, r.winner, r.used_us, r.ratio, r.when, r.trials_made, r.legal])")
check(len(rows) == len(many) == 10000, "10,000 rows")
for problem, configuration, winner, used_us, ratio, when, trials, legal in rows:
    stored = many[problem]
    used = stored["cublas_us"] if stored["used"] == "cuBLAS" else stored["time_us"]
    check(configuration == stored["configuration"] and set(winner.split()) <= set(configuration.split()), "%s: %s" % (problem, configuration))
    check(abs(used_us / used - 1) < 1e-6 and abs(ratio / stored["ratio"] - 1) < 1e-6, "%s: %s us, %s" % (problem, used_us, ratio))
    check((when, trials, legal) == (stored["when"], stored["trials"], stored["legal"]), "%s: %s" % (problem, when))
ratios = sorted((r["ratio"] for r in many.values()), reverse=True)
for count in (300, 600):
    drawn = [float(x) for x in page.run(column % 1)]
    check(len(drawn) == count and all(abs(a - b) <= 6e-4 for a, b in zip(drawn, ratios)), "the first %d of the order of all" % count)
    page.run("document.getElementById('more').click()")
last = min(many, key=lambda p: many[p]["ratio"])
page.run("document.getElementById('filter').value = %s; document.getElementById('filter').dispatchEvent(new Event('input'))" % json.dumps(last))
check(last in page.run(column % 0), "the filter finds what is not drawn")
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
