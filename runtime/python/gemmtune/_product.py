"""One product by the library."""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

from . import _arrays, _library, _quick
from ._arrays import Array, Matrices
from ._driver import current, wait_for, wait_for_all
from ._errors import ArgumentError

LEGACY = (0, 1)  # names of the legacy default stream


class Prepared:
    """A constant operand, made ready once by prepare: pass it to mm in its matrix's place. It is freed by free(), at the
    end of a `with` block, or with the object, which waits for the GPU: not while a graph is captured, nor as long as a
    graph that uses it may be launched."""

    def __init__(self, owner: Any, operand: str, device: int, address: ctypes.c_void_p) -> None:
        self.owner, self.operand, self.device = owner, operand, device
        self._address: Optional[ctypes.c_void_p] = address

    @property
    def address(self) -> ctypes.c_void_p:
        if self._address is None:
            raise ArgumentError(f"the prepared {self.operand} was freed")
        return self._address

    @property
    def bytes(self) -> int:
        """Device memory that it takes beside the matrix; 0 when it was freed."""
        return int(_library.opened().functions.gt_prepared_bytes(self._address)) if self._address is not None else 0

    def free(self) -> None:
        address, self._address = self._address, None
        if address is not None:
            with current(self.device):
                wait_for_all()
                _library.opened().functions.gt_prepared_free(address)

    def __enter__(self) -> "Prepared":
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def __del__(self) -> None:
        try:
            self.free()
        except Exception:  # the interpreter ends, and the driver with it
            pass


def _type(a: Array, of_c: str, accuracy: Optional[str]) -> int:
    if accuracy is not None and accuracy not in ("strict", "accurate", "normwise", "tf32"):
        raise ArgumentError(f"accuracy is {accuracy!r}, not 'strict', 'accurate', 'normwise' or 'tf32'")
    if a.dtype != "float32" and accuracy not in (None, "strict"):
        raise ArgumentError(f"accuracy {accuracy!r} is for float32, and {a.name} has {a.dtype}")
    number = _library.TYPES.get((a.dtype, of_c, accuracy or "strict"))
    if number is None:
        raise ArgumentError(f"out has elements of type {of_c}, where a and b have {a.dtype}: it must have the same, or float32")
    return number


def _operands(a: Any, b: Any, stream: Any) -> Tuple[Matrices, Matrices, int, Optional[Prepared]]:
    prepared = [x for x in (a, b) if isinstance(x, Prepared)]
    for name, x in (("a", a), ("b", b)):
        if isinstance(x, Prepared) and x.operand != name:
            raise ArgumentError(f"{name} was prepared as {x.operand}")
    if len(prepared) == 2:
        raise ArgumentError("a and b are both prepared: a product takes one that is")
    a, b = (x.owner if isinstance(x, Prepared) else x for x in (a, b))
    used = _arrays.stream_of(stream, a)
    of_a, of_b = (_arrays.as_matrices(_arrays.read(name, x, used)) for name, x in (("a", a), ("b", b)))
    if of_a.array.dtype != of_b.array.dtype:
        raise ArgumentError(f"a has elements of type {of_a.array.dtype}, b of type {of_b.array.dtype}: they must be the same")
    if of_a.columns != of_b.rows:
        raise ArgumentError(f"a has {of_a.columns} columns and b {of_b.rows} rows (shapes {of_a.array.shape} and {of_b.array.shape}): "
                            "they must be the same number")
    if None not in (of_a.batch, of_b.batch) and of_a.batch != of_b.batch:
        raise ArgumentError(f"a is a batch of {of_a.batch}, b one of {of_b.batch}: they must be the same, or one a single matrix")
    return of_a, of_b, used, prepared[0] if prepared else None


def _problem(a: Matrices, b: Matrices, kind: int, column_major: bool) -> _library.Problem:
    (trans_a, lda), (trans_b, ldb) = a.layout(column_major), b.layout(column_major)
    return _library.Problem(flags=_library.COLUMN_MAJOR if column_major else 0, type=kind, trans_a=trans_a, trans_b=trans_b,
                            m=a.rows, n=b.columns, k=a.columns, lda=lda, ldb=ldb, batch=a.batch or b.batch or 1,
                            stride_a=a.stride, stride_b=b.stride)


def _check_out(out: Array, inputs: "list[Array]", shape: Tuple[int, ...]) -> None:
    if out.shape != shape:
        raise ArgumentError(f"out has the shape {out.shape}, not {shape}")
    if not out.writable:
        raise ArgumentError("out may only be read (and DLPack does not say who may write: pass an array of torch, or one with "
                            "__cuda_array_interface__)")
    begin, end = _arrays.extent(out)
    for array in inputs:
        its_begin, its_end = _arrays.extent(array)
        if begin < its_end and its_begin < end:
            raise ArgumentError(f"the memory from out's first element to its last overlaps with {array.name}'s")


