#!/usr/bin/env python3
"""Real programs under `tune run`, on a GPU: PyTorch models in FP32, BF16 and accurate FP32, a training step, and programs
that open cuBLAS themselves (ctypes; CuPy and JAX where they are installed). All are captured, tuned together, and compared.

    programs.py --tune build/portable/tune [--budget 100s] [--only BERT] [--json FILE]

Prints a row for each: the share of GEMM time that tuned kernels answered, the share where cuBLAS was as fast, milliseconds
of a pass in a CUDA graph without and with, and the error against FP64 without and with. 77: there is no PyTorch with CUDA.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from torch_child import own_libraries

HERE = pathlib.Path(__file__).resolve().parent
CAPTURE_S = 0.2  # of each, so that all count alike
TRAIN = "GPT-2, 512 tokens, training step"
ACCURATE = ("BERT", "GPT-2", "ViT", "Llama-like, 512")
MODELS = ("BERT-base, 8 x 128 tokens", "GPT-2, 512 tokens", "ViT-B/16, 16 images", "Llama-like, 512 tokens",
          "Llama-like, 8 x 1 token", "Whisper-like encoder, 1500 frames", TRAIN)


def cases_of(only):
    """(model, type): all of them, of which the text contains `only`."""
    found = [(m, t) for t in ("fp32", "bf16") for m in MODELS]
    found += [(m, "accurate") for m in MODELS if m.startswith(ACCURATE)]
    return [c for c in found if only.lower() in f"{c[0]} {c[1]}".lower()]


# ---- in the programs ----


def pass_of(torch, model, kind):
    """(function of x, x, the module): one pass of the model in the type."""
    from torch_models import make_models
    torch.manual_seed(1)
    with torch.device("cuda"):
        module, x = make_models(torch)["GPT-2, 512 tokens" if model == TRAIN else model]
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    module, x = module.to(dtype), x.to(dtype)
    if model != TRAIN:
        return module, x, module
    module.train()

    def step(x):
        module.zero_grad(set_to_none=True)
        y = module(x)
        y.float().square().mean().backward()
        return y.detach()

    return step, x, module


def run_case(phase, folder, model, kind):
    """Runs one case and leaves what was found as FOLDER/PHASE-MODEL-KIND.pt."""
    import torch
    from torch_models import time_graph
    with torch.enable_grad() if model == TRAIN else torch.inference_mode():
        compute, x, module = pass_of(torch, model, kind)
        until = time.monotonic() + (CAPTURE_S if phase == "capture" else 0.05)
        y = compute(x)
        while time.monotonic() < until:
            compute(x)
            torch.cuda.synchronize()
        if phase == "capture":
            return
        found = {"y": y.double().cpu(), "ms": time_graph(torch, compute, x)}
        if phase == "off" and model != TRAIN:
            found["exact"] = module.double()(x.double()).cpu()
    torch.save(found, folder / f"{phase}-{model.replace('/', '_')}-{kind}.pt")


def child(phase, folder, cases):
    """Before and in the capture all cases in one process; under tuned kernels each in its own, for its own capture."""
    import torch  # noqa: F401: before the forks; CUDA starts after them
    for model, kind in cases:
        if phase != "tuned":
            run_case(phase, folder, model, kind)
            torch.cuda.empty_cache()
            continue
        process = os.fork()
        if process == 0:
            os.environ["GEMMTUNE_CAPTURE"] = str(folder / f"{model.replace('/', '_')}-{kind}.txt")
            if kind == "accurate":
                os.environ["GEMMTUNE_ACCURACY"] = "accurate"
            with open(folder / f"{model.replace('/', '_')}-{kind}.err", "wb") as err:
                os.dup2(err.fileno(), 2)
            run_case(phase, folder, model, kind)
            return
        if os.waitpid(process, 0)[1]:
            print(f"{model}, {kind}: the process failed", file=sys.stderr)


CUPY = """import cupy, time
a, b = cupy.ones((512, 768), "f"), cupy.ones((768, 3072), "f")
for shape in range(40): c = a @ b
cupy.cuda.Device().synchronize(); start = time.perf_counter()
for i in range(1000): c = a @ b
cupy.cuda.Device().synchronize()
print("cupy 512x3072x768", round(1e3 * (time.perf_counter() - start), 2), int(c.sum()))
"""
JAX = """import jax, time
import jax.numpy as np
jax.config.update("jax_default_matmul_precision", "highest")
x, up, down = np.ones((512, 768)), np.ones((768, 3072)) / 768, np.ones((3072, 768)) / 3072
block = jax.jit(lambda x: x + jax.nn.gelu(x @ up) @ down)
block(x).block_until_ready(); start = time.perf_counter()
for i in range(300): y = block(x)
y.block_until_ready()
print("jax block 512x768", round((time.perf_counter() - start) / 300 * 1e6, 2), int(y.sum()))
"""


# ---- around them ----


def others(folder):
    """name -> command of the programs that open cuBLAS by path and are there."""
    found = {"ctypes": [str(HERE / "opened_cublas.py"), str(folder)]}
    for name, text in (("cupy", CUPY), ("jax", JAX)):
        if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0:
            found[name] = ["-c", text]
        else:
            print(f"{name}: not installed")
    return found


class Runs:
    """Programs under `tune run`, with a database and a cache in one folder."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = dict(os.environ, GEMMTUNE_DB=str(folder / "db"), GEMMTUNE_CACHE=str(folder / "cache"))

    def run(self, words, *more, limit=300, **variables):
        """Runs Python under tune run; (standard output, standard error)."""
        command = [str(self.options.tune), "run", *more, "--", sys.executable, *words]
        done = subprocess.run(command, env=self.environment | variables, capture_output=True, text=True, timeout=limit)
        if done.returncode:
            print(f"{' '.join(words)[:200]} ended with {done.returncode}\n{done.stderr[-3000:]}")
        return done.stdout, done.stderr

    def phase(self, phase, cases, *more, **variables):
        begin = time.monotonic()
        _, err = self.run([__file__, "--child", phase, str(self.folder), json.dumps(cases)], *more, **variables)
        print(f"{phase}: {len(cases)} cases in {time.monotonic() - begin:.0f} s", flush=True)
        return err


