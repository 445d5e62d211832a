#!/usr/bin/env python3
"""Times the backward pass of PyTorch's FlashAttention-2 and of cuDNN's attention at the shapes that lesson 14 is timed at.

    python3 tests/gpu/time_attention_backward.py [HEADS KV_HEADS HEAD_DIM LENGTH CAUSAL]...

Each is called 13 times with the L2 cache flushed before, the last 11 count, and the median is printed as docs/results/*.csv
have it. Only the backward pass is timed, the forward pass has run before. Two rows of dQ and of dV are held against float64
first. Run it in the same sitting as `warpwise bench 14`: times of two machines, or of two days, do not compare.
"""
import sys

from time_attention import backends, dtype_name, median_ms, print_rows, run, seen_pairs

SHAPES = [(16, 16, 64, 2048, 0)] + [(16, 16, d, 8192, causal) for d in (64, 128) for causal in (0, 1)] + [(32, 8, 128, 2048, 1)]


def expected_dq(torch, q, k, v, dout, head, row, causal):
    """The gradient of one query in float64."""
    kv_head = head // (q.shape[1] // k.shape[1])
    seen = row + 1 if causal else k.shape[2]
    keys, values = k[0, kv_head, :seen].detach().double(), v[0, kv_head, :seen].detach().double()
    scale = q.shape[3] ** -0.5
    probs = torch.softmax(scale * (keys @ q[0, head, row].detach().double()), 0)
    dprobs = values @ dout[0, head, row].double()
    return scale * ((probs * (dprobs - probs @ dprobs)) @ keys)


def expected_dv(torch, q, k, dout, kv_head, key, causal):
    """The gradient of one value in float64: a sum over the query heads that read it, 1024 queries at a time."""
    total, group = 0, q.shape[1] // k.shape[1]
    keys, places = k[0, kv_head].detach().double(), torch.arange(k.shape[2], device=k.device)
    for head in range(kv_head * group, (kv_head + 1) * group):
        for first in range(0, q.shape[2], 1024):
            rows = torch.arange(first, min(first + 1024, q.shape[2]), device=q.device)
            scores = q.shape[3] ** -0.5 * (q[0, head, rows].detach().double() @ keys.T)
            if causal:
                scores.masked_fill_(places > rows[:, None], float("-inf"))
            total = total + torch.softmax(scores, 1)[:, key] @ dout[0, head, rows].double()
    return total


def worst_error(torch, q, k, v, dout, gradients, causal):
    """The largest error of dQ's and dV's first and last row, as a share of the largest element of that row."""
    worst = 0.0
    for head, kv_head, row in ((0, 0, 0), (q.shape[1] - 1, k.shape[1] - 1, q.shape[2] - 1)):
        for got, want in (
            (gradients[0][0, head, row], expected_dq(torch, q, k, v, dout, head, row, causal)),
            (gradients[2][0, kv_head, row], expected_dv(torch, q, k, dout, kv_head, row, causal)),
        ):
            size = max(want.abs().max().item(), 1e-3)  # the first query of a causal mask has the gradient 0
            worst = max(worst, (got.double() - want).abs().max().item() / size)
    return worst


def measure(torch, heads, kv_heads, head_dim, length, causal, dtype):
    """Prints two rows for each of the two backends that takes this shape."""
    from torch.nn.attention import sdpa_kernel

    make = lambda h: torch.randn(1, h, length, head_dim, device="cuda", dtype=dtype)
    q, k, v, dout = make(heads).requires_grad_(), make(kv_heads).requires_grad_(), make(kv_heads).requires_grad_(), make(heads)
    mask = "_causal" if causal else ""
    case = f"tensor/heads_{heads}_{kv_heads}_len_{length}_d{head_dim}{mask}_{dtype_name(torch, dtype)}"
    for backend, title in backends():
        with sdpa_kernel(backend):
            try:
                out = torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=bool(causal), enable_gqa=heads != kv_heads
                )
                backward = lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)
                gradients = backward()
            except RuntimeError as refused:
                print(f"{title} refuses {case}: {str(refused).splitlines()[0]}", file=sys.stderr)
                continue
            error = worst_error(torch, q, k, v, dout, gradients, causal)
            if not error < 0.05:
                sys.exit(f"{title} is off by {error} of the largest element at {case}")
            ms = median_ms(torch, backward)
        print_rows(torch, 14, title, case, 10 * heads * seen_pairs(length, causal) * head_dim, ms)


if __name__ == "__main__":
    run(__doc__, 14, SHAPES, measure)
