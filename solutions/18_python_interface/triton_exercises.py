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
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < count
    tl.store(out_ + at, tl.load(a_ + at, mask=inside) + tl.load(b_ + at, mask=inside), mask=inside)
    # [/student]


def add(a, b):
    """a + b, of any length."""
    out = torch.empty_like(a)
    # [student: add_launch]
    count, tile = a.numel(), 1024
    add_kernel[(triton.cdiv(count, tile),)](a, b, out, count, TILE=tile)
    # [/student]
    return out


# ---- 2: softmax, a row per program ---------------------------------------------------------------------------------------


@triton.jit
def softmax_kernel(x_, out_, columns, TILE: tl.constexpr):  # both [rows, columns], columns <= TILE
    # [student: softmax]
    at = tl.arange(0, TILE)
    row = tl.program_id(0).to(tl.int64) * columns
    x = tl.load(x_ + row + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    weight = tl.exp(x - tl.max(x, 0))
    tl.store(out_ + row + at, weight / tl.sum(weight, 0), mask=at < columns)
    # [/student]


def softmax(x):
    """Softmax of each row of x [rows, columns]."""
    out = torch.empty_like(x)
    rows, columns = x.shape
    # [student: softmax_launch]
    tile = triton.next_power_of_2(columns)
    softmax_kernel[(rows,)](x, out, columns, TILE=tile, num_warps=min(max(tile // 256, 1), 16))
    # [/student]
    return out


# ---- 3: a matrix product whose tiles Triton chooses ----------------------------------------------------------------------

# [student: configs]
CONFIGS = [
    triton.Config({"TILE_M": 64, "TILE_N": 64, "TILE_K": 32}, num_warps=4, num_stages=3),
    triton.Config({"TILE_M": 128, "TILE_N": 64, "TILE_K": 32}, num_warps=4, num_stages=3),
    triton.Config({"TILE_M": 128, "TILE_N": 128, "TILE_K": 64}, num_warps=8, num_stages=3),
]
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
    for first in range(0, k, TILE_K):
        down = first + tl.arange(0, TILE_K)[:, None]
        across = first + tl.arange(0, TILE_K)[None, :]
        a = tl.load(a_ + rows * k + across, mask=(rows < m) & (across < k), other=0.0)
        b = tl.load(b_ + down * n + columns, mask=(down < k) & (columns < n), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    # [/student]
    tl.store(out_ + rows * n + columns, total.to(out_.dtype.element_ty), mask=(rows < m) & (columns < n))


def matmul(a, b):
    """a [m, k] times b [k, n], with sums in float32."""
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    # [student: matmul_launch]
    def grid(chosen):
        return triton.cdiv(m, chosen["TILE_M"]), triton.cdiv(n, chosen["TILE_N"])

    matmul_kernel[grid](a, b, out, m, n, k)
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
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(keys[None, :] < kv_len, s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1, keep_dims=True))
        p = tl.exp(s - m_new)
        factor = tl.exp(m - m_new)
        l = l * factor + tl.sum(p, 1, keep_dims=True)
        o = o * factor + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
        # [/student]
    tl.store(out_ + at_q, (o / l).to(q.dtype), mask=rows < q_len)


def attention(q, k, v):
    """Attention of q [batch_heads, q_len, head_dim] over k and v [batch_heads, kv_len, head_dim], head_dim a power of 2 from 16 on."""
    (batch_heads, q_len, head_dim), kv_len = q.shape, k.shape[1]
    out = torch.empty_like(q)
    # [student: attention_launch]
    tile_q, tile_kv = 64, 32
    attention_kernel[(triton.cdiv(q_len, tile_q), batch_heads)](
        q, k, v, out, q_len, kv_len, head_dim**-0.5, HEAD_DIM=head_dim, TILE_Q=tile_q, TILE_KV=tile_kv, num_warps=4
    )
    # [/student]
    return out
