"""The drop-in: tuned kernels in the cuBLAS calls of this process."""
from __future__ import annotations

import ctypes
import os
import re
from typing import NamedTuple, Optional

from ._errors import Error
from ._files import drop_in


class Report(NamedTuple):
    """What the drop-in has answered so far in this process."""

    products: int  # calls in types that gemmtune has; one in a CUDA graph counts when it is captured
    answered: int  # of these by tuned kernels; the others went to cuBLAS
    gain: float  # cuBLAS's time of the answered ones over theirs, as their races measured it; 0: not known


def _loaded() -> Optional[ctypes.CDLL]:
    process = ctypes.CDLL(None)
    return process if hasattr(process, "gemmtune_cublas_report") else None


def _loaded_cublas() -> Optional[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if re.match(r"libcublas(Lt)?[-.\w]*\.so", os.path.basename(path)):
                return "/" + path
    return None


def enable(database: Optional[str] = None) -> None:
    """Answer the cuBLAS calls of this process by what won on this GPU, as `tune run` does for a whole program.

    Call it before anything loads cuBLAS, so before `import torch`, `import cupy`. It loads the drop-in with global
    scope, and the loader then binds what libraries that are loaded later call in cuBLAS to it. Out of reach are
    packages that open cuBLAS and ask dlsym for its functions (JAX, ctypes) and processes that this one starts: use
    `tune run` for them. A second call does nothing, nor does one under `tune run`.

    database  the file of winners; None: GEMMTUNE_DB, else the user's own

    The drop-in's other settings are its environment variables (GEMMTUNE_LOG=1, GEMMTUNE_ACCURACY, GEMMTUNE_DROPIN=off,
    ...): set them in os.environ before the first product.

    Errors: Error if cuBLAS is loaded already, the drop-in cannot be, or is already and a database is named.
    """
    if _loaded():
        if database is not None:
            raise Error("the drop-in is in this process already, and reads the database that it was given then")
        return
    cublas = _loaded_cublas()
    if cublas:
        raise Error(f"cuBLAS is loaded already ({cublas}), and its callers are bound to it: call gemmtune.enable() before "
                    "torch, cupy or whatever loads it is imported, or start the program by: tune run -- python3 ...")
    before = os.environ.get("GEMMTUNE_DB")
    if database is not None:
        os.environ["GEMMTUNE_DB"] = os.path.abspath(database)
    try:
        ctypes.CDLL(drop_in(), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    except OSError as error:
        if database is not None:
            os.environ.pop("GEMMTUNE_DB")
            os.environ.update({"GEMMTUNE_DB": before} if before is not None else {})
        raise Error(f"the drop-in cannot be loaded: {error}") from error


def report() -> Report:
    """What the drop-in has answered so far. GEMMTUNE_LOG=1 tells of each problem, and why.

    Errors: Error if the drop-in is not in this process: neither enable() nor `tune run` came before.

    >>> gemmtune.report()
    Traceback (most recent call last):
      ...
    gemmtune.Error: the drop-in is not in this process: call gemmtune.enable(), or start the program by: tune run -- python3 ...
    """
    process = _loaded()
    if process is None:
        raise Error("the drop-in is not in this process: call gemmtune.enable(), or start the program by: tune run -- python3 ...")
    products, answered, gain = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_double()
    process.gemmtune_cublas_report(ctypes.byref(products), ctypes.byref(answered), ctypes.byref(gain))
    return Report(products.value, answered.value, gain.value)
