"""test_torch.py: torch's operators, replaced layers and the short way of mm, where torch is installed (else exit 77). What needs a GPU is
skipped without one; operators are then tried with products computed by torch on the CPU, and with torch's fake tensors.

    PYTHONPATH=runtime/python python3 tests/python/test_torch.py            # operators, fakes, gradients
    python3 tests/python/test_torch.py                                      # with the wheel installed and a GPU: all
"""
import copy
import io
import sys
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    print("skipped: there is no torch")
    sys.exit(77)

import gemmtune
from gemmtune import _files, _linear, _product, _quick, _weights, torch_ops
from torch._subclasses.fake_tensor import FakeTensorMode

ops = torch.ops.gemmtune


def is_installed():
    try:
        return bool(_files.library())
    except gemmtune.Error:
        return False


on_gpu = unittest.skipUnless(torch.cuda.is_available() and is_installed(), "there is no GPU, or the wheel is not installed")


def fake(*shape, dtype=torch.float32, device="cuda:0"):
    return torch.empty(shape, dtype=dtype, device=device)


def computed_by_torch(a, b, *, accuracy=None, bias=None, out=None, source=None, alpha=1.0, beta=0.0):
    product = alpha * (a.detach() @ b.detach())
    return product + bias.detach() if bias is not None else product + beta * source.detach() if source is not None else product


class OnTheCpu:
    """Products are computed by torch on the CPU, and the fake kernels take tensors there."""

    def __enter__(self):
        self.patches = [mock.patch.object(_product, "mm", computed_by_torch), mock.patch.object(_product, "product", computed_by_torch),
                        mock.patch.object(torch_ops, "_check", lambda *_: None),
                        mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: False)]
        for patch in self.patches:
            patch.start()

    def __exit__(self, *_):
        for patch in self.patches:
            patch.stop()


class Fakes(unittest.TestCase):
    def test_shapes_types_and_devices_of_results(self):
        with FakeTensorMode():
            for dtype in torch_ops.TYPES:
                for a, b, shape in (((5, 7), (7, 3), (5, 3)), ((2, 5, 7), (7, 3), (2, 5, 3)), ((5, 7), (2, 7, 3), (2, 5, 3))):
                    out = ops.mm(fake(*a, dtype=dtype), fake(*b, dtype=dtype), accuracy=None)
                    self.assertEqual((tuple(out.shape), out.dtype, str(out.device)), (shape, dtype, "cuda:0"))
            for added in ((3,), (5, 3)):
                out = ops.addmm(fake(*added), fake(5, 7), fake(3, 7).t(), accuracy="accurate")
                self.assertEqual((tuple(out.shape), out.stride()), ((5, 3), (3, 1)))

    def test_what_a_product_would_refuse_is_refused(self):
        f64 = torch.float64
        with FakeTensorMode():
            for why, call in (
                (r"a has 7 columns and b 5 rows", lambda: ops.mm(fake(5, 7), fake(5, 7))),
                (r"a is a batch of 2, b one of 3", lambda: ops.mm(fake(2, 5, 7), fake(3, 7, 3))),
                (r"b has 1 dimensions, not 2 or 3", lambda: ops.mm(fake(5, 7), fake(7))),
                (r"a is on cpu, not on a GPU", lambda: ops.mm(fake(5, 7, device="cpu"), fake(7, 3))),
                *(((r"a is on cuda:0, b on cuda:1", lambda: ops.mm(fake(5, 7), fake(7, 3, device="cuda:1"))),)
                  if torch.cuda.device_count() != 1 else ()),  # torch makes no fake tensor of a GPU that is not there beside one that is
                (r"a has elements of type float64", lambda: ops.mm(fake(5, 7, dtype=f64), fake(7, 3, dtype=f64))),
                (r"a has elements of type float32, b of type float16", lambda: ops.mm(fake(5, 7), fake(7, 3, dtype=torch.float16))),
                (r"input has the shape \(5,\), not \(3,\) or \(5, 3\)", lambda: ops.addmm(fake(5), fake(5, 7), fake(7, 3))),
                (r"beta is 2\.0, and input a bias of 3 values", lambda: ops.addmm(fake(3), fake(5, 7), fake(7, 3), beta=2)),
                (r"a has 3 dimensions, not 2", lambda: ops.addmm(fake(3), fake(2, 5, 7), fake(7, 3))),
            ):
                with self.subTest(why), self.assertRaisesRegex(gemmtune.ArgumentError, why):
                    call()

    def test_tensors_on_the_cpu_are_refused_by_the_operators_too(self):
        for call in (lambda: ops.mm(torch.ones(5, 7), torch.ones(7, 3)), lambda: ops.addmm(torch.ones(3), torch.ones(5, 7), torch.ones(7, 3))):
            with self.assertRaisesRegex(gemmtune.ArgumentError, "a is on cpu, not on a GPU: move it there first"):
                call()

    def test_models_on_the_cpu_and_without_layers_are_refused(self):
        for why, model in ((r"layer '1' is on cpu, not on a GPU: model\.cuda\(\)", torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 4))),
                           (r"no torch\.nn\.Linear", torch.nn.ReLU()), (r"model is a list", [])):
            with self.assertRaisesRegex(gemmtune.ArgumentError, why):
                gemmtune.replace_linear(model)
        with self.assertRaisesRegex(gemmtune.ArgumentError, "accuracy is 'high'"):
            gemmtune.replace_linear(torch.nn.Linear(3, 4), accuracy="high")


