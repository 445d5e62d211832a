"""Triton's version of the same attention, on the CPU by its interpreter or on a GPU."""

import os

import pytest
from reference import Attention, assert_within

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
pytest.importorskip("triton")

from warpwise import triton_attention  # noqa: E402


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype,head_dim", [("float32", 32), ("float32", 64), ("float16", 64), ("float16", 128)])
@pytest.mark.parametrize("q_len,kv_len", [(33, 70), (70, 33), (130, 130)])
def test_attention(random, dtype, head_dim, causal, q_len, kv_len):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shapes = (1, 4, q_len, head_dim), (1, 2, kv_len, head_dim), (1, 2, kv_len, head_dim)
    q, k, v = (torch.from_numpy(random.standard_normal(s)).to(getattr(torch, dtype)) for s in shapes)
    expected = Attention(*(x.double().numpy() for x in (q, k, v)), causal, 0.3, dtype)
    out = triton_attention.flash_attention(*(x.to(device) for x in (q, k, v)), causal, 0.3)
    assert_within(out.double().cpu(), expected.out, expected.out_bound)
