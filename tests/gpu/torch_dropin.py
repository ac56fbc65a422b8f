#!/usr/bin/env python3
"""PyTorch under the drop-in cuBLAS, on a real GPU.

    torch_dropin.py --dropin build/runtime/dropin/libgemmtune_cublas.so --tune build/tune [--dtype bfloat16] [--budget 90s]
                    [--json FILE]

1. Without winners every result equals that of PyTorch without the drop-in, bit for bit.
2. PyTorch's problems are captured; tune --from-capture tunes them.
3. With winners: changed results are within the bound |c - ref| <= 4 u K g + u_c |c|, g = |alpha| |A||B| + |beta||C|
   (docs/measuring.md; u is FP32's, u_c that of C; --dtype says what the elements are, sums are FP32), and calls that were passed on have the same bits as before. This includes calls in a CUDA graph,
   on another stream and from several threads.
4. A small transformer without biases is captured, tuned and timed before and after.

Each step runs in a separate process, because LD_PRELOAD and the settings are read at the start. Ends with 77 where
there is no PyTorch with CUDA.
"""
import json
import os
import pathlib
import statistics
import sys
import tempfile
import threading

import torch_child

U = 2.0**-24  # of FP32
TYPES = {"float32": ("sgemm", U), "bfloat16": ("bf16gemm", 2.0**-8), "float16": ("hgemm", 2.0**-11)}  # name in a problem, u_c
DTYPE = os.environ.get("TORCH_DROPIN_DTYPE", "float32")  # of a child process


def load_torch():
    torch = torch_child.load_torch()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False  # the bound is that of FP32 sums
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    return torch


# ---- the products ----


def cases(torch):
    """name, function of operands of DTYPE or FP64, operands, K, then alpha, beta and C if the function has them."""
    generator = torch.Generator(device="cuda").manual_seed(1)

    def uniform(*shape):
        return (torch.rand(*shape, generator=generator, device="cuda") * 2 - 1).to(getattr(torch, DTYPE))

    functional = torch.nn.functional
    a, b = uniform(256, 320), uniform(320, 192)
    yield "mm nn", torch.mm, (a, b), 320
    yield "mm nt", lambda x, y: torch.mm(x, y.t()), (a, uniform(192, 320)), 320
    yield "mm tn", lambda x, y: torch.mm(x.t(), y), (uniform(320, 256), b), 320
    yield "mm tt", lambda x, y: torch.mm(x.t(), y.t()), (uniform(320, 256), uniform(192, 320)), 320
    yield "mm of slices", torch.mm, (uniform(256, 400)[:, :320], uniform(320, 260)[:, :192]), 320
    yield "mm of unaligned slices", torch.mm, (uniform(256, 401)[:, 1:321], uniform(320, 259)[:, 3:195]), 320
    yield "mm of transposed slices", lambda x, y: torch.mm(x.t(), y), (uniform(320, 300)[:, 4:260], b), 320
    yield "mm few rows", torch.mm, (uniform(8, 2048), uniform(2048, 1024)), 2048
    yield "mm large K", torch.mm, (uniform(64, 16384), uniform(16384, 64)), 16384
    yield "mm ragged", torch.mm, (uniform(127, 253), uniform(253, 131)), 253
    yield "mm one row", torch.mm, (uniform(1, 512), uniform(512, 512)), 512
    yield "linear", functional.linear, (uniform(4, 64, 512), uniform(768, 512)), 512
    weight, bias = uniform(768, 512), uniform(768)
    yield "linear with bias", lambda x, w, c: functional.linear(x, w, c), (uniform(128, 512), weight, bias), 512
    yield "matmul 3D x 2D", torch.matmul, (uniform(6, 64, 320), b), 320
    yield "matmul 4D", torch.matmul, (uniform(2, 4, 64, 96), uniform(2, 4, 96, 80)), 96
    yield "matmul broadcast", torch.matmul, (uniform(5, 1, 64, 96), uniform(4, 96, 80)), 96
    yield "bmm nn", torch.bmm, (uniform(12, 128, 64), uniform(12, 64, 128)), 64
    yield "bmm nt", lambda x, y: torch.bmm(x, y.transpose(1, 2)), (uniform(12, 128, 64), uniform(12, 128, 64)), 64
    yield "bmm tn", lambda x, y: torch.bmm(x.transpose(1, 2), y), (uniform(12, 64, 128), uniform(12, 64, 96)), 64
    yield "bmm of slices", torch.bmm, (uniform(12, 128, 100)[:, :, :64], uniform(12, 64, 200)[:, :, 8:136]), 64
    yield "einsum attention", lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k), (
        uniform(2, 8, 128, 64), uniform(2, 8, 128, 64)), 64
    c = uniform(256, 192)
    yield "addmm", lambda x, y, z: torch.addmm(z, x, y, beta=0.5, alpha=2), (a, b, c), 320, 2.0, 0.5, c
    d = uniform(12, 128, 128)
    yield "baddbmm", lambda x, y, z: torch.baddbmm(z, x, y, beta=-1, alpha=0.25), (
        uniform(12, 128, 64), uniform(12, 64, 128), d), 64, 0.25, -1.0, d

    def into_slices(x, y):
        wide = torch.zeros(256, 256, dtype=x.dtype, device="cuda")
        return torch.mm(x, y, out=wide[:, :192])

    yield "mm into slices", into_slices, (a, b), 320


