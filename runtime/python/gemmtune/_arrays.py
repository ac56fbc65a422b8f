"""Arrays in a GPU's memory, whoever made them: torch's (data_ptr), those with __cuda_array_interface__, DLPack's.

None of their packages is imported. What cannot be read as it lies is refused: nothing is copied.
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple, Optional, Tuple

from ._driver import device_of
from ._errors import ArgumentError

ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


class Array(NamedTuple):
    name: str  # of the argument
    pointer: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # in elements
    dtype: str
    device: int
    writable: bool
    stream: Optional[int]  # on which it may still be written
    keep: Any  # what must live until the product is enqueued

    def __str__(self) -> str:
        return f"{self.name} (shape {self.shape}, strides {self.strides}, {self.dtype})"


class Matrices(NamedTuple):
    """An array of two dimensions, or of three for a batch."""

    array: Array
    batch: Optional[int]  # None: it has two
    rows: int
    columns: int
    by_rows: Optional[int]  # leading dimension if stored by rows; None: it is not
    by_columns: Optional[int]

    @property
    def stride(self) -> int:
        """From one matrix of the batch to the next."""
        return self.array.strides[0] if self.batch is not None and self.batch > 1 else 0

    def layout(self, column_major: bool) -> Tuple[int, int]:
        """Whether it is a transposed one of that order, and its leading dimension."""
        same, other = (self.by_columns, self.by_rows) if column_major else (self.by_rows, self.by_columns)
        return (0, same) if same is not None else (1, other or 0)


def _contiguous(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _dtype(name: str, dtype: str) -> str:
    if dtype not in ITEM_BYTES:
        raise ArgumentError(f"{name} has elements of type {dtype}, not float32, float16 or bfloat16")
    return dtype


def _on_cpu(name: str, where: str) -> ArgumentError:
    return ArgumentError(f"{name} is on {where}, not on a GPU: move it there first (torch: .cuda(); cupy.asarray)")


def _of_torch(name: str, tensor: Any) -> Array:
    torch, device = sys.modules.get("torch"), tensor.device
    if device.type != "cuda":
        raise _on_cpu(name, str(device))
    rocm = getattr(getattr(torch, "version", None), "hip", None)
    if rocm:
        raise ArgumentError(f"{name} is on an AMD GPU: this torch is built for ROCm {rocm}, and gemmtune computes on NVIDIA's")
    if getattr(tensor, "requires_grad", False) and (torch is None or torch.is_grad_enabled()):
        raise ArgumentError(f"{name} requires a gradient, and this product has none: call it under torch.no_grad(), pass "
                            f"{name}.detach(), or use torch.ops.gemmtune.mm (gemmtune.torch_ops), which has one")
    layout = str(getattr(tensor, "layout", "torch.strided"))
    if layout != "torch.strided":
        raise ArgumentError(f"{name} has the layout {layout}: call .to_dense() on it first")
    for lazy in ("is_neg", "is_conj"):
        if getattr(tensor, lazy, bool)():
            raise ArgumentError(f"{name} is a view whose sign is not applied yet: call .resolve_neg() or .resolve_conj() first")
    pointer = tensor.data_ptr()
    number = device.index if device.index is not None else device_of(name, pointer)
    return Array(name, pointer, tuple(tensor.shape), tuple(tensor.stride()), _dtype(name, str(tensor.dtype).rpartition(".")[2]),
                 number, True, None, tensor)


def _of_interface(name: str, owner: Any) -> Array:
    """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html"""
    described = owner.__cuda_array_interface__
    dtype = _dtype(name, {"<f4": "float32", "<f2": "float16"}.get(described["typestr"], described["typestr"]))
    if described.get("mask") is not None:
        raise ArgumentError(f"{name} has a mask")
    shape, strides, size = tuple(described["shape"]), described.get("strides"), ITEM_BYTES[dtype]
    if strides is not None and any(stride % size for stride in strides):
        raise ArgumentError(f"{name} has strides of {tuple(strides)} bytes, which are no multiples of its elements' {size}")
    pointer, read_only = described["data"]
    number = getattr(getattr(owner, "device", None), "id", None)  # cupy
    if not isinstance(number, int):
        number = device_of(name, pointer) if all(shape) else 0
    return Array(name, pointer, shape, tuple(s // size for s in strides) if strides is not None else _contiguous(shape), dtype,
                 number, not read_only, described.get("stream"), owner)


class _DLTensor(ctypes.Structure):
    """https://dmlc.github.io/dlpack/latest/c_api.html"""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


