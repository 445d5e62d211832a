"""Triton's version of the same attention, on the CPU by its interpreter or on a GPU; compiled for a GPU, which needs none."""

import os
import re
import subprocess
import sys

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


def on_gpu(*parameters):
    return pytest.param(*parameters, marks=pytest.mark.skipif(not ON_GPU, reason="Triton's interpreter multiplies bfloat16 as integers"))


@pytest.mark.skipif(trouble is not None, reason=str(trouble))
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype,head_dim", [("float32", 32), ("float32", 64), ("float16", 64), ("float16", 128), on_gpu("bfloat16", 64)])
@pytest.mark.parametrize("q_len,kv_len", [(33, 70), (70, 33), (130, 130)])
def test_attention(random, dtype, head_dim, causal, q_len, kv_len):
    device = "cuda" if ON_GPU else "cpu"
    shapes = (1, 4, q_len, head_dim), (1, 2, kv_len, head_dim), (1, 2, kv_len, head_dim)
    q, k, v = (torch.from_numpy(random.standard_normal(s)).to(getattr(torch, dtype)) for s in shapes)
    expected = Attention(*(x.double().numpy() for x in (q, k, v)), causal, 0.3, dtype)
    out = triton_attention.flash_attention(*(x.to(device) for x in (q, k, v)), causal, 0.3)
    assert_within(out.double().cpu(), expected.out, expected.out_bound)


COMPILE = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from warpwise import triton_attention
dtype, head_dim, capability = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
in_f32 = dtype == "fp32"
tile_q, tile_kv, warps = triton_attention.tiles(in_f32, head_dim)
constants = dict(CAUSAL=True, HEAD_DIM=head_dim, TILE_Q=tile_q, TILE_KV=tile_kv, IN_F32=in_f32)
types = {name: "*" + dtype for name in ("q_", "k_", "v_", "out_")}
types |= dict.fromkeys(("heads", "kv_heads", "q_len", "kv_len"), "i32") | dict(scale="fp32") | dict.fromkeys(constants, "constexpr")
source = triton.compiler.ASTSource(fn=triton_attention.attention_kernel, signature=types, constexprs=constants)
compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=dict(num_warps=warps, num_stages=2))
print(compiled.asm["ptx"])
"""


@pytest.mark.parametrize("dtype,head_dim", [("fp32", 64), ("fp16", 64), ("fp16", 128), ("bf16", 128)])
def test_compiled_for_hopper(dtype, head_dim):
    """Tensor cores multiply f16 and bf16 and sum in f32; f32 is multiplied as f32, not as TF32. Compiled in a process that does not interpret."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    given = [sys.executable, "-W", "ignore", "-c", COMPILE, dtype, str(head_dim), "90"]
    ptx = subprocess.run(given, env=environment, capture_output=True, text=True, check=True).stdout
    products = set(re.findall(r"mma(?:_async)?\.sync[\w.]*?((?:\.(?:f16|bf16|f32|tf32))+);?[ \n]", ptx))
    short = {"fp16": "f16", "bf16": "bf16"}.get(dtype)
    assert products == (set() if short is None else {f".f32.{short}.{short}"}), products
