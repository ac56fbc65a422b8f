"""The exceptions of the package."""
from __future__ import annotations

INVALID, NO_GPU, UNAVAILABLE, MEMORY, DEVICE = 1, 2, 3, 4, 5  # enum gt_status


class Error(RuntimeError):
    """What the library, the drop-in or tune could not do, in a sentence.

    status: enum gt_status of gemmtune.h, of errors of mm and prepare: 1 an argument is wrong, 2 no driver, GPU or
    context, 3 nothing here can compute it, 4 out of memory, 5 the driver or cuBLAS failed. Of errors of tune its exit
    code. Else 0.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ArgumentError(Error, ValueError):
    """An argument is wrong (status 1): the message says which and how. Nothing was computed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, INVALID)
