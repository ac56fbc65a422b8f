#!/usr/bin/env python3
"""A program that opens cuBLAS itself, by path, as JAX, CuPy and Julia do: products of small whole numbers, whose FP32
results are exact, by cublasSgemm and cublasLtMatmul.

    opened_cublas.py FOLDER [--deepbind] [--name] [--twice COPY] [--problems "MxNxK ..."] [--calls N]

FOLDER has libcublas.so.13 and libcublasLt.so.13 (or 12). cublasLt is opened first. --name: by name, once the loader
knows the folder. --twice: another copy of cuBLAS is opened after the first, and called, too. Prints a line for each
problem: function, problem, microseconds a call, a sum over the result.
"""
import argparse
import array
import ctypes
import os
import time

PROBLEMS = "512x512x512 8x6144x4096 200x1000x400 1024x1024x1024"  # M, N, K, row-major

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--deepbind", action="store_true")
parser.add_argument("--name", action="store_true")
parser.add_argument("--twice")
parser.add_argument("--problems", default=PROBLEMS)
parser.add_argument("--calls", type=int, default=300)
options = parser.parse_args()
mode = os.RTLD_LAZY | (os.RTLD_DEEPBIND if options.deepbind else 0)


def opened(library):
    for major in (13, 12):
        file = f"{library}.so.{major}"
        path = file if options.name else os.path.join(options.folder, file)
        if options.name or os.path.exists(path):
            return ctypes.CDLL(path, mode=mode)
    raise SystemExit(f"no {library} in {options.folder}")


def check(status, what):
    if status:
        raise SystemExit(f"{what}: {status}")


driver = ctypes.CDLL("libcuda.so.1")
device, context = ctypes.c_int(), ctypes.c_void_p()
check(driver.cuInit(0), "cuInit")
check(driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")


def on_device(values):
    address = ctypes.c_uint64()
    data = array.array("f", values)
    check(driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * len(data))), "cuMemAlloc")
    source, _ = data.buffer_info()
    check(driver.cuMemcpyHtoD_v2(address, ctypes.c_void_p(source), ctypes.c_size_t(4 * len(data))), "cuMemcpyHtoD")
    return address


def sum_of(address, count):
    data = array.array("f", bytes(4 * count))
    target, _ = data.buffer_info()
    check(driver.cuMemcpyDtoH_v2(ctypes.c_void_p(target), address, ctypes.c_size_t(4 * count)), "cuMemcpyDtoH")
    return int(sum((i % 1013 + 1) * int(x) for i, x in enumerate(data)))


ONE, ZERO = ctypes.c_float(1), ctypes.c_float(0)


def by_sgemm(library):
    handle = ctypes.c_void_p()
    check(library.cublasCreate_v2(ctypes.byref(handle)), "cublasCreate")

    def call(m, n, k, a, b, c):
        return library.cublasSgemm_v2(handle, 0, 0, n, m, k, ctypes.byref(ONE), b, n, a, k, ctypes.byref(ZERO), c, n)

    return call


def by_lt(library):
    handle = ctypes.c_void_p()
    check(library.cublasLtCreate(ctypes.byref(handle)), "cublasLtCreate")
    library.cublasLtMatrixLayoutCreate.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64]
    made = {}

    def call(m, n, k, a, b, c):
        if (m, n, k) not in made:
            desc, layouts = ctypes.c_void_p(), [ctypes.c_void_p() for _ in range(3)]
            check(library.cublasLtMatmulDescCreate(ctypes.byref(desc), 68, 0), "cublasLtMatmulDescCreate")
            for layout, (rows, columns) in zip(layouts, ((n, k), (k, m), (n, m))):
                check(library.cublasLtMatrixLayoutCreate(ctypes.byref(layout), 0, rows, columns, rows), "cublasLtMatrixLayoutCreate")
            made[m, n, k] = desc, layouts
        desc, (of_b, of_a, of_c) = made[m, n, k]
        return library.cublasLtMatmul(handle, desc, ctypes.byref(ONE), b, of_b, a, of_a, ctypes.byref(ZERO), c, of_c, c, of_c,
                                      None, None, ctypes.c_size_t(0), None)

    return call


def run(name, call):
    for problem in options.problems.split():
        m, n, k = map(int, problem.split("x"))
        a, b = on_device(i % 7 - 3 for i in range(m * k)), on_device(i % 5 - 2 for i in range(k * n))
        c = on_device([0] * (m * n))
        for _ in range(20):
            check(call(m, n, k, a, b, c), name)
        check(driver.cuCtxSynchronize(), "cuCtxSynchronize")
        start = time.perf_counter()
        for _ in range(options.calls):
            call(m, n, k, a, b, c)
        check(driver.cuCtxSynchronize(), "cuCtxSynchronize")
        us = (time.perf_counter() - start) / options.calls * 1e6
        print(f"{name} {m}x{n}x{k} {us:.2f} {sum_of(c, m * n)}", flush=True)
        for memory in (a, b, c):
            driver.cuMemFree_v2(memory)


lt = opened("libcublasLt")
blas = opened("libcublas")
run("cublasSgemm", by_sgemm(blas))
run("cublasLtMatmul", by_lt(lt))
if options.twice:
    run("the-copy", by_sgemm(ctypes.CDLL(options.twice, mode=mode)))
