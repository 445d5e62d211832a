"""What the C function is given: the structure, its values and addresses. No kernel runs."""

import ctypes
import itertools
import pathlib
import re

import numpy
import pytest

import warpwise

interface = warpwise.interface
HEADER = pathlib.Path(__file__).parent.parent.parent / "common" / "contracts" / "attention_args.h"
TYPES = {"int": ctypes.c_int, "enum dtype": ctypes.c_int, "float": ctypes.c_float, "size_t": ctypes.c_size_t}


def fields_of_c():
    """(name, type) of each field of struct attention_args, as the header has them."""
    body = re.search(r"struct attention_args \{\n(.*?)\};", HEADER.read_text(), re.S).group(1)
    found = re.findall(r"^    ([\w ]+? \*?)(\w+);", body, re.M)
    return [(name, ctypes.c_void_p if "*" in kind else TYPES[kind.strip()]) for kind, name in found]


class AsInC(ctypes.Structure):
    _fields_ = fields_of_c()


@pytest.mark.quick
def test_structure():
    """Fields, types and offsets of AttentionArgs are those of struct attention_args."""
    given = interface.AttentionArgs
    if not getattr(given, "_fields_", []):
        raise warpwise.NotStartedError("structure")
    names = [name for name, *_ in given._fields_]
    wanted = [name for name, _ in AsInC._fields_]
    for place, (name, there) in enumerate(itertools.zip_longest(names, wanted, fillvalue="none"), 1):
        assert name == there, f"structure: field {place} is {name}, and should be {there}, as in C"
    for name, kind in AsInC._fields_:
        own, there = getattr(given, name), getattr(AsInC, name)
        assert own.offset == there.offset and own.size == there.size, (
            f"structure: {name} has {own.size} bytes at {own.offset}, and in C {there.size} bytes at {there.offset}"
        )
        assert dict(given._fields_)[name] is kind, f"structure: {name} is no {kind.__name__}"
    assert ctypes.sizeof(given) == ctypes.sizeof(AsInC) == 96


class Recorder:
    """In place of the library: keeps what its function is given, as C would read it."""

    def __init__(self):
        self.calls = []
        self.meanwhile = None

    def warpwise_attention(self, args, stream):
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        self.calls.append(AsInC.from_buffer_copy(bytes(args._obj).ljust(ctypes.sizeof(AsInC), b"\0")))
        return 0

    def warpwise_gemm(self, args, precision, stream):
        self.calls.append((interface.library.GemmArgs.from_buffer_copy(args._obj), precision))
        return 0


@pytest.fixture
def recorder(monkeypatch):
    made = Recorder()
    monkeypatch.setattr(interface.library, "load", lambda device: made)
    for plans in (interface.attention_plan, interface.gemm_plan):
        plans.cache_clear()
    yield made
    for plans in (interface.attention_plan, interface.gemm_plan):
        plans.cache_clear()  # those that call it


def zeros(shape, dtype="float32"):
    return numpy.zeros(shape, dtype)


def received(recorder, q, k, v, *options, **more):
    """The output, and what C received for it."""
    out = warpwise.flash_attention(q, k, v, *options, **more)
    assert len(recorder.calls) == 1, f"launch: the C function was called {len(recorder.calls)} times, and should be once"
    return out, recorder.calls.pop()


# Extents that all differ, so that none can stand for another.
EXTENTS = dict(batch=2, heads=6, kv_heads=3, q_len=5, kv_len=7, head_dim=64)


def tensors(dtype="float32"):
    batch, heads, kv_heads, q_len, kv_len, head_dim = EXTENTS.values()
    kv_shape = (batch, kv_heads, kv_len, head_dim)
    return zeros((batch, heads, q_len, head_dim), dtype), zeros(kv_shape, dtype), zeros(kv_shape, dtype)


@pytest.mark.quick
@pytest.mark.parametrize("field,wanted", EXTENTS.items())
def test_extent(recorder, field, wanted):
    """Each extent comes from the shape of q or of k."""
    _, c = received(recorder, *tensors())
    assert getattr(c, field) == wanted, f"plan: {field} is {getattr(c, field)} in C, and should be {wanted}"