def _check_source(source: Array, out: Array) -> None:
    if (source.shape, source.dtype) != (out.shape, out.dtype):
        raise ArgumentError(f"{source} must have the shape {out.shape} and the type {out.dtype} of the result")
    if any(s != t for n, s, t in zip(out.shape, source.strides, out.strides) if n > 1):
        raise ArgumentError(f"{source} must lie as the result does, with strides {out.strides}: call .contiguous() on it first")


def _check_devices(arrays: "list[Array]") -> int:
    for array in arrays[1:]:
        if array.device != arrays[0].device:
            raise ArgumentError(f"{arrays[0].name} is on GPU {arrays[0].device}, {array.name} on GPU {array.device}: they must be on one")
    return arrays[0].device


def _check_bias(bias: Array, columns: int, dtype: str) -> None:
    if bias.shape != (columns,):
        raise ArgumentError(f"bias has the shape {bias.shape}, not {(columns,)}: one value for each column of the result")
    if columns > 1 and bias.strides != (1,):
        raise ArgumentError(f"{bias} is not contiguous: call .contiguous() on it first")
    if bias.dtype != dtype:
        raise ArgumentError(f"bias has elements of type {bias.dtype}, the result of type {dtype}: they must be the same")


def _wait_for_producers(arrays: "list[Array]", used: int) -> None:
    """For arrays that may still be written on another stream than the one that is used."""
    for stream in {array.stream for array in arrays if array.stream is not None}:
        if stream != used and not (stream in LEGACY and used in LEGACY):
            wait_for(stream)


def product(a: Any, b: Any, *, accuracy: Optional[str] = None, bias: Any = None, activation: Optional[str] = None, out: Any = None,
            source: Any = None, alpha: float = 1.0, beta: float = 0.0, stream: Any = None) -> Any:
    """As mm, which see; source: what beta multiplies, in out's place, of out's shape, type and strides."""
    if activation not in _library.ACTIVATIONS:
        raise ArgumentError(f"activation is {activation!r}, not None, 'relu' or 'gelu'")
    of_a, of_b, used, prepared = _operands(a, b, stream)
    batch = of_a.batch if of_a.batch is not None else of_b.batch
    shape = (of_a.rows, of_b.columns) if batch is None else (batch, of_a.rows, of_b.columns)
    if out is None and source is None and beta != 0:
        raise ArgumentError(f"beta is {beta}, which adds to out: pass it")
    inputs = [of_a.array, of_b.array]
    if bias is not None:
        inputs.append(_arrays.read("bias", bias, used))
    device = _check_devices(inputs)
    if out is None:
        out = _arrays.empty(a.owner if isinstance(a, Prepared) else a, of_a.array, shape)
    to = _arrays.read("out", out, used)
    _check_devices([of_a.array, to])
    _check_out(to, inputs, shape)
    kind = _type(of_a.array, to.dtype, accuracy)
    added = None
    if source is not None:
        added = _arrays.read("source", source, used)
        _check_devices([of_a.array, added])
        _check_source(added, to)
    if bias is not None:
        _check_bias(inputs[2], of_b.columns, to.dtype)
    of_c = _arrays.as_matrices(to)
    if prepared and of_c.by_rows is None:
        raise ArgumentError("out is stored by columns, and prepared operands are for products stored by rows")
    problem = _problem(of_a, of_b, kind, of_c.by_rows is None)
    problem.ldc, problem.stride_c = of_c.layout(of_c.by_rows is None)[1], of_c.stride
    problem.bias = _library.BIAS_COLUMN if bias is not None else 0
    problem.activation = _library.ACTIVATIONS[activation]
    if added is not None:
        problem.flags |= _library.OUT_OF_PLACE
    scalars = (ctypes.c_float * 2)(alpha, beta)
    call = _library.Call(alpha=ctypes.addressof(scalars), beta=ctypes.addressof(scalars) + 4, a=of_a.array.pointer,
                         b=of_b.array.pointer, c=to.pointer, stream=used, bias=inputs[2].pointer if bias is not None else None,
                         source=added.pointer if added is not None else None, prepared=prepared.address if prepared else None)
    with current(device):
        _wait_for_producers(inputs + [to] + ([added] if added is not None else []), used)
        library = _library.opened()
        library.gemm(problem, call)
    _quick.bind(library)
    return out


