"""test_gemmtune.py: Python's package on a driver, a compiler and a cuBLAS made of host memory (python_package.sh sets them up). The arrays
are stand-ins for those of torch, numba and DLPack; half of the tests are about what is refused."""
import ctypes
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import gemmtune

driver = ctypes.CDLL(os.environ["FAKE_GPU"])
ITEM = {"float32": 4, "float16": 2, "bfloat16": 2}


def device_memory(count, dtype):
    address = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(count * ITEM[dtype])) == 0
    return address.value


def write(address, values, dtype):
    if dtype == "bfloat16":
        content = b"".join(struct.pack("<f", v)[2:] for v in values)
    else:
        content = struct.pack(f"<{len(values)}{'f' if dtype == 'float32' else 'e'}", *values)
    ctypes.memmove(address, content, len(content))


def values_at(address, count, dtype):
    content = ctypes.string_at(address, count * ITEM[dtype])
    if dtype == "bfloat16":
        return [struct.unpack("<f", b"\0\0" + content[i:i + 2])[0] for i in range(0, len(content), 2)]
    return list(struct.unpack(f"<{count}{'f' if dtype == 'float32' else 'e'}", content))


class Interface:
    """As numba's arrays. strides are in elements."""

    def __init__(self, shape, dtype="float32", strides=None, read_only=False, address=None, **more):
        self.shape, self.dtype, self.read_only, self.more = shape, dtype, read_only, more
        self.strides = strides or self.contiguous(shape)
        self.count = sum((n - 1) * s for n, s in zip(shape, self.strides)) + 1 if all(shape) else 0
        self.address = address or device_memory(max(self.count, 1), dtype)

    @staticmethod
    def contiguous(shape):
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
        return tuple(strides)

    @property
    def __cuda_array_interface__(self):
        typestr = {"float32": "<f4", "float16": "<f2", "bfloat16": "<V2", "float64": "<f8"}[self.dtype]
        return {"shape": self.shape, "typestr": typestr, "data": (self.address, self.read_only), "version": 3,
                "strides": tuple(s * ITEM[self.dtype] for s in self.strides), **self.more}


class Device:
    def __init__(self, kind, index):
        self.type, self.index = kind, index

    def __str__(self):
        return f"{self.type}:{self.index}" if self.index is not None else self.type


class Tensor:
    """As torch's."""

    def __init__(self, shape, dtype="float32", strides=None, device=Device("cuda", 0), requires_grad=False, layout="torch.strided",
                 negative=False):
        memory = Interface(shape, dtype, strides)
        self.address, self.count, self.shape, self.strides = memory.address, memory.count, shape, memory.strides
        self.dtype, self.device, self.requires_grad, self.layout, self.negative = f"torch.{dtype}", device, requires_grad, layout, negative

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides

    def is_neg(self):
        return self.negative

    def new_empty(self, shape):
        return Tensor(shape, self.dtype[6:])


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class Exchanged:
    """What has DLPack only."""

    def __init__(self, shape, dtype="float32", kind=2, strides=None):
        memory = Interface(shape, dtype, strides)
        self.address, self.count, self.shape, self.kind, self.streams = memory.address, memory.count, shape, kind, []
        self.strides = memory.strides
        self.sizes, self.steps = (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(shape))(*memory.strides)
        code, bits = {"float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16)}[dtype]
        self.tensor = DLTensor(self.address - 16, kind, 0, len(shape), code, bits, 1, ctypes.addressof(self.sizes),
                               ctypes.addressof(self.steps) if strides else None, 16)

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def filled(array, dtype="float32", salt=1):
    write(array.address, [((i * 7 + salt) % 11 - 5) / 4 for i in range(array.count)], dtype)
    return array


def reader(array, dtype):
    """A function that gives the element at some indices; those of a batch are left out for what is none."""
    strides, values = array.strides, values_at(array.address, array.count, dtype)
    return lambda *index: values[sum(i * s for i, s in zip(index[len(index) - len(strides):], strides))]


def mm(*arguments, **more):
    return gemmtune.mm(*arguments, **{"stream": stream, **more})  # the fake cuBLAS computes on no legacy stream


def product(a, b, m, n, k, dtype="float32", item=0):
    a, b = reader(a, dtype), reader(b, dtype)
    rows = [[a(item, i, l) for l in range(k)] for i in range(m)]
    columns = [[b(item, l, j) for l in range(k)] for j in range(n)]
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in rows]