def bound_ratio(torch, function, operands, k, alpha, beta, c, result):
    """max |c - ref| / bound over all elements, against FP64; the bound's g from the absolute values."""
    exact = function(*[x.double() for x in operands])
    if len(operands) > 2:  # the third operand is added, not multiplied
        added = operands[2].double()
        product = function(operands[0].double().abs(), operands[1].double().abs(), torch.zeros_like(added))
        g = product.abs() + (abs(beta) * added.abs() if c is not None else added.abs())
    else:
        g = function(*[x.double().abs() for x in operands])
    error = (result.double() - exact).abs()
    return (error / (4 * U * k * g + TYPES[DTYPE][1] * exact.abs() + 1e-300)).max().item()


def run_cases(torch):
    results, ratios = {}, {}
    for name, function, operands, k, *rest in cases(torch):
        alpha, beta, c = rest or (1.0, 0.0, None)
        for _ in range(3):  # a kernel must give the same bits in every call
            result = function(*operands).clone()
            if name in results and not torch.equal(results[name], result):
                sys.exit(f"{name}: two calls gave different bits")
            results[name] = result
        ratios[name] = bound_ratio(torch, function, operands, k, alpha, beta, c, results[name])
    return {name: r.cpu() for name, r in results.items()}, ratios


def run_elsewhere(torch):
    """The same product eagerly, in a graph, on another stream and from threads: equal bits each time."""
    a, b = (torch.rand(*shape, device="cuda").to(getattr(torch, DTYPE)) for shape in ((256, 320), (320, 192)))
    eager = torch.mm(a, b)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        other = torch.mm(a, b)
    torch.cuda.synchronize()
    graph, out = torch.cuda.CUDAGraph(), torch.empty_like(eager)
    with torch.cuda.graph(graph):
        torch.mm(a, b, out=out)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    found = [None] * 4

    def work(i):
        for _ in range(20):
            found[i] = torch.mm(a, b)
        torch.cuda.synchronize()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same = {"another stream": torch.equal(eager, other), "a graph": torch.equal(eager, out)}
    same["threads"] = all(torch.equal(eager, f) for f in found)
    return same


# ---- the model ----


