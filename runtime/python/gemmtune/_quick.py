"""The short way of mm and of layers for torch's tensors: the module in C (runtime/python/fast.c), where the wheel has it and torch the
functions that it reads tensors by. Without it every product goes through _product.py, and gives the same."""
from __future__ import annotations

import ctypes
import sys
from typing import Any

from ._driver import function_address
from ._library import Library

_bound = False


def _not_here(*_: Any) -> Any:
    return None


if sys.version_info >= (3, 10):
    try:
        from . import _fast
    except ImportError:
        _fast = None  # type: ignore[assignment]
else:
    _fast = None

mm: Any = _not_here  # as _fast.mm: the result, None (not for this way), or what the library answered
linear: Any = _not_here  # as _fast.linear, the same


def bind(library: Library) -> None:
    """After a product by the other way: the library is open then, and torch imported if it will be."""
    global _bound, mm, linear
    torch = sys.modules.get("torch")
    if _bound or torch is None:
        return
    exchange = getattr(getattr(torch, "Tensor", None), "__dlpack_c_exchange_api__", None)
    _bound = True
    if _fast is None or exchange is None or not _fast.bind_torch(torch.Tensor, torch.nn.Parameter, torch.is_grad_enabled, exchange):
        return
    _fast.bind_library(ctypes.cast(library.functions.gt_gemm, ctypes.c_void_p).value or 0, library.handle.value or 0,
                       function_address("cuCtxGetDevice"), function_address("cuDeviceGet"))
    mm, linear = _fast.mm, _fast.linear
