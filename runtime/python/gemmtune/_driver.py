"""The few functions of CUDA's driver that say where an array is, and make its GPU the current one."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from typing import Iterator

from ._errors import DEVICE, NO_GPU, ArgumentError, Error

_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


@functools.lru_cache(maxsize=None)
def _driver() -> ctypes.CDLL:
    try:
        driver = ctypes.CDLL(os.environ.get("GEMMTUNE_LIBCUDA") or "libcuda.so.1")
    except OSError as error:
        raise Error(f"no NVIDIA driver: {error}", NO_GPU) from error
    driver.cuPointerGetAttribute.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64]
    driver.cuStreamSynchronize.argtypes = [ctypes.c_void_p]
    driver.cuCtxPushCurrent_v2.argtypes = [ctypes.c_void_p]
    _check(driver.cuInit(0), "start", NO_GPU)
    return driver


def _check(result: int, what: str, status: int = DEVICE) -> None:
    if result:
        raise Error(f"the driver cannot {what} (CUDA error {result})", status)


@functools.lru_cache(maxsize=None)
def _primary(device: int) -> ctypes.c_void_p:
    handle, context = ctypes.c_int(), ctypes.c_void_p()
    _check(_driver().cuDeviceGet(ctypes.byref(handle), device), f"find GPU {device}", NO_GPU)
    _check(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), handle), f"open a context on GPU {device}", NO_GPU)
    return context


def function_address(name: str) -> int:
    """Of one of the driver's functions."""
    return ctypes.cast(getattr(_driver(), name), ctypes.c_void_p).value or 0


def device_of(name: str, pointer: int) -> int:
    """The number of the GPU in whose memory it is. Errors: ArgumentError if it is in none's."""
    device = ctypes.c_int()
    if _driver().cuPointerGetAttribute(ctypes.byref(device), _DEVICE_ORDINAL, pointer):
        raise ArgumentError(f"{name} is at {pointer:#x}, which is no memory of a GPU")
    return device.value


@contextlib.contextmanager
def current(device: int) -> Iterator[None]:
    """With a context of this GPU: the current one, else its primary one, which CUDA's runtime uses."""
    driver, handle, now = _driver(), ctypes.c_int(), ctypes.c_int()
    _check(driver.cuDeviceGet(ctypes.byref(handle), device), f"find GPU {device}", NO_GPU)
    if not driver.cuCtxGetDevice(ctypes.byref(now)) and now.value == handle.value:
        yield
        return
    _check(driver.cuCtxPushCurrent_v2(_primary(device)), f"use GPU {device}")
    try:
        yield
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def wait_for(stream: int) -> None:
    """Until what is enqueued on the stream has run."""
    _check(_driver().cuStreamSynchronize(stream), "wait for the stream of an array")


def wait_for_all() -> None:
    """Until what is enqueued in the current context has run."""
    _check(_driver().cuCtxSynchronize(), "wait for what is running")