def shares(text):
    """Percent of the GPU time of products: by tuned kernels, by cuBLAS because it is as fast."""
    found = re.search(r"products: ([0-9.]+) % answered by tuned kernels, ([0-9.]+) % by cuBLAS because", text)
    return (float(found[1]), float(found[2])) if found else (None, None)


def row_of(folder, model, kind):
    import torch
    name = model.replace("/", "_")
    before = folder / f"off-{name}-{'fp32' if kind == 'accurate' else kind}.pt"
    after = folder / f"tuned-{name}-{kind}.pt"
    row = {"program": f"{model}, {kind}"}
    with contextlib.suppress(OSError):
        row["tuned_share"], row["cublas_share"] = shares((folder / f"{name}-{kind}.err").read_text())
        off, tuned = torch.load(before), torch.load(after)
        row |= {"off_ms": off["ms"], "tuned_ms": tuned["ms"], "ratio": off["ms"] / tuned["ms"]}
        if "exact" in off:
            for key, y in (("error_off", off["y"]), ("error_tuned", tuned["y"])):
                row[key] = ((y - off["exact"]).norm() / off["exact"].norm()).item()
    return row


def compare_others(runs, programs, capture):
    """Rows of the programs that open cuBLAS themselves; their sums must be the same."""
    rows = []
    for name, words in programs.items():
        out, said = {}, ""
        for side in ("off", "tuned"):
            more = ("--off",) if side == "off" else ("--capture", str(runs.folder / f"{name}.txt"))
            text, said = runs.run(words, *more)
            out[side] = [line.split() for line in text.splitlines()]
        tuned, cublas = shares(said)
        times = {side: sum(float(line[-2]) for line in lines) / 1e3 for side, lines in out.items()}
        rows.append({"program": name, "tuned_share": tuned, "cublas_share": cublas, "off_ms": times["off"],
                     "tuned_ms": times["tuned"], "ratio": times["off"] / times["tuned"] if times["tuned"] else None,
                     "same": [line[-1] for line in out["off"]] == [line[-1] for line in out["tuned"]]})
    return rows


