"""python -m warpwise.bench: what a call costs, on a GPU beside PyTorch and Triton.

Times on a GPU are medians between two events, the L2 cache overwritten before each. The overhead is the time of a call on
the host whose C function returns at once. It needs no GPU.
"""

import argparse
import contextlib
import ctypes
import importlib.util
import statistics
import time

from . import arrays, flash_attention, gemm, interface, library

torch = arrays.torch


# ---- overhead ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def nothing_is_computed():
    """All plans made meanwhile call a C function that returns 0 in place of the kernel."""
    kept, c = library.load, ctypes.CDLL(None)

    class Nothing:
        warpwise_attention = c["strnlen"]  # (args, 0): the default stream is 0, and no byte is looked at
        warpwise_gemm = c["memcmp"]  # (args, precision, 0): the same
        warpwise_attention.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        warpwise_gemm.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)

    library.load = lambda device: Nothing
    clear_plans()
    try:
        yield
    finally:
        library.load = kept
        clear_plans()


def clear_plans():
    interface.attention_plan.cache_clear()
    interface.gemm_plan.cache_clear()


def seconds_per_call(call, calls=2000, runs=5):
    """Of the processor, in the fastest run: what else the machine does counts as little as possible."""
    for _ in range(100):
        call()
    fastest = float("inf")
    for _ in range(runs):
        start = time.thread_time()
        for _ in range(calls):
            call()
        fastest = min(fastest, (time.thread_time() - start) / calls)
    return fastest


def overheads(device="cpu"):
    """{name: microseconds} of calls that compute nothing."""
    def make(shape):
        return arrays.numpy.ones(shape, "float32") if torch is None else torch.ones(shape, device=device)

    found = {}
    with nothing_is_computed():
        q, a = make((1, 2, 32, 64)), make((32, 32))
        found["flash_attention"] = 1e6 * seconds_per_call(lambda: flash_attention(q, q, q))
        found |= parts_of_a_call(q)
        found["gemm"] = 1e6 * seconds_per_call(lambda: gemm(a, a))
        if torch is not None:
            q = q.requires_grad_()
            found["flash_attention, with gradients"] = 1e6 * seconds_per_call(lambda: flash_attention(q, q, q))
    return found


def parts_of_a_call(q):
    """{name: microseconds} of what flash_attention(q, q, q) does, each thing alone, and of the plan that it need not make."""
    def plan(make=interface.attention_plan):
        return make(*[arrays.layout(q)] * 3, False, None, False)

    known, args = plan(), interface.AttentionArgs()
    parts = {
        "  of it: the output": lambda: arrays.empty_like(q),
        "  of it: the plan, looked up": plan,
        "  of it: an empty C function": lambda: known.function(ctypes.byref(args), arrays.stream(q)),
        "  beside it: the plan, made anew": lambda: plan(interface.attention_plan.__wrapped__),
    }
    return {name: 1e6 * seconds_per_call(call) for name, call in parts.items()}


# ---- time on a GPU -------------------------------------------------------------------------------------------------------


def milliseconds(call, repeats=20):
    """Median of the time between two events."""
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for i in range(repeats + 3):
        flush.zero_()
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[3:])


def attention_rows(length, dtype, head_dim, causal):
    """(name, milliseconds) of each implementation of one problem."""
    q, k, v = (torch.randn(1, 16, length, head_dim, device="cuda", dtype=dtype) for _ in range(3))
    yield "warpwise", milliseconds(lambda: flash_attention(q, k, v, causal))
    sdpa = torch.nn.functional.scaled_dot_product_attention
    yield "PyTorch", milliseconds(lambda: sdpa(q, k, v, is_causal=causal))
    try:
        from . import triton_attention
    except ImportError:
        return
    yield "Triton", milliseconds(lambda: triton_attention.flash_attention(q, k, v, causal))


def print_attention(length):
    print(f"\nattention, 16 heads, {length} x {length}: milliseconds, TFLOP/s")
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for head_dim in (64, 128):
            for causal in (False, True):
                operations = 4.0 * 16 * length * length * head_dim / (2 if causal else 1)
                name = f"{str(dtype)[6:]} d {head_dim}{' causal' if causal else ''}"
                for who, time_ in attention_rows(length, dtype, head_dim, causal):
                    print(f"  {name:24} {who:10} {time_:9.3f} ms {operations / time_ / 1e9:7.1f}")


def print_gemm(extent):
    print(f"\nmatrix product, {extent}: milliseconds, TFLOP/s")
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        a, b = (torch.randn(extent, extent, device="cuda", dtype=dtype) for _ in range(2))
        for who, call in (("warpwise", lambda: gemm(a, b)), ("PyTorch", lambda: a @ b)):
            time_ = milliseconds(call)
            print(f"  {str(dtype)[6:]:24} {who:10} {time_:9.3f} ms {2.0 * extent**3 / time_ / 1e9:7.1f}")


def exercise_rows(exercises):
    """(exercise, who, milliseconds, rate, unit) of a file of lesson 18's exercises in Triton, beside PyTorch."""
    def make(*shape):
        return torch.randn(shape, device="cuda", dtype=torch.float16)

    x, rows, a, b, q = make(1 << 26), make(8192, 8192), make(4096, 4096), make(4096, 4096), make(16, 4096, 64)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    for name, bytes_, operations, ours, theirs in (
        ("add", 3 * 2 * x.numel(), 0, lambda: exercises.add(x, x), lambda: x + x),
        ("softmax", 2 * 2 * rows.numel(), 0, lambda: exercises.softmax(rows), lambda: rows.softmax(1)),
        ("matmul", 0, 2 * 4096**3, lambda: exercises.matmul(a, b), lambda: a @ b),
        ("attention", 0, 4 * 16 * 4096**2 * 64, lambda: exercises.attention(q, q, q), lambda: sdpa(q[None], q[None], q[None])),
    ):
        for who, call in (("Triton", ours), ("PyTorch", theirs)):
            time_ = milliseconds(call)
            yield name, who, time_, (bytes_ or operations / 1e3) / time_ / 1e6, "GB/s" if bytes_ else "TFLOP/s"


def print_exercises(path):
    spec = importlib.util.spec_from_file_location("triton_exercises", path)
    exercises = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exercises)
    print(f"\n{path}, float16: milliseconds, rate")
    for name, who, time_, rate, unit in exercise_rows(exercises):
        print(f"  {name:24} {who:10} {time_:9.3f} ms {rate:9.1f} {unit}")


def main():
    parser = argparse.ArgumentParser(prog="python -m warpwise.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=4096, help="queries and keys (4096)")
    parser.add_argument("--extent", type=int, default=4096, help="rows and columns of the matrix product (4096)")
    parser.add_argument("--triton", metavar="FILE", help="exercises in Triton of lesson 18, beside PyTorch: nothing else is timed")
    options = parser.parse_args()
    on_gpu = torch is not None and torch.cuda.is_available()
    if options.triton:
        return print_exercises(options.triton) if on_gpu else print("no GPU that PyTorch finds: nothing is timed")
    print("overhead of a call, microseconds of the processor")
    for name, microseconds in overheads("cuda" if on_gpu else "cpu").items():
        print(f"  {name:34} {microseconds:6.1f}")
    if not on_gpu:
        print("\nno GPU is seen by PyTorch: times of kernels are not taken")
        return
    print_attention(options.length)
    print_gemm(options.extent)


if __name__ == "__main__":
    main()