@pytest.mark.quick
@pytest.mark.parametrize("given,wanted", [(None, (0.0, 0.125)), (0.5, (0.5,)), (-0.25, (-0.25,)), (3, (3.0,))])
def test_scale(recorder, given, wanted):
    """scale is the caller's, negative ones too; None is 0 or 1/sqrt(head_dim) in C."""
    _, c = received(recorder, *tensors(), scale=given)
    assert c.scale in wanted, f"plan: scale = {given} arrives as {c.scale} in C, and should be {wanted[-1]}"


@pytest.mark.quick
@pytest.mark.parametrize("causal", [False, True])
def test_causal(recorder, causal):
    """causal is 0 or 1 in C."""
    _, c = received(recorder, *tensors(), causal=causal)
    assert c.causal == int(causal), f"plan: causal = {causal} arrives as {c.causal} in C"


@pytest.mark.quick
@pytest.mark.parametrize("dtype,code", [("float32", 0), ("float16", 1)])
def test_dtype(recorder, dtype, code):
    """The storage type is its number in enum dtype: float16 read as float32 would end past the array."""
    _, c = received(recorder, *tensors(dtype))
    assert c.dtype == code, f"plan: the storage type {dtype} arrives as dtype {c.dtype} in C, and should be {code}"


@pytest.mark.quick
def test_addresses(recorder):
    """q, k, v and the output are read and written where they lie: a call copies nothing."""
    q, k, v = tensors()
    out, c = received(recorder, q, k, v)
    owners = {x.ctypes.data: name for name, x in (("q", q), ("k", k), ("v", v), ("out", out))}
    for name, x in (("q", q), ("k", k), ("v", v), ("out", out)):
        found = owners.get(getattr(c, name), "none of q, k, v and out: of a copy?" if getattr(c, name) else "a null pointer")
        assert getattr(c, name) == x.ctypes.data, f"launch: the address of {name} in C is that of {found}"
    assert len(owners) == 4, "launch: the output shares the memory of an input"
    assert out.shape == q.shape and out.dtype == q.dtype and type(out) is numpy.ndarray
    assert c.lse is None, "launch: lse is no null pointer, though no gradients are wanted"


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_logsumexp(recorder, dtype):
    """Where gradients will be wanted, C gets room for the logsumexp of each row: float32, whatever the tensors hold."""
    q, k, v = tensors(dtype)
    out, lse = interface.attention_forward(q, k, v, True, None, True)
    assert lse is not None, "launch: there is no lse, though gradients will be wanted"
    assert lse.shape == q.shape[:3] and lse.dtype == "float32", f"launch: lse is {lse.dtype} {lse.shape}: float32 {q.shape[:3]}"
    (c,) = recorder.calls
    assert c.lse == lse.ctypes.data and c.out == out.ctypes.data, "launch: C does not get the addresses of out and lse"


@pytest.mark.quick
def test_outputs_of_two_calls_are_two_arrays(recorder):
    """Nobody's earlier output may change by a later call."""
    q, k, v = tensors()
    first, _ = received(recorder, q, k, v)
    second, _ = received(recorder, q, k, v)
    assert not numpy.shares_memory(first, second), "launch: two calls returned the same memory"


@pytest.mark.quick
def test_plan_is_shared_by_threads(recorder):
    """While one call waits, another one with the same plan begins: neither may see the other's addresses."""
    outer, inner = tensors(), tensors()
    recorder.meanwhile = lambda: warpwise.flash_attention(*inner)
    warpwise.flash_attention(*outer)
    by_inner, by_outer = recorder.calls
    for name, own, others in zip("qkv", outer, inner):
        assert getattr(by_inner, name) == others.ctypes.data
        assert getattr(by_outer, name) == own.ctypes.data, (
            f"launch: {name} has the address of another call with the same plan: set it in a copy of plan.args"
        )


@pytest.mark.quick
def test_plan_is_made_once(recorder):
    """Calls with the same shapes, types and options look up one plan."""
    for _ in range(3):
        received(recorder, *tensors(), causal=True, scale=0.5)
    assert interface.attention_plan.cache_info().misses == 1


