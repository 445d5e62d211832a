#!/usr/bin/env python3
"""Times PyTorch's FlashAttention-2 and cuDNN's attention, forward, at the shapes that lesson 12 is timed at.

    python3 tests/gpu/time_attention.py [HEADS HEAD_DIM LENGTH CAUSAL]...

Without arguments: the shapes of the ladder of lesson 12, then those of its cases. Each is called 13 times with the L2 cache
flushed before, the last 11 count, and the median is printed as docs/results/*.csv have it; then a few rows of the result are
held against float64. Run it in the same sitting as `warpwise bench 12` and the ladder: times of two machines, or of two
days, do not compare.
"""
import datetime
import os
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


def backends():
    """PyTorch's ways to compute attention, and what they are called in the results."""
    from torch.nn.attention import SDPBackend

    return (SDPBackend.FLASH_ATTENTION, "PyTorch FlashAttention-2"), (SDPBackend.CUDNN_ATTENTION, "cuDNN")


def dtype_name(torch, dtype):
    """As cases are named."""
    return {torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]


def seen_pairs(length, causal):
    """How many pairs of a query and a key one head has."""
    return length * (length + 1) / 2 if causal else length * length


def print_rows(torch, lesson, title, case, operations, ms):
    """Two rows of a result, the rate and the time."""
    script = os.path.basename(sys.argv[0])
    key = (f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d},{torch.cuda.get_device_name()},"
           f"CUDA {torch.version.cuda},{lesson},{title},{case}")
    print(f"{key},tflops,{operations / ms * 1e-9:.4g},TFLOP/s,{script}")
    print(f"{key},time,{ms * 1e3:.6g},us,{script}", flush=True)


def run(usage, lesson, shapes, measure):
    """Calls measure(torch, *shape, dtype) for the shapes on the command line, or else for `shapes`, in both storage types."""
    words, size = sys.argv[1:], len(shapes[0])
    if len(words) % size != 0 or not all(word.isdecimal() for word in words):
        sys.exit(usage)
    import torch

    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    numbers = [int(word) for word in words]
    torch.manual_seed(lesson)
    for dtype in (torch.float16, torch.bfloat16):
        for shape in [tuple(numbers[i : i + size]) for i in range(0, len(numbers), size)] or shapes:
            measure(torch, *shape, dtype)


def measure(torch, heads, head_dim, length, causal, dtype):
    """Prints two rows for each of the two backends that takes this shape."""
    from torch.nn.attention import sdpa_kernel

    make = lambda: torch.randn(1, heads, length, head_dim, device="cuda", dtype=dtype)
    q, k, v = make(), make(), make()
    case = f"{dtype_name(torch, dtype)}/heads_{heads}_len_{length}_d{head_dim}{'_causal' if causal else ''}"
    for backend, title in backends():
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
        print_rows(torch, 12, title, case, 4 * heads * seen_pairs(length, causal) * head_dim, ms)


if __name__ == "__main__":
    run(__doc__, 12, SHAPES, measure)
