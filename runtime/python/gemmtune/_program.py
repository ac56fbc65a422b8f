"""The program tune."""
from __future__ import annotations

import os
import subprocess
from typing import Iterable, Optional, Sequence, Tuple, Union

from ._errors import ArgumentError, Error
from ._files import program

Shape = Union[str, Tuple[int, int, int]]


def run(argv: Sequence[Union[str, "os.PathLike[str]"]]) -> int:
    """Start `tune` with these arguments, wait for its end, and return its exit code (tune --help lists them; minus the
    number of the signal that ended it). Standard files are this process's.

    >>> gemmtune.run(["--version"]) == 0
    True

    Errors: Error if the wheel's program is not there; OSError if it cannot be started.
    """
    if isinstance(argv, (str, bytes)):
        raise ArgumentError('argv is one text: pass a list of words, such as ["query", "--gpu", "h200"]')
    return subprocess.call([program(), *argv])


def tune(shapes: Iterable[Shape], *, budget: str = "1m", database: Optional[str] = None, gpu: Optional[str] = None,
         options: Sequence[str] = ()) -> None:
    """Search for the fastest kernels of these problems, and keep the winners in the database.

    shapes    (M, N, K) for strict FP32, or texts such as "bf16gemm:nt:512x768x3072:epilogue=bias"
    budget    time for all of them: "30s", "10m", "8h"
    database  its file; None: GEMMTUNE_DB, else the user's own
    gpu       without a GPU: predict for this one, such as "h200"
    options   more words for the command line (tune --help)

    Programs that use winners take new ones within seconds.

    >>> gemmtune.tune([(512, 768)])
    Traceback (most recent call last):
      ...
    gemmtune.ArgumentError: shape (512, 768) has 2 sizes, not 3 (M, N, K)

    Errors: ArgumentError for what is no shape; Error with the exit code of tune, which has said why on standard error.
    """
    if isinstance(shapes, (str, bytes)):
        raise ArgumentError("shapes is one text: pass a list of shapes")
    words = ["--budget", budget, *options]
    for shape in shapes:
        if not isinstance(shape, str):
            sizes = tuple(shape)
            if len(sizes) != 3:
                raise ArgumentError(f"shape {sizes} has {len(sizes)} sizes, not 3 (M, N, K)")
            shape = "x".join(str(int(size)) for size in sizes)
        words += ["--shape", shape]
    if "--shape" not in words and not options:
        raise ArgumentError("shapes is empty: there is nothing to tune")
    if database is not None:
        words += ["--db", os.fspath(database)]
    if gpu is not None:
        words += ["--gpu", gpu]
    code = run(words)
    if code:
        raise Error(f"tune ended with exit code {code}; it has said why on standard error", code)
