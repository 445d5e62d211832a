"""Tensors of PyTorch: gradients, operators, torch.compile. On a GPU where the library is built for one, else on the software device."""

import pathlib
import re

import pytest
from reference import Attention, assert_gradients, assert_within, gemm

import warpwise

torch = pytest.importorskip("torch")
arrays = warpwise.interface.arrays
LIBRARIES = pathlib.Path(warpwise.__file__).parent / "lib"
GPU_LIBRARY, SIMT_LIBRARY = LIBRARIES / "libwarpwise_gpu.so", LIBRARIES / "libwarpwise_simt.so"
DEVICE = "cuda" if torch.cuda.is_available() and GPU_LIBRARY.exists() else "cpu"
DTYPES = ["float32", "float16", "bfloat16"]


def tensors(random, shape, kv_shape, dtype, requires_grad=False):
    return [tensor(random, s, dtype).requires_grad_(requires_grad) for s in (shape, kv_shape, kv_shape)]


def tensor(random, shape, dtype):
    return torch.from_numpy(random.standard_normal(shape)).to(DEVICE, getattr(torch, dtype))


def doubles(*given):
    return [x.detach().double().cpu().numpy() for x in given]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients(random, dtype, causal):
    """autograd: dq, dk and dv by backward, with causal and scale as in the forward pass."""
    q, k, v = tensors(random, (2, 4, 33, 64), (2, 2, 70, 64), dtype, True)
    dout = tensors(random, q.shape, k.shape, dtype)[0]
    out = warpwise.flash_attention(q, k, v, causal, 0.2)
    gradients = torch.autograd.grad(out, (q, k, v), dout)
    expected = Attention(*doubles(q, k, v), causal, 0.2, dtype)
    assert_within(*doubles(out), expected.out, expected.out_bound)
    assert all(result.dtype == q.dtype for result in gradients)
    assert_gradients(doubles(*gradients), *doubles(q, k, v), causal, 0.2, dtype, *doubles(dout))


@pytest.mark.parametrize("head_dim", [32, 64, 128])
def test_gradients_of_every_head_dim(random, head_dim):
    """Those of BACKWARD_HEAD_DIMS; the plan of the backward pass is made once, too."""
    q, k, v = tensors(random, (1, 2, 6, head_dim), (1, 1, 9, head_dim), "float32", True)
    dout = tensor(random, q.shape, "float32")
    warpwise.interface.backward_plan.cache_clear()
    for _ in range(2):
        gradients = torch.autograd.grad(warpwise.flash_attention(q, k, v, True), (q, k, v), dout)
        assert_gradients(doubles(*gradients), *doubles(q, k, v), True, None, "float32", *doubles(dout))
    assert warpwise.interface.backward_plan.cache_info().misses == 1


def test_gradients_by_finite_differences(random):
    """torch.autograd.gradcheck with steps that float32 can tell apart.

    A difference quotient is off by what the outputs may be off by, over the step, and by the curvature, which float64 shows.
    """
    q, k, v = tensors(random, (1, 2, 3, 32), (1, 1, 4, 32), "float32", True)
    weight = tensor(random, q.shape, "float32")
    (weights,) = doubles(weight)
    step = 2.0**-5

    def loss(q, k, v):
        return (warpwise.flash_attention(q, k, v, causal=True) * weight).sum(dim=(2, 3))

    def exact(q, k, v):
        return (Attention(q, k, v, True).out * weights).sum(axis=(2, 3))

    expected = Attention(*doubles(q, k, v), True, dout=weights)
    rounding = (abs(weights) * expected.out_bound).sum(axis=(2, 3)).max() / step
    curvature = 0.0
    for which, gradient in enumerate(("dq", "dk", "dv")):
        for _ in range(20):
            given = doubles(q, k, v)
            at = tuple(random.integers(extent) for extent in given[which].shape)
            values = []
            for sign in (1, -1):
                moved = [x.copy() for x in given]
                moved[which][at] += sign * step
                values.append(exact(*moved).sum())
            quotient = (values[0] - values[1]) / (2 * step)
            curvature = max(curvature, abs(quotient - getattr(expected, gradient)[at]))
    gradient_bound = max(getattr(expected, f"{name}_bound").max() for name in ("dq", "dk", "dv"))
    tolerance = rounding + 4.0 * curvature + gradient_bound  # the quotients tried are a sample: room for the others
    assert tolerance < 0.05 * max(abs(expected.dq).max(), abs(expected.dk).max(), abs(expected.dv).max())
    with pytest.warns(UserWarning, match="not a double precision"):
        assert torch.autograd.gradcheck(loss, (q, k, v), eps=step, atol=tolerance, rtol=0.0)