class Products(unittest.TestCase):
    def check(self, a, b, out, m, n, k, dtype="float32", of_out=None, tolerance=1e-5, then=lambda x, j: x, items=1):
        found = reader(out, of_out or dtype)
        for item in range(items):
            wanted = product(a, b, m, n, k, dtype, item)
            for i in range(m):
                for j in range(n):
                    self.assertAlmostEqual(found(item, i, j), then(wanted[i][j], j), delta=tolerance)

    def test_a_new_result_is_made_by_the_package_of_a(self):
        a, b = filled(Tensor((16, 32))), filled(Tensor((32, 24)), salt=3)
        out = mm(a, b)
        self.assertIsInstance(out, Tensor)
        self.assertEqual(out.shape, (16, 24))
        self.check(a, b, out, 16, 24, 32)

    def test_every_array_is_read_as_it_lies(self):
        a, b, out = filled(Interface((5, 7), strides=(9, 1))), filled(Exchanged((7, 3)), salt=3), Interface((5, 3), strides=(4, 1))
        self.assertIs(mm(a, b, out=out), out)
        self.check(a, b, out, 5, 3, 7)
        self.assertEqual(b.streams, [stream.value])

    def test_transposed_operands_and_results(self):
        for strides_a in ((9, 1), (1, 8)):
            for strides_b in ((5, 1), (1, 7)):
                for strides_c in ((4, 1), (1, 6)):
                    a, b = filled(Interface((5, 7), strides=strides_a)), filled(Interface((7, 3), strides=strides_b), salt=3)
                    out = Interface((5, 3), strides=strides_c)
                    mm(a, b, out=out)
                    self.check(a, b, out, 5, 3, 7)

    def test_a_bias_of_columns_and_an_activation(self):
        a, b, bias = filled(Interface((5, 7))), filled(Interface((7, 3)), salt=3), filled(Interface((3,)), salt=5)
        add = reader(bias, "float32")
        for strides, computes in (((3, 1), 1), ((1, 5), 7)):  # by columns, the kernel gets both operands transposed
            ctypes.c_int.in_dll(driver, "fake_computes").value = computes
            out = Interface((5, 3), strides=strides)
            mm(a, b, out=out, bias=bias, activation="relu")
            self.check(a, b, out, 5, 3, 7, then=lambda x, j: max(0, x + add(j)))
        ctypes.c_int.in_dll(driver, "fake_computes").value = 1

    def test_a_size_of_one_has_no_stride(self):
        a, b, out = filled(Tensor((1, 7), strides=(1, 1))), filled(Tensor((7, 1), strides=(1, 99)), salt=3), Tensor((1, 1), strides=(5, 5))
        mm(a, b, out=out)
        self.check(a, b, out, 1, 1, 7)

    def test_a_batch_beside_one_matrix(self):
        a, b = filled(Tensor((3, 4, 5))), filled(Tensor((5, 6)), salt=3)
        self.check(a, b, mm(a, b), 4, 6, 5, items=3)
        a, b = filled(Tensor((4, 5))), filled(Tensor((3, 5, 6)), salt=3)
        self.check(a, b, mm(a, b), 4, 6, 5, items=3)

    def test_alpha_and_beta(self):
        a, b, out = filled(Tensor((4, 5))), filled(Tensor((5, 6)), salt=3), filled(Tensor((4, 6)), salt=2)
        before = values_at(out.address, 24, "float32")
        mm(a, b, out=out, alpha=2, beta=-0.5)
        wanted, after = product(a, b, 4, 6, 5), values_at(out.address, 24, "float32")
        for i in range(24):
            self.assertAlmostEqual(after[i], 2 * wanted[i // 6][i % 6] - before[i] / 2, delta=1e-5)

    def test_every_type(self):
        for dtype, of_out, accuracy in (("float32", "float32", "strict"), ("float32", "float32", "accurate"), ("float32", "float32", "normwise"),
                                        ("float32", "float32", "tf32"), ("float16", "float16", None), ("bfloat16", "bfloat16", None),
                                        ("float16", "float32", None), ("bfloat16", "float32", "strict")):
            a, b, out = filled(Tensor((16, 32), dtype), dtype), filled(Tensor((32, 24), dtype), dtype, 3), Tensor((16, 24), of_out)
            mm(a, b, out=out, accuracy=accuracy)
            self.check(a, b, out, 16, 24, 32, dtype, of_out, {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.3}[of_out])

    def test_a_prepared_weight(self):
        a, b = filled(Tensor((128, 128))), filled(Tensor((128, 128)), salt=3)
        with gemmtune.prepare(b, 128, stream=stream) as weight:
            self.assertGreater(weight.bytes, 0)
            self.check(a, b, mm(a, weight, accuracy="accurate"), 128, 128, 128, tolerance=1e-3)
            self.refused("a was prepared as b", weight, b)
            self.refused("out is stored by columns, and prepared", a, weight, accuracy="accurate", out=Tensor((128, 128), strides=(1, 128)))
        self.assertEqual(weight.bytes, 0)
        self.refused("the prepared b was freed", a, weight, accuracy="accurate")
        with self.assertRaisesRegex(gemmtune.Error, "takes no prepared|takes none|prepared") as caught:
            gemmtune.prepare(b, 128, accuracy="strict", stream=stream)
        self.assertEqual(caught.exception.status, 3)

    def test_other_streams_than_the_one_used_are_waited_for(self):
        waited = []
        inner = gemmtune._product.wait_for
        gemmtune._product.wait_for = waited.append
        try:
            other = 0x30
            for of_a, of_b, used, expected in ((None, None, 7, []), (7, None, 7, []), (other, None, 7, [other]), (1, None, 7, [1]),
                                               (1, 0, 0, []), (0, other, 1, [other])):
                arrays = [types.SimpleNamespace(stream=s) for s in (of_a, of_b)]
                gemmtune._product._wait_for_producers(arrays, used)
                self.assertEqual(waited, expected, (of_a, of_b, used))
                waited.clear()
        finally:
            gemmtune._product.wait_for = inner

    def refused(self, why, *arguments, **more):
        with self.assertRaisesRegex(gemmtune.ArgumentError, why) as caught:
            mm(*arguments, **more)
        self.assertEqual(caught.exception.status, 1)
        self.assertIsInstance(caught.exception, ValueError)

    def test_what_is_no_array_of_a_gpu_is_refused(self):
        b = Tensor((7, 3))
        self.refused(r"a is a list: it must be an array", [[1.0]], b)
        self.refused(r"a is on cpu, not on a GPU: move it", Tensor((5, 7), device=Device("cpu", None)), b)
        self.refused(r"a is on the CPU", Exchanged((5, 7), kind=1), b)
        self.refused(r"a is on a device of DLPack's kind 10", Exchanged((5, 7), kind=10), b)
        host = (ctypes.c_float * 35)()
        self.refused(r"a is at 0x[0-9a-f]+, which is no memory of a GPU", Interface((5, 7), address=ctypes.addressof(host)), b)

        class OfNumpy:
            __array_interface__ = {}

        self.refused(r"b is on the CPU", Tensor((5, 7)), OfNumpy())

    def test_arrays_of_two_gpus_are_refused(self):
        a, b, other = Tensor((5, 7)), Tensor((7, 3)), Device("cuda", 1)
        self.refused(r"a is on GPU 0, b on GPU 1: they must be on one", a, Tensor((7, 3), device=other))
        self.refused(r"a is on GPU 0, bias on GPU 1", a, b, bias=Tensor((3,), device=other))
        self.refused(r"a is on GPU 0, out on GPU 1", a, b, out=Tensor((5, 3), device=other))

    def test_a_torch_for_other_gpus_is_refused(self):
        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(version=types.SimpleNamespace(hip="7.0"), Tensor=str)):
            self.refused(r"a is on an AMD GPU: this torch is built for ROCm 7\.0", Tensor((5, 7)), Tensor((7, 3)))

    def test_gradients_and_views_that_are_not_applied_are_refused(self):
        b = Tensor((7, 3))
        self.refused(r"a requires a gradient.*torch\.no_grad\(\).*a\.detach\(\).*torch\.ops\.gemmtune\.mm", Tensor((5, 7), requires_grad=True), b)
        self.refused(r"out requires a gradient", Tensor((5, 7)), b, out=Tensor((5, 3), requires_grad=True))
        self.refused(r"a has the layout torch\.sparse_csr: call \.to_dense\(\)", Tensor((5, 7), layout="torch.sparse_csr"), b)
        self.refused(r"a is a view whose sign", Tensor((5, 7), negative=True), b)
        self.refused(r"a has a mask", Interface((5, 7), mask=Interface((5, 7))), b)

    def test_strides_that_no_leading_dimension_describes_are_refused(self):
        b = Tensor((7, 3))
        for strides in ((14, 2), (3, 1), (0, 1), (-7, 1), (7, -1)):
            self.refused(r"a \(shape \(5, 7\), strides \(.*\), float32\) is contiguous neither along", Interface((5, 7), strides=strides), b)
        self.refused(r"bias .* is not contiguous", Tensor((5, 7)), b, bias=Tensor((3,), strides=(2,)))
        self.refused(r"batch in reverse order", Interface((2, 5, 7), strides=(-35, 7, 1), address=device_memory(70, "float32")), b)
        half = Interface((5, 7), more=0)
        half.more = {"strides": (30, 4)}
        self.refused(r"strides of \(30, 4\) bytes, which are no multiples", half, b)

    def test_shapes_that_do_not_fit_are_refused(self):
        a, b = Tensor((5, 7)), Tensor((7, 3))
        self.refused(r"a has 7 columns and b 5 rows", a, a)
        self.refused(r"b .* has 1 dimensions, not 2", a, Tensor((7,)))
        self.refused(r"a \(shape \(0, 7\), .*\) has a size of 0", Tensor((0, 7)), b)
        self.refused(r"b \(shape \(7, 0\), .*\) has a size of 0", a, Interface((7, 0)))
        self.refused(r"a is a batch of 2, b one of 3", Tensor((2, 5, 7)), Tensor((3, 7, 3)))
        self.refused(r"out has the shape \(5, 4\), not \(5, 3\)", a, b, out=Tensor((5, 4)))
        self.refused(r"bias has the shape \(5,\), not \(3,\)", a, b, bias=Tensor((5,)))

    def test_types_that_do_not_fit_are_refused(self):
        a, b = Tensor((5, 7)), Tensor((7, 3))
        wide = Tensor((5, 7))
        wide.dtype = "torch.float64"
        self.refused(r"a has elements of type float64, not float32, float16 or bfloat16", wide, b)
        self.refused(r"a has elements of type <V2", Interface((5, 7), "bfloat16"), b)
        self.refused(r"a has elements of type float32, b of type float16", a, Tensor((7, 3), "float16"))
        self.refused(r"out has elements of type float16, where a and b have float32", a, b, out=Tensor((5, 3), "float16"))
        self.refused(r"bias has elements of type float16, the result of type float32", a, b, bias=Tensor((3,), "float16"))
        self.refused(r"accuracy 'accurate' is for float32, and a has float16", Tensor((5, 7), "float16"), Tensor((7, 3), "float16"),
                     accuracy="accurate")
        self.refused(r"accuracy is 'high', not 'strict'", a, b, accuracy="high")
        self.refused(r"activation is 'silu', not None, 'relu' or 'gelu'", a, b, activation="silu")

    def test_results_that_cannot_be_written_are_refused(self):
        a, b = Tensor((5, 7)), Tensor((7, 3))
        self.refused(r"out is needed: how to make an array such as a, a Interface", Interface((5, 7)), b)
        self.refused(r"beta is 1, which adds to out: pass it", a, b, beta=1)
        self.refused(r"out may only be read", a, b, out=Interface((5, 3), read_only=True))
        self.refused(r"out may only be read .*DLPack", a, b, out=Exchanged((5, 3)))
        inside = Interface((5, 3), address=a.address + 64)
        self.refused(r"out's first element to its last overlaps with a's", a, b, out=inside)
        self.refused(r"stream is a str", a, b, stream="7")
        self.refused(r"stride|overlap|share", Tensor((2, 5, 7)), b, out=Tensor((2, 5, 3), strides=(0, 3, 1)))

    def test_the_library_says_what_the_driver_refuses(self):
        code = ("import sys; sys.path.insert(0, %r)\nimport test_gemmtune as t, gemmtune\n"
                "a, b = t.Tensor((5, 7)), t.Tensor((7, 3))\n"
                "try: t.mm(a, b)\nexcept gemmtune.Error as e: print(e.status, e)" % os.path.dirname(os.path.abspath(__file__)))
        lacking = code.replace("t.Tensor((5, 7)), t.Tensor((7, 3))", "t.Tensor((5, 7), 'bfloat16'), t.Tensor((7, 3), 'bfloat16')")
        said = subprocess.run([sys.executable, "-c", lacking], env={**os.environ, "FAKE_GPU_ARCH": "75", "GEMMTUNE_LIBCUBLAS": "/none",
                              "GEMMTUNE_LIBCUBLASLT": "/none"}, capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, "^3 nothing here can compute bf16gemm:nn:5x3x7: ")
        for fail, status in (("cuLaunchKernel=719,cuLaunchKernelEx=719", "5 "), ("cuInit=100", "2 the driver cannot start")):
            said = subprocess.run([sys.executable, "-c", code], env={**os.environ, "FAKE_GPU_FAIL": fail, "GEMMTUNE_LIBCUBLAS": "/none",
                                  "GEMMTUNE_LIBCUBLASLT": "/none"}, capture_output=True, text=True, check=True).stdout
            self.assertTrue(said.startswith(status), said)
            self.assertGreater(len(said), 20)


class DLExchange(ctypes.Structure):
    """DLPack's table of C functions, of which the short way uses the last two."""

    OF_OBJECT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
    OF_STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p), ("unused", ctypes.c_void_p * 3),
                ("tensor_from_object", OF_OBJECT), ("current_stream", OF_STREAM)]


