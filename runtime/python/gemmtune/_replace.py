"""replace_linear, which imports torch when it is called."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import Error

if TYPE_CHECKING:
    from ._linear import Replacement


def replace_linear(model: Any, *, accuracy: str = "accurate", prepare: bool = True) -> "Replacement":
    """Let gemmtune compute the products of each torch.nn.Linear of a model, from now on until this is undone.

        with gemmtune.replace_linear(model, accuracy="accurate"):
            with torch.no_grad():
                y = model(x)

    model     a torch.nn.Module on a GPU. Layers that are exactly torch.nn.Linear are replaced in place: names, weights,
              state_dict and hooks stay. torch.nn.MultiheadAttention reads its weights itself, and is not.
    accuracy  of FP32 layers, as mm has it: "accurate" computes on tensor cores with errors as small as strict FP32's.
              Layers of float16 and bfloat16 are computed as those.
    prepare   of "accurate" and "normwise": split each FP32 weight once, at its first product without gradients, which takes
              1.5 times its memory. Weights that torch sees changed are split again; after a change through .data call undo()
              and this again. A captured graph keeps the weights as they were.

    With gradients, and in what torch.compile compiles, the operators of gemmtune.torch_ops are used. Compile after this:
    torch compiles a model that was compiled before once more.

    Returns what undoes it: .undo(), or the end of a `with` block. .names has the layers, .prepared_bytes what they take.

    Errors: ArgumentError if no layer can be replaced, or one is not on a GPU (none is replaced then); Error without torch.

    >>> gemmtune.replace_linear.__kwdefaults__["accuracy"]
    'accurate'
    """
    try:
        from . import _linear
    except ImportError as error:
        raise Error(f"torch cannot be imported: {error}") from error
    return _linear.replace_linear(model, accuracy, prepare)