def model(torch, dtype):
    """LLaMA-like: no biases, gated feed-forward, attention written out as products."""
    nn = torch.nn
    width, heads, hidden, layers = 1024, 16, 2816, 6

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.gate = nn.Linear(width, hidden, bias=False)
            self.up = nn.Linear(width, hidden, bias=False)
            self.down = nn.Linear(hidden, width, bias=False)

        def forward(self, x):
            batch, tokens, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            weights = torch.softmax(q @ k.transpose(-1, -2) * (width // heads) ** -0.5, dim=-1)
            x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
            y = self.norm2(x)
            return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))

    torch.manual_seed(1)
    blocks = nn.Sequential(*[Block() for _ in range(layers)], nn.RMSNorm(width), nn.Linear(width, 8192, bias=False))
    return blocks.to("cuda", dtype).eval(), width


def time_model(torch, blocks, x, repeats=60):
    """Median time of a forward pass in ms: in the program, and of the GPU alone, in a graph."""
    for _ in range(5):
        blocks(x)
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def median(call):
        times = []
        for _ in range(repeats):
            begin.record()
            call()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        return statistics.median(times)

    eager = median(lambda: blocks(x))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        blocks(x)
    return eager, median(graph.replay)


def run_model(torch, exact):
    found, dtype = {}, getattr(torch, DTYPE)
    with torch.inference_mode():
        blocks, width = model(torch, dtype)
        for tokens in (1, 8, 512):
            x = torch.rand(1, tokens, width, generator=torch.Generator().manual_seed(2)).cuda() * 2 - 1
            x = x.to(dtype)
            out = blocks(x)
            eager, graph = time_model(torch, blocks, x)
            found[str(tokens)] = {"eager_ms": eager, "graph_ms": graph}
            if exact:
                blocks.double()
                reference = blocks(x.double())
                blocks.to(dtype)
                found[str(tokens)]["error"] = ((out.double() - reference).norm() / reference.norm()).item()
    return found


# ---- processes ----


def child(what, out):
    torch = load_torch()
    if what == "ops":
        results, ratios = run_cases(torch)
        torch.save({"results": results, "ratios": ratios, "elsewhere": run_elsewhere(torch)}, out)
    else:
        pathlib.Path(out).write_text(json.dumps(run_model(torch, exact=what == "model")))


class Runs:
    def __init__(self, options, folder):
        self.options, self.folder, self.failures = options, folder, []

    def run(self, what, dropin=False, **more):
        """What a child found, and the drop-in's lines."""
        out = self.folder / "out"
        lines = torch_child.run_child(__file__, what, out, self.options.dropin if dropin else None, self.folder,
                                      TORCH_DROPIN_DTYPE=self.options.dtype, **more)
        if what == "ops":
            import torch
            return torch.load(out), lines
        return json.loads(out.read_text()), lines

    def tune(self, capture, db, budget):
        space = ["--space", str(self.options.space)] if self.options.space else []
        libraries = {} if self.options.dtype == "float32" else torch_child.own_libraries()
        status = torch_child.tune(self.options, capture, db, "--budget", budget, *space, **libraries)
        self.check(status == 0, f"tune --from-capture ended with {status}")

    def check(self, holds, sentence):
        if not holds:
            self.failures.append(sentence)
            print(f"WRONG: {sentence}")
        return holds


def compare_ops(runs, plain, now, lines, tuned):
    same, changed = [], []
    import torch
    for name, before in plain["results"].items():
        equal = torch.equal(before, now["results"][name])
        (same if equal else changed).append(name)
        runs.check(now["ratios"][name] <= 1, f"{name}: {now['ratios'][name]:.3f} of the bound")
    for place, holds in now["elsewhere"].items():
        runs.check(holds, f"other bits in {place} than eagerly")
    went = [line for line in lines if "-> tuned kernel" in line]
    worst = max(now["ratios"].values())
    print(f"{len(same)} results with the bits of plain PyTorch, {len(changed)} others; {len(went)} problems went to "
          f"tuned kernels; worst error {worst:.4f} of the bound")
    if tuned:
        runs.check(changed and went, f"{len(changed)} results changed and {len(went)} problems were tuned")
        print("changed:", ", ".join(changed))
    else:
        runs.check(not changed and not went, f"without winners these differ: {changed}")


