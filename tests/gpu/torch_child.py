"""Programs with PyTorch as child processes, without or with the drop-in, and tuning for the programs that run PyTorch."""
import argparse
import os
import pathlib
import signal
import subprocess
import sys

SKIPPED = 77


def load_torch():
    """PyTorch with CUDA, or the end of the program."""
    try:
        import torch
    except ImportError:
        sys.exit(SKIPPED)
    if not torch.cuda.is_available():
        print("skipped: PyTorch sees no GPU")
        sys.exit(SKIPPED)
    return torch


def parser_of(sentence):
    """With the options that both programs have."""
    parser = argparse.ArgumentParser(description=sentence)
    parser.add_argument("--dropin", type=lambda p: pathlib.Path(p).resolve(strict=True), required=True)
    parser.add_argument("--tune", type=lambda p: pathlib.Path(p).resolve(strict=True), required=True)
    parser.add_argument("--json", help="write what was measured")
    return parser


def run_child(program, what, out, dropin, folder, **more):
    """Runs `program --child WHAT OUT`. dropin: a path, or None. more: of its environment. Returns the drop-in's lines."""
    kept = ("GEMMTUNE_CACHE", "GEMMTUNE_LIBCUDA", "GEMMTUNE_LIBNVRTC")
    env = {k: v for k, v in os.environ.items() if not k.startswith("GEMMTUNE_") or k in kept}
    if dropin:  # with no winners but our own
        env.update({"LD_PRELOAD": str(dropin), "GEMMTUNE_LOG": "1", "GEMMTUNE_CONFIGS": str(folder / "no configs")})
    env.update({k: str(v) for k, v in more.items()})
    done = subprocess.run([sys.executable, program, "--child", what, str(out)], stderr=subprocess.PIPE, text=True, env=env,
                          timeout=600)
    if done.returncode == SKIPPED:
        sys.exit(SKIPPED)
    if done.returncode:
        sys.exit(f"{done.stderr[-4000:]}\nthe process for '{what}' ended with {done.returncode}")
    return [line for line in done.stderr.splitlines() if line.startswith("gemmtune: ")]


def own_libraries():
    """Variables that make tune use this PyTorch's cuBLAS and cublasLt, whose stored algorithms serve their version only."""
    found = {}
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split()[-1]
        for variable, name in (("GEMMTUNE_LIBCUBLAS", "libcublas.so"), ("GEMMTUNE_LIBCUBLASLT", "libcublasLt.so")):
            if pathlib.Path(path).name.startswith(name):
                found[variable] = path
    return found


def tune(options, capture, db, *more, limit=None, **variables):
    """Tunes what was captured; the exit status. limit: seconds until it is interrupted. variables: of its environment."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | variables
    process = subprocess.Popen([str(options.tune), "--from-capture", str(capture), "--db", str(db), *more], env=env,
                               stdout=subprocess.PIPE, text=True)
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # what it has found stays
        try:
            out, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
    print(out, flush=True)
    return process.returncode