def print_rows(rows):
    columns = (("program", 46, "s"), ("tuned_share", 7, ".1f"), ("cublas_share", 8, ".1f"), ("off_ms", 8, ".3f"),
               ("tuned_ms", 8, ".3f"), ("ratio", 6, ".3f"), ("error_off", 9, ".2e"), ("error_tuned", 9, ".2e"))
    titles = ("program", "tuned %", "cuBLAS %", "off ms", "tuned ms", "ratio", "error", "error now")
    print("  ".join(f"{title:{'<' if i == 0 else '>'}{c[1]}}" for i, (title, c) in enumerate(zip(titles, columns))))
    for row in rows:
        cells = [f"{row[k]:{f}}" if row.get(k) is not None else "-" for k, _, f in columns]
        print("  ".join(f"{cell:{'<' if i == 0 else '>'}{c[1]}}" for i, (cell, c) in enumerate(zip(cells, columns))))


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], pathlib.Path(sys.argv[3]), json.loads(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tune", type=lambda p: pathlib.Path(p).resolve(strict=True), required=True)
    parser.add_argument("--budget", default="100s", help="of tuning all together (100s)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", help="write what was measured")
    options = parser.parse_args()
    cases = cases_of(options.only)
    usual, accurate = [c for c in cases if c[1] != "accurate"], [c for c in cases if c[1] == "accurate"]
    without = usual + [(m, "fp32") for m, _ in accurate if (m, "fp32") not in usual]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs, capture = Runs(options, folder), folder / "all.txt"
        runs.phase("off", without, "--off")
        try:
            import torch
            found = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda}
            torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
        except (ImportError, RuntimeError, AssertionError) as why:
            print(f"skipped: {why}")
            return 77
        libraries = own_libraries()
        programs = others(pathlib.Path(libraries["GEMMTUNE_LIBCUBLAS"]).parent)
        runs.phase("capture", usual, "--capture", str(capture))
        if accurate:
            runs.phase("capture", accurate, "--capture", str(capture), GEMMTUNE_ACCURACY="accurate")
        for words in programs.values():
            runs.run(words, "--capture", str(capture))
        print(capture.read_text(), flush=True)
        begin = time.monotonic()
        done = subprocess.run([str(options.tune), "--from-capture", str(capture), "--budget", options.budget],
                              env=runs.environment | libraries, stdout=subprocess.PIPE, text=True)
        print(done.stdout, f"tune: {time.monotonic() - begin:.0f} s, exit code {done.returncode}", flush=True)
        # A capture of its own, which stays empty: so that the children see CUDA's graphs.
        said = runs.phase("tuned", cases, "--capture", str(folder / "none.txt"))
        if said:
            print(said[-2000:])
        rows = [row_of(folder, *case) for case in cases] + compare_others(runs, programs, capture)
    print_rows(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found | {"budget": options.budget, "rows": rows}, indent=1) + "\n")
    missing = [r["program"] for r in rows if r.get("ratio") is None or r.get("same") is False]
    worse = [r["program"] for r in rows if r["program"].endswith(("fp32", "accurate")) and "error_off" in r
             and r["error_tuned"] > 4 * r["error_off"] + 1e-7]
    for what, names in (("no result or another one", missing), ("the error grew", worse)):
        if names:
            print(f"WRONG: {what}: {', '.join(names)}")
    return 1 if missing or worse else 0


if __name__ == "__main__":
    sys.exit(main())
