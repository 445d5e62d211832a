"""What is refused: each wrong argument raises the exception that names it and its value."""

import numpy
import pytest

import warpwise

SHAPE = (1, 2, 6, 64)


class Nothing:
    """In place of the library: what is not refused is not computed, either."""

    @staticmethod
    def warpwise_attention(args, stream):
        return 0

    @staticmethod
    def warpwise_gemm(args, precision, stream):
        return 0


@pytest.fixture(autouse=True)
def nothing_is_launched(monkeypatch):
    interface = warpwise.interface
    monkeypatch.setattr(interface.library, "load", lambda device: Nothing)
    for plans in (interface.attention_plan, interface.gemm_plan):
        plans.cache_clear()
    yield
    for plans in (interface.attention_plan, interface.gemm_plan):
        plans.cache_clear()  # those that call nothing


def zeros(shape=SHAPE, dtype="float32"):
    return numpy.zeros(shape, dtype)


def unaligned(shape=SHAPE):
    room = numpy.zeros(int(numpy.prod(shape)) + 8, "float32")
    skip = 1 if room.ctypes.data % 16 == 0 else 0
    return room[skip : skip + int(numpy.prod(shape))].reshape(shape)


ATTENTION = {
    "rank": (warpwise.DimensionError, "q", dict(q=zeros((2, 6, 64)))),
    "no queries": (warpwise.DimensionError, "q", dict(q=zeros((1, 2, 0, 64)))),
    "no keys": (warpwise.DimensionError, "k", dict(k=zeros((1, 2, 0, 64)))),
    "batch": (warpwise.DimensionError, "k", dict(k=zeros((2, 2, 6, 64)))),
    "head_dim of k": (warpwise.DimensionError, "k", dict(k=zeros((1, 2, 6, 32)))),
    "larger head_dim of k": (warpwise.DimensionError, "k", dict(k=zeros((1, 2, 6, 128)), v=zeros((1, 2, 6, 128)))),
    "smaller batch of k": (warpwise.DimensionError, "k", dict(q=zeros((2, 2, 6, 64)))),
    "shape of v": (warpwise.DimensionError, "v", dict(v=zeros((1, 2, 7, 64)))),
    "batch of v": (warpwise.DimensionError, "v", dict(v=zeros((2, 2, 6, 64)))),
    "heads of v": (warpwise.DimensionError, "v", dict(v=zeros((1, 1, 6, 64)))),
    "head_dim of v": (warpwise.DimensionError, "v", dict(v=zeros((1, 2, 6, 32)))),
    "heads": (warpwise.DimensionError, "k", dict(k=zeros((1, 3, 6, 64)), v=zeros((1, 3, 6, 64)))),
    "heads not a multiple": (warpwise.DimensionError, "k", dict(q=zeros((1, 3, 6, 64)))),
    "head_dim": (warpwise.DimensionError, "q", {name: zeros((1, 2, 6, 48)) for name in "qkv"}),
    "head_dim 256 in float32": (warpwise.DimensionError, "q", {name: zeros((1, 2, 6, 256)) for name in "qkv"}),
    "float64": (warpwise.DtypeError, "q", dict(q=zeros(dtype="float64"))),
    "integers": (warpwise.DtypeError, "k", dict(k=zeros(dtype="int32"))),
    "other type": (warpwise.DtypeError, "v", dict(v=zeros(dtype="float16"))),
    "a list": (warpwise.DtypeError, "q", dict(q=[[[[0.0]]]])),
    "strides": (warpwise.StrideError, "k", dict(k=zeros((1, 6, 2, 64)).swapaxes(1, 2))),
    "reversed": (warpwise.StrideError, "v", dict(v=zeros()[:, :, ::-1])),
    "repeated": (warpwise.StrideError, "q", dict(q=numpy.broadcast_to(zeros((1, 1, 6, 64)), SHAPE))),
    "address of q": (warpwise.AlignmentError, "q", dict(q=unaligned())),
    "address of k": (warpwise.AlignmentError, "k", dict(k=unaligned())),
    "address": (warpwise.AlignmentError, "v", dict(v=unaligned())),
    "causal": (warpwise.OptionError, "causal", dict(causal=2)),
    "causal none": (warpwise.OptionError, "causal", dict(causal=None)),
    "scale nan": (warpwise.OptionError, "scale", dict(scale=float("nan"))),
    "scale inf": (warpwise.OptionError, "scale", dict(scale=float("inf"))),
    "scale -inf": (warpwise.OptionError, "scale", dict(scale=-float("inf"))),
    "scale 0 that C takes for None": (warpwise.OptionError, "scale", dict(scale=0.0)),
}


