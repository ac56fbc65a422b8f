"""check_numbers.py: the numbers of README and of other pages are those of configs/winners and of docs/results, to the digits that they have.
Each decimal number of README's table has its source here, so that none can come without one.
"""
import csv
import json
import math
import os
import re
import sys

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
wrong = []


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def suite(name, of_type):
    """The problems of a suite in their full form."""
    lines = [line.split("#")[0].strip() for line in read("configs/suites/%s.txt" % name).splitlines()]
    return [line if "gemm" in line.split(":")[0] else of_type + ":" + ("" if ":" in line else "nn:") + line for line in lines if line]


winners = {gpu: {w["problem"]: w for w in map(json.loads, read("configs/winners/%s.jsonl" % gpu).splitlines())} for gpu in ("h200", "h100_sxm")}


def shipped(gpu, name, of_type):
    """What a user gets of each problem: cuBLAS where no winner ships, or where it lost."""
    return [max(1, winners[gpu].get(p, {"ratio": 1})["ratio"]) for p in suite(name, of_type)]


def without(gpu, name, of_type):
    """How many of the problems no winner ships for."""
    return sum(p not in winners[gpu] for p in suite(name, of_type))


def raced(of_type, least=1):
    """The ratios of a type's winners on both GPUs, M, N and K at least so much."""
    shapes = ((p.split(":"), w["ratio"]) for gpu in winners.values() for p, w in gpu.items())
    return [ratio for (own, op, shape, *_), ratio in shapes if own == of_type and min(map(int, shape.split("x"))) >= least]


def column(name, key):
    """Of the public suite in FP32."""
    with open("docs/results/%s.csv" % name, encoding="utf-8", newline="") as file:
        lines = csv.DictReader(line for line in file if not line.startswith("#"))
        return [float(line[key]) for line in lines if line["problem"] in suite("public", "sgemm")]


def told(name, pattern):
    """The number that a page of results tells, the last of several: "1,000" is 1000."""
    found = re.findall(pattern, read("docs/results/%s.md" % name))
    if not found:
        wrong.append("docs/results/%s.md does not tell %s" % (name, pattern))
    return float(found[-1].replace(",", "")) if found else math.nan


public = {gpu: shipped(gpu, "public", "sgemm") for gpu in winners}
tensor = {"BF16": ("public", "bf16gemm"), "TF32": ("public", "tf32gemm"), "FP16": ("hgemm-64", "hgemm"), "accurate": ("public", "sgemm_accurate")}


def means(gpu, *types):
    """Of each the mean of what ships, how many problems have no winner, and of how many."""
    return [x for t in types for x in (mean(shipped(gpu, *tensor[t])), without(gpu, *tensor[t]), len(suite(*tensor[t])))]


def row(name, label):
    return told(name, re.escape(label) + r" \|.*?\*\*([\d.]+)\*\*")


