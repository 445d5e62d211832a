#!/usr/bin/env python3
"""Times PyTorch's FlashAttention-2 and cuDNN's attention, forward, at the shapes that lesson 12 is timed at.

    python3 tests/gpu/time_attention.py [HEADS HEAD_DIM LENGTH CAUSAL]...

Without arguments: the shapes of the ladder of lesson 12, then those of its cases. Each is called 13 times with the L2 cache
flushed before, the last 11 count, and the median is printed as docs/results/*.csv have it; then a few rows of the result are
held against float64. Run it in the same sitting as `warpwise bench 12` and the ladder: times of two machines, or of two
days, do not compare.
"""
import datetime
import sys

WARM_UP, COUNTED, FLUSH = 2, 11, 128 << 20
SHAPES = [(32, d, n, causal) for n in (2048, 8192) for d in (64, 128) for causal in (0, 1)] + [(16, 256, 8192, 0)]


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


def worst_error(torch, q, k, v, out, causal):
    """The largest error of the last query of the first and of the last head."""
    worst = 0.0
    for head in (0, q.shape[1] - 1):
        keys, values = k[0, head].double(), v[0, head].double()
        for query in (0, q.shape[2] - 1):
            seen = query + 1 if causal else keys.shape[0]
            weights = torch.softmax(keys[:seen] @ q[0, head, query].double() / q.shape[3] ** 0.5, 0)
            worst = max(worst, (weights @ values[:seen] - out[0, head, query].double()).abs().max().item())
    return worst


def measure(torch, heads, head_dim, length, causal, dtype):
    """Prints two rows for each of the two backends that takes this shape."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    make = lambda: torch.randn(1, heads, length, head_dim, device="cuda", dtype=dtype)
    q, k, v = make(), make(), make()
    pairs = length * (length + 1) / 2 if causal else length * length
    name = {torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
    case = f"{name}/heads_{heads}_len_{length}_d{head_dim}{'_causal' if causal else ''}"
    for backend, title in ((SDPBackend.FLASH_ATTENTION, "PyTorch FlashAttention-2"), (SDPBackend.CUDNN_ATTENTION, "cuDNN")):
        attend = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
        with sdpa_kernel(backend):
            try:
                out = attend()
            except RuntimeError as refused:
                print(f"{title} refuses {case}: {str(refused).splitlines()[0]}", file=sys.stderr)
                continue
            error = worst_error(torch, q, k, v, out, causal)
            if not error < 0.02:
                sys.exit(f"{title} is off by {error} at {case}")
            ms = median_ms(torch, attend)
        key = (f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d},{torch.cuda.get_device_name()},"
               f"CUDA {torch.version.cuda},12,{title},{case}")
        print(f"{key},tflops,{4 * heads * pairs * head_dim / ms * 1e-9:.4g},TFLOP/s,time_attention.py")
        print(f"{key},time,{ms * 1e3:.6g},us,time_attention.py", flush=True)


def main():
    numbers = [int(word) for word in sys.argv[1:]]
    if len(numbers) % 4 != 0:
        sys.exit(__doc__)
    import torch

    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    shapes = [tuple(numbers[i : i + 4]) for i in range(0, len(numbers), 4)] or SHAPES
    torch.manual_seed(12)
    for dtype in (torch.float16, torch.bfloat16):
        for shape in shapes:
            measure(torch, *shape, dtype)


if __name__ == "__main__":
    main()