class Exchanging(Tensor):
    """As torch's since 2.10."""

    def new_empty(self, shape):
        return Exchanging(tuple(shape), self.dtype[6:])


@unittest.skipUnless(gemmtune._quick._fast, "the package has no _fast: Python's headers were missing, or it is older than 3.10")
class ShortWay(unittest.TestCase):
    def setUp(self):
        self.asked, self.grad = [], False

        def of_object(tensor, to):
            self.asked.append(tensor)
            code, bits = {"float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16), "float64": (2, 64)}[tensor.dtype[6:]]
            tensor.keep = [(ctypes.c_int64 * len(tensor.shape))(*values) for values in (tensor.shape, tensor.strides)]
            to[0] = DLTensor(tensor.address - 16, 2 if tensor.device.type == "cuda" else 1, tensor.device.index or 0, len(tensor.shape),
                             code, bits, 1, *map(ctypes.addressof, tensor.keep), 16)
            return 1 if tensor.layout != "torch.strided" else 0

        def of_stream(_, device, to):
            to[0] = stream.value
            return 0

        context = ctypes.c_void_p()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context)  # as torch leaves it
        self.addCleanup(driver.cuCtxSetCurrent, None)
        self.table = DLExchange(1, 3, None, (ctypes.c_void_p * 3)(), DLExchange.OF_OBJECT(of_object), DLExchange.OF_STREAM(of_stream))
        self.bind(self.table)

    def bind(self, table):
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        Exchanging.__dlpack_c_exchange_api__ = new(ctypes.addressof(table), b"dlpack_exchange_api", None)
        torch = types.SimpleNamespace(Tensor=Exchanging, nn=types.SimpleNamespace(Parameter=type("Parameter", (Exchanging,), {})),
                                      is_grad_enabled=lambda: self.grad)
        quick = gemmtune._quick
        for patch in (mock.patch.dict(sys.modules, torch=torch), mock.patch.object(quick, "_bound", False),
                      mock.patch.object(quick, "mm", quick._not_here), mock.patch.object(quick, "linear", quick._not_here)):
            patch.start()
            self.addCleanup(patch.stop)
        mm(filled(Exchanging((5, 7))), filled(Exchanging((7, 3))))  # by the long way, which binds the short one
        return quick.mm

    def short(self, a, b, out=None, accuracy=None, bias=None, activation=None, alpha=1.0, beta=0.0, used=None, prepared=0):
        return gemmtune._quick.mm(a, b, out, used, accuracy, bias, activation, alpha, beta, prepared)

    def test_it_answers_as_the_long_way(self):
        bias, count = filled(Exchanging((3,)), salt=5), 0
        for strides_a in ((7, 1), (9, 1), (1, 8)):
            for strides_b in ((5, 1), (1, 7)):
                for strides_c in ((3, 1), (4, 1), (1, 6)):
                    for more in ({}, {"bias": bias}, {"activation": "relu", "bias": bias}, {"alpha": 2.0, "beta": 0.5}):
                        a, b = filled(Exchanging((5, 7), strides=strides_a)), filled(Exchanging((7, 3), strides=strides_b), salt=3)
                        found, wanted = (filled(Exchanging((5, 3), strides=strides_c), salt=2) for _ in range(2))
                        ctypes.c_int.in_dll(driver, "fake_computes").value = 7 if strides_c[0] == 1 else 1
                        self.assertIs(self.short(a, b, found, **more), found)
                        gemmtune._product.product(a, b, out=wanted, stream=stream, **more)
                        self.assertEqual(values_at(found.address, found.count, "float32"), values_at(wanted.address, found.count, "float32"))
                        count += 1
        ctypes.c_int.in_dll(driver, "fake_computes").value = 1
        self.assertEqual(count, 72)
        for dtype, accuracy in (("float16", None), ("bfloat16", "strict"), ("float32", "accurate"), ("float32", "normwise"), ("float32", "tf32")):
            a, b = filled(Exchanging((16, 32), dtype), dtype), filled(Exchanging((32, 24), dtype), dtype, 3)
            out = self.short(a, b, accuracy=accuracy, used=stream.value)
            self.assertEqual((type(out), out.dtype, out.shape), (Exchanging, a.dtype, (16, 24)))
            wanted = gemmtune._product.product(a, b, accuracy=accuracy, stream=stream)
            self.assertEqual(values_at(out.address, 384, dtype), values_at(wanted.address, 384, dtype))

    def test_mm_takes_it_and_a_prepared_weight_with_it(self):
        a, b = filled(Exchanging((128, 128))), filled(Exchanging((128, 128)), salt=3)
        with mock.patch.object(gemmtune._product, "product", side_effect=AssertionError), gemmtune.prepare(b, 128, stream=stream) as weight:
            self.asked.clear()
            out = gemmtune.mm(a, weight, accuracy="accurate")
            self.assertEqual(self.asked, [a, b, out])
        wanted = gemmtune._product.product(a, b, accuracy="accurate", stream=stream)
        self.assertEqual(values_at(out.address, out.count, "float32"), values_at(wanted.address, out.count, "float32"))

    def test_what_it_does_not_know_for_certain_is_left_to_the_long_way(self):
        a, b, gpu1, cpu = Exchanging((5, 7)), Exchanging((7, 3)), Device("cuda", 1), Device("cpu", None)
        turned = Exchanging((5, 3), strides=(1, 5))
        inside = Exchanging((5, 3))
        inside.address = a.address + 64
        for arguments, more in (
            ((Tensor((5, 7)), b), {}), ((Exchanging((5, 7), device=cpu), b), {}), ((a, Exchanging((7, 3), device=gpu1)), {}),
            ((Exchanging((5, 7), device=gpu1), Exchanging((7, 3), device=gpu1)), {}), ((Exchanging((5, 7), layout="torch.sparse"), b), {}),
            ((Exchanging((5, 7), negative=True), b), {}), ((Exchanging((0, 7)), b), {}), ((Exchanging((2, 5, 7)), b), {}),
            ((Exchanging((7,)), b), {}), ((a, a), {}), ((Exchanging((5, 7), strides=(14, 2)), b), {}), ((Exchanging((5, 7), strides=(0, 1)), b), {}),
            ((a, Exchanging((7, 3), "float16")), {}), ((a, b, Exchanging((5, 4))), {}), ((a, b, Exchanging((5, 3), "float16")), {}),
            ((a, b, inside), {}), ((a, b, turned), {"prepared": 8}), ((a, b), {"beta": 1.0}), ((a, b), {"accuracy": "high"}), ((a, b), {"accuracy": 3}),
            ((a, b), {"activation": "silu"}), ((a, b), {"bias": Exchanging((5,))}), ((a, b), {"bias": Exchanging((3,), strides=(2,))}),
            ((a, b), {"bias": Exchanging((3,), "float16")}), ((a, b), {"alpha": "2"}), ((a, b), {"used": stream}), ((a, b), {"used": 1 << 70}),
            ((a, b, b), {"bias": [1]}), ((Exchanging((5, 7), "float16"), Exchanging((7, 3), "float16")), {"accuracy": "accurate"}),
        ):
            self.assertIsNone(self.short(*arguments, **more), (arguments, more))
        for shape in ((5, 7), (7, 3)):
            needs = Exchanging(shape, requires_grad=True)
            pair = (needs, b) if shape == (5, 7) else (a, needs)
            self.grad = True
            self.assertIsNone(self.short(*pair))
            with self.assertRaisesRegex(gemmtune.ArgumentError, "requires a gradient"):
                gemmtune.mm(*pair, stream=stream)
            self.grad = False
            self.assertIsNotNone(self.short(*pair))

    def test_a_layer_is_the_product_with_its_weight_as_it_lies(self):
        linear, dtype = gemmtune._quick.linear, "float32"
        weight, turned, bias = filled(Exchanging((3, 7)), salt=3), Exchanging((7, 3), strides=(1, 7)), filled(Exchanging((3,)), salt=5)
        turned.address = weight.address
        for shape, strides, lines in (((5, 7), None, (7, 1)), ((5, 7), (1, 8), (1, 8)), ((2, 5, 7), None, (7, 1)), ((2, 1, 5, 7), (50, 99, 10, 1), (10, 1)),
                                      ((1, 5, 7), (1, 9, 1), (9, 1)), ((5, 1, 1, 7), (12, 3, 4, 1), (12, 1))):
            for used in (None, bias):
                x = filled(Exchanging(shape, strides=strides))
                out = linear(x, weight, used, None, 0)
                self.assertEqual((type(out), out.shape), (Exchanging, (*shape[:-1], 3)))
                flat = Exchanging((math.prod(shape[:-1]), 7), strides=lines)
                flat.address = x.address
                wanted = gemmtune._product.product(flat, turned, bias=used, stream=stream)
                self.assertEqual(values_at(out.address, out.count, dtype), values_at(wanted.address, out.count, dtype))
        a, b = filled(Exchanging((2, 64, 128))), filled(Exchanging((128, 128)), salt=3)
        of_b = Exchanging((128, 128), strides=(1, 128))
        of_b.address = b.address
        with gemmtune.prepare(of_b, 128, stream=stream) as prepared:
            out = linear(a, b, None, "accurate", prepared.address.value)
            self.assertEqual(linear(filled(Exchanging((64, 32))), filled(Exchanging((64, 32))), None, "accurate", prepared.address.value), 1)
        flat = Exchanging((128, 128))
        flat.address = a.address
        wanted = gemmtune._product.product(flat, of_b, accuracy="accurate", stream=stream)
        self.assertEqual(values_at(out.address, out.count, dtype), values_at(wanted.address, out.count, dtype))

    def test_a_layer_of_which_something_is_unknown_is_left_to_the_long_way(self):
        linear, x, weight = gemmtune._quick.linear, Exchanging((2, 5, 7)), Exchanging((3, 7))
        for arguments in ((Exchanging((7,)), weight, None, None, 0), (Exchanging((2, 0, 7)), weight, None, None, 0),
                          (Exchanging((2, 5, 6)), weight, None, None, 0), (Exchanging((2, 5, 7), strides=(36, 7, 1)), weight, None, None, 0),
                          (Exchanging((2, 5, 7), strides=(0, 7, 1)), weight, None, None, 0), (Exchanging((2, 5, 7), strides=(70, 14, 2)), weight, None, None, 0),
                          (x, Exchanging((3, 7, 1)), None, None, 0), (x, weight, Exchanging((7,)), None, 0), (x, weight, None, "high", 0),
                          (x, weight, None, None, "8"), (x, Exchanging((3, 7), "float16"), None, None, 0)):
            self.assertIsNone(linear(*arguments), arguments)
        self.grad = True
        self.assertIsNone(linear(x, Exchanging((3, 7), requires_grad=True), None, None, 0))

    def test_the_library_s_refusal_is_raised_in_its_words(self):
        a, b = filled(Exchanging((128, 128))), filled(Exchanging((128, 128)))
        other, wrong = filled(Exchanging((64, 32))), filled(Exchanging((32, 64)))
        with gemmtune.prepare(b, 128, stream=stream) as weight:
            self.assertEqual(self.short(other, wrong, accuracy="accurate", prepared=weight.address.value), 1)
            with mock.patch.object(weight, "owner", wrong), self.assertRaisesRegex(gemmtune.ArgumentError, "prepared"):
                gemmtune.mm(other, weight, accuracy="accurate")

    def test_a_table_of_another_major_version_is_not_used(self):
        newer = DLExchange(2, 0, ctypes.addressof(self.table), (ctypes.c_void_p * 3)(), self.table.tensor_from_object, self.table.current_stream)
        self.assertIsNot(self.bind(newer), gemmtune._quick._not_here)  # by the older one that it names
        newer.older = None
        self.assertIs(self.bind(newer), gemmtune._quick._not_here)


