#!/usr/bin/env python3
"""Lesson 18 on a GPU: is what Python gets right, does torch.compile keep its graph, what does a call cost, how fast is Triton?

    python3 tests/gpu/time_python.py [--build BUILD] [--only checks|overhead|sweep|times]

Builds libwarpwise in BUILD (build-python) with nvcc, by common/python/CMakeLists.txt alone. Checks at real shapes: an output or
a gradient may be off from float64 by at most twice what PyTorch's own is off by. Times are printed as docs/results/*.csv have
them: all candidates in turn, 13 rounds with the L2 cache flushed before each call, the last 11 count. Ends with 1 if a check failed.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import time

from time_attention import print_rows, seen_pairs
from time_hopper_attention import medians

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
failures = 0


def report(passed, what):
    """One line of a check."""
    global failures
    failures += not passed
    print(f"{'ok   ' if passed else 'WRONG'} {what}", flush=True)


def build(folder):
    """The package with its libraries, and where Python finds it."""
    subprocess.run(["cmake", "-S", os.path.join(ROOT, "common", "python"), "-B", folder, "-DWARPWISE_DEVICES=gpu"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "warpwise_library", "-j", str(os.cpu_count())], check=True,
                   stdout=subprocess.DEVNULL)
    sys.path.insert(0, os.path.join(folder, "python"))


# ---- checks --------------------------------------------------------------------------------------------------------------


def attention_in_float64(torch, q, k, v, causal, dout):
    """Output and gradients."""
    q, k, v = (x.detach().double().requires_grad_() for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(group, 1).transpose(2, 3) / q.shape[3] ** 0.5
    if causal:
        hidden = torch.ones(scores.shape[2:], dtype=torch.bool, device="cuda").triu(1 + k.shape[2] - q.shape[2])
        scores = scores.masked_fill(hidden, float("-inf"))
    out = torch.softmax(scores, -1) @ v.repeat_interleave(group, 1)
    return (out.detach(), *torch.autograd.grad(out, (q, k, v), dout.double()))


def check_attention(torch, warpwise, dtype, heads, kv_heads, length, head_dim, causal):
    q = torch.randn(1, heads, length, head_dim, device="cuda", dtype=dtype, requires_grad=True)
    k, v = (torch.randn(1, kv_heads, length, head_dim, device="cuda", dtype=dtype, requires_grad=True) for _ in range(2))
    dout = torch.randn_like(q)
    exact = attention_in_float64(torch, q, k, v, causal, dout)
    out = warpwise.flash_attention(q, k, v, causal)
    ours = (out.detach(), *torch.autograd.grad(out, (q, k, v), dout))
    sdpa = torch.nn.functional.scaled_dot_product_attention
    out = sdpa(q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)
    theirs = (out.detach(), *torch.autograd.grad(out, (q, k, v), dout))
    for name, expected, mine, other in zip(("out", "dq", "dk", "dv"), exact, ours, theirs):
        error, allowed = ((x.double() - expected).abs().max().item() for x in (mine, other))
        case = f"{NAMES[str(dtype)[6:]]} {heads}/{kv_heads} heads, {length}, d {head_dim}{', causal' if causal else ''}"
        report(error <= 2 * allowed, f"{name:3} of attention {case}: off by {error:.2e}, PyTorch's by {allowed:.2e}")


def check_gemm(torch, warpwise, dtype, m, n, k, trans_a, trans_b):
    a = torch.randn((k, m) if trans_a else (m, k), device="cuda", dtype=dtype)
    b = torch.randn((n, k) if trans_b else (k, n), device="cuda", dtype=dtype)
    a, b = a.t() if trans_a else a, b.t() if trans_b else b
    exact = a.double() @ b.double()
    error, allowed = ((x.double() - exact).abs().max().item() for x in (warpwise.gemm(a, b), a @ b))
    layout = f"{'T' if trans_a else 'N'}{'T' if trans_b else 'N'}"
    report(error <= 2 * allowed, f"gemm {NAMES[str(dtype)[6:]]} {m} x {n} x {k} {layout}: off by {error:.2e}, PyTorch's by {allowed:.2e}")


def check_stream(torch, warpwise):
    """On a stream of its own the call waits for what made its inputs, and for nothing else."""
    stream, q = torch.cuda.Stream(), torch.randn(1, 8, 2048, 64, device="cuda", dtype=torch.float16)
    expected = warpwise.flash_attention(2 * q, q, q)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # about a tenth of a second
        late = q + q
        start = time.perf_counter()
        out = warpwise.flash_attention(late, q, q)
        returned = time.perf_counter() - start
        still_running = not stream.query()
    stream.synchronize()
    report(bool((out == expected).all()), "a call on another stream reads its inputs when they are made")
    report(still_running and returned < 0.05, f"the call returned after {returned * 1e3:.2f} ms, while its stream was busy")


def check_compile(torch, warpwise):
    """torch.compile keeps one graph, forward and backward, by its own compiler."""

    def model(q, k, v):
        return warpwise.flash_attention(torch.sin(q), k, v, causal=True).square().sum()

    q, k, v = (torch.randn(2, 8, 512, 64, device="cuda", dtype=torch.float16, requires_grad=True) for _ in range(3))
    explained = torch._dynamo.explain(model)(q, k, v)
    report(explained.graph_break_count == 0 and explained.graph_count == 1,
           f"torch.compile: {explained.graph_count} graph, {explained.graph_break_count} breaks")
    torch._dynamo.reset()
    by_graph = torch.autograd.grad(torch.compile(model, fullgraph=True)(q, k, v), (q, k, v))
    eager = torch.autograd.grad(model(q, k, v), (q, k, v))
    for name, x, y in zip(("dq", "dk", "dv"), by_graph, eager):
        error, size = (x - y).abs().max().item(), y.abs().max().item()
        report(error <= 2.0**-9 * size, f"{name} through torch.compile: off from eager by {error:.2e} of {size:.2e}")


def check_gradients(torch, warpwise):
    """torch.autograd.gradcheck in small, float32; tests/python/test_torch.py derives the tolerance."""
    environment = dict(os.environ, PYTHONPATH=sys.path[0])
    folder = os.path.join(ROOT, "tests", "python")
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(folder, "test_torch.py"),
                            os.path.join(folder, "test_triton.py")], env=environment, capture_output=True, text=True)
    report(ended.returncode == 0, "tests/python on this GPU: " + (ended.stdout.strip().splitlines() or [ended.stderr])[-1])
    if ended.returncode != 0:
        print(ended.stdout[-3000:])


def check(torch, warpwise):
    check_gradients(torch, warpwise)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape in ((16, 16, 1024, 64, False), (16, 16, 2048, 64, True), (32, 8, 2048, 128, True), (8, 8, 1000, 128, False)):
            check_attention(torch, warpwise, dtype, *shape)
        for trans_a, trans_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            check_gemm(torch, warpwise, dtype, 2048, 2048, 2048, trans_a, trans_b)
        check_gemm(torch, warpwise, dtype, 1001, 999, 517, 0, 1)
    check_stream(torch, warpwise)
    check_compile(torch, warpwise)


# ---- overhead ------------------------------------------------------------------------------------------------------------


def host_microseconds(torch, call, calls=500, runs=9):
    """Of wall time on the host, in the fastest run; the device keeps up, for its kernel is tiny."""
    fastest = float("inf")
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        fastest = min(fastest, (time.perf_counter() - start) / calls)
    return 1e6 * fastest


def overhead(torch, warpwise):
    """What Python adds to the C function called with a finished structure."""
    from warpwise import arrays, interface

    q = torch.randn(1, 2, 64, 64, device="cuda", dtype=torch.float16)
    plan = interface.attention_plan(*[arrays.layout(q)] * 3, False, None, False)
    args, out = interface.AttentionArgs.from_buffer_copy(plan.args), torch.empty_like(q)
    args.q = args.k = args.v = q.data_ptr()
    args.out = out.data_ptr()
    pointer, stream = ctypes.byref(args), arrays.stream(q)
    alone = host_microseconds(torch, lambda: plan.function(pointer, stream))
    whole = host_microseconds(torch, lambda: warpwise.flash_attention(q, q, q))
    print(f"attention f16: the C function {alone:.2f} us, flash_attention {whole:.2f} us")
    report(whole - alone <= 10.0, f"overhead of flash_attention: {whole - alone:.2f} us, at most 10")
    wants = q.clone().requires_grad_()
    print(f"with gradients wanted: {host_microseconds(torch, lambda: warpwise.flash_attention(wants, q, q)) - alone:.2f} us")
    operator = torch.ops.warpwise.attention
    print(f"as an operator: {host_microseconds(torch, lambda: operator(q, q, q, False, None)) - alone:.2f} us")
    sdpa = torch.nn.functional.scaled_dot_product_attention
    print(f"PyTorch's own attention, a whole call: {host_microseconds(torch, lambda: sdpa(q, q, q)):.2f} us")


# ---- times ---------------------------------------------------------------------------------------------------------------


def sweep(torch, warpwise):
    """Triton, the package and PyTorch at the problems of the chart of attention by length, 16 heads of 64, as lessons 05 and 12 name them."""
    from warpwise import triton_attention

    sdpa = torch.nn.functional.scaled_dot_product_attention
    for dtype in (torch.float16, torch.float32):
        for length in (512, 1024, 2048, 4096, 8192, 16384):
            q, k, v = (torch.randn(1, 16, length, 64, device="cuda", dtype=dtype) for _ in range(3))
            calls = {"Triton": lambda: triton_attention.flash_attention(q, k, v),
                     "Python": lambda: warpwise.flash_attention(q, k, v),
                     "PyTorch": lambda: sdpa(q, k, v)}
            if agrees(calls["Triton"](), calls["Python"](), f"length {length}"):
                name = NAMES[str(dtype)[6:]]
                for title, ms in medians(torch, calls).items():
                    print_rows(torch, 18, f"{title} {name}", f"{name}/heads_16_len_{length}", 4 * 16 * length * length * 64, ms)


def agrees(by_triton, by_ours, case):
    """Whether Triton's result is ours but for rounding; otherwise that is a failed check."""
    error = (by_triton - by_ours).abs().max().item()
    right = error < (1e-4 if by_ours.dtype.itemsize == 4 else 0.05)
    if not right:
        report(False, f"Triton and Python differ by {error} at {case}")
    return right


