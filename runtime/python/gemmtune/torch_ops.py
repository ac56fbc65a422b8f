"""torch's operators gemmtune::mm and gemmtune::addmm, with gradients, and kept whole by torch.compile.

    import gemmtune.torch_ops
    c = torch.ops.gemmtune.mm(a, b, accuracy="accurate")
    d = torch.ops.gemmtune.addmm(bias, a, b)

mm(Tensor a, Tensor b, str? accuracy=None, int weight=0) -> Tensor
    a @ b. a is M x K or B x M x K, b K x N or B x K x N, in a GPU's memory, of float32, float16 or bfloat16; they are read
    as they lie, so contiguous along rows or columns (b.t() needs no copy). accuracy as gemmtune.mm has it. weight: the
    number of a weight that replace_linear prepared; 0: none.
addmm(Tensor input, Tensor a, Tensor b, float beta=1, float alpha=1, str? accuracy=None, int weight=0) -> Tensor
    beta * input + alpha * (a @ b), of two matrices. input: N values, a bias (beta is 1 then), or M x N, as contiguous as
    the result.

They run on torch's current stream, so graphs capture them. Gradients are products of the same accuracy, by the same
operators; a gradient that comes expanded is copied first. There are no operators for FP8 (scaled_mm) and for symmetric
results yet: gemmtune has no kernels for them.

Errors: as gemmtune.mm's; of shapes, types and devices when torch.compile traces, too.
"""
from __future__ import annotations

from typing import Any, Optional, Tuple

import torch

from . import _product, _weights
from ._errors import ArgumentError

TYPES = (torch.float32, torch.float16, torch.bfloat16)
_library = torch.library.Library("gemmtune", "DEF")
_library.define("mm(Tensor a, Tensor b, str? accuracy=None, int weight=0) -> Tensor",
                tags=(torch.Tag.needs_fixed_stride_order, torch.Tag.pt2_compliant_tag))
_library.define("addmm(Tensor input, Tensor a, Tensor b, float beta=1, float alpha=1, str? accuracy=None, int weight=0) -> Tensor",
                tags=(torch.Tag.needs_fixed_stride_order, torch.Tag.pt2_compliant_tag))


def _mm(a: Any, b: Any, accuracy: Optional[str] = None, weight: int = 0) -> Any:
    return _product.mm(a, _weights.operand(weight, a, b), accuracy=accuracy)


def _addmm(input: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1, accuracy: Optional[str] = None, weight: int = 0) -> Any:
    b = _weights.operand(weight, a, b)
    if input.dim() == 1:
        _check_beta(input, beta)
        return _product.mm(a, b, accuracy=accuracy, bias=input, alpha=alpha)
    return _product.product(a, b, accuracy=accuracy, source=input, alpha=alpha, beta=beta)


def _check_beta(input: Any, beta: float) -> None:
    if beta != 1:
        raise ArgumentError(f"beta is {beta}, and input a bias of {input.shape[0]} values, which is added as it is: it must be 1")


def _check(name: str, tensor: Any, dimensions: Tuple[int, ...]) -> None:
    if tensor.dim() not in dimensions:
        raise ArgumentError(f"{name} has {tensor.dim()} dimensions, not {' or '.join(map(str, dimensions))}")
    if tensor.device.type != "cuda":
        raise ArgumentError(f"{name} is on {tensor.device}, not on a GPU: move it there first (.cuda())")
    if tensor.dtype not in TYPES:
        raise ArgumentError(f"{name} has elements of type {str(tensor.dtype)[6:]}, not float32, float16 or bfloat16")


