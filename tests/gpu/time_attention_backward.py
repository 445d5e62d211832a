#!/usr/bin/env python3
"""Times the backward pass of PyTorch's FlashAttention-2 and of cuDNN's attention at the shapes that lesson 14 is timed at.

    python3 tests/gpu/time_attention_backward.py [HEADS KV_HEADS HEAD_DIM LENGTH CAUSAL]...

Each is called 13 times with the L2 cache flushed before, the last 11 count, and the median is printed as docs/results/*.csv
have it. Only the backward pass is timed, the forward pass has run before. Two rows of dQ and of dV are held against float64
first. Run it in the same sitting as `warpwise bench 14`: times of two machines, or of two days, do not compare.
"""
import datetime
import sys

WARM_UP, COUNTED, FLUSH = 2, 11, 128 << 20
SHAPES = [(16, 16, 64, 2048, 0)] + [(16, 16, d, 8192, causal) for d in (64, 128) for causal in (0, 1)] + [(32, 8, 128, 2048, 1)]


def median_ms(torch, call):
    """Milliseconds of one call."""
    flush = torch.empty(FLUSH, dtype=torch.uint8, device="cuda")
    times = []
    for i in range(WARM_UP + COUNTED):
        flush.zero_()
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        if i >= WARM_UP:
            times.append(start.elapsed_time(stop))
    return sorted(times)[COUNTED // 2]


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
    from torch.nn.attention import SDPBackend, sdpa_kernel

    make = lambda h: torch.randn(1, h, length, head_dim, device="cuda", dtype=dtype)
    q, k, v, dout = make(heads).requires_grad_(), make(kv_heads).requires_grad_(), make(kv_heads).requires_grad_(), make(heads)
    pairs = length * (length + 1) / 2 if causal else length * length
    name = {torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
    case = f"tensor/heads_{heads}_{kv_heads}_len_{length}_d{head_dim}{'_causal' if causal else ''}_{name}"
    for backend, title in ((SDPBackend.FLASH_ATTENTION, "PyTorch FlashAttention-2"), (SDPBackend.CUDNN_ATTENTION, "cuDNN")):
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
        key = (f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d},{torch.cuda.get_device_name()},"
               f"CUDA {torch.version.cuda},14,{title},{case}")
        print(f"{key},tflops,{10 * heads * pairs * head_dim / ms * 1e-9:.4g},TFLOP/s,time_attention_backward.py")
        print(f"{key},time,{ms * 1e3:.6g},us,time_attention_backward.py", flush=True)


def main():
    numbers = [int(word) for word in sys.argv[1:]]
    if len(numbers) % 5 != 0:
        sys.exit(__doc__)
    import torch

    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    shapes = [tuple(numbers[i : i + 5]) for i in range(0, len(numbers), 5)] or SHAPES
    torch.manual_seed(14)
    for dtype in (torch.float16, torch.bfloat16):
        for shape in shapes:
            measure(torch, *shape, dtype)


if __name__ == "__main__":
    main()