NUMBER = r"([\d.,]*\d)"
claims = [  # a page, a text of it with a NUMBER at each %, and what the numbers are
    ("README.md", "| % public problems, strict FP32, H200 | cublasSgemm | % (geometric mean; the least is %) |",
     len(public["h200"]), mean(public["h200"]), min(public["h200"])),
    ("README.md", "| the same in BF16; in TF32; % problems in FP16, H100 (H200) | cublasGemmEx | % (%); % (%); % (%) |",
     len(suite("hgemm-64", "hgemm")), *(mean(shipped(gpu, *tensor[t])) for t in ("BF16", "TF32", "FP16") for gpu in ("h100_sxm", "h200"))),
    ("README.md", "no winner ships for % (H200: %) of the % in BF16, % (%) in TF32 and % (%) of the % in FP16",
     *(without(gpu, *tensor["BF16"]) for gpu in ("h100_sxm", "h200")), len(suite(*tensor["BF16"])),
     *(without(gpu, *tensor[t]) for t in ("TF32", "FP16") for gpu in ("h100_sxm", "h200")), len(suite(*tensor["FP16"]))),
    ("docs/results/h100-tensor-families.md", "counts as 1: BF16, public suite, % (% of % have none); TF32, public suite, % (%);\n"
     "FP16, hgemm-64, % (% of %); accurate FP32, public suite, % (%).", *means("h100_sxm", "BF16"), *means("h100_sxm", "TF32")[:2],
     *means("h100_sxm", "FP16"), *means("h100_sxm", "accurate")[:2]),
    ("docs/results/h200-types.md", "counts as 1, too: BF16, public suite, % (% of % have none); FP16, hgemm-64, % (% of %); TF32, public suite, %\n"
     "(% of %); accurate FP32, public suite, % (%).", *means("h200", "BF16", "FP16", "TF32"), *means("h200", "accurate")[:2]),
    ("docs/results/h200-accuracy.md", "The winners that ship for the H100, by the races that chose them: %, %, %, % and % times cublasSgemm.",
     *(winners["h100_sxm"]["sgemm_accurate:nn:" + size]["ratio"] for size in
       ("1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "8192x8192x8192", "4095x4097x4093"))),
    ("CHANGELOG.md", "and wgmma on sm_90: %, % and %\n  times cuBLAS on public problems, H100",
     *(mean(shipped("h100_sxm", *tensor[t])) for t in ("BF16", "FP16", "TF32"))),
    ("CHANGELOG.md", "(`sgemm_accurate`, % to % times cublasSgemm where M, N and K are 1,024 or more) or by norm\n  (`sgemm_normwise`, up to % times)",
     min(raced("sgemm_accurate", 1024)), max(raced("sgemm_accurate")), max(raced("sgemm_normwise"))),
    ("README.md", "8192x8192x8192, H100 | cublasSgemm | %; % |",
     *(winners["h100_sxm"]["sgemm_accurate:nn:" + size]["ratio"] for size in ("4096x4096x4096", "8192x8192x8192"))),
    ("README.md", "tuned together in one minute, H100 | PyTorch with cuBLAS | %, %, %, % |",
     *(row("h100-programs", name + ", accurate") for name in
       ("BERT-base, 8 x 128 tokens", "GPT-2, 512 tokens", "ViT-B/16, 16 images", "Llama-like, 512 tokens"))),
    ("README.md", "| 8 x 1 token of a Llama-like model in PyTorch, FP32, H200 | PyTorch with cuBLAS | % |",
     told("h200-models", r"the same, 8 x 1 token \| [\d.]+ \| [\d.]+ \| ([\d.]+)")),
    ("README.md", "Killed % times, the tuner lost none of % finished trials", told("host-campaign", r"\| ([\d,]+) kills, [\d,]+ trials acknowledged, 0 lost"),
     told("host-campaign", r"kills, ([\d,]+) trials acknowledged, 0 lost")),
    ("README.md", "a first product takes % to % ms on an H200", told("h200-library", r"under the drop-in [\d.]+ and ([\d.]+) ms"),
     told("h200-library", r"under the drop-in ([\d.]+) and [\d.]+ ms")),
    ("docs/results/h200-accuracy.md", "and % on the public suite with the winners that ship", mean(shipped("h100_sxm", "public", "sgemm_accurate"))),
    ("docs/results/h200-suite.md", "rounds that chose them:\ngeometric mean %, least %", mean(public["h200"]), min(public["h200"])),
    ("docs/results/h200-suite.md", "Geometric mean over % problems: **%** against cublasSgemm, % against the best of cublasLt, % against CUBLAS_GEMM_AUTOTUNE;\n"
     "launched one by one %.", len(column("h200-suite", "ratio")),
     *(mean(column("h200-suite", key)) for key in ("ratio", "lt_ratio", "autotune_ratio", "stream_ratio"))),
    ("docs/results/h100-lt-candidates.md", "with the winners that ship for the H100: %, the least % (h100-suite.csv)",
     mean(column("h100-suite", "ratio")), min(column("h100-suite", "ratio"))),
]
covered = set()  # places of README
for page, text, *numbers in claims:
    pattern = NUMBER.join(re.escape(part) for part in text.split("%"))
    found = list(re.finditer(pattern, read(page)))
    if len(found) != 1 or len(found[0].groups()) != len(numbers):
        wrong.append("%s has %d times, not once: %s" % (page, len(found), text))
        continue
    for i, number in enumerate(numbers, 1):
        said = found[0].group(i).replace(",", "")
        if page == "README.md":
            covered.add(found[0].start(i))
        if said != "%.*f" % (len(said.partition(".")[2]), number):
            wrong.append("%s says %s, it is %.6g: %s" % (page, said, number, text))

# README's table has no other decimal number but the one that is a limit.
readme = read("README.md")
begin, end = readme.index("## Numbers"), readme.index("## How it works")
for match in re.finditer(r"(?<![\w.])\d+\.\d+(?![\w.])", readme[begin:end]):
    if begin + match.start() not in covered and readme[begin + match.end():].startswith(" %") is False:
        wrong.append("README.md: nothing says where %s comes from" % match.group())
limit = re.search(r"\| within ([\d.]+) % \(geometric mean\) \| \[h200-search-fast.md\]", readme)
if not limit or abs(told("h200-search-fast", r"found / shipped over 33 problems ([\d.]+)") - 1) > float(limit.group(1)) / 100:
    wrong.append("README.md: within how many % the search of 6 minutes is")
raw = [winners["h200"].get(p, {"ratio": 0})["ratio"] for p in suite("public", "sgemm")]  # 0: no winner beats cuBLAS there
if min(column("h200-suite", "ratio") + column("h200-suite", "lt_ratio") + raw) < 1:
    wrong.append("README.md: cuBLAS or cublasLt is faster on one of the 33")
machine_code = [re.findall(r"(?:3\.6|[\d.]+) MB on disk, (\d+) kernels|has (\d+) kernels: [\d.]+ MB of machine code in ([\d.]+) MB", read(page))
                for page in ("README.md", "docs/winners.md")]
if not machine_code[0] or not machine_code[1] or machine_code[0][0][0] != machine_code[1][0][1]:
    wrong.append("README.md and docs/winners.md differ about the kernels that ship: %s" % machine_code)

# The picture shows each problem with the ratio that ships.
picture = read("docs/results/h200-suite.svg")
shown = dict(re.findall(r'text-anchor="end">([^<]*)</text>.*?<text [^>]*>([\d.]+)</text></g>', picture))
expected = {p.replace("sgemm:nn:", ""): "%.3f" % winners["h200"][p]["ratio"] for p in suite("public", "sgemm")}
if shown != expected:
    wrong.append("docs/results/h200-suite.svg (tests/report/picture.py) differs: %s" % sorted(set(shown.items()) ^ set(expected.items())))
if "%.3f times as fast (geometric mean), at least %.3f" % (mean(public["h200"]), min(public["h200"])) not in picture:
    wrong.append("docs/results/h200-suite.svg has other means")
print("\n".join(wrong))
sys.exit(bool(wrong))
