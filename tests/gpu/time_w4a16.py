#!/usr/bin/env python3
"""Times lesson 20's products of 4-bit weights beside cuBLAS in f16 and PyTorch's _weight_int4pack_mm, in one process.

    python3 tests/gpu/time_w4a16.py [M N K]...

Without shapes: 1 to 4096 rows at 4096 x 4096, 1 and 16 at 12288 x 4096. The solution is built by nvcc into build/nvcc as a shared
library. Weights come as AWQ stores them and go through w4a16_shuffle(); groups of 128. A call is so short that its launch would
count: calls with different copies of the weights, together more than the L2 cache holds, are captured into a graph; all candidates'
graphs are replayed in turn, 13 rounds; the last 11 count, and the median of one call is printed as docs/results/*.csv have it.
Rows of what a candidate wrote are held against float64 before. Lines with # say which share of a time the bytes of the weights, the
scales, A and C would take at the rate of a copy of 1 GiB that this process measures.
"""
import ctypes
import os
import subprocess
import sys

from time_attention import COUNTED, WARM_UP, print_rows

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GROUP, ROTATED_BYTES, AWQ_ORDER = 128, 160 << 20, (0, 2, 4, 6, 1, 3, 5, 7)
SPLITS = (2, 4, 8, 16)
SHAPES = [(m, 4096, 4096) for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)] + [(1, 12288, 4096), (16, 12288, 4096)]


class ShuffleArguments(ctypes.Structure):
    """struct w4a16_shuffle_args of common/contracts/w4a16_args.h."""

    _fields_ = [(name, ctypes.c_int) for name in ("n", "k", "group", "format")] + [
        (name, ctypes.c_void_p) for name in ("qweight", "qzeros", "weights", "zeros")
    ]


class Arguments(ctypes.Structure):
    """struct w4a16_args of the same."""

    _fields_ = [(name, ctypes.c_int) for name in ("m", "n", "k", "group", "lda", "ldc", "splits", "dtype")] + [
        (name, ctypes.c_void_p) for name in ("a", "weights", "scales", "zeros", "c", "workspace")
    ] + [("workspace_bytes", ctypes.c_size_t)]


def library():
    """The solution as a shared library."""
    path = os.path.join(ROOT, "build", "nvcc", "libw4a16_gemm.so")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(
        ["nvcc", "-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-Icommon/contracts",
         "-Ilessons/20_w4a16_gemm", "solutions/20_w4a16_gemm/w4a16_gemm.cu", "-o", path], check=True, cwd=ROOT)
    return ctypes.CDLL(path)


def call(function, arguments, stream):
    """Calls an entry point."""
    status = function(ctypes.byref(arguments), ctypes.c_void_p(stream))
    if status != 0:
        raise RuntimeError(f"status {status}")


def numbers_of(torch, words):
    """The numbers of AWQ's words [rows, n / 8], as [rows, n]."""
    shifts = torch.tensor([4 * AWQ_ORDER.index(column) for column in range(8)], device="cuda", dtype=torch.int32)
    return ((words.unsqueeze(-1) >> shifts) & 15).reshape(words.shape[0], -1)


