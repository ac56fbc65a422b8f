"""gemmtune: tuned matrix products for Python programs on NVIDIA GPUs.

Four ways, from the least to the most of your code:

    tune run -- python3 serve.py            # or: python3 -m gemmtune run -- python3 serve.py

    import gemmtune; gemmtune.enable()      # before torch, cupy or another package loads cuBLAS
    import torch                            # its products are answered by what won on this GPU

    c = gemmtune.mm(a, b)                   # one product, by the library; arrays of torch, cupy, numba, DLPack

    with gemmtune.replace_linear(model):    # torch.nn.Linear in FP32 on tensor cores, as accurate as before
        model(x)

Only the standard library is needed to import it: neither torch nor a GPU.

>>> import gemmtune
>>> gemmtune.__version__.count(".")
2
"""
from ._dropin import Report, enable, report
from ._errors import ArgumentError, Error
from ._files import drop_in
from ._product import Prepared, mm, prepare
from ._program import run, tune
from ._replace import replace_linear

__version__ = "0.2.0"
__all__ = ["ArgumentError", "Error", "Prepared", "Report", "drop_in", "enable", "mm", "prepare", "replace_linear", "report", "run",
           "tune"]
for _public in (ArgumentError, Error, Prepared, Report, drop_in, enable, mm, prepare, replace_linear, report, run, tune):
    _public.__module__ = __name__  # as tracebacks and help name them
