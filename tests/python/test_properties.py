"""Properties with inputs that Hypothesis chooses: 100 of each."""

import numpy
import pytest
from reference import Attention, assert_within, gemm

import warpwise

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

many = settings(max_examples=100, deadline=None, database=None, derandomize=True)


@st.composite
def attention_inputs(draw, dtypes=("float32", "float16")):
    dtype = draw(st.sampled_from(dtypes))
    kv_heads, group = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    q_len, kv_len = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    head_dim = draw(st.sampled_from([32, 64]))
    random = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    shapes = (1, kv_heads * group, q_len, head_dim), (1, kv_heads, kv_len, head_dim)
    stored = "float32" if dtype == "bfloat16" else dtype  # which NumPy does not have
    q, k, v = (random.standard_normal(shapes[i > 0]).astype(stored) for i in range(3))
    return q, k, v, draw(st.booleans()), draw(st.sampled_from([None, 0.05, -0.2, 0.5])), dtype


@many
@given(attention_inputs())
def test_attention_is_the_definition(case):
    q, k, v, causal, scale, dtype = case
    expected = Attention(q, k, v, causal, scale, dtype)
    assert_within(warpwise.flash_attention(q, k, v, causal, scale), expected.out, expected.out_bound)


@many
@given(attention_inputs(("float32",)))
def test_output_doubles_with_v(case):
    """Exactly: sums of doubled numbers are doubled."""
    q, k, v, causal, scale, _ = case
    once = warpwise.flash_attention(q, k, v, causal, scale)
    assert (warpwise.flash_attention(q, k, 2 * v, causal, scale) == 2 * once).all()


@many
@given(attention_inputs(("float32", "float16", "bfloat16")))
def test_gradients_are_those_of_the_definition(case):
    torch = pytest.importorskip("torch")
    q, k, v, causal, scale, dtype = case
    q, k, v = (torch.from_numpy(x.astype("float32")).to(getattr(torch, dtype)) for x in (q, k, v))
    if dtype == "bfloat16" and q.shape[3] == 32:  # of which there is no forward pass
        with pytest.raises(warpwise.DimensionError):
            warpwise.flash_attention(q, k, v, causal, scale)
        return
    dout = torch.sin(q)  # anything that depends on the index
    out = warpwise.flash_attention(*(x.requires_grad_() for x in (q, k, v)), causal, scale)
    results = torch.autograd.grad(out, (q, k, v), dout)
    expected = Attention(*(x.detach().double().numpy() for x in (q, k, v)), causal, scale, dtype, dout.double().numpy())
    for name, result in zip(("dq", "dk", "dv"), results):
        assert_within(result.double().numpy(), getattr(expected, name), getattr(expected, f"{name}_bound"))


@st.composite
def matrices(draw):
    """a, b and c, of which a and b are parts of larger matrices, some of them transposed."""
    random = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(["float32", "float16"]))
    m, n, k = (draw(st.integers(1, 40)) for _ in range(3))

    def part(rows, columns):
        down, across = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        whole = random.standard_normal((rows + down, columns + across)).astype(dtype)
        return whole[down:, across:]

    a = part(k, m).T if draw(st.booleans()) else part(m, k)
    b = part(n, k).T if draw(st.booleans()) else part(k, n)
    return a, b, random.standard_normal((m, n)).astype(dtype), dtype


@many
@given(matrices(), st.sampled_from([0.0, 1.0, -0.5]), st.sampled_from([0.0, 1.0, 2.5]))
def test_gemm_is_the_definition(case, alpha, beta):
    a, b, c, dtype = case
    out = warpwise.gemm(a, b, alpha, beta, c, precision="float32")
    assert_within(out, *gemm(a, b, alpha, beta, c, dtype))


@many
@given(matrices())
def test_layout_does_not_change_bits(case):
    """The order of sums depends on k alone, lesson 10 says: a copy of another layout gives the same result."""
    a, b, _, _ = case
    out = warpwise.gemm(a, b, precision="float32")
    assert (warpwise.gemm(numpy.asfortranarray(a), numpy.ascontiguousarray(b), precision="float32") == out).all()


few, row = st.sampled_from([0, 1, 2, 2, 3]), st.sampled_from([1, 32, 64, 64])
shape = st.builds(lambda some, last: (*some, last), st.lists(few, min_size=2, max_size=4), row)
dtype = st.sampled_from(["float32", "float16", "float64", "int8", "complex64", "bool"])


@many
@given(st.tuples(shape, shape, shape), st.tuples(dtype, dtype, dtype), st.sampled_from([False, True, 2, None]))
def test_whatever_is_asked_either_works_or_raises(shapes, dtypes, causal):
    q, k, v = (numpy.ones(s, t) for s, t in zip(shapes, dtypes))
    try:
        out = warpwise.flash_attention(q, k, v, causal=causal)
    except warpwise.WarpwiseError as error:
        assert error.argument in ("q", "k", "v", "causal")
    else:
        assert out.shape == q.shape and numpy.isfinite(out).all()