@pytest.mark.quick
def test_the_device_of_the_array_is_made_the_current_one(recorder, monkeypatch):
    """If another device is the current one, the call is made once, while the array's own is."""
    current = []

    class Entered:
        def __enter__(self):
            current.append("its own")

        def __exit__(self, *error):
            current.append("another")

    monkeypatch.setattr(interface.arrays, "is_on_current_device", lambda array: current == ["its own"])
    monkeypatch.setattr(interface.arrays, "on_device_of", lambda array: Entered())
    recorder.meanwhile = lambda: current.append("called")
    received(recorder, *tensors())
    assert current == ["its own", "called", "another"]


# ---- the matrix product --------------------------------------------------------------------------------------------------


def finds_every_element(transposed, leading, shape, strides):
    """Whether the kernel finds each element where it lies, and its leading dimension is one that it takes."""
    rows, columns = shape
    if transposed not in (0, 1) or leading < (rows if transposed else columns):
        return False
    there = [j * leading + i if transposed else i * leading + j for i in range(rows) for j in range(columns)]
    return there == [i * strides[0] + j * strides[1] for i in range(rows) for j in range(columns)]


def in_words(transposed, leading):
    return f"{'' if transposed else 'not '}transposed with the leading dimension {leading}"


@pytest.mark.quick
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_layout_of_gemm(rows, columns):
    """Whatever the strides are: a description by which the kernel finds every element, or a StrideError where there is none."""
    for strides in ((down, across) for down in range(-3, 7) for across in range(-3, 7)):
        x = interface.arrays.Layout((rows, columns), strides, numpy.dtype("float32"), "cpu")
        right = [
            (flag, leading)
            for flag in (0, 1)
            for leading in range(1, 8)
            if finds_every_element(flag, leading, x.shape, strides)
        ]
        try:
            found = interface.matrix_layout("b", x)
        except warpwise.StrideError as error:
            assert not right, f"layout: strides {strides} of {rows} x {columns} are refused, and should be {in_words(*right[0])}"
            assert error.argument == "b" and tuple(error.value) == strides
        else:
            assert finds_every_element(*found, x.shape, strides), (
                f"layout: strides {strides} of {rows} x {columns} are taken for {in_words(*found)}, and should be "
                f"{in_words(*right[0]) if right else 'refused with a StrideError'}"
            )


@pytest.mark.quick
@pytest.mark.parametrize("dtype,code", [("float32", 0), ("float16", 1)])
def test_arguments_of_gemm(recorder, dtype, code):
    """Extents, flags, leading dimensions, factors, types, addresses and precision, as C receives them."""
    a, b, c = zeros((9, 4), dtype)[2:5].T, zeros((3, 8), dtype)[:, :5], zeros((4, 5), dtype)  # a is 4 x 3
    for precision in ("float32", "tensor", "auto") if dtype == "float16" else ("float32", "auto"):
        out = warpwise.gemm(a, b, 0.5, -2.0, c, precision)
        ((args, number),) = recorder.calls
        recorder.calls.clear()
        assert (args.m, args.n, args.k, args.trans_a, args.trans_b, args.lda, args.ldb, args.ldc) == (4, 5, 3, 1, 0, 4, 8, 5)
        assert (args.alpha, args.beta, args.stages, args.dtype_in, args.dtype_out) == (0.5, -2.0, 0, code, code)
        assert (args.a, args.b, args.c) == (a.ctypes.data, b.ctypes.data, out.ctypes.data)
        assert args.workspace is None and args.workspace_bytes == 0
        on_tensor_cores = precision == "tensor" or (precision == "auto" and dtype == "float16")
        assert number == (1 if on_tensor_cores else 0), f"precision {precision} of {dtype} arrives as {number}"
        assert out.shape == (4, 5) and out.dtype == dtype and not numpy.shares_memory(out, c)


@pytest.mark.quick
def test_defaults_of_gemm(recorder):
    """alpha 1, beta 0, no c, and tensor cores for float16."""
    for dtype, number in (("float32", 0), ("float16", 1)):
        warpwise.gemm(zeros((2, 3), dtype), zeros((3, 4), dtype))
        args, precision = recorder.calls.pop()
        assert (args.alpha, args.beta, precision) == (1.0, 0.0, number)