def products(runs):
    plain, _ = runs.run("ops")
    again, _ = runs.run("ops")
    compare_ops(runs, plain, again, [], tuned=False)  # without reproducible results nothing can be compared
    capture, db = runs.folder / "ops.txt", runs.folder / "ops.db"
    passed, lines = runs.run("ops", dropin=True, GEMMTUNE_DB=db, GEMMTUNE_CAPTURE=capture)
    compare_ops(runs, plain, passed, lines, tuned=False)
    text = capture.read_text()
    print(text)
    for problem in ("nn:256x192x320 ", "nt:256x192x320 ", "tn:256x192x320 ", "tt:256x192x320 ",
                    "nn:256x192x320:lda=400:ldb=260 ", "nn:128x128x64:batch=12 "):
        problem = f"{TYPES[runs.options.dtype][0]}:{problem}"
        runs.check(f"\n{problem}" in text, f"{problem}is not in the capture")
    runs.tune(capture, db, runs.options.budget)
    with_winners, lines = runs.run("ops", dropin=True, GEMMTUNE_DB=db)
    print("\n".join(lines))
    compare_ops(runs, plain, with_winners, lines, tuned=True)


def transformer(runs):
    capture, db = runs.folder / "model.txt", runs.folder / "model.db"
    first, _ = runs.run("model")
    runs.run("model", dropin=True, GEMMTUNE_DB=db, GEMMTUNE_CAPTURE=capture)
    print(capture.read_text())
    runs.tune(capture, db, runs.options.model_budget)
    after, lines = runs.run("model", dropin=True, GEMMTUNE_DB=db)
    print("\n".join(lines))
    last, _ = runs.run("model time")
    rows = {}
    for tokens in first:
        row = {"tokens": int(tokens), "error": first[tokens]["error"], "error_tuned": after[tokens]["error"]}
        for kind in ("eager_ms", "graph_ms"):
            row[kind] = (first[tokens][kind] + last[tokens][kind]) / 2
            row[f"{kind}_tuned"] = after[tokens][kind]
            row[f"{kind}_spread"] = abs(first[tokens][kind] / last[tokens][kind] - 1)
        row["speedup"] = row["graph_ms"] / row["graph_ms_tuned"]
        row["speedup_eager"] = row["eager_ms"] / row["eager_ms_tuned"]
        rows[tokens] = row
        print(f"transformer, {tokens} tokens: {row['graph_ms']:.4f} ms -> {row['graph_ms_tuned']:.4f} ms on the GPU "
              f"({row['speedup']:.3f} times as fast), {row['eager_ms']:.4f} -> {row['eager_ms_tuned']:.4f} ms eagerly "
              f"({row['speedup_eager']:.3f}); error against FP64 {row['error']:.2e} -> {row['error_tuned']:.2e}")
        runs.check(row["error_tuned"] < 4 * row["error"] + 1e-7, f"{tokens} tokens: the error grew")
    runs.check(max(r["speedup"] for r in rows.values()) > 1, "no forward pass became faster")
    return rows


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--child":
        return child(sys.argv[2], sys.argv[3])
    parser = torch_child.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=TYPES, default="float32", help="of the elements (float32)")
    parser.add_argument("--space", help="of tune")
    parser.add_argument("--budget", default="90s", help="of tuning the products (90s)")
    parser.add_argument("--model-budget", default="150s", help="of tuning the model (150s)")
    parser.add_argument("--only", choices=("products", "model"))
    options = parser.parse_args()
    torch = load_torch()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(options, pathlib.Path(folder))
        found = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda}
        if options.only != "model":
            products(runs)
        if options.only != "products":
            found["transformer"] = transformer(runs)
    found["failures"] = runs.failures
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    print("all right" if not runs.failures else f"{len(runs.failures)} failures")
    return 1 if runs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
