#!/usr/bin/env python3
"""t4.py TUNE STORE_MANY: trials that tune exports as T4 load in what others read T4 with: Kernel Tuner's own schema, and the
reader and statistics of autotuning_methodology, which says how many failed and which was the fastest. Ends with 77 where the two packages are not installed
(pip install kernel_tuner autotuning_methodology).
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import jsonschema
    from autotuning_methodology.formats_interface import load_T4_format
    from autotuning_methodology.searchspace_statistics import SearchspaceStatistics
    from kernel_tuner.file_utils import output_file_schema
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def load(path, trials, failed, fastest_ms):
    version, schema = output_file_schema("results")
    results = json.loads(path.read_text())
    jsonschema.validate(results, schema)
    assert results["schema_version"] == version, results["schema_version"]
    load_T4_format(path, validate=True)
    # Its statistics cannot begin with a trial that failed.
    results["results"].sort(key=lambda r: r["invalidity"] != "correct")
    path.write_text(json.dumps(results))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of no times
        found = SearchspaceStatistics("gemm", "gpu", True, ["compilation", "runtimes"], ["time"], path, full_validate=True)
    assert found.size == trials, found.size
    assert found.objective_performances_number_of_nan == failed, found.objective_performances_number_of_nan
    assert abs(found.objective_performances_total_sorted[0] - fastest_ms) < 1e-9, found.objective_performances_total_sorted[0]
    print(f"{path.name}: {found.size} trials, {failed} failed, the fastest in {fastest_ms} ms")


def main():
    tune, store_many = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([store_many, folder / "some.db", "600", "6", "6"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tune, "export", "--db", folder / "some.db", "--t4", "-o", folder / "ours.json"], check=True)
        load(folder / "ours.json", 600, 60, 0.01)


main()
