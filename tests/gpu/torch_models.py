#!/usr/bin/env python3
"""Models in PyTorch (FP32, no setting changed) before and after tuning, under the drop-in cuBLAS, on a real GPU.

    torch_models.py --dropin build/runtime/dropin/libgemmtune_cublas.so --tune build/tune [--budget 300s] [--json FILE]

Models with random weights in the sizes of BERT-base (8 x 128 tokens), GPT-2 (512 tokens), ViT-B/16 (16 images), a
Llama-like decoder without biases (512 tokens, and 8 x 1) and Whisper-small's encoder (1500 frames): their products are captured once, tuned together in the budget,
and the models timed by replays of a CUDA graph, alternately in processes without and with the drop-in. Each output is
compared with that of plain PyTorch and of FP64. Ends with 77 where there is no PyTorch with CUDA.
"""
import json
import pathlib
import statistics
import sys
import tempfile
import types

from torch_child import load_torch, parser_of, run_child, tune

# ---- the models ----


def make_layers(torch):
    """The blocks that models are made of, here and in torch_programs.py."""
    nn, functional = torch.nn, torch.nn.functional

    def heads(x, count):
        return x.unflatten(-1, (count, -1)).transpose(1, 2)

    class Conv1D(nn.Module):
        """GPT-2's linear layer: the weight is stored input by output."""

        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(inputs, outputs) * inputs**-0.5)
            self.bias = nn.Parameter(torch.randn(outputs) * 0.1)

        def forward(self, x):
            return torch.addmm(self.bias, x.flatten(0, -2), self.weight).unflatten(0, x.shape[:-1])

    class Block(nn.Module):
        """An encoder block: one product for queries, keys and values, or three; norms before or after."""

        def __init__(self, width, count, linear, fused, norm_first, activation, causal):
            super().__init__()
            self.count, self.norm_first, self.causal = count, norm_first, causal
            self.qkv = nn.ModuleList([linear(width, 3 * width)] if fused else [linear(width, width) for _ in range(3)])
            self.out, self.up, self.down = linear(width, width), linear(width, 4 * width), linear(4 * width, width)
            self.norm1, self.norm2, self.activation = nn.LayerNorm(width), nn.LayerNorm(width), activation

        def attend(self, x):
            parts = [layer(x) for layer in self.qkv]
            q, k, v = (heads(p, self.count) for p in (parts[0].chunk(3, -1) if len(parts) == 1 else parts))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
            return self.out(y.transpose(1, 2).flatten(-2))

        def feed(self, x):
            return self.down(self.activation(self.up(x)))

        def forward(self, x):
            if self.norm_first:
                x = x + self.attend(self.norm1(x))
                return x + self.feed(self.norm2(x))
            x = self.norm1(x + self.attend(x))
            return self.norm2(x + self.feed(x))

    class Decoder(nn.Module):
        """Llama's block without rotary embedding: no biases, RMS norms, a gated feed-forward."""

        def __init__(self, width, count, inner):
            super().__init__()
            self.count = count
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
            self.down = nn.Linear(inner, width, bias=False)
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)

        def forward(self, x):
            h = self.norm1(x)
            q, k, v = (heads(layer(h), self.count) for layer in (self.q, self.k, self.v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=x.shape[1] > 1)
            x = x + self.o(y.transpose(1, 2).flatten(-2))
            h = self.norm2(x)
            return x + self.down(functional.silu(self.gate(h)) * self.up(h))

    return types.SimpleNamespace(Conv1D=Conv1D, Block=Block, Decoder=Decoder)


def make_models(torch, only=None):
    """name -> (model, input), both on the GPU. only: the one of this name."""
    nn, functional, layers = torch.nn, torch.nn.functional, make_layers(torch)

    def tanh_gelu(x):
        return functional.gelu(x, approximate="tanh")

    def blocks(count, *arguments):
        return nn.Sequential(*(layers.Block(*arguments) for _ in range(count)))

    def llama():
        return nn.Sequential(*(layers.Decoder(2048, 16, 5632) for _ in range(8)))

    encoder = (768, 12, nn.Linear)  # width, heads, kind of layer
    known = {
        "BERT-base, 8 x 128 tokens": (lambda: blocks(12, *encoder, False, False, functional.gelu, False), (8, 128, 768)),
        "GPT-2, 512 tokens": (lambda: blocks(12, 768, 12, layers.Conv1D, True, True, tanh_gelu, True), (1, 512, 768)),
        "ViT-B/16, 16 images": (lambda: blocks(12, *encoder, True, True, functional.gelu, False), (16, 197, 768)),
        "Llama-like, 512 tokens": (llama, (1, 512, 2048)),
        "Llama-like, 8 x 1 token": (llama, (8, 1, 2048)),
        "Whisper-like encoder, 1500 frames": (lambda: blocks(12, *encoder, False, True, functional.gelu, False), (1, 1500, 768)),
    }
    return {name: (make().cuda().eval(), torch.randn(*shape).cuda()) for name, (make, shape) in known.items() if only in (None, name)}


def time_graph(torch, model, x):
    """Milliseconds of a pass, replayed: the median of nine groups of replays."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(10):
        begin.record()
        for _ in range(8):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 8)
    return statistics.median(times[1:])


def child(what, out):
    torch = load_torch()
    torch.manual_seed(1)
    found = {}
    with torch.inference_mode():
        for name, (model, x) in make_models(torch).items():
            y = model(x).double()
            found[name] = {"y": y.cpu()}
            if what == "capture":
                continue
            found[name]["ms"] = time_graph(torch, model, x)
            if what == "exact":
                found[name]["error_of"] = model.double()(x.double()).cpu()
                model.float()
    torch.save(found, out)


# ---- processes ----


def run(options, folder, what, dropin=False, **more):
    out = folder / "out"
    lines = run_child(__file__, what, out, options.dropin if dropin else None, folder, **more)
    import torch
    return torch.load(out), lines


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--child":
        return child(sys.argv[2], sys.argv[3])
    parser = parser_of(__doc__.splitlines()[0])
    parser.add_argument("--budget", default="300s", help="of tuning all models together (300s)")
    parser.add_argument("--rounds", type=int, default=2, help="processes without and with the drop-in, each (2)")
    parser.add_argument("--db", type=pathlib.Path, help="keep the winners there")
    options = parser.parse_args()
    torch = load_torch()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        capture, db = folder / "models.txt", options.db or folder / "models.db"
        run(options, folder, "capture", dropin=True, GEMMTUNE_DB=db, GEMMTUNE_CAPTURE=capture)
        print(capture.read_text(), flush=True)
        status = tune(options, capture, db, "--budget", options.budget)
        if status:
            failures.append(f"tune --from-capture ended with {status}")
        plain, after = [], []
        for i in range(options.rounds):
            plain.append(run(options, folder, "exact" if i == 0 else "time")[0])
            found, lines = run(options, folder, "time", dropin=True, GEMMTUNE_DB=db)
            after.append(found)
        print("\n".join(lines))
    rows = {}
    for name, first in plain[0].items():
        exact = first["error_of"]
        before, now = ([p[name]["ms"] for p in side] for side in (plain, after))
        row = {"plain_ms": statistics.median(before), "tuned_ms": statistics.median(now),
               "error": ((first["y"] - exact).norm() / exact.norm()).item(),
               "error_tuned": ((after[0][name]["y"] - exact).norm() / exact.norm()).item(),
               "spread": max(max(s) / min(s) - 1 for s in (before, now))}
        row["speedup"] = row["plain_ms"] / row["tuned_ms"]
        rows[name] = row
        print(f"{name}: {row['plain_ms']:.3f} ms -> {row['tuned_ms']:.3f} ms, {row['speedup']:.3f} times as fast (spread "
              f"{100 * row['spread']:.1f} %); error against FP64 {row['error']:.2e} -> {row['error_tuned']:.2e}")
        if row["error_tuned"] > 4 * row["error"] + 1e-7:
            failures.append(f"{name}: the error grew")
    if options.json:
        found = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda,
                 "budget": options.budget, "models": rows, "failures": failures}
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    print("all right" if not failures else "\n".join(f"WRONG: {f}" for f in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
