"""Triton's version of the same attention, on the CPU by its interpreter or on a GPU."""

import os

import numpy
import pytest
from reference import Attention, assert_within

torch = pytest.importorskip("torch")
ON_GPU = torch.cuda.is_available()
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
triton = pytest.importorskip("triton")

from warpwise import triton_attention  # noqa: E402


def interpreter_trouble():
    """Why Triton's interpreter does not work here, or None: some releases take an array of one element for an int, which NumPy 2.4 refuses."""
    x = torch.ones(1, 1, 16, 32)
    try:
        triton_attention.flash_attention(x, x, x)
    except triton.runtime.errors.InterpreterError as error:
        if "only 0-dimensional arrays can be converted" in str(error):
            return f"the interpreter of Triton {triton.__version__} does not work with NumPy {numpy.__version__}: {error}"
    return None


trouble = None if ON_GPU else interpreter_trouble()
if trouble:
    pytest.skip(trouble, allow_module_level=True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype,head_dim", [("float32", 32), ("float32", 64), ("float16", 64), ("float16", 128)])
@pytest.mark.parametrize("q_len,kv_len", [(33, 70), (70, 33), (130, 130)])
def test_attention(random, dtype, head_dim, causal, q_len, kv_len):
    device = "cuda" if ON_GPU else "cpu"
    shapes = (1, 4, q_len, head_dim), (1, 2, kv_len, head_dim), (1, 2, kv_len, head_dim)
    q, k, v = (torch.from_numpy(random.standard_normal(s)).to(getattr(torch, dtype)) for s in shapes)
    expected = Attention(*(x.double().numpy() for x in (q, k, v)), causal, 0.3, dtype)
    out = triton_attention.flash_attention(*(x.to(device) for x in (q, k, v)), causal, 0.3)
    assert_within(out.double().cpu(), expected.out, expected.out_bound)