class Gradients(unittest.TestCase):
    def check(self, wanted, found, *shapes):
        torch.manual_seed(1)
        given = [torch.randn(s, dtype=torch.float64) for s in shapes]
        grads = []
        for f in (wanted, found):
            inputs = [g.clone().requires_grad_() for g in given]
            out = f(*inputs)
            first = torch.autograd.grad(out.square().sum(), inputs, create_graph=True)
            grads.append((out, *first, *torch.autograd.grad(sum(g.square().sum() for g in first), inputs)))
            grads[-1] += torch.autograd.grad(f(*inputs).sum(), inputs)  # an expanded gradient
        for x, y in zip(*grads):
            torch.testing.assert_close(x, y)

    def test_gradients_are_those_of_torch_and_can_be_differentiated_again(self):
        with OnTheCpu():
            self.check(torch.matmul, ops.mm, (5, 7), (7, 3))
            self.check(torch.matmul, ops.mm, (2, 5, 7), (2, 7, 3))
            self.check(torch.matmul, ops.mm, (2, 5, 7), (7, 3))
            self.check(torch.matmul, ops.mm, (5, 7), (2, 7, 3))
            self.check(lambda a, b: torch.matmul(a, b.t()), lambda a, b: ops.mm(a, b.t(), "accurate"), (5, 7), (3, 7))
            self.check(torch.addmm, ops.addmm, (3,), (5, 7), (7, 3))
            self.check(lambda *x: torch.addmm(*x, beta=0.5, alpha=2), lambda *x: ops.addmm(*x, 0.5, 2.0), (5, 3), (5, 7), (7, 3))
            self.check(lambda *x: torch.addmm(*x, alpha=3), lambda *x: ops.addmm(*x, alpha=3.0), (3,), (5, 7), (7, 3))

    def test_only_what_is_wanted_is_differentiated(self):
        with OnTheCpu():
            a, b = torch.randn(5, 7), torch.randn(7, 3, requires_grad=True)
            calls = []
            inner = _product.mm
            with mock.patch.object(_product, "mm", lambda *x, **y: calls.append(x) or inner(*x, **y)):
                ops.mm(a, b).sum().backward()
            self.assertEqual(len(calls), 2)  # the product, and b's gradient
            self.assertFalse(ops.mm(a, a.t()).requires_grad)


class Compiled(unittest.TestCase):
    def test_the_operators_are_kept_whole(self):
        kept = []

        def backend(graph, _):
            kept.extend(str(node.target) for node in graph.graph.nodes if "gemmtune" in str(node.target))
            return graph.forward

        def f(x, w, bias):
            return ops.addmm(bias, x, w.t(), accuracy="accurate").relu() + ops.mm(x, w.t())

        x, w, bias = torch.randn(5, 7), torch.randn(3, 7), torch.randn(3)
        with OnTheCpu():
            found = torch.compile(f, backend=backend, fullgraph=True)(x, w, bias)
        self.assertEqual(kept, ["gemmtune.addmm", "gemmtune.mm"])
        torch.testing.assert_close(found, (x @ w.t() + bias).relu() + x @ w.t())

    def test_aot_autograd_with_sizes_that_change(self):
        w, bias = torch.randn(3, 7, requires_grad=True), torch.randn(3, requires_grad=True)
        with OnTheCpu():
            f = torch.compile(lambda x: ops.addmm(bias, x, w.t()).relu(), backend="aot_eager", fullgraph=True, dynamic=True)
            for rows in (5, 6, 9):
                x = torch.randn(rows, 7)
                out = f(x)
                torch.testing.assert_close(out, (x @ w.t() + bias).relu())
                torch.testing.assert_close(torch.autograd.grad(out.sum(), w)[0],
                                           torch.autograd.grad((x @ w.t() + bias).relu().sum(), w)[0])