def test_only_wanted_gradients_are_tracked(random):
    q, k, v = tensors(random, (1, 1, 5, 32), (1, 1, 5, 32), "float32")
    assert not warpwise.flash_attention(q, k, v).requires_grad
    for wanted in (q, k, v):
        wanted.requires_grad_()
        warpwise.flash_attention(q, k, v).sum().backward()
        assert [x.grad is not None for x in (q, k, v)] == [x is wanted for x in (q, k, v)]
        wanted.requires_grad_(False).grad = None
    v.requires_grad_()
    with torch.no_grad():
        assert not warpwise.flash_attention(q, k, v).requires_grad


def test_the_gradient_of_the_output_may_have_any_strides(random):
    """That of a sum is one number with strides of 0."""
    q, k, v = tensors(random, (1, 2, 9, 32), (1, 2, 9, 32), "float32", True)
    expected = Attention(*doubles(q, k, v), dout=doubles(q)[0] * 0.0 + 1.0)
    for loss in (lambda out: out.sum(), lambda out: out.transpose(2, 3).contiguous().sum()):
        gradients = torch.autograd.grad(loss(warpwise.flash_attention(q, k, v)), (q, k, v))
        for name, result in zip(("dq", "dk", "dv"), gradients):
            assert_within(*doubles(result), getattr(expected, name), getattr(expected, f"{name}_bound"))