PRODUCT = """
import ctypes, os
driver = ctypes.CDLL(os.environ["FAKE_GPU"])
context, stream = ctypes.c_void_p(), ctypes.c_void_p()
driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context)
driver.cuStreamCreate(ctypes.byref(stream), 1)
calls = (ctypes.c_int * 4)()
a, b, c = (ctypes.c_float * 512)(*range(512)), (ctypes.c_float * 768)(*[1] * 768), (ctypes.c_float * 384)()
ctypes.CDLL(os.environ["HALF"]).half_run(a, b, c, stream, calls)
print(list(calls), c[0] == sum(range(32)), gemmtune.report())
"""


def python(code, **more):
    return subprocess.run([sys.executable, "-c", "import gemmtune\n" + code], env={**os.environ, **more}, capture_output=True, text=True,
                          check=False)


class DropIn(unittest.TestCase):
    def test_enable_answers_what_is_loaded_later(self):
        done = python("gemmtune.enable(); gemmtune.enable(); print(gemmtune.report())" + PRODUCT)
        self.assertEqual(done.stdout, "Report(products=0, answered=0, gain=0.0)\n"
                         "[0, 0, 0, 0] True Report(products=2, answered=2, gain=1.25)\n", done.stderr)
        done = python("gemmtune.enable()" + PRODUCT, GEMMTUNE_DROPIN="off")
        self.assertEqual(done.stdout, "[0, 0, 1, 1] True Report(products=0, answered=0, gain=0.0)\n", done.stderr)

    def test_enable_is_refused_once_cublas_is_loaded(self):
        done = python("import ctypes, os\nctypes.CDLL(os.environ['CUBLAS'])\ngemmtune.enable()")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"gemmtune.Error: cuBLAS is loaded already ({os.path.realpath(os.environ['CUBLAS'])})", done.stderr)

    def test_report_is_refused_without_the_drop_in(self):
        self.assertIn("the drop-in is not in this process", python("gemmtune.report()").stderr)

    def test_a_program_of_tune_run_is_enabled(self):
        done = python("import sys\nprint(gemmtune.run(['run', '--quiet', '--', sys.executable, '-c', sys.argv[1]]))".replace(
            "sys.argv[1]", repr("import gemmtune; gemmtune.enable()" + PRODUCT)))
        self.assertEqual(done.stdout, "[0, 0, 0, 0] True Report(products=2, answered=2, gain=1.25)\n0\n", done.stderr)


