#!/usr/bin/env python3
"""Times lesson 16's attention beside lesson 12's, PyTorch's FlashAttention-2 and cuDNN's, forward, in one process.

    python3 tests/gpu/time_hopper_attention.py [--only NAME]... [HEADS HEAD_DIM LENGTH CAUSAL]...

Without shapes: lengths 1024 to 16384 of 16,384 queries in all, head_dim 64 and 128, causal and not, f16; then bf16 at 8192. At
head_dim 128 lesson 16's FP8 part is timed, too, with a rotation, and with its rounding of Q, K and V. The two lessons'
kernels are built by nvcc into build/nvcc as shared libraries and called through their entry points. At each shape
all candidates are called in turn, 13 rounds with the L2 cache flushed before each call; the last 11 count, and the median is
printed as docs/results/*.csv have it. What a candidate wrote is held against float64 after it was timed.
"""
import ctypes
import os
import subprocess
import sys

from time_attention import COUNTED, FLUSH, WARM_UP, backends, dtype_name, print_rows, seen_pairs

QUERIES = 16384  # of all sequences together
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FP8 = "lesson 16 FP8"
LESSONS = {"12_tensor_core_attention": "tensor_core_attention", "16_hopper_attention": "hopper_attention"}


class Arguments(ctypes.Structure):
    """struct attention_args of common/contracts/attention_args.h."""

    _fields_ = [(name, ctypes.c_int) for name in ("batch", "heads", "kv_heads", "q_len", "kv_len", "head_dim")] + [
        ("scale", ctypes.c_float),
        ("causal", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("q", ctypes.c_void_p),
        ("k", ctypes.c_void_p),
        ("v", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("lse", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_size_t),
    ]


def library(lesson, topic, more=()):
    """A lesson's solution as a shared library."""
    path = os.path.join(ROOT, "build", "nvcc", f"lib{topic}.so")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(
        ["nvcc", "-O3", "-std=c++17", "-arch=sm_90a", "-shared", "-Xcompiler", "-fPIC", "-Icommon/contracts",
         f"-Ilessons/{lesson}", *more, f"solutions/{lesson}/{topic}.cu", "-lcuda", "-o", path], check=True, cwd=ROOT)
    return ctypes.CDLL(path)


def call_of(torch, function, q, k, v, out, causal):
    """A function that launches a lesson's entry point on the current stream."""
    arguments = Arguments(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], 0.0, causal,
                          {torch.float16: 1, torch.bfloat16: 2}[q.dtype], q.data_ptr(), k.data_ptr(), v.data_ptr(),
                          out.data_ptr(), None, None, 0)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call():
        status = function(ctypes.byref(arguments), stream)
        if status != 0:
            raise RuntimeError(f"status {status}")
        return out

    return call


def fp8_call_of(torch, library, q, k, v, out, causal, seed=16):
    """The same for lesson 16's FP8 part, which needs a workspace; its time includes the rounding of Q, K and V."""
    arguments = Arguments(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], 0.0, causal,
                          {torch.float16: 1, torch.bfloat16: 2}[q.dtype], q.data_ptr(), k.data_ptr(), v.data_ptr(),
                          out.data_ptr(), None, None, 0)
    library.hopper_attention_fp8_workspace_bytes.restype = ctypes.c_size_t
    size = library.hopper_attention_fp8_workspace_bytes(ctypes.byref(arguments))
    workspace = torch.empty(size, dtype=torch.uint8, device="cuda")
    arguments.workspace, arguments.workspace_bytes = workspace.data_ptr(), size
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call():
        status = library.hopper_attention_fp8(ctypes.byref(arguments), ctypes.c_uint(seed), stream)
        if status != 0:
            raise RuntimeError(f"status {status}")
        return out if workspace.numel() == size else None  # the workspace lives as long as the function

    return call


