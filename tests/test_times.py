"""times.py finds the label that grew, and takes neither a slower machine nor kept kernels for growth."""
import pathlib
import tempfile

import times

BEFORE = {"unit": 4.0, "cli": 2.0, "exec": 4.0, "nvrtc": 1.0, "static": 0.1}


def grown(pace=10.0, every=1.0, limits=times.TOLD_FROM, **changed):
    """What is found when each label costs `every` times as much as before, and some cost more."""
    now = {name: every * changed.get(name, 1.0) * minutes for name, minutes in BEFORE.items()}
    return [sentence.split()[0] for sentence in times.grown(now, pace, BEFORE, 10.0, limits)]


assert not grown()
assert not grown(cli=1.15)
assert grown(cli=1.25) == ["cli"]
assert grown(exec=1.25) == ["exec"]
assert not grown(static=2), "6 s more are noise"
assert not grown(every=3.0, pace=30.0), "a slower machine"
assert grown(every=3.0, pace=30.0, unit=1.25) == ["unit"]
assert not grown(every=1.4), "a machine that is slower at compiling than at the fixed work"
assert not grown(exec=0.2, nvrtc=0.1), "kernels were kept"
assert grown(exec=0.2, nvrtc=0.1, unit=1.25) == ["unit"]
assert not grown(every=0.5, pace=5.0), "a faster machine"
assert grown(every=0.5, pace=5.0, cli=1.25) == ["cli"]
assert grown(every=1.6) == ["all"]

# What fails has grown clearly; the rest is a warning.
assert not grown(limits=times.FAILS_FROM, cli=1.45)
assert grown(limits=times.FAILS_FROM, cli=1.55) == ["cli"]
assert not grown(limits=times.FAILS_FROM, static=5), "24 s more are noise"
assert not grown(limits=times.FAILS_FROM, every=3.0), "a machine that is slower at everything"

# A label that is new or gone is no growth.
assert not times.grown({"unit": 4.0, "fuzz": 9.0}, 10.0, BEFORE, 10.0, times.TOLD_FROM)

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "times.txt")
    times.write(path, BEFORE, 10.0)
    assert times.read(path) == (BEFORE, 10.0)
times.read(pathlib.Path(__file__).parent / "times.txt")
print("growth is found, and nothing else")