_DL_CUDA, _DL_FLOAT, _DL_BFLOAT = 2, 2, 4
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def _of_dlpack(name: str, owner: Any, stream: Optional[int]) -> Array:
    """The capsule is looked into, not consumed: it frees the array when it goes itself."""
    kind, number = owner.__dlpack_device__()
    if kind != _DL_CUDA:
        raise _on_cpu(name, "the CPU" if kind == 1 else f"a device of DLPack's kind {int(kind)}")
    capsule = owner.__dlpack__(stream=stream or 1)  # 1: the legacy default stream
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    letters = {_DL_FLOAT: "float", _DL_BFLOAT: "bfloat"}.get(tensor.code, f"DLPack's {tensor.code}, ")
    dtype = _dtype(name, f"{letters}{tensor.bits}" + (f" x {tensor.lanes}" if tensor.lanes != 1 else ""))
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _contiguous(shape)
    return Array(name, (tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, number, False, None, capsule)


def read(name: str, owner: Any, stream: Optional[int] = None) -> Array:
    """What an argument is. stream: on which it will be used, for DLPack. Errors: ArgumentError."""
    if all(hasattr(owner, part) for part in ("data_ptr", "stride", "dtype", "device")):
        array = _of_torch(name, owner)
    elif hasattr(type(owner), "__cuda_array_interface__"):
        array = _of_interface(name, owner)
    elif hasattr(owner, "__dlpack__") and hasattr(owner, "__dlpack_device__"):
        array = _of_dlpack(name, owner, stream)
    elif hasattr(owner, "__array_interface__"):
        raise _on_cpu(name, "the CPU")
    else:
        raise ArgumentError(f"{name} is a {type(owner).__name__}: it must be an array of torch, or have __cuda_array_interface__ or "
                            "__dlpack__")
    if 0 in array.shape:
        raise ArgumentError(f"{array} has a size of 0")
    return array


def as_matrices(array: Array) -> Matrices:
    """Errors: ArgumentError unless it has two or three dimensions, and each matrix is contiguous but for a leading
    dimension, transposed or not."""
    if len(array.shape) not in (2, 3):
        raise ArgumentError(f"{array} has {len(array.shape)} dimensions, not 2 (a matrix) or 3 (a batch of them)")
    (rows, columns), (down, right) = array.shape[-2:], array.strides[-2:]
    by_rows = (columns == 1 or right == 1) and (rows == 1 or down >= columns)
    by_columns = (rows == 1 or down == 1) and (columns == 1 or right >= rows)
    if not by_rows and not by_columns:
        raise ArgumentError(f"{array} is contiguous neither along its rows nor along its columns: call .contiguous() on it first")
    batch = array.shape[0] if len(array.shape) == 3 else None
    if batch is not None and batch > 1 and array.strides[0] < 0:
        raise ArgumentError(f"{array} has its batch in reverse order: call .contiguous() on it first")
    return Matrices(array, batch, rows, columns, (down if rows > 1 else columns) if by_rows else None,
                    (right if columns > 1 else rows) if by_columns else None)


def extent(array: Array) -> Tuple[int, int]:
    """Its first byte, and the one behind its last."""
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides))
    return array.pointer, array.pointer + (last + 1) * ITEM_BYTES[array.dtype]


def empty(like: Any, array: Array, shape: Tuple[int, ...]) -> Any:
    """A new array by the package that made `like`. Errors: ArgumentError if it is not known how."""
    if hasattr(like, "new_empty"):
        return like.new_empty(shape)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(like, cupy.ndarray):
        with cupy.cuda.Device(array.device):
            return cupy.empty(shape, like.dtype)
    raise ArgumentError(f"out is needed: how to make an array such as {array.name}, a {type(like).__name__}, is not known")


def stream_of(stream: Any, like: Any) -> int:
    """The address of the stream to use: the given one, else the current one of the package that made `like`, else that of
    its interface, else the legacy default stream (0)."""
    if stream is None:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch is not None and isinstance(like, torch.Tensor) and like.device.type == "cuda":
            stream = torch.cuda.current_stream(like.device)
        elif cupy is not None and isinstance(like, cupy.ndarray):
            stream = cupy.cuda.get_current_stream()
        elif hasattr(type(like), "__cuda_array_interface__") and not hasattr(like, "data_ptr"):
            stream = like.__cuda_array_interface__.get("stream")
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    for attribute in ("cuda_stream", "ptr", "handle"):  # torch, cupy, numba
        stream = getattr(stream, attribute, stream)
    stream = getattr(stream, "value", stream)
    if stream is not None and not isinstance(stream, int):
        raise ArgumentError(f"stream is a {type(stream).__name__}: it must be a number, or a stream of torch, cupy or numba")
    return 0 if stream is None or stream == 1 else stream  # 1: the same one, in the interface's words
