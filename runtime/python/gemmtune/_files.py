"""Where pip has put the program and the libraries of this very wheel. No other folder is looked at."""
from __future__ import annotations

import pathlib

from ._errors import Error

SERIES = "0.2"  # of the library's name


def find(name: str) -> str:
    """The path of "bin/tune" or "lib/NAME", beside the package: in the environment that it is installed in, or in the
    folder of pip's --target. Raises Error if it is in neither."""
    packages = pathlib.Path(__file__).absolute().parent.parent  # .../lib/python3.11/site-packages, or the target
    roots = [packages]
    if len(packages.parents) > 2 and packages.parents[1].name in ("lib", "lib64"):
        roots.insert(0, packages.parents[2])
    for root in roots:
        if (root / name).is_file():
            return str(root / name)
    raise Error(f"{name} of gemmtune is not in {' or '.join(map(str, roots))}: install the wheel again")


def program() -> str:
    return find("bin/tune")


def library() -> str:
    return find(f"lib/libgemmtune.so.{SERIES}")


def drop_in() -> str:
    """The path of the drop-in, for LD_PRELOAD where a command line cannot be changed.

    >>> gemmtune.drop_in().rpartition("/")[2]
    'libgemmtune_cublas.so'

    Errors: Error if the wheel's library is not there.
    """
    return find("lib/libgemmtune_cublas.so")
