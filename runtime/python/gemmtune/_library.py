"""The C library, as gemmtune.h declares it, and its one handle."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Optional

from ._errors import INVALID, ArgumentError, Error
from ._files import library as library_file

TYPES = {  # (elements of A and B, of C, accuracy): enum gt_type
    ("float32", "float32", "strict"): 0,
    ("float32", "float32", "accurate"): 1,
    ("float32", "float32", "normwise"): 2,
    ("float32", "float32", "tf32"): 3,
    ("bfloat16", "bfloat16", "strict"): 4,
    ("float16", "float16", "strict"): 5,
    ("bfloat16", "float32", "strict"): 6,
    ("float16", "float32", "strict"): 7,
}
COLUMN_MAJOR, OUT_OF_PLACE = 1, 8
BIAS_COLUMN = 1
ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2}
OPERANDS = {"a": 0, "b": 1}


def _fields(types: "dict[str, Any]") -> Any:
    return list(types.items())


class Problem(ctypes.Structure):
    """struct gt_problem"""

    _fields_ = _fields({
        "size": ctypes.c_uint32, "flags": ctypes.c_uint32, "type": ctypes.c_int32, "trans_a": ctypes.c_int32,
        "trans_b": ctypes.c_int32, "alignment": ctypes.c_int32, "m": ctypes.c_int64, "n": ctypes.c_int64, "k": ctypes.c_int64,
        "lda": ctypes.c_int64, "ldb": ctypes.c_int64, "ldc": ctypes.c_int64, "batch": ctypes.c_int64,
        "stride_a": ctypes.c_int64, "stride_b": ctypes.c_int64, "stride_c": ctypes.c_int64, "bias": ctypes.c_int32,
        "activation": ctypes.c_int32, "stride_bias": ctypes.c_int64, "reserved": ctypes.c_uint64 * 2,
    })

    def __init__(self, **values: Any) -> None:
        super().__init__(size=ctypes.sizeof(Problem), **values)


class Call(ctypes.Structure):
    """struct gt_call"""

    _fields_ = _fields({
        "size": ctypes.c_uint32, "flags": ctypes.c_uint32, "alpha": ctypes.c_void_p, "beta": ctypes.c_void_p,
        "a": ctypes.c_void_p, "b": ctypes.c_void_p, "c": ctypes.c_void_p, "stream": ctypes.c_void_p,
        "workspace": ctypes.c_void_p, "workspace_bytes": ctypes.c_size_t, "bias": ctypes.c_void_p,
        "source": ctypes.c_void_p, "prepared": ctypes.c_void_p, "reserved": ctypes.c_void_p * 1,
    })

    def __init__(self, **values: Any) -> None:
        super().__init__(size=ctypes.sizeof(Call), **values)


class Library:
    """The library with its handle. The handle stays open: at the program's end CUDA frees what it holds."""

    def __init__(self) -> None:
        path = library_file()
        try:
            self.functions = ctypes.CDLL(path)
        except OSError as error:
            raise Error(f"the library cannot be loaded: {error}") from error
        pointer, functions = ctypes.c_void_p, self.functions
        functions.gt_error_text.restype = ctypes.c_char_p
        functions.gt_open.argtypes = [pointer, pointer]
        functions.gt_gemm.argtypes = [pointer, pointer, pointer]
        functions.gt_prepare.argtypes = [pointer, pointer, ctypes.c_int, pointer, pointer, pointer]
        functions.gt_prepared_bytes.argtypes = [pointer]
        functions.gt_prepared_bytes.restype = ctypes.c_size_t
        functions.gt_prepared_free.argtypes = [pointer]
        functions.gt_prepared_free.restype = None
        self.handle = ctypes.c_void_p()
        self.check(functions.gt_open(ctypes.byref(self.handle), None))

    def check(self, status: int) -> None:
        """Raises the library's own words for what this thread's last call answered, unless that was GT_OK."""
        if not status:
            return
        text = self.functions.gt_error_text().decode(errors="replace")
        raise ArgumentError(text) if status == INVALID else Error(text, status)

    def gemm(self, problem: Problem, call: Call) -> None:
        self.check(self.functions.gt_gemm(self.handle, ctypes.byref(problem), ctypes.byref(call)))

    def prepare(self, problem: Problem, operand: int, matrix: int, stream: int) -> ctypes.c_void_p:
        prepared = ctypes.c_void_p()
        self.check(self.functions.gt_prepare(self.handle, ctypes.byref(problem), operand, matrix, stream, ctypes.byref(prepared)))
        return prepared


_lock = threading.Lock()
_opened: Optional[Library] = None


def opened() -> Library:
    """Opened at the first use, with the GPU of that product current."""
    global _opened
    with _lock:
        if _opened is None:
            _opened = Library()
        return _opened
