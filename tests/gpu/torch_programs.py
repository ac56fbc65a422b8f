"""The programs of programs.py: the models of torch_models.py and others whose products those do not have: vision models under
autocast and in FP16, LoRA, a mixture of experts, varying lengths, torch.compile, a graph network, broadcast operands.
Here a program is made, and one job is done with it: run while it is captured, timed, or compared with FP64.
"""
import collections
import gc
import os
import pathlib
import random
import time

from figures_stats import median
from torch_child import own_libraries
from torch_models import make_layers, make_models, time_graph
from torch_server import Skip

DEVICE = "cuda"
ADDS = 100  # calls of torch.add beside each step: how fast the host is at that moment
STEPS, STEPS_MAX, EAGER_S, EAGER_S_MAX = 60, 200, 0.5, 4
TRAIN, COMPILED = "GPT-2, 512 tokens, training step", "12 varying lengths, torch.compile"
MODELS = ("BERT-base, 8 x 128 tokens", "GPT-2, 512 tokens", "ViT-B/16, 16 images", "Llama-like, 512 tokens",
          "Llama-like, 8 x 1 token", "Whisper-like encoder, 1500 frames", TRAIN)
ACCURATE = ("BERT", "GPT-2", "ViT", "Llama-like, 512")
LENGTHS = random.Random(45).choices((24, 57, 100, 128, 211, 300), k=12)  # tokens
EXPERT_ROWS = (8, 24, 40, 56, 72, 96, 104, 112)  # of each expert

# compute(x): a step; x: a tensor or a list of them. module: computes the same in FP64, None if it does not.
Program = collections.namedtuple("Program", "compute x module trains", defaults=(False,))


def cases_of(only):
    """(program, type): all of them, of which the text contains one of the texts that `only` separates by semicolons."""
    found = [(m, t) for t in ("fp32", "bf16") for m in MODELS]
    found += [(name, t) for name, (_, types) in MAKERS.items() for t in types]
    found += [(m, "accurate") for m in MODELS if m.startswith(ACCURATE)]
    return [c for c in found if is_wanted(f"{c[0]}, {c[1]}", only)]


def is_wanted(name, only):
    return any(part.strip().lower() in name.lower() for part in only.split(";"))


# ---- the programs ----


def dtype_of(torch, kind):
    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(kind, torch.float32)


def cast(x, dtype):
    return [cast(part, dtype) for part in x] if isinstance(x, list) else x.to(dtype)


def of_module(torch, kind, module, x):
    """The program that computes a module in the type; autocast: FP32 parameters, BF16 products."""
    module, x = module.eval().to(dtype_of(torch, kind)), cast(x, dtype_of(torch, kind))
    if kind != "autocast":
        return Program(module, x, module)

    def compute(x):  # without the cache, which a graph would need at other addresses
        with torch.autocast(DEVICE, dtype=torch.bfloat16, cache_enabled=False):
            return module(x)

    return Program(compute, x, module)


def trained(torch, kind, module, x):
    """The program whose step is a pass forward and one backward."""
    module, x = module.train().to(dtype_of(torch, kind)), cast(x, dtype_of(torch, kind))

    def step(x):
        module.zero_grad(set_to_none=True)
        y = module(x)
        y.float().square().mean().backward()
        return y.detach()

    return Program(step, x, None, True)


def vision(name, **more):
    def make(torch, kind):
        try:
            import torchvision
        except ImportError:
            raise Skip("torchvision is not installed") from None
        return of_module(torch, kind, getattr(torchvision.models, name)(weights=None, **more), torch.randn(16, 3, 224, 224))

    return make


def lora(torch, kind):
    nn = torch.nn

    class Adapted(nn.Module):
        """A frozen layer and what is learnt beside it, of low rank."""

        def __init__(self, width, rank):
            super().__init__()
            self.frozen = nn.Linear(width, width).requires_grad_(False)
            self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)

        def forward(self, x):
            return nn.functional.gelu(self.frozen(x) + 2 * self.up(self.down(x)))

    return trained(torch, kind, nn.Sequential(*(Adapted(1024, 16) for _ in range(8))), torch.randn(4, 128, 1024))