class Program(unittest.TestCase):
    def test_module_and_run_are_tune(self):
        done = subprocess.run([sys.executable, "-m", "gemmtune", "--version"], capture_output=True, text=True, check=True)
        self.assertIn(gemmtune.__version__, done.stdout)
        done = python("print(gemmtune.run(['query', '--nonsense']))")
        self.assertEqual(done.stdout, "2\n")
        self.assertIn("--nonsense", done.stderr)
        with self.assertRaisesRegex(gemmtune.ArgumentError, "argv is one text"):
            gemmtune.run("query")

    def test_tune_is_a_command_line(self):
        done = python("gemmtune.tune([(64, 64, 64), 'sgemm:nt:32x32x32'], budget='1s', database='own.db', gpu='nonsense')")
        self.assertIn("nonsense", done.stderr)
        self.assertRegex(done.stderr, r"Error: tune ended with exit code [1-9]")
        for shapes, why in (("64x64x64", "shapes is one text"), ([], "shapes is empty"), ([(1, 2)], "has 2 sizes, not 3")):
            with self.assertRaisesRegex(gemmtune.ArgumentError, why):
                gemmtune.tune(shapes)

    def test_a_wheel_without_its_files_says_so(self):
        import gemmtune._files as files
        with self.assertRaisesRegex(gemmtune.Error, "bin/none of gemmtune is not in .*: install the wheel again"):
            files.find("bin/none")


