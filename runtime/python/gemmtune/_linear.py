"""torch.nn.Linear by gemmtune, for whole models."""
from __future__ import annotations

import os
import time
from typing import Any, List, Optional, Sequence, Tuple

import torch

from . import _library, _product, _program, _quick, torch_ops
from ._errors import ArgumentError
from ._weights import Weight

TYPES = {  # as problems are written
    (torch.float32, "strict"): "sgemm", (torch.float32, "accurate"): "sgemm_accurate", (torch.float32, "normwise"): "sgemm_normwise",
    (torch.float32, "tf32"): "tf32gemm", (torch.float16, None): "hgemm", (torch.bfloat16, None): "bf16gemm",
}


_WATCHERS = [found for found in (
    getattr(torch._C, "_len_torch_dispatch_stack", None), getattr(torch._C, "_get_tracing_state", None),
    getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)) if found is not None]


def _is_watched() -> bool:
    """Must products go through torch, for a mode of its dispatcher, a tracer or a transformation of functions (vmap)?"""
    for is_on in _WATCHERS:  # faster than any()
        if is_on():
            return True
    return False


def _is_differentiated(*tensors: Any) -> bool:
    return bool(torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors))


class Linear(torch.nn.Linear):  # type: ignore[misc]
    """A torch.nn.Linear whose products gemmtune computes. What its kernels do not take (no rows, autocast, an input of
    another type than the weight) torch computes, as before."""

    gemmtune: Weight

    def forward(self, input: Any) -> Any:
        if not torch.compiler.is_compiling() and type(input) is torch.Tensor and not _is_watched():
            out = self._short(input)
            if out is not None:
                return out
        return self._long(input)

    def _short(self, input: Any) -> Any:
        """The result by the module in C; None: not for it."""
        parameters, own = self._parameters, self.gemmtune
        weight, bias = parameters.get("weight"), parameters.get("bias")  # a parametrized one is not there
        count = input.numel()
        if weight is None or count == 0 or not input.is_cuda or not weight.is_cuda or torch.is_autocast_enabled():
            return None
        if bias is None and own.has_bias or _is_differentiated(input, weight, bias):
            return None
        rows = count // self.in_features
        if rows not in own.rows and (input.dim() < 2 or input.shape[-1] != self.in_features or input.dtype != weight.dtype):
            return None  # of rows that were seen the module in C looks itself
        prepared = own.prepared(weight, rows)
        out = _quick.linear(input, weight, bias, own.accuracy, 0 if prepared is None else prepared.address.value)
        if out.__class__ is int:
            _library.opened().check(out)
        return out

    def _long(self, input: Any) -> Any:
        weight, bias = self.weight, self.bias
        if torch.is_autocast_enabled() or input.dtype != weight.dtype or input.numel() == 0 or weight.device != input.device:
            return super().forward(input)
        a = torch_ops.as_it_can_lie(input if input.dim() == 2 else input.reshape(-1, self.in_features))  # copies as torch would
        b, accuracy = weight.t(), self.gemmtune.accuracy
        differentiated = _is_differentiated(input, weight, bias)
        if torch.compiler.is_compiling() or differentiated or type(input) is not torch.Tensor or _is_watched():
            number = 0 if differentiated else self.gemmtune.number
            out = (torch.ops.gemmtune.mm(a, b, accuracy, number) if bias is None else
                   torch.ops.gemmtune.addmm(bias, a, b, 1.0, 1.0, accuracy, number))
        else:
            out = _product.mm(a, self.gemmtune.operand(b, a.shape[0]), accuracy=accuracy, bias=bias)
        return out if input.dim() == 2 else out.view(*input.shape[:-1], self.out_features)


class Replacement:
    """What replace_linear did. Undone by undo(), or at the end of a `with` block, which frees what was prepared: not as
    long as a graph that was captured meanwhile may be launched."""

    def __init__(self, layers: List[Tuple[str, Any]]) -> None:
        self._layers = layers

    @property
    def names(self) -> Tuple[str, ...]:
        """The layers, as model.named_modules() calls them."""
        return tuple(name for name, _ in self._layers)

    @property
    def prepared_bytes(self) -> int:
        """Device memory that prepared weights take."""
        return sum(layer.gemmtune.bytes for _, layer in self._layers)

    def problems(self) -> List[str]:
        """The products that were computed so far without gradients, as `tune --shape` takes them, the largest first."""
        found = set()
        for _, layer in self._layers:
            weight, kind = layer.gemmtune, TYPES[layer.weight.dtype, layer.gemmtune.accuracy]
            more = (":prepared=b" if weight.prepares else "") + (":epilogue=bias" if weight.has_bias else "")
            found |= {(m * layer.out_features * layer.in_features, f"{kind}:nt:{m}x{layer.out_features}x{layer.in_features}{more}")
                      for m in weight.rows}
        return [text for _, text in sorted(found, reverse=True)]

    def tune(self, *, budget: str = "1m", database: Optional[str] = None, options: Sequence[str] = ()) -> None:
        """gemmtune.tune of problems(): call the model once, then this. Returns when this process has taken the winners.

        Errors: as gemmtune.tune; ArgumentError if nothing was computed yet.
        """
        problems = self.problems()
        if not problems:
            raise ArgumentError("nothing was computed yet by the replaced layers without gradients: call the model first")
        torch.cuda.synchronize()
        _program.tune(problems, budget=budget, database=database, options=options)
        seconds = float(os.environ.get("GEMMTUNE_RENEW_S") or 2)
        time.sleep(2 * seconds + 1 if seconds > 0 else 0)  # the library looks for new winners so often
        for _, layer in self._layers:
            layer.gemmtune.ask_again()

    def undo(self) -> None:
        layers, self._layers = self._layers, []
        for _, layer in layers:
            layer.__class__ = torch.nn.Linear
            layer.__dict__.pop("gemmtune").free()

    def __enter__(self) -> "Replacement":
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def replace_linear(model: Any, accuracy: str, prepare: bool) -> Replacement:
    if accuracy not in ("strict", "accurate", "normwise", "tf32"):
        raise ArgumentError(f"accuracy is {accuracy!r}, not 'strict', 'accurate', 'normwise' or 'tf32'")
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"model is a {type(model).__name__}, not a torch.nn.Module")
    layers = [(name, layer) for name, layer in model.named_modules()
              if type(layer) is torch.nn.Linear and layer.weight.dtype in torch_ops.TYPES]
    if not layers:
        raise ArgumentError("model has no torch.nn.Linear of float32, float16 or bfloat16 that is not replaced yet")
    for name, layer in layers:
        if layer.weight.device.type != "cuda":
            raise ArgumentError(f"the weight of layer {name!r} is on {layer.weight.device}, not on a GPU: model.cuda() first")
    for _, layer in layers:
        fp32: Optional[str] = accuracy if layer.weight.dtype is torch.float32 else None
        layer.__dict__["gemmtune"] = Weight(fp32, prepare and fp32 in ("accurate", "normwise"), layer.bias is not None)
        layer.__class__ = Linear
    return Replacement(layers)