def experts(torch, kind):
    nn = torch.nn

    class Experts(nn.Module):
        """Each row goes to two experts: an expert's rows are picked, go through two layers, and are added back."""

        def __init__(self, width, inner):
            super().__init__()
            self.up = nn.ModuleList(nn.Linear(width, inner) for _ in EXPERT_ROWS)
            self.down = nn.ModuleList(nn.Linear(inner, width) for _ in EXPERT_ROWS)
            self.rows = (torch.randperm(sum(EXPERT_ROWS)) % (sum(EXPERT_ROWS) // 2)).split(EXPERT_ROWS)

        def forward(self, x):
            y = x.clone()
            for rows, up, down in zip(self.rows, self.up, self.down):
                y.index_add_(0, rows, down(nn.functional.silu(up(x.index_select(0, rows)))))
            return y

    return of_module(torch, kind, nn.Sequential(*(Experts(512, 1024) for _ in range(3))),
                     torch.randn(sum(EXPERT_ROWS) // 2, 512))


def lengths(torch, kind):
    nn = torch.nn

    class Lengths(nn.Module):
        """A block of an encoder over sequences of several lengths, one after the other."""

        def __init__(self):
            super().__init__()
            self.block = make_layers(torch).Block(768, 12, nn.Linear, True, True, nn.functional.gelu, False)

        def forward(self, sequences):
            return torch.cat([self.block(x) for x in sequences], 1)

    return of_module(torch, kind, Lengths(), [torch.randn(1, tokens, 768) for tokens in LENGTHS])


def compiled(torch, plain):
    """The program of varying lengths with its block compiled."""
    block = torch.compile(plain.module.block, dynamic=True)
    with torch.inference_mode():
        try:
            block(plain.x[0])
        except Exception as why:  # whatever a compiler may raise
            raise Skip(f"it does not compile: {(str(why).strip() or repr(why)).splitlines()[0][:200]}") from None
    return plain._replace(compute=lambda sequences: torch.cat([block(x) for x in sequences], 1))


def sage(torch, kind):
    nn, nodes, edges, widths = torch.nn, 3000, 30000, (256, 256, 256, 48)
    ends = torch.stack([torch.randint(nodes, (edges,)) for _ in range(2)])

    class Mean(nn.Module):
        """GraphSAGE's layer: the node's own features, and the mean of its neighbours', each through a layer."""

        def __init__(self, width, outputs):
            super().__init__()
            self.own, self.neighbours = nn.Linear(width, outputs, bias=False), nn.Linear(width, outputs)
            count = torch.zeros(nodes).index_add_(0, ends[1], torch.ones(edges))
            self.register_buffer("share", 1 / count.clamp(min=1).unsqueeze(1))

        def forward(self, x, ends):
            mean = torch.zeros_like(x).index_add_(0, ends[1], x.index_select(0, ends[0])) * self.share
            return self.own(x) + self.neighbours(mean)

    try:
        from torch_geometric.nn import SAGEConv as Layer
    except Exception:  # an extension of another version raises OSError or RuntimeError
        Layer = Mean

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Layer(*pair) for pair in zip(widths, widths[1:]))

        def forward(self, x):
            for layer in self.layers[:-1]:
                x = layer(x, ends).relu()
            return self.layers[-1](x, ends)

    return of_module(torch, kind, Network(), torch.randn(nodes, widths[0]))


def broadcast(torch, kind):
    nn = torch.nn

    class Mixer(nn.Module):
        """Products of a batch of 64 in which one operand is the same matrix for all: on the left, then on the right."""

        def __init__(self, tokens, width):
            super().__init__()
            self.over_tokens = nn.Parameter(torch.randn(1, tokens, tokens) * tokens**-0.5)
            self.over_width = nn.Parameter(torch.randn(1, width, width) * width**-0.5)

        def forward(self, x):
            x = x + torch.bmm(self.over_tokens.expand(x.shape[0], -1, -1), x)
            return nn.functional.layer_norm(x + torch.bmm(x, self.over_width.expand(x.shape[0], -1, -1)), x.shape[-1:])

    return of_module(torch, kind, nn.Sequential(*(Mixer(96, 256) for _ in range(8))), torch.randn(64, 96, 256))


MAKERS = {
    "Swin-T, 16 images": (vision("swin_t"), ("autocast", "fp16")),
    # Its usual 1e-6 would hide all products from the result.
    "ConvNeXt-T, 16 images": (vision("convnext_tiny", layer_scale=0.1), ("autocast",)),
    "LoRA, 512 tokens, training step": (lora, ("bf16",)),
    "MoE, 8 experts, 8 to 112 rows": (experts, ("fp32", "bf16")),
    "12 varying lengths": (lengths, ("fp32", "bf16")),
    COMPILED: (lengths, ("bf16",)),
    "GraphSAGE, 3000 nodes": (sage, ("fp32",)),
    "bmm, 64 share a matrix": (broadcast, ("fp32", "bf16")),
}


def make_program(torch, name, kind):
    """The same weights and inputs in each process."""
    torch.manual_seed(1)
    with torch.device(DEVICE):
        if name in MAKERS:
            program = MAKERS[name][0](torch, kind)
        else:
            module, x = make_models(torch, "GPT-2, 512 tokens" if name == TRAIN else name).popitem()[1]
            program = (trained if name == TRAIN else of_module)(torch, kind, module, x)
    return compiled(torch, program) if name == COMPILED else program


# ---- what is done with one ----


def time_eager(torch, program):
    """Steps in turns with groups of torch.add: the host's speed changes within a second, and the ratio of the two does not."""
    small = torch.randn(64, 256, device=DEVICE)
    steps, hosts, adds = [], [], []
    gc.collect()
    gc.disable()
    begin = time.perf_counter()
    while len(steps) < STEPS_MAX:
        spent = time.perf_counter() - begin
        if (len(steps) >= STEPS and spent > EAGER_S) or (len(steps) > 4 and spent > EAGER_S_MAX):
            break
        start = time.perf_counter()
        for _ in range(ADDS):
            torch.add(small, small)
        adds.append((time.perf_counter() - start) / ADDS)
        torch.cuda.synchronize()
        start = time.perf_counter()
        program.compute(program.x)
        hosts.append(time.perf_counter() - start)
        torch.cuda.synchronize()
        steps.append(time.perf_counter() - start)
    gc.enable()
    return {"steps": len(steps), "ms": 1e3 * median(steps), "min_ms": 1e3 * min(steps), "host_ms": 1e3 * median(hosts),
            "add_us": 1e6 * median(adds), "in_adds": median([s / a for s, a in zip(steps, adds)])}


def warm(torch, program, seconds):
    """The last result."""
    until, passes = time.monotonic() + seconds, 0
    while passes < 3 or time.monotonic() < until:
        y = program.compute(program.x)
        torch.cuda.synchronize()
        passes += 1
    return y


def exact_of(torch, program):
    """In FP64; this changes the program's module."""
    return program.module.double()(cast(program.x, torch.float64)).cpu() if program.module else None


def distance(y, exact):
    return ((y - exact).norm() / exact.norm()).item()


def compare(torch, y, reference):
    """With the result and FP64's of a process without gemmtune."""
    kept = torch.load(reference)
    found = {"differs": distance(y, kept["y"])}
    if kept["exact"] is not None:
        found |= {"error_plain": distance(kept["y"], kept["exact"]), "error_tuned": distance(y, kept["exact"])}
    return found


def time_program(torch, program, job):
    """Both times, and, where the job names a file for the reference, results for `compare`."""
    y = warm(torch, program, job["seconds"]).double().cpu()
    found = time_eager(torch, program)
    try:
        found["graph_ms"] = time_graph(torch, program.compute, program.x)
    except RuntimeError as why:
        found["no_graph"] = str(why).strip().splitlines()[0][:200]
    if "reference" in job:
        torch.save({"y": y, "exact": exact_of(torch, program)}, job["reference"] + ".new")
        os.replace(job["reference"] + ".new", job["reference"])
    return found


def facts_of(torch):
    if not torch.cuda.is_available():
        raise Skip("PyTorch sees no GPU")
    torch.ones(2, 2, device=DEVICE) @ torch.ones(2, 2, device=DEVICE)
    return {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda,
            "libraries": own_libraries()}


def run_job(job):
    """In a process of its own."""
    try:
        import torch
    except ImportError:
        raise Skip("PyTorch is not installed") from None
    if job["do"] == "facts":
        return facts_of(torch)
    program = make_program(torch, job["program"], job["kind"])
    with torch.enable_grad() if program.trains else torch.inference_mode():
        if job["do"] == "time":
            return time_program(torch, program, job)
        y = warm(torch, program, job["seconds"])
        if job["do"] == "compare" and pathlib.Path(job["reference"]).exists():
            return compare(torch, y.double().cpu(), job["reference"])
    return {}