def replaced(model, accuracy="accurate", prepare=False):
    """As replace_linear, of a model that stays on the CPU."""
    layers = [(name, layer) for name, layer in model.named_modules() if type(layer) is torch.nn.Linear]
    for _, layer in layers:
        layer.__dict__["gemmtune"] = _weights.Weight(accuracy, prepare, layer.bias is not None)
        layer.__class__ = _linear.Linear
    return _linear.Replacement(layers)


class Layers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.model = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.GELU(), torch.nn.Linear(16, 3, bias=False)).eval()
        self.calls = []
        inner = computed_by_torch
        patch = mock.patch.object(_product, "mm", lambda *x, **y: self.calls.append(y) or inner(*x, **y))
        self.on_cpu = OnTheCpu()
        self.on_cpu.__enter__()
        patch.start()
        self.addCleanup(self.on_cpu.__exit__)
        self.addCleanup(patch.stop)

    def test_a_replaced_model_computes_the_same_and_is_put_back(self):
        for shape in ((5, 7), (2, 5, 7), (7,), (7, 5)):
            x = torch.randn(shape) if shape != (7, 5) else torch.randn(shape).t()
            wanted, keys = self.model(x), list(self.model.state_dict())
            self.calls.clear()
            with replaced(self.model) as replacement, torch.no_grad():
                self.assertEqual(replacement.names, ("0", "2"))
                torch.testing.assert_close(self.model(x), wanted.detach())
                self.assertEqual([y["accuracy"] for y in self.calls], ["accurate"] * 2)
                self.assertEqual(list(self.model.state_dict()), keys)
            self.assertIs(type(self.model[0]), torch.nn.Linear)
            self.assertNotIn("gemmtune", self.model[0].__dict__)
            self.calls.clear()
            self.model(x)
            self.assertEqual(self.calls, [])

    def test_what_the_kernels_do_not_take_is_left_to_torch(self):
        with replaced(self.model), torch.no_grad():
            self.assertEqual(self.model(torch.empty(0, 7)).shape, (0, 3))
            self.assertEqual(self.calls, [])

    def test_what_watches_torch_s_calls_sees_the_products(self):
        from torch.fx.experimental.proxy_tensor import make_fx
        x = torch.randn(2, 5, 7)
        wanted = self.model(x).detach()
        with replaced(self.model), torch.no_grad():
            traced = make_fx(self.model)(x)
            self.assertEqual([str(n.target) for n in traced.graph.nodes if "gemmtune" in str(n.target)], ["gemmtune.addmm.default", "gemmtune.mm.default"])
            torch.testing.assert_close(traced(x), wanted)
            text = str(torch.jit.trace(self.model, x, check_trace=False).inlined_graph)
            self.assertTrue("gemmtune::addmm" in text and "gemmtune::mm" in text, text)
            torch.testing.assert_close(torch.func.vmap(self.model)(x), wanted)

    def test_the_short_way_of_a_layer_is_for_what_it_may_compute(self):
        layer, asked, answers = self.model[0], [], []

        def linear(input, weight, bias, accuracy, prepared):
            asked.append((tuple(input.shape), weight is layer.weight, bias is layer.bias, accuracy, prepared))
            return answers[-1]

        x = torch.randn(2, 5, 7)
        wanted = layer(x).detach()
        opened = mock.Mock()
        opened.return_value.check.side_effect = gemmtune.Error("no", 3)
        with mock.patch.object(torch.Tensor, "is_cuda", True), mock.patch.object(_quick, "linear", linear), \
                mock.patch.object(_linear._library, "opened", opened), replaced(layer):
            with torch.no_grad():
                answers.append(torch.zeros(2, 5, 16))
                self.assertIs(layer(x), answers[0])
                self.assertEqual((asked, self.calls), ([((2, 5, 7), True, True, "accurate", 0)], []))
                answers.append(3)
                with self.assertRaisesRegex(gemmtune.Error, "no"):
                    layer(x)
                answers.append(None)
                torch.testing.assert_close(layer(x), wanted)
                self.assertEqual((len(asked), len(self.calls)), (3, 1))
                answers.append(answers[0])
                self.assertEqual(layer(torch.empty(0, 7)).shape, (0, 16))
                self.assertEqual(layer(torch.randn(7)).shape, (16,))
                for wrong in (torch.randn(3), torch.randn(1, 3), torch.tensor(1.0)):
                    with self.assertRaises(RuntimeError):
                        layer(wrong)
                with mock.patch.object(torch, "is_autocast_enabled", lambda: True):  # torch switches it off where there is no GPU
                    torch.testing.assert_close(layer(x), wanted)
            layer(x).sum().backward()
            layer.requires_grad_(False)(x.clone().requires_grad_()).sum().backward()
            self.assertEqual(len(asked), 3)
            self.assertIs(layer(x), answers[0])  # nothing is differentiated

    def test_the_problems_of_a_model_are_tuned(self):
        with replaced(self.model, prepare=True) as replacement, torch.no_grad(), mock.patch.object(_linear.time, "sleep"), \
                mock.patch.object(torch.cuda, "synchronize"), mock.patch.object(_weights.Weight, "_prepare", lambda *_: None), \
                mock.patch.object(gemmtune._program, "run", return_value=0) as run:
            with self.assertRaisesRegex(gemmtune.ArgumentError, "nothing was computed yet"):
                replacement.tune()
            self.model(torch.randn(2, 5, 7)), self.model(torch.randn(10, 7)), self.model(torch.randn(4, 7))
            replacement.tune(budget="5s")
        shapes = ["10x16x7:prepared=b:epilogue=bias", "10x3x16:prepared=b", "4x16x7:prepared=b:epilogue=bias", "4x3x16:prepared=b"]
        for accuracy, dtype, kind in (("accurate", torch.float32, "sgemm_accurate"), (None, torch.float16, "hgemm"), (None, torch.bfloat16, "bf16gemm")):
            with replaced(self.model.to(dtype), accuracy) as replacement, torch.no_grad():
                self.model(torch.randn(4, 7, dtype=dtype))
                self.assertEqual(replacement.problems()[0], f"{kind}:nt:4x16x7:epilogue=bias")
        self.assertEqual(run.call_args.args[0], ["--budget", "5s", *(w for s in shapes for w in ("--shape", "sgemm_accurate:nt:" + s))])

    def test_training_gets_the_same_gradients(self):
        x = torch.randn(4, 5, 7)
        self.model(x).square().sum().backward()
        wanted = [p.grad.clone() for p in self.model.parameters()]
        self.model.zero_grad()
        with replaced(self.model):
            self.model(x).square().sum().backward()
        for p, grad in zip(self.model.parameters(), wanted):
            torch.testing.assert_close(p.grad, grad)

    def test_compiled_without_a_break_and_again_after_undo(self):
        x = torch.randn(5, 7)
        wanted = self.model(x).detach()
        compiled = torch.compile(self.model, backend="aot_eager", fullgraph=True)
        for grad in (False, True):
            with replaced(self.model), torch.set_grad_enabled(grad):
                self.calls.clear()
                torch.testing.assert_close(compiled(x), wanted)
                self.assertEqual(len(self.calls), 2)
        self.calls.clear()
        torch.testing.assert_close(compiled(x), wanted)
        self.assertEqual(self.calls, [])

    def test_copies_and_saved_models(self):
        x = torch.randn(5, 7)
        with replaced(self.model), torch.no_grad():
            twin = copy.deepcopy(self.model)
            self.assertNotEqual(twin[0].gemmtune.number, self.model[0].gemmtune.number)
            file = io.BytesIO()
            torch.save(self.model, file)
            file.seek(0)
            read = torch.load(file, weights_only=False)
            self.calls.clear()
            torch.testing.assert_close(read(x), twin(x))
            self.assertEqual(len(self.calls), 4)

    def test_a_weight_is_prepared_once_and_again_when_it_changes(self):
        prepared = []

        class Prepared:
            bytes = 24

            def __init__(self, owner):
                self.owner, self.freed = owner, False
                prepared.append(self)

            def free(self):
                self.freed = True

        by = mock.patch.object(_weights, "prepare", lambda matrix, rows, accuracy, bias: Prepared(matrix))
        product = mock.patch.object(_product, "mm", lambda a, b, **y: computed_by_torch(a, getattr(b, "owner", b), **y))
        with by, product, torch.no_grad(), replaced(self.model, prepare=True) as replacement:
            x = torch.randn(5, 7)
            for _ in range(3):
                wanted = torch.nn.functional.linear(torch.nn.functional.gelu(torch.nn.functional.linear(
                    x, self.model[0].weight, self.model[0].bias)), self.model[2].weight)
                torch.testing.assert_close(self.model(x), wanted)
            self.assertEqual(len(prepared), 2)
            self.assertEqual(replacement.prepared_bytes, 48)
            self.model[0].weight.mul_(2)
            self.model(x), self.model(torch.randn(6, 7))
            self.assertEqual(len(prepared), 3)
            self.assertFalse(any(p.freed for p in prepared))  # a graph may hold them
            with mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: True):
                self.model[0].weight.mul_(2)
                self.model(x)
            self.assertEqual(len(prepared), 3)
        self.assertTrue(all(p.freed for p in prepared))

    def test_a_kernel_that_takes_none_is_not_asked_for_ever(self):
        asked = []

        def refuse(matrix, rows, accuracy, bias):
            asked.append(rows)
            raise gemmtune.Error("takes none", 3)

        with mock.patch.object(_weights, "prepare", refuse), torch.no_grad(), replaced(self.model[0], prepare=True):
            for rows in (*range(1, 20), *range(1, 20)):
                self.model[0](torch.randn(rows, 7))
        self.assertEqual(asked, list(range(1, _weights.TRIES + 1)))


