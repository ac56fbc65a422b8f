"""Weights of replaced layers, each with what prepare made of it. torch's operators name them by number, as they take no
objects."""
from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any, List, Optional, Set, Tuple

from ._errors import MEMORY, UNAVAILABLE, Error
from ._product import Prepared, prepare

SEEN = 256
TRIES = 8  # numbers of rows for which a kernel that takes a prepared weight is looked for
_numbers = itertools.count(1)
_weights: "weakref.WeakValueDictionary[int, Weight]" = weakref.WeakValueDictionary()
_lock = threading.Lock()


class Weight:
    """What a layer's weight is prepared as: at the first product outside a capture, and again when torch says that it was
    changed (its version) or it has moved. Copies of a layer prepare their own."""

    def __init__(self, accuracy: Optional[str], prepares: bool, has_bias: bool) -> None:
        self.accuracy, self.prepares, self.has_bias, self.number = accuracy, prepares, has_bias, next(_numbers)
        self.rows: Set[int] = set()  # of products so far, up to SEEN
        self._of: Tuple[int, int] = (0, 0)  # address and version
        self._prepared: Optional[Prepared] = None
        self._tried: Set[int] = set()
        self._held: List[Prepared] = []  # by graphs
        _weights[self.number] = self

    def __reduce__(self) -> Any:
        return Weight, (self.accuracy, self.prepares, self.has_bias)

    def operand(self, b: Any, rows: int) -> Any:
        """b of a product: the prepared one if there is one, else b itself, the layer's K x N."""
        prepared = self.prepared(b, rows, False)
        return b if prepared is None else prepared

    def prepared(self, weight: Any, rows: int, is_turned: bool = True) -> Optional[Prepared]:
        """What the weight, N x K, or K x N if it is not turned, is prepared as for products of so many rows; None: nothing."""
        if rows not in self.rows and len(self.rows) < SEEN:
            self.rows.add(rows)
        if not self.prepares:
            return None
        of = weight.data_ptr(), 0 if weight.is_inference() else weight._version
        if of == self._of and (self._prepared is not None or rows in self._tried or len(self._tried) == TRIES):
            return self._prepared
        return self._prepare(weight.detach().t() if is_turned else weight, rows, of)

    def _prepare(self, b: Any, rows: int, of: Tuple[int, int]) -> Optional[Prepared]:
        import torch
        if torch.cuda.is_current_stream_capturing():
            return None
        with _lock:
            if of != self._of:
                if self._prepared is not None:
                    self._held.append(self._prepared)  # a graph may have been captured with it
                self._of, self._prepared = of, None
                self._tried.clear()
            self._tried.add(rows)
            try:
                self._prepared = self._prepared or prepare(b.detach(), rows, accuracy=self.accuracy or "accurate", bias=self.has_bias)
            except Error as error:
                if error.status not in (UNAVAILABLE, MEMORY):
                    raise
        return self._prepared

    def ask_again(self) -> None:
        """For a kernel that takes a prepared weight: there are new winners."""
        self._tried.clear()

    @property
    def bytes(self) -> int:
        """Device memory that it takes beside the weight."""
        return sum(p.bytes for p in (*self._held, self._prepared) if p is not None)

    def free(self) -> None:
        self.prepares = False
        with _lock:
            held, self._held, self._prepared = [*self._held, self._prepared], [], None
        for prepared in held:
            if prepared is not None:
                prepared.free()


def operand(number: int, a: Any, b: Any) -> Any:
    """b of a product of a, as the weight of that number has it; b itself for 0 and for one that is gone."""
    weight = _weights.get(number) if number else None
    return weight.operand(b, a.shape[0]) if weight is not None and a.dim() == 2 else b