def worst_error(torch, q, k, v, out, causal):
    """The largest error of some queries of the first and of the last head."""
    worst = 0.0
    for batch, head in ((0, 0), (q.shape[0] - 1, q.shape[1] - 1)):
        keys, values = k[batch, head].double(), v[batch, head].double()
        for query in (0, 63, 64, 127, 128, q.shape[2] // 2 + 5, q.shape[2] - 1):
            seen = query + 1 if causal else keys.shape[0]
            weights = torch.softmax(keys[:seen] @ q[batch, head, query].double() / q.shape[3] ** 0.5, 0)
            error = (weights @ values[:seen] - out[batch, head, query].double()).abs().max().item()
            worst = max(worst, error) if error == error else float("inf")
    return worst


def medians(torch, calls):
    """Milliseconds of each call; all of them in every round."""
    flush = torch.empty(FLUSH, dtype=torch.uint8, device="cuda")
    times = {name: [] for name in calls}
    for i in range(WARM_UP + COUNTED):
        for name, call in calls.items():
            flush.zero_()
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            stop.record()
            stop.synchronize()
            if i >= WARM_UP:
                times[name].append(start.elapsed_time(stop))
    return {name: sorted(ms)[COUNTED // 2] for name, ms in times.items()}


def candidates(torch, libraries, q, k, v, causal, only):
    """What takes this shape, by name."""
    from torch.nn.attention import sdpa_kernel

    def backend(which):
        def call():
            with sdpa_kernel(which):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))

        return call

    suffix = dtype_name(torch, q.dtype)
    calls = {title: backend(which) for which, title in backends()}
    for title, (topic, loaded) in libraries.items():
        calls[title] = call_of(torch, getattr(loaded, f"{topic}_{suffix}"), q, k, v, torch.empty_like(q), causal)
    if q.shape[3] == 128:
        calls[FP8] = fp8_call_of(torch, libraries["lesson 16"][1], q, k, v, torch.empty_like(q), causal)
    return {name: call for name, call in calls.items() if not only or name in only}


def measure(torch, libraries, heads, head_dim, length, causal, dtype, only):
    """Prints two rows for each candidate; the case counts the heads of all sequences."""
    make = lambda: torch.randn(max(QUERIES // length, 1), heads, length, head_dim, device="cuda", dtype=dtype)
    q, k, v = make(), make(), make()
    all_heads = q.shape[0] * heads
    case = f"{dtype_name(torch, dtype)}/heads_{all_heads}_len_{length}_d{head_dim}{'_causal' if causal else ''}"
    calls = candidates(torch, libraries, q, k, v, causal, only)
    for title in list(calls):
        try:
            calls[title]()
        except RuntimeError as refused:
            print(f"{title} refuses {case}: {str(refused).splitlines()[0]}", file=sys.stderr)
            del calls[title]
    for title, ms in medians(torch, calls).items():
        error = worst_error(torch, q, k, v, calls[title](), causal)
        # A query that sees one key gets a value rounded to E4M3: it is off by 1/16 of up to 4 or so.
        if not error < (0.3 if title == FP8 else 0.02 if dtype == torch.float16 else 0.05):
            print(f"WRONG {title} is off by {error} at {case}", flush=True)
            continue
        print_rows(torch, 16, title, case, 4 * all_heads * seen_pairs(length, causal) * head_dim, ms)


def main():
    """Times what the command line names, or everything."""
    words, only = sys.argv[1:], []
    while words and words[0] == "--only":
        only.append(words[1])
        words = words[2:]
    numbers = [int(word) for word in words]
    if len(numbers) % 4 != 0:
        sys.exit(__doc__)
    import torch

    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    libraries = {f"lesson {lesson[:2]}": (topic, library(lesson, topic)) for lesson, topic in LESSONS.items()}
    shapes = [tuple(numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
    torch.manual_seed(16)
    for dtype, lengths in ((torch.float16, (1024, 2048, 4096, 8192, 16384)), (torch.bfloat16, (8192,))):
        for shape in shapes or [(2048 // d, d, n, causal) for n in lengths for d in (64, 128) for causal in (0, 1)]:
            measure(torch, libraries, *shape, dtype, only)


if __name__ == "__main__":
    main()