def mm(a: Any, b: Any, *, accuracy: Optional[str] = None, bias: Any = None, activation: Optional[str] = None, out: Any = None,
       alpha: float = 1.0, beta: float = 0.0, stream: Any = None) -> Any:
    """act(alpha * a @ b + beta * out + bias), by the fastest kernel known for this product. Returns out.

    a           M x K, or B x M x K: an array in a GPU's memory, of torch, or with __cuda_array_interface__ or DLPack;
                float32, float16 or bfloat16. Contiguous along its rows or its columns; a leading dimension and a
                transposition are taken as they lie. Or what prepare returned.
    b           K x N, or B x K x N, of the same type. A single matrix beside a batch is used for all.
    accuracy    of float32: "strict" (the default: FP32 sums of FP32 products, never TF32), "accurate" (errors as small as
                strict's, on tensor cores), "normwise" (the same against the largest element), "tf32"
    bias        N values of out's type, or None
    activation  None, "relu" or "gelu" (its tanh form, as torch's gelu(approximate="tanh"))
    out         M x N, or B x M x N, stored by rows or by columns; None: a new one by the package that made a (torch, cupy).
                Of a's type, or float32. Shares no memory with the others.
    beta        other than 0: out is read, too
    stream      a number, or a stream of torch, cupy or numba; None: the current one of a's package (others: that of a's
                interface, else the legacy default stream)

    The product is enqueued, and may run when this has returned. The first one of a shape takes longer (winners are looked
    up, kernels loaded, perhaps compiled). Nothing is copied, and no gradient is computed: torch.ops.gemmtune.mm
    (gemmtune.torch_ops) has one, and is kept by torch.compile.

    Errors: ArgumentError (a ValueError; which argument, and how), Error with .status of gemmtune.h.

    >>> gemmtune.mm([[1.0]], [[2.0]])
    Traceback (most recent call last):
      ...
    gemmtune.ArgumentError: a is a list: it must be an array of torch, or have __cuda_array_interface__ or __dlpack__
    """
    matrix_a, matrix_b, prepared = a, b, 0
    if b.__class__ is Prepared and b.operand == "b":
        matrix_b, prepared = b.owner, b.address.value or 0
    elif a.__class__ is Prepared and a.operand == "a":
        matrix_a, prepared = a.owner, a.address.value or 0
    done = _quick.mm(matrix_a, matrix_b, out, stream, accuracy, bias, activation, alpha, beta, prepared)
    if done is None:
        return product(a, b, accuracy=accuracy, bias=bias, activation=activation, out=out, alpha=alpha, beta=beta, stream=stream)
    if done.__class__ is int:
        _library.opened().check(done)
    return done


def prepare(matrix: Any, other: int, *, operand: str = "b", accuracy: str = "accurate", bias: bool = False,
            stream: Any = None) -> Prepared:
    """Make once what the kernel makes of a constant operand in every product: for a weight that many products read.

    matrix    as a or b of mm, float32
    other     the size that it does not have: M of the products to come if it is b, N if it is a
    operand   "b" or "a"
    accuracy  "accurate" or "normwise": kernels of other types take none
    bias      whether the products have one, and so another winner; what was prepared serves both

    For products whose out is stored by rows. Takes 1.5 times the matrix's memory, and returns when it is ready. A matrix
    that is changed must be prepared again.

    Errors: as mm; Error with status 3 where the kernel for this product takes none: products without are right.

    >>> gemmtune.prepare([[1.0]], 512, operand="c")
    Traceback (most recent call last):
      ...
    gemmtune.ArgumentError: operand is 'c', not 'a' or 'b'
    """
    if operand not in _library.OPERANDS:
        raise ArgumentError(f"operand is {operand!r}, not 'a' or 'b'")
    if other < 1:
        raise ArgumentError(f"other is {other}, not the number of {'rows of a' if operand == 'b' else 'columns of b'}")
    used = _arrays.stream_of(stream, matrix)
    given = _arrays.as_matrices(_arrays.read("matrix", matrix, used))
    kind = _type(given.array, given.array.dtype, accuracy)
    inner = given.rows if operand == "b" else given.columns
    rest = (other, inner) if operand == "b" else (inner, other)
    beside = Matrices(given.array, given.batch, *rest, rest[1], None)
    pair = (beside, given) if operand == "b" else (given, beside)
    problem = _problem(*pair, kind, False)
    problem.bias = _library.BIAS_COLUMN if bias else 0
    if problem.batch > 1:  # the other operand and C without gaps
        setattr(problem, "stride_a" if operand == "b" else "stride_b", rest[0] * rest[1])
        problem.stride_c = problem.m * problem.n
    with current(given.array.device):
        _wait_for_producers([given.array], used)
        address = _library.opened().prepare(problem, _library.OPERANDS[operand], given.array.pointer, used)
    return Prepared(matrix, operand, given.array.device, address)
