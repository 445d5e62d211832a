# Generated, but for what stands between [student: ...] and [/student]: that is yours.
"""Lesson 18: four kernels in Triton, from one line of work to attention.

A program of Triton is a block of CUDA, written for whole tiles: there are no threads to be seen. The page has a table of which word
in one is which in the other. Tensors are PyTorch's and contiguous. With TRITON_INTERPRET=1, set before Triton is imported, all of this
runs on the CPU, with NumPy.
"""

import os

import torch
import triton
import triton.language as tl

from warpwise import errors

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

# ---- 1: a vector addition, and what a mask is ----------------------------------------------------------------------------


@triton.jit
def add_kernel(a_, b_, out_, count, TILE: tl.constexpr):  # all [count]
    # [student: add]
    # TODO: which elements are this program's (tl.program_id, tl.arange)? Load those inside of the arrays, add, store.
    pass
    # [/student]


def add(a, b):
    """a + b, of any length."""
    out = torch.empty_like(a)
    # [student: add_launch]
    # TODO: how many programs are needed, and of which TILE, a power of 2? add_kernel[(programs,)](...)
    raise errors.NotStartedError("add")
    # [/student]
    return out


# ---- 2: softmax, a row per program ---------------------------------------------------------------------------------------


@triton.jit
def softmax_kernel(x_, out_, columns, TILE: tl.constexpr):  # both [rows, columns], columns <= TILE
    # [student: softmax]
    # TODO: load row tl.program_id(0), with -inf past its end; subtract its maximum, exp, divide by the sum.
    pass
    # [/student]


def softmax(x):
    """Softmax of each row of x [rows, columns]."""
    out = torch.empty_like(x)
    rows, columns = x.shape
    # [student: softmax_launch]
    # TODO: a program per row; a TILE that holds all of a row, and more warps for a longer one.
    raise errors.NotStartedError("softmax")
    # [/student]
    return out


# ---- 3: a matrix product whose tiles Triton chooses ----------------------------------------------------------------------

# [student: configs]
# TODO: at least three, with other TILE_M, TILE_N, TILE_K, num_warps and num_stages.
CONFIGS = [triton.Config({"TILE_M": 16, "TILE_N": 16, "TILE_K": 16})]
# [/student]


# The interpreter has no times to compare: it takes the first one.
@triton.autotune(configs=CONFIGS[:1] if INTERPRETED else CONFIGS, key=["m", "n", "k"])
@triton.jit
def matmul_kernel(
    a_, b_, out_, m, n, k,  # [m, k], [k, n], [m, n]
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)[:, None]
    columns = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)[None, :]
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    # [student: matmul]
    # TODO: along k, a tile of a and a tile of b (0 past the end of either), and tl.dot of them to the total.
    pass
    # [/student]
    tl.store(out_ + rows * n + columns, total.to(out_.dtype.element_ty), mask=(rows < m) & (columns < n))


def matmul(a, b):
    """a [m, k] times b [k, n], with sums in float32."""
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    # [student: matmul_launch]
    # TODO: the grid depends on the TILE_M and TILE_N that were chosen: it is a function of them.
    raise errors.NotStartedError("matmul")
    # [/student]
    return out


# ---- 4: attention, with the softmax of lesson 03 -------------------------------------------------------------------------


@triton.jit
def attention_kernel(
    q_, k_, v_, out_, q_len, kv_len, scale,  # [batch_heads, q_len or kv_len, HEAD_DIM]
    HEAD_DIM: tl.constexpr, TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * TILE_Q + tl.arange(0, TILE_Q)[:, None]
    d = tl.arange(0, HEAD_DIM)[None, :]
    at_q = (head * q_len + rows) * HEAD_DIM + d
    q = tl.load(q_ + at_q, mask=rows < q_len, other=0.0)
    m = tl.full([TILE_Q, 1], float("-inf"), tl.float32)  # largest score so far
    l = tl.zeros([TILE_Q, 1], tl.float32)  # sum of exp(score - m)
    o = tl.zeros([TILE_Q, HEAD_DIM], tl.float32)
    for first in range(0, kv_len, TILE_KV):
        keys = first + tl.arange(0, TILE_KV)
        at_k = (head * kv_len + keys[:, None]) * HEAD_DIM + d
        k = tl.load(k_ + at_k, mask=keys[:, None] < kv_len, other=0.0)
        v = tl.load(v_ + at_k, mask=keys[:, None] < kv_len, other=0.0)
        # [student: attention]
        # TODO: scores, -inf where there is no key; then m, l and o as in lesson 03, a whole tile of keys at once.
        pass
        # [/student]
    tl.store(out_ + at_q, (o / l).to(q.dtype), mask=rows < q_len)


def attention(q, k, v):
    """Attention of q [batch_heads, q_len, head_dim] over k and v [batch_heads, kv_len, head_dim], head_dim a power of 2 from 16 on."""
    (batch_heads, q_len, head_dim), kv_len = q.shape, k.shape[1]
    out = torch.empty_like(q)
    # [student: attention_launch]
    # TODO: a program per tile of queries and head.
    raise errors.NotStartedError("attention")
    # [/student]
    return out
