"""python_calls.py HALF | CUBLAS: SQLite by Python's own module, and a product by an extension that is linked with cuBLAS
(program_half.h), or by a cuBLAS that is opened here, before and after it. Says what happened; 77: this Python has no
such modules."""
import os
import sys

try:
    import ctypes
    import sqlite3
except ImportError:
    sys.exit(77)


class Calls(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("status", "lt_status", "arrived", "lt_arrived")]


def count_in_sqlite():
    db = sqlite3.connect(":memory:")
    db.execute("create table t(x)")
    db.executemany("insert into t values(?)", [(i,) for i in range(10)])
    return db.execute("select sum(x) from t").fetchone()[0]


def call_opened(library):
    """What half_run does, as far as ctypes asks for it by name."""
    blas, handle, zero, one = ctypes.CDLL(library), ctypes.c_void_p(), ctypes.c_float(0), ctypes.c_float(1)
    blas.cublasSgemm_v2.argtypes = [ctypes.c_void_p] + [ctypes.c_int] * 5 + [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
                                    ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    assert blas.cublasCreate_v2(ctypes.byref(handle)) == 0
    assert blas.cublasSetStream_v2(handle, stream) == 0
    calls.status = blas.cublasSgemm_v2(handle, 0, 0, n, m, k, ctypes.addressof(one), b, n, a, k, ctypes.addressof(zero), c, n)
    calls.arrived = ctypes.c_int.in_dll(blas, "program_blas_calls").value
    assert blas.cublasDestroy_v2(handle) == 0


driver = ctypes.CDLL(os.environ["GEMMTUNE_LIBCUDA"])
context, stream, calls = ctypes.c_void_p(), ctypes.c_void_p(), Calls()
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
m, n, k = 16, 24, 32
a = (ctypes.c_float * (m * k))(*(i % 7 for i in range(m * k)))
b = (ctypes.c_float * (k * n))(*(i % 5 for i in range(k * n)))
c = (ctypes.c_float * (m * n))()
before = count_in_sqlite()
if "cublas" in os.path.basename(sys.argv[1]):
    call_opened(sys.argv[1])
else:
    ctypes.CDLL(sys.argv[1]).half_run(a, b, c, stream, ctypes.byref(calls))
wrong = sum(c[i * n + j] != sum(a[i * k + l] * b[l * n + j] for l in range(k)) for i in range(m) for j in range(n))
print(f"sqlite {sqlite3.sqlite_version} {before} {count_in_sqlite()}")
print(f"status {calls.status} {calls.lt_status}, by its cuBLAS {calls.arrived} {calls.lt_arrived}, wrong {wrong}")
