"""python_calls.py HALF: SQLite by Python's own module, and a product by an extension that is linked with cuBLAS
(program_half.h), before and after it. Says what happened; 77: this Python has no such modules."""
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
ctypes.CDLL(sys.argv[1]).half_run(a, b, c, stream, ctypes.byref(calls))
wrong = sum(c[i * n + j] != sum(a[i * k + l] * b[l * n + j] for l in range(k)) for i in range(m) for j in range(n))
print(f"sqlite {sqlite3.sqlite_version} {before} {count_in_sqlite()}")
print(f"status {calls.status} {calls.lt_status}, by its cuBLAS {calls.arrived} {calls.lt_arrived}, wrong {wrong}")