def described(value):
    """A wrong argument in a message: of an array what the exception should be about."""
    if not isinstance(value, numpy.ndarray):
        return repr(value)
    strides = tuple(step // value.itemsize for step in value.strides)
    contiguous = "" if value.flags.c_contiguous else f" with strides {strides}"
    aligned = "" if value.ctypes.data % 16 == 0 else " at an address that is no multiple of 16 bytes"
    return f"{value.dtype} {value.shape}{contiguous}{aligned}"


def assert_refused(where, function, given, kind, argument):
    """The exception is of the kind, and names the argument and its value."""
    others = [f"{name} {described(x)}" for name, x in given.items() if name != argument and isinstance(x, numpy.ndarray)]
    beside = f" beside {', '.join(others)}" if isinstance(given[argument], numpy.ndarray) else ""
    call = f"{where}: {argument} = {described(given[argument])}{beside}"
    try:
        function(**given)
    except warpwise.NotStartedError:
        raise
    except Exception as error:
        assert type(error) is kind, f"{call} raises {type(error).__name__} ({error}), and should raise {kind.__name__}"
        assert error.argument == argument, f"{call} raises {kind.__name__} for argument {error.argument}, and should for {argument}"
        assert str(error).startswith(f"{argument} = ") and str(error.value) in str(error)
        value = given[argument]
        assert isinstance(value, (numpy.ndarray, list)) or error.value is value, f"{call} raises a value of {error.value}"
    else:
        pytest.fail(f"{call} is accepted, and should raise {kind.__name__}")


@pytest.mark.quick
@pytest.mark.parametrize("case", ATTENTION)
def test_attention(case):
    """A wrong argument raises the exception that names it, before anything is launched."""
    kind, argument, wrong = ATTENTION[case]
    where = "launch" if kind is warpwise.AlignmentError else "validate"
    given = {**dict(q=zeros(), k=zeros(), v=zeros()), **wrong}
    assert_refused(f"{where}, {case}", warpwise.flash_attention, given, kind, argument)


@pytest.mark.quick
@pytest.mark.parametrize("dtype,head_dim", [("float16", 256)])
def test_gradients_of_a_head_dim_without_backward(dtype, head_dim):
    """Where gradients will be wanted, a head_dim that only the forward pass has is refused at once."""
    x = warpwise.interface.arrays.layout(zeros((1, 2, 6, head_dim), dtype))
    warpwise.interface.attention_plan(x, x, x, False, None, False)
    try:
        warpwise.interface.attention_plan(x, x, x, False, None, True)
    except warpwise.DimensionError as error:
        assert error.argument == "q" and str(head_dim) in str(error)
    else:
        pytest.fail(f"validate: head_dim {head_dim} is accepted where gradients are wanted, and has no backward kernel")


GEMM = {
    "rank": (warpwise.DimensionError, "a", dict(a=zeros((4,)))),
    "inner extent": (warpwise.DimensionError, "b", dict(b=zeros((4, 7)))),
    "empty": (warpwise.DimensionError, "a", dict(a=zeros((0, 5)))),
    "c": (warpwise.DimensionError, "c", dict(c=zeros((5, 5)), beta=1.0)),
    "no c": (warpwise.OptionError, "beta", dict(beta=2.0)),
    "alpha": (warpwise.OptionError, "alpha", dict(alpha=float("inf"))),
    "beta": (warpwise.OptionError, "beta", dict(beta=float("nan"), c=zeros((4, 6)))),
    "precision": (warpwise.OptionError, "precision", dict(precision="float64")),
    "float32 on tensor cores": (warpwise.DtypeError, "a", dict(precision="tensor")),
    "other type": (warpwise.DtypeError, "b", dict(b=zeros((5, 6), "float16"))),
    "type of c": (warpwise.DtypeError, "c", dict(c=zeros((4, 6), "float16"), beta=1.0)),
    "both strides": (warpwise.StrideError, "a", dict(a=zeros((8, 10))[::2, ::2])),
    "repeated row": (warpwise.StrideError, "a", dict(a=numpy.broadcast_to(zeros((1, 5)), (4, 5)))),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", GEMM)
def test_gemm(case):
    """A wrong argument raises the exception that names it, before anything is launched."""
    kind, argument, wrong = GEMM[case]
    where = "layout" if kind is warpwise.StrideError else "gemm"
    assert_refused(f"{where}, {case}", warpwise.gemm, {**dict(a=zeros((4, 5)), b=zeros((5, 6))), **wrong}, kind, argument)


@pytest.mark.quick
def test_exceptions_are_built_in_ones_as_well():
    pairs = [(warpwise.DimensionError, ValueError), (warpwise.DtypeError, TypeError), (warpwise.DeviceError, RuntimeError)]
    assert all(issubclass(a, b) and issubclass(a, warpwise.WarpwiseError) for a, b in pairs)