def test_inputs_changed_before_backward_are_noticed(random):
    """PyTorch raises, because the gradient would be that of other inputs: what save_for_backward keeps is watched."""
    for which in range(3):
        given = tensors(random, (1, 1, 5, 32), (1, 1, 5, 32), "float32", True)
        out = warpwise.flash_attention(*given).sum()
        with torch.no_grad():
            given[which].mul_(2.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


def test_without_gradients_every_head_dim_is_taken():
    """Under no_grad nobody asks for a backward pass, so a head_dim without one is no mistake, in a graph neither."""
    q = torch.zeros((1, 1, 5, 256), dtype=torch.float16, device=DEVICE)
    with torch.no_grad():
        assert warpwise.flash_attention(q.clone().requires_grad_(), q, q).shape == q.shape
    operators()
    compiled = torch.compile(lambda q: warpwise.flash_attention(q, q, q), fullgraph=True, backend="aot_eager")
    assert compiled(q).shape == q.shape


def test_the_gradient_of_the_output_is_copied_only_if_it_must_be(random, monkeypatch):
    """The kernel loads 16 bytes at once: dout at another address is copied, any other is read where it lies."""
    q, k, v = tensors(random, (1, 2, 9, 32), (1, 2, 9, 32), "float32")
    out, lse = warpwise.interface.attention_forward(q, k, v, False, None, True)
    given = []
    call = warpwise.interface.call
    monkeypatch.setattr(warpwise.interface, "call", lambda plan, array, args: given.append(args.dout) or call(plan, array, args))
    room = tensor(random, (q.numel() + 4,), "float32")
    for first in (0, 1, 2, 3, 4):
        dout = room[first : first + q.numel()].view(q.shape)
        gradients = warpwise.interface.attention_backward(q, k, v, out, lse, dout, False, None)
        assert (given.pop() == dout.data_ptr()) == (dout.data_ptr() % 16 == 0)
        assert_gradients(doubles(*gradients), *doubles(q, k, v), False, None, "float32", *doubles(dout))


def test_the_gradient_of_a_gradient_is_refused(random):
    """create_graph=True asks for a gradient of the gradient, which attention does not have: OptionError."""
    q, k, v = tensors(random, (1, 1, 5, 32), (1, 1, 5, 32), "float32", True)
    try:
        torch.autograd.grad(warpwise.flash_attention(q, k, v).sum(), q, create_graph=True)
    except warpwise.OptionError:
        return
    pytest.fail("autograd: with create_graph=True backward raises nothing, and should raise OptionError")


def test_the_gradient_of_a_gradient_of_a_product(random):
    a, b = tensor(random, (5, 7), "float32").requires_grad_(), tensor(random, (7, 3), "float32").requires_grad_()
    found = []
    for product in (warpwise.gemm, torch.matmul):
        (da,) = torch.autograd.grad(product(a, b).square().sum(), a, create_graph=True)
        found.append(torch.autograd.grad(da.square().sum(), (a, b)))
    for x, y in zip(*found):
        assert (abs(x - y) <= 1e-4 * abs(y).max()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemm_and_its_gradients(random, dtype):
    def matrix(rows, columns):
        return tensor(random, (rows, columns), dtype).requires_grad_()

    a, b, c, dout = matrix(20, 33), matrix(17, 33), matrix(20, 17), matrix(20, 17).detach()
    out = warpwise.gemm(a, b.t(), 0.5, 2.0, c)
    da, db, dc = torch.autograd.grad(out, (a, b, c), dout)
    a, b, c, dout_ = doubles(a, b, c, dout)
    assert_within(*doubles(out), *gemm(a, b.T, 0.5, 2.0, c, dtype))
    assert_within(*doubles(da), *gemm(dout_, b, 0.5, dtype=dtype))
    assert_within(*doubles(db), *gemm(dout_.T, a, 0.5, dtype=dtype))
    assert (dc == 2.0 * dout).all()


def test_only_wanted_gradients_of_gemm(random):
    """Each alone, and no product for those that nobody wants."""
    a, b, c = (tensor(random, shape, "float32") for shape in ((5, 7), (7, 3), (5, 3)))
    for wanted in "abc":
        given = {name: x.clone().requires_grad_(name == wanted) for name, x in dict(a=a, b=b, c=c).items()}
        gradients = [torch.autograd.grad(product.sum(), given[wanted])[0] for product in (
            warpwise.gemm(**given, alpha=0.5, beta=2.0), 0.5 * given["a"] @ given["b"] + 2.0 * given["c"])]  # fmt: skip
        assert (abs(gradients[0] - gradients[1]) <= 1e-5 * abs(gradients[1]).max()).all()
    with torch.no_grad():
        assert not warpwise.gemm(a.clone().requires_grad_(), b).requires_grad


@pytest.mark.parametrize("capability,on_tensor_cores", [((9, 0), True), ((8, 0), False), ((10, 0), False), ((9, 1), False)])
def test_precision_that_auto_means_on_a_gpu(monkeypatch, capability, on_tensor_cores):
    """Of float16 tensor cores where lesson 15's instructions are; bfloat16 has them alone, float32 none. No GPU is needed."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    wanted = {torch.float16: "tensor" if on_tensor_cores else "float32", torch.bfloat16: "tensor", torch.float32: "float32"}
    for dtype, precision in wanted.items():
        x = arrays.Layout((4, 4), (4, 1), dtype, torch.device("cuda", 0))
        assert warpwise.interface.check_gemm(x, x, 1.0, 0.0, None, "auto") == precision


def operators():
    """Skips the test if the file has no operator for attention; one of another name is a mistake."""
    if not hasattr(torch.ops.warpwise, "attention"):
        others = [name for name in torch._C._dispatch_get_all_op_names() if re.match("warpwise::(?!gemm$)", name)]
        if not others:
            raise warpwise.NotStartedError("operators")
        pytest.fail(f"operators: flash_attention calls warpwise::attention, and there is only {', '.join(others)}")


# ---- torch.compile -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("requires_grad", [False, True])
def test_compile_keeps_one_graph(random, requires_grad):
    """A compiled model is one graph, with a node warpwise::attention."""
    operators()
    q, k, v = tensors(random, (1, 2, 5, 64), (1, 1, 9, 64), "float32", requires_grad)
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph

    def model(q, k, v):
        return warpwise.gemm(warpwise.flash_attention(torch.sin(q), k, v, causal=True)[0, 0], v[0, 0].t(), 2.0).relu()

    compiled = torch.compile(model, fullgraph=True, backend=count)
    assert (compiled(q, k, v) == model(q, k, v)).all() and len(graphs) == 1
    targets = [str(node.target) for node in graphs[0].graph.nodes]
    assert "warpwise.attention" in targets and "warpwise.gemm" in targets


def test_gradients_through_compile(random):
    """The gradient of the operator is an operator, too, which gets causal and scale, and has a fake."""
    operators()
    q, k, v = tensors(random, (1, 2, 5, 64), (1, 1, 9, 64), "float32", True)

    def model(q, k, v):
        return warpwise.flash_attention(q, k, v, True, 0.3).square()

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    by_graph = torch.autograd.grad(compiled(q, k, v).sum(), (q, k, v))
    eager = torch.autograd.grad(model(q, k, v).sum(), (q, k, v))
    for name, x, y in zip(("dq", "dk", "dv"), by_graph, eager):
        room = 1e-5 if name == "dq" else 0.0  # dq by atomics: any order of sums
        assert (abs(x - y) <= room).all(), f"operators: {name} of a compiled model is another than eager; causal and scale the same?"


def test_gradients_of_gemm_through_compile(random):
    """Of a product of a graph, each gradient that is wanted, and no other."""
    a, b, c = (tensor(random, shape, "float32") for shape in ((5, 7), (7, 3), (5, 3)))
    compiled = torch.compile(
        lambda a, b, c: warpwise.gemm(a, b, 0.5, 2.0, c).square(), fullgraph=True, backend="aot_eager", dynamic=False
    )
    for wanted in ("abc", "a", "b", "c"):
        given = {name: x.clone().requires_grad_(name in wanted) for name, x in dict(a=a, b=b, c=c).items()}
        by_graph = torch.autograd.grad(compiled(**given).sum(), [given[name] for name in wanted])
        product = (0.5 * given["a"] @ given["b"] + 2.0 * given["c"]).square()
        for x, y in zip(by_graph, torch.autograd.grad(product.sum(), [given[name] for name in wanted])):
            assert (abs(x - y) <= 1e-5 * abs(y).max()).all()


@pytest.mark.parametrize("dtype,head_dim", [("float32", 64), ("float16", 64), ("float16", 256)])
def test_operators_are_what_they_say(random, dtype, head_dim):
    """The fake's shapes and types are those of what the operator returns, and its gradient is registered."""
    operators()
    has_gradients = head_dim in warpwise.interface.BACKWARD_HEAD_DIMS
    q, k, v = tensors(random, (1, 2, 5, head_dim), (1, 1, 9, head_dim), dtype, has_gradients)
    results = torch.ops.warpwise.attention(q, k, v, True, None)
    assert all(isinstance(x, torch.Tensor) for x in results), f"operators: at head_dim {head_dim} an operator returns None for a tensor"
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(torch.ops.warpwise.attention.default, (q, k, v, True, None), test_utils=tests)
    a, b = q.detach()[0, 0], k.detach()[0, 0].t()
    torch.library.opcheck(torch.ops.warpwise.gemm.default, (a, b, 1.0, 0.0, None, "auto"), test_utils=tests)


# ---- what is refused -----------------------------------------------------------------------------------------------------


def test_refused(random):
    """Tensors of PyTorch are refused as arrays of NumPy are: other devices, types, strides."""
    q, k, v = tensors(random, (1, 2, 5, 64), (1, 1, 9, 64), "float32")
    with pytest.raises(warpwise.DeviceError) as caught:
        warpwise.flash_attention(q.to("meta"), k, v)
    assert caught.value.argument == "q" and "meta" in str(caught.value)
    with pytest.raises(warpwise.DeviceError) as caught:
        warpwise.flash_attention(q, k.to("meta"), v)
    assert caught.value.argument == "k"
    with pytest.raises(warpwise.DtypeError) as caught:
        warpwise.flash_attention(q, k.to(torch.int32), v)
    assert caught.value.argument == "k" and "int32" in str(caught.value)
    with pytest.raises(warpwise.StrideError) as caught:
        warpwise.flash_attention(q, k, v.transpose(2, 3).contiguous().transpose(2, 3))
    assert caught.value.argument == "v"
    with pytest.raises(RuntimeError):  # PyTorch's own: integers have no gradient
        torch.zeros(q.shape, dtype=torch.int32).requires_grad_()


def test_devices_must_agree():
    """No GPU is needed for a description of its tensors."""
    shape, strides = (1, 2, 5, 64), (640, 320, 64, 1)
    first, second = (arrays.Layout(shape, strides, torch.float32, torch.device("cuda", i)) for i in range(2))
    with pytest.raises(warpwise.DeviceError) as caught:
        warpwise.interface.check_layouts(4, q=first, k=second)
    assert caught.value.argument == "k" and caught.value.value == torch.device("cuda", 1)


@pytest.mark.skipif(DEVICE == "cpu", reason="no GPU, or no library for it")
def test_tensors_on_two_devices_are_refused(random):
    q, k, v = tensors(random, (1, 2, 5, 64), (1, 1, 9, 64), "float32")
    with pytest.raises(warpwise.DeviceError) as caught:
        warpwise.flash_attention(q, k.cpu(), v)
    assert caught.value.argument == "k" and "cpu" in str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_that_there_are_not_are_refused_at_once(random, dtype):
    q, k, v = tensors(random, (1, 1, 5, 256), (1, 1, 5, 256), dtype)
    warpwise.flash_attention(q, k, v)
    with pytest.raises(warpwise.DimensionError) as caught:
        warpwise.flash_attention(q.requires_grad_(), k, v)
    assert caught.value.argument == "q" and "256" in str(caught.value)


@pytest.mark.skipif(GPU_LIBRARY.exists(), reason="there is a library for a GPU")
def test_without_the_gpu_library_a_gpu_is_refused():
    with pytest.raises(warpwise.DeviceError) as caught:
        warpwise.interface.library.load("gpu")
    assert caught.value.argument == "device" and "libwarpwise_gpu.so" in str(caught.value)


def test_plans_are_not_mixed_up(random):
    """Calls that differ in one thing alone give what that one asks for, in any order."""
    q, k, v = tensors(random, (1, 2, 6, 64), (1, 2, 6, 64), "float32")
    wanted = {}
    for causal in (False, True):
        for scale in (None, 0.5, 1.0):
            expected = Attention(*doubles(q, k, v), causal, scale)
            wanted[causal, scale] = expected
    for _ in range(2):
        for (causal, scale), expected in wanted.items():
            out = warpwise.flash_attention(q, k, v, causal, scale)
            assert_within(*doubles(out), expected.out, expected.out_bound)
    if SIMT_LIBRARY.exists():
        by_numpy = warpwise.flash_attention(*(x.cpu().numpy() for x in (q, k, v)))
        assert_within(by_numpy, wanted[False, None].out, wanted[False, None].out_bound)
