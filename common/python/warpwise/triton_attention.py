"""The forward pass of attention in Triton, to be read beside lessons 05 and 12, and timed beside them.

A program of Triton is a block of CUDA: it has a tile of queries, and its variables are whole tiles. Which lane holds which
element, what goes through shared memory, when a copy starts and which instruction multiplies is the compiler's work.

    TRITON_INTERPRET=1    set before Triton is imported: the kernel runs on the CPU, with NumPy
"""

import math

import torch
import triton
import triton.language as tl

LOG2_E = 1.4426950408889634


@triton.jit
def attention_kernel(
    q_, k_, v_, out_,  # [batch, heads, q_len, HEAD_DIM], [batch, kv_heads, kv_len, HEAD_DIM] twice, as q_: contiguous
    heads, kv_heads, q_len, kv_len, scale,  # scale is times log2(e): exp2 is one instruction
    CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr, TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
    IN_F32: tl.constexpr,  # multiply floats as floats, not rounded to TF32
):  # fmt: skip
    bh = tl.program_id(1).to(tl.int64)
    kv_bh = bh // heads * kv_heads + bh % heads // (heads // kv_heads)
    rows = tl.program_id(0) * TILE_Q + tl.arange(0, TILE_Q)
    columns = tl.arange(0, HEAD_DIM)
    precision: tl.constexpr = "ieee" if IN_F32 else "tf32"

    at_q = (bh * q_len + rows)[:, None] * HEAD_DIM + columns[None, :]
    q = tl.load(q_ + at_q, mask=rows[:, None] < q_len, other=0.0)
    m = tl.full([TILE_Q], float("-inf"), tl.float32)  # largest score so far
    l = tl.zeros([TILE_Q], tl.float32)  # sum of exp2(score - m)
    o = tl.zeros([TILE_Q, HEAD_DIM], tl.float32)  # whatever the inputs are: sums in float32

    seen = kv_len  # keys that the tile's last row sees
    if CAUSAL:
        seen = tl.minimum(kv_len, tl.program_id(0) * TILE_Q + TILE_Q + kv_len - q_len)
    for first in range(0, seen, TILE_KV):
        keys = first + tl.arange(0, TILE_KV)
        at_k = (kv_bh * kv_len + keys)[:, None] * HEAD_DIM + columns[None, :]
        k = tl.load(k_ + at_k, mask=keys[:, None] < kv_len, other=0.0)
        v = tl.load(v_ + at_k, mask=keys[:, None] < kv_len, other=0.0)

        s = scale * tl.dot(q, tl.trans(k), input_precision=precision)
        visible = keys[None, :] < kv_len
        if CAUSAL:
            visible = visible & (keys[None, :] <= rows[:, None] + kv_len - q_len)
        s = tl.where(visible, s, float("-inf"))

        m_new = tl.maximum(m, tl.max(s, 1))
        shift = tl.where(m_new == float("-inf"), 0.0, m_new)  # nothing seen yet: -inf - -inf is NaN
        p = tl.exp2(s - shift[:, None])
        factor = tl.exp2(m - shift)
        l = l * factor + tl.sum(p, 1)
        o = o * factor[:, None] + tl.dot(p.to(v.dtype), v, input_precision=precision)
        m = m_new

    o = o / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(out_ + at_q, o.to(q.dtype), mask=rows[:, None] < q_len)


def tiles(in_f32, head_dim):
    """(queries of a tile, keys of a tile, warps): on tensor cores 128 queries, whose output 4 warps hold up to head_dim 64."""
    return (64, 32, 4) if in_f32 else (128, 64, 4 if head_dim <= 64 else 8)


def flash_attention(q, k, v, causal=False, scale=None):
    """As warpwise.flash_attention, without its checks and without gradients."""
    (batch, heads, q_len, head_dim), (_, kv_heads, kv_len, _) = q.shape, k.shape
    scale = (1.0 / math.sqrt(head_dim) if scale is None else scale) * LOG2_E
    in_f32 = q.dtype == torch.float32
    tile_q, tile_kv, warps = tiles(in_f32, head_dim)
    out = torch.empty_like(q)
    grid = (triton.cdiv(q_len, tile_q), batch * heads)
    attention_kernel[grid](
        q, k, v, out, heads, kv_heads, q_len, kv_len, scale,
        CAUSAL=causal, HEAD_DIM=head_dim, TILE_Q=tile_q, TILE_KV=tile_kv, IN_F32=in_f32, num_warps=warps, num_stages=2,
    )  # fmt: skip
    return out