FOUND = """
import gemmtune._library, os, sys
gemmtune._library.library_file = lambda: sys.argv[1]
import test_gemmtune as t
try: t.mm(t.Tensor((16, 32)), t.Tensor((32, 24)))
except gemmtune.Error: pass
print("BESIDE" if os.environ["WHEELS"] in open("/proc/self/maps").read() else "ELSEWHERE")
"""


class Wheels(unittest.TestCase):
    def test_nvrtc_is_found_beside_the_library_and_never_below_the_working_directory(self):
        packages = os.path.dirname(os.path.dirname(os.path.abspath(gemmtune.__file__)))
        root = os.path.dirname(os.path.dirname(os.path.dirname(packages)))
        wheels = os.path.join(packages, "nvidia/cuda_nvrtc/lib")
        os.makedirs(wheels)
        shutil.copy(os.environ["GEMMTUNE_LIBNVRTC"], os.path.join(wheels, "libnvrtc.so.13"))
        here = {**os.environ, "WHEELS": wheels, "PYTHONPATH": f"{packages}:{os.path.dirname(os.path.abspath(__file__))}"}
        del here["GEMMTUNE_LIBNVRTC"]
        name = "lib/libgemmtune.so." + gemmtune.__version__.rpartition(".")[0]
        for library, said in ((os.path.join(root, name), "BESIDE"), ("./" + name, "ELSEWHERE")):
            done = subprocess.run([sys.executable, "-c", FOUND, library], cwd=root, capture_output=True, text=True, check=False,
                                  env={**here, "GEMMTUNE_CACHE": tempfile.mkdtemp(dir=root)})
            self.assertEqual(done.stdout, said + "\n", done.stderr)


stream = ctypes.c_void_p()
assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
if __name__ == "__main__":
    unittest.main(verbosity=1)