def _fake(a: Any, b: Any, dimensions: Tuple[int, ...]) -> Any:
    """What the result will be. Errors: ArgumentError for what the product would refuse whatever the strides."""
    _check("a", a, dimensions)
    _check("b", b, dimensions)
    if a.device != b.device:
        raise ArgumentError(f"a is on {a.device}, b on {b.device}: they must be on one GPU")
    if a.dtype != b.dtype:
        raise ArgumentError(f"a has elements of type {str(a.dtype)[6:]}, b of type {str(b.dtype)[6:]}: they must be the same")
    if a.shape[-1] != b.shape[-2]:
        raise ArgumentError(f"a has {a.shape[-1]} columns and b {b.shape[-2]} rows: they must be the same number")
    batch = [t.shape[0] for t in (a, b) if t.dim() == 3]
    if len(batch) == 2 and batch[0] != batch[1]:
        raise ArgumentError(f"a is a batch of {batch[0]}, b one of {batch[1]}: they must be the same, or one a single matrix")
    return a.new_empty([*batch[:1], a.shape[-2], b.shape[-1]])


def _fake_mm(a: Any, b: Any, accuracy: Optional[str] = None, weight: int = 0) -> Any:
    return _fake(a, b, (2, 3))


def _fake_addmm(input: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1, accuracy: Optional[str] = None, weight: int = 0) -> Any:
    out = _fake(a, b, (2,))
    _check("input", input, (1, 2))
    if input.dim() == 1:
        _check_beta(input, beta)
    if tuple(input.shape) != tuple(out.shape[2 - input.dim():]):
        raise ArgumentError(f"input has the shape {tuple(input.shape)}, not {(out.shape[1],)} or {tuple(out.shape)}")
    return out


def as_it_can_lie(tensor: Any) -> Any:
    """The tensor, or a copy where its rows and columns are both not contiguous (an expanded gradient)."""
    down, right = tensor.stride()[-2:]
    rows, columns = tensor.shape[-2:]
    by_rows = (columns == 1 or right == 1) and (rows == 1 or down >= columns)
    by_columns = (rows == 1 or down == 1) and (columns == 1 or right >= rows)
    return tensor if by_rows or by_columns else tensor.contiguous()


def _gradients(a: Any, b: Any, grad: Any, accuracy: Optional[str], wanted: Tuple[bool, bool], alpha: float) -> Tuple[Any, Any]:
    """Of a and b: grad @ b^T and a^T @ grad, summed over the batch for what is a single matrix beside one."""
    grad, of_a, of_b = as_it_can_lie(grad), None, None
    if wanted[0]:
        of_a = torch.ops.gemmtune.mm(grad, b.mT, accuracy)
        of_a = of_a.sum(0) if of_a.dim() > a.dim() else of_a
    if wanted[1]:
        of_b = torch.ops.gemmtune.mm(a.mT, grad, accuracy)
        of_b = of_b.sum(0) if of_b.dim() > b.dim() else of_b
    return tuple(g * alpha if g is not None and alpha != 1 else g for g in (of_a, of_b))  # type: ignore[return-value]


def _keep_mm(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    a, b, ctx.accuracy, _ = inputs
    ctx.save_for_backward(a, b)


def _backward_mm(ctx: Any, grad: Any) -> Tuple[Any, ...]:
    a, b = ctx.saved_tensors
    return (*_gradients(a, b, grad, ctx.accuracy, ctx.needs_input_grad[:2], 1), None, None)


def _keep_addmm(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    added, a, b, ctx.beta, ctx.alpha, ctx.accuracy, _ = inputs
    ctx.is_bias = added.dim() == 1
    ctx.save_for_backward(a, b)


def _backward_addmm(ctx: Any, grad: Any) -> Tuple[Any, ...]:
    a, b = ctx.saved_tensors
    of_input = None
    if ctx.needs_input_grad[0]:
        of_input = grad.sum(0) if ctx.is_bias else grad * ctx.beta
    of_a, of_b = _gradients(a, b, grad, ctx.accuracy, ctx.needs_input_grad[1:3], ctx.alpha)
    return of_input, of_a, of_b, None, None, None, None


for _name, _compute, _make_fake, _keep, _backward in (("mm", _mm, _fake_mm, _keep_mm, _backward_mm),
                                                      ("addmm", _addmm, _fake_addmm, _keep_addmm, _backward_addmm)):
    _library.impl(_name, _compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"gemmtune::{_name}", _make_fake, lib=_library)
    torch.library.register_autograd(f"gemmtune::{_name}", _backward, setup_context=_keep, lib=_library)