@on_gpu
class OnTheGpu(unittest.TestCase):
    def setUp(self):
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(3)

    def random(self, *shape, dtype=torch.float32):
        return torch.randn(shape, device="cuda").to(dtype)

    def test_operators_of_every_type(self):
        for dtype in torch_ops.TYPES:
            a, b, bias = self.random(96, 64, dtype=dtype), self.random(80, 64, dtype=dtype), self.random(80, dtype=dtype)
            tolerance = {"rtol": 2e-2, "atol": 0.2} if dtype != torch.float32 else {"rtol": 1e-5, "atol": 1e-4}
            torch.testing.assert_close(ops.mm(a, b.t()), a @ b.t(), **tolerance)
            torch.testing.assert_close(ops.addmm(bias, a, b.t()), torch.addmm(bias, a, b.t()), **tolerance)
            full = self.random(96, 80, dtype=dtype)
            before = full.clone()
            torch.testing.assert_close(ops.addmm(full, a, b.t(), 0.5, 2.0), torch.addmm(full, a, b.t(), beta=0.5, alpha=2), **tolerance)
            torch.testing.assert_close(full, before, rtol=0, atol=0)
            batch = self.random(3, 96, 64, dtype=dtype)
            torch.testing.assert_close(ops.mm(batch, b.t()), batch @ b.t(), **tolerance)

    def test_the_short_way_answers_as_the_long_one(self):
        a, b = self.random(64, 48), self.random(32, 48)
        gemmtune.mm(a, b.t())
        self.assertIsNotNone(_quick._fast, "the wheel lacks _fast")
        self.assertIsNot(_quick.mm, _quick._not_here)
        bias, out = self.random(32), torch.empty(64, 32, device="cuda")
        lying = [(None, x, y, {}) for x in (a, self.random(48, 64).t(), self.random(64, 60)[:, :48])
                 for y in (b.t(), self.random(48, 32), self.random(48, 40)[:, :32])]
        more = [(accuracy, a, b.t(), extra) for accuracy in (None, "accurate", "tf32")
                for extra in ({}, {"bias": bias}, {"bias": bias, "activation": "relu"}, {"activation": "gelu"}, {"alpha": 0.5})]
        for accuracy, x, y, extra in lying + more:
            done = _quick.mm(x, y, out, None, accuracy, extra.get("bias"), extra.get("activation"), extra.get("alpha", 1.0), 0.0, 0)
            self.assertIs(done, out)
            wanted = _product.product(x, y, accuracy=accuracy, **extra)
            torch.testing.assert_close(done, wanted, rtol=1e-5, atol=0.05 if accuracy == "tf32" else 1e-4)
        turned = torch.empty(32, 64, device="cuda").t()
        torch.testing.assert_close(gemmtune.mm(a, b.t(), out=turned), a @ b.t(), rtol=1e-5, atol=1e-4)
        parameter = torch.nn.Parameter(b)
        with torch.no_grad():
            self.assertIsNotNone(_quick.mm(a, parameter.t(), None, None, None, None, None, 1.0, 0.0, 0))
        for x, y, out, more in ((a, parameter, None, {}), (a.cpu(), b.t(), None, {}), (a, b, None, {}), (a, b.t(), a[:, :32], {}),
                                (a.double(), b.t(), None, {}), (a, b.t()[:0], None, {}), (a[:, ::2], b.t()[:24], None, {}),
                                (torch._neg_view(a), b.t(), None, {}),
                                (a.expand(2, 64, 48), b.t(), None, {}), (a, b.t(), None, {"accuracy": "high"})):
            self.assertIsNone(_quick.mm(x, y, out, None, more.get("accuracy"), None, None, 1.0, 0.0, 0))

    def test_bad_input_says_what_and_where(self):
        a, b = self.random(64, 48), self.random(48, 32)
        for why, call in (
            (r"a is on cpu, not on a GPU", lambda: gemmtune.mm(a.cpu(), b)),
            (r"b is on cpu", lambda: ops.mm(a, b.cpu())),
            (r"a requires a gradient.*torch\.ops\.gemmtune\.mm", lambda: gemmtune.mm(a.clone().requires_grad_(), b)),
            (r"is contiguous neither along its rows", lambda: ops.mm(a[:, ::2], b[:24])),
            (r"has a size of 0", lambda: ops.mm(a[:0], b)),
            (r"a has elements of type float64", lambda: ops.mm(a.double(), b.double())),
            (r"a has elements of type float8_e4m3fn", lambda: gemmtune.mm(a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn))),
            (r"accuracy 'accurate' is for float32", lambda: ops.mm(a.half(), b.half(), "accurate")),
            (r"overlaps with a's", lambda: gemmtune.mm(a, b, out=a[:, :32])),
        ):
            with self.subTest(why), self.assertRaisesRegex(gemmtune.ArgumentError, why):
                call()

    def test_gradients(self):
        given = [self.random(64, 48), self.random(32, 48), self.random(32)]
        grads = []
        for f in (torch.addmm, lambda *x: ops.addmm(*x, accuracy="accurate")):
            inputs = [g.clone().requires_grad_() for g in given]
            f(inputs[2], inputs[0], inputs[1].t()).square().sum().backward()
            grads.append([x.grad for x in inputs])
        for x, y in zip(*grads):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-2)

    def test_opcheck(self):
        a, b, bias = self.random(64, 48), self.random(48, 32), self.random(32)
        for op, arguments in ((ops.mm, (a, b)), (ops.addmm, (bias, a, b))):
            torch.library.opcheck(op.default, tuple(x.clone().requires_grad_() for x in arguments),
                                  test_utils=("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static"))

    def test_a_side_stream_and_a_graph(self):
        a, b, out = self.random(256, 128), self.random(128, 64), torch.empty(256, 64, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                gemmtune.mm(a, b, out=out, accuracy="accurate")
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gemmtune.mm(a, b, out=out, accuracy="accurate")
            made = ops.mm(a, b, "accurate")
        for _ in range(2):
            a.normal_()
            graph.replay()
            torch.testing.assert_close(out, a @ b, rtol=1e-5, atol=1e-4)
            torch.testing.assert_close(made, out, rtol=0, atol=0)

    def test_a_replaced_model_eager_in_a_graph_and_compiled(self):
        model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda().eval()
        x = self.random(4, 128, 512)
        with torch.no_grad():
            wanted = model(x)
            with gemmtune.replace_linear(model) as replacement:
                torch.testing.assert_close(model(x), wanted, rtol=1e-5, atol=1e-4)
                print(f"prepared: {replacement.prepared_bytes} bytes", end=" ")
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    out = model(x)
                graph.replay()
                torch.testing.assert_close(out, wanted, rtol=1e-5, atol=1e-4)
                compiled = torch.compile(model, fullgraph=True)
                torch.testing.assert_close(compiled(x), wanted, rtol=1e-5, atol=1e-4)
                model[0].weight.mul_(2)
                changed = torch.nn.functional.linear(x, model[0].weight, model[0].bias)
                torch.testing.assert_close(model[0](x), changed, rtol=1e-5, atol=1e-4)
        x.requires_grad_()
        with gemmtune.replace_linear(model):
            found = torch.autograd.grad(model(x).sum(), x)[0]
        torch.testing.assert_close(found, torch.autograd.grad(model(x).sum(), x)[0], rtol=1e-4, atol=1e-4)
        del graph

    def test_two_gpus_are_refused(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("there is one GPU")
        a, b = self.random(64, 48), self.random(48, 32)
        with self.assertRaisesRegex(gemmtune.ArgumentError, "a is on GPU 0, b on GPU 1"):
            ops.mm(a, b.to("cuda:1"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