class Weights:
    """A matrix as AWQ stores it, shuffled, in f16, and as PyTorch packs it."""

    def __init__(self, torch, loaded, n, k, dense):
        word = lambda *shape: torch.randint(-(2**31), 2**31 - 1, shape, device="cuda", dtype=torch.int32)
        qweight, qzeros = word(k, n // 8), word(k // GROUP, n // 8)
        self.scales = (torch.rand(k // GROUP, n, device="cuda") * 0.01 + 0.005).half()
        self.weights = torch.empty(n * k // 8, device="cuda", dtype=torch.int32)
        self.zeros = torch.empty(k // GROUP, n // 8, device="cuda", dtype=torch.int32)
        arguments = ShuffleArguments(n, k, GROUP, 0, *(t.data_ptr() for t in (qweight, qzeros, self.weights, self.zeros)))
        call(loaded.w4a16_shuffle, arguments, torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()
        q, zero = numbers_of(torch, qweight), numbers_of(torch, qzeros)
        if dense:
            group = torch.arange(k, device="cuda") // GROUP
            self.dense = ((q - zero[group]).float() * self.scales.float()[group]).half()
        columns = q.t().contiguous()
        packed = (columns[:, ::2] << 4 | columns[:, 1::2]).to(torch.uint8)
        self.packed = torch.ops.aten._convert_weight_to_int4pack(packed, 8)
        offset = (8 - zero).float() * self.scales.float()
        self.packed_scales = torch.stack([self.scales.float(), offset], -1).bfloat16().contiguous()


def graph_of(torch, launch, copies):
    """A graph of one launch with each copy of the weights."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch(copies[0])
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for copy in copies:
                launch(copy)
    torch.cuda.synchronize()
    return graph


def medians(torch, graphs):
    """Milliseconds of a replay of each graph; all of them in every round."""
    times = {name: [] for name in graphs}
    for i in range(WARM_UP + COUNTED):
        for name, (graph, _) in graphs.items():
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            stop.record()
            stop.synchronize()
            if i >= WARM_UP:
                times[name].append(start.elapsed_time(stop))
    return {name: sorted(ms)[COUNTED // 2] / graphs[name][1] for name, ms in times.items()}


def copy_rate(torch):
    """Bytes per millisecond that a copy reads and writes."""
    source = torch.zeros(1 << 28, device="cuda")
    target = torch.empty_like(source)
    graph = graph_of(torch, lambda _: torch.neg(source, out=target), [None] * 4)  # a copy engine would be slower
    return 8 * source.numel() / medians(torch, {"copy": (graph, 4)})["copy"]


def candidates(torch, loaded, m, n, k):
    """By name: a launch, its output, and how many bytes of weights one copy has."""
    a, c = torch.randn(m, k, device="cuda").half(), torch.empty(m, n, device="cuda", dtype=torch.float16)
    found = {}

    def lesson(title, function, splits):
        out, space = torch.empty_like(c), torch.empty(m * n * splits, device="cuda")

        def launch(w):
            arguments = Arguments(m, n, k, GROUP, k, n, splits, 1, a.data_ptr(), w.weights.data_ptr(), w.scales.data_ptr(),
                                  w.zeros.data_ptr(), out.data_ptr(), space.data_ptr(), space.numel() * 4)
            call(function, arguments, torch.cuda.current_stream().cuda_stream)

        found[title] = (launch, lambda: out, n * k // 2)

    if m <= 4:
        lesson("lesson 20 vector", loaded.w4a16_vector, 1)
    lesson("lesson 20 tensor", loaded.w4a16_tensor, 1)
    for splits in SPLITS if m <= 256 else ():
        lesson(f"lesson 20 split {splits}", loaded.w4a16_split, splits)
    found["cuBLAS f16"] = (lambda w: torch.mm(a, w.dense, out=c), lambda: c, 2 * n * k)
    a16, results = a.bfloat16(), {}

    def pack_mm(w):
        results["c"] = torch.ops.aten._weight_int4pack_mm(a16, w.packed, GROUP, w.packed_scales)

    if m <= 256:
        found["PyTorch int4pack"] = (pack_mm, lambda: results["c"], n * k // 2)
    return a, found


def is_right(torch, title, out, a, w):
    """Some rows and columns against float64, within what rounding the weights to 16 bits may do."""
    rows = sorted({0, a.shape[0] // 2, a.shape[0] - 1})
    right = a[rows].double() @ w.dense.double()
    error = ((out[rows].double() - right).norm() / right.norm()).item()
    if error < (2e-2 if "int4pack" in title else 1e-3):
        return True
    print(f"WRONG {title}: relative error {error}", flush=True)
    return False


def measure(torch, loaded, rate, m, n, k):
    """Prints the rows of one shape."""
    case = f"rows_{m}x{n}x{k}"
    copies = [Weights(torch, loaded, n, k, i == 0 or i < 1 + ROTATED_BYTES // (2 * n * k)) for i in
              range(1 + ROTATED_BYTES // (n * k // 2))]
    a, found = candidates(torch, loaded, m, n, k)
    graphs = {}
    for title, (launch, out, size) in found.items():
        try:
            launch(copies[0])
            torch.cuda.synchronize()
        except RuntimeError as refused:
            print(f"{title} refuses {case}: {str(refused).splitlines()[0]}", file=sys.stderr)
            continue
        if is_right(torch, title, out(), a, copies[0]):
            count = 1 + ROTATED_BYTES // size
            graphs[title] = (graph_of(torch, launch, copies[:count]), count)
    for title, ms in medians(torch, graphs).items():
        print_rows(torch, 20, title, case, 2 * m * n * k, ms)
        if not title.startswith("cuBLAS"):
            bound = (n * k / 2 + 2.5 * k // GROUP * n + 2 * m * (n + k)) / rate
            print(f"# {title} {case}: {bound / ms:.3f} of the bound of its bytes", flush=True)


def main():
    """Times what the command line names, or everything."""
    numbers = [int(word) for word in sys.argv[1:]]
    if len(numbers) % 3 != 0:
        sys.exit(__doc__)
    import torch

    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    torch.manual_seed(20)
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    loaded, rate = library(), copy_rate(torch)
    print(f"# a copy of 1 GiB: {rate * 1e-6:.0f} GB/s", flush=True)
    for shape in [tuple(numbers[i : i + 3]) for i in range(0, len(numbers), 3)] or SHAPES:
        measure(torch, loaded, rate, *shape)


if __name__ == "__main__":
    main()