def times(torch, warpwise):
    """Triton's column beside lessons 05 and 12."""
    from warpwise import triton_attention

    sdpa = torch.nn.functional.scaled_dot_product_attention
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for length in (2048, 8192):
            for head_dim in (64, 128):
                for causal in (False, True):
                    heads = 16384 // length * 2048 // head_dim if dtype != torch.float32 else 16
                    q, k, v = (torch.randn(1, heads, length, head_dim, device="cuda", dtype=dtype) for _ in range(3))
                    calls = {"Triton": lambda: triton_attention.flash_attention(q, k, v, causal),
                             "Python": lambda: warpwise.flash_attention(q, k, v, causal),
                             "PyTorch from Python": lambda: sdpa(q, k, v, is_causal=causal)}
                    case = f"{NAMES[str(dtype)[6:]]}/heads_{heads}_len_{length}_d{head_dim}{'_causal' if causal else ''}"
                    if not agrees(calls["Triton"](), calls["Python"](), case):
                        continue
                    for title, ms in medians(torch, calls).items():
                        print_rows(torch, 18, title, case, 4 * heads * seen_pairs(length, causal) * head_dim, ms)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build-python"))
    parser.add_argument("--only", choices=("checks", "overhead", "sweep", "times"))
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    build(os.path.abspath(options.build))
    import warpwise

    torch.manual_seed(18)
    torch.backends.cuda.matmul.allow_tf32 = False
    for name, part in (("overhead", overhead), ("sweep", sweep), ("checks", check), ("times", times)):
        if options.only in (None, name):
            part(torch, warpwise)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
