#!/usr/bin/env python3
"""Times lesson 21 beside PyTorch's grouped product and cuBLAS, at the shapes of Qwen3-30B-A3B, in one process.

    python3 tests/gpu/time_mixture_of_experts.py [TOKENS]...

Hidden 2048, 128 experts, top 8, inner 768, bf16; without arguments 1 to 256 tokens, then 1024, 4096 and 16384. The kernels are built by
nvcc into build/nvcc and called through their entry points. Each call is captured into a CUDA graph, so that what the host takes to
launch does not count; what cannot be captured is called as it is, and said so. All candidates are called in turn, 13 rounds with the
L2 cache flushed before each call; the last 11 count, and the median is printed as docs/results/*.csv have it. Rows of what a candidate
wrote are held against float64. `share_of_copy`: the bytes of weights of the experts that have rows, over time, beside the
rate of a copy (read and written) in the same run.
"""
import ctypes
import datetime
import os
import sys

from time_attention import print_rows
from time_hopper_attention import library, medians

HIDDEN, EXPERTS, TOP_K, INNER = 2048, 128, 8, 768
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 16384)
COPY_BYTES = 2 << 30


def structure(*fields):
    """A struct of C."""

    class Arguments(ctypes.Structure):
        _fields_ = list(fields)

    return Arguments


ints = lambda *names: [(name, ctypes.c_int) for name in names]
pointers = lambda *names: [(name, ctypes.c_void_p) for name in names]
# struct grouped_gemm_args and struct experts_args of common/contracts/experts_args.h
Product = structure(*ints("rows", "experts", "n", "k", "swiglu", "dtype"), *pointers("a", "w", "offsets", "c"))
Layer = structure(*ints("tokens", "experts", "top_k", "hidden", "inner", "renormalise", "dtype"),
                  *pointers("x", "logits", "gate_up", "down", "out", "workspace"), ("workspace_bytes", ctypes.c_size_t))


def checked(status):
    if status != 0:
        raise RuntimeError(f"status {status}")


def stream(torch):
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def product_call(torch, lib, a, w, offsets, c, swiglu):
    """The grouped product of the lesson."""
    arguments = Product(a.shape[0], EXPERTS, c.shape[1], a.shape[1], swiglu, 2, a.data_ptr(), w.data_ptr(), offsets.data_ptr(),
                        c.data_ptr())

    def call():
        checked(lib.experts_product(ctypes.byref(arguments), stream(torch)))
        return c

    return call


def layer_call(torch, lib, x, logits, gate_up, down, out):
    """The whole layer of the lesson."""
    arguments = Layer(x.shape[0], EXPERTS, TOP_K, HIDDEN, INNER, 1, 2, x.data_ptr(), logits.data_ptr(), gate_up.data_ptr(),
                      down.data_ptr(), out.data_ptr(), None, 0)
    lib.mixture_of_experts_workspace_bytes.restype = ctypes.c_size_t
    size = lib.mixture_of_experts_workspace_bytes(ctypes.byref(arguments))
    workspace = torch.empty(size, dtype=torch.uint8, device="cuda")
    arguments.workspace, arguments.workspace_bytes = workspace.data_ptr(), size

    def call():
        checked(lib.mixture_of_experts(ctypes.byref(arguments), stream(torch)))
        return out if workspace.numel() == size else None  # the workspace lives as long as the function

    return call


def torch_layer(torch, x, logits, gate_up, down):
    """The same layer of PyTorch's operators, with its grouped product."""

    def call():
        weights, chosen = torch.topk(torch.softmax(logits, -1), TOP_K, sorted=True)
        weights = weights / weights.sum(-1, keepdim=True)
        order = torch.argsort(chosen.flatten(), stable=True)
        counts = torch.zeros(EXPERTS, dtype=torch.int32, device="cuda")
        counts.scatter_add_(0, chosen.flatten(), torch.ones_like(chosen.flatten(), dtype=torch.int32))
        ends = torch.cumsum(counts, 0, dtype=torch.int32)
        inner = torch._grouped_mm(x[order // TOP_K], gate_up.transpose(1, 2), offs=ends)
        inner = torch.nn.functional.silu(inner[:, :INNER]) * inner[:, INNER:]
        rows = torch._grouped_mm(inner, down.transpose(1, 2), offs=ends)
        back = torch.empty_like(rows)
        back[order] = rows
        return (back.view(-1, TOP_K, HIDDEN).float() * weights[..., None]).sum(1).to(x.dtype)

    return call


def captured(torch, name, call):
    """A function that replays the call, and what it wrote."""
    out = call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            out = call()
    except RuntimeError as refused:
        print(f"{name} is called without a graph: {str(refused).splitlines()[0]}", file=sys.stderr)
        torch.cuda.synchronize()
        return call, call()
    graph.replay()
    torch.cuda.synchronize()
    return graph.replay, out


def row_error(torch, a, w, experts_of, got, swiglu):
    """The largest error of some rows of a product."""
    worst, rows = 0.0, a.shape[0]
    for row in sorted({0, rows // 3, rows // 2, rows - 1}):
        right = a[row].double() @ w[experts_of[row]].double().T
        if swiglu:
            right = torch.nn.functional.silu(right[:INNER]) * right[INNER:]
        error = (right - got[row].double()).abs().max().item()
        worst = max(worst, error) if error == error else float("inf")
    return worst


def layer_error(torch, x, weights, chosen, gate_up, down, got):
    """The largest error of some tokens of the layer."""
    worst = 0.0
    for token in sorted({0, x.shape[0] // 2, x.shape[0] - 1}):
        right = 0.0
        for j in range(TOP_K):
            inner = x[token].double() @ gate_up[chosen[token, j]].double().T
            inner = torch.nn.functional.silu(inner[:INNER]) * inner[INNER:]
            right = right + weights[token, j] * (inner @ down[chosen[token, j]].double().T)
        error = (right - got[token].double()).abs().max().item()
        worst = max(worst, error) if error == error else float("inf")
    return worst


def print_share(torch, title, case, read, ms, copy):
    """How much of the copy rate the weights that had to be read make."""
    key = (f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d},{torch.cuda.get_device_name()},"
           f"CUDA {torch.version.cuda},21,{title},{case}")
    print(f"{key},share_of_copy,{read / ms * 1e-6 / copy:.4g},1,{os.path.basename(sys.argv[0])}", flush=True)


def copy_rate(torch):
    """GB/s of a large copy, bytes read and bytes written."""
    one = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(one)
    return 2 * COPY_BYTES / medians(torch, {"copy": lambda: other.copy_(one)})["copy"] * 1e-6


def time_all(torch, case, calls, operations, read, copy, error, allowed):
    """Times all candidates of a case in the same rounds, and prints what is right."""
    replays, outs = {}, {}
    for title, call in calls.items():
        try:
            replays[title], outs[title] = captured(torch, title, call)
        except RuntimeError as refused:
            print(f"{title} refuses {case}: {str(refused).splitlines()[0]}", file=sys.stderr)
    times = medians(torch, replays)
    for title, ms in times.items():
        off = error(outs[title]) if title != "cuBLAS" else 0.0
        if not off < allowed:
            print(f"WRONG {title} is off by {off} at {case}", flush=True)
            continue
        print_rows(torch, 21, title, case, operations, ms)
        if title != "cuBLAS":  # which reads one expert's
            print_share(torch, title, case, read, ms, copy)


def measure(torch, lib, tokens, copy):
    """Products of gate and up, of down, and the layer, for so many tokens."""
    make = lambda *shape, scale=1.0: (torch.randn(*shape, device="cuda") * scale).to(torch.bfloat16)
    x, logits = make(tokens, HIDDEN), torch.randn(tokens, EXPERTS, device="cuda")
    gate_up, down = make(EXPERTS, 2 * INNER, HIDDEN, scale=HIDDEN**-0.5), make(EXPERTS, HIDDEN, INNER, scale=INNER**-0.5)
    weights, chosen = torch.topk(torch.softmax(logits.double(), -1), TOP_K)
    weights = weights / weights.sum(-1, keepdim=True)
    experts_of, order = torch.sort(chosen.flatten(), stable=True)
    counts = torch.bincount(experts_of, minlength=EXPERTS)
    ends = torch.cumsum(counts, 0).to(torch.int32)
    offsets = torch.cat((torch.zeros(1, dtype=torch.int32, device="cuda"), ends))
    hit, pairs = int((counts > 0).sum()), tokens * TOP_K
    a, inner = x[order // TOP_K].contiguous(), make(pairs, INNER)
    wide, narrow, outer = make(pairs, 2 * INNER), make(pairs, INNER), make(pairs, HIDDEN)
    grouped = "PyTorch grouped_mm"
    products = (
        ("gate_up", a, gate_up, wide, 0),
        ("swiglu", a, gate_up, narrow, 1),
        ("down", inner, down, outer, 0),
    )
    for name, rows, w, c, swiglu in products:
        calls = {"lesson 21": product_call(torch, lib, rows, w, offsets, c, swiglu)}
        if not swiglu:
            calls[grouped] = lambda: torch._grouped_mm(rows, w.transpose(1, 2), offs=ends)
            calls["cuBLAS"] = lambda: rows @ w[0].T  # one expert has all rows: as many operations
        else:
            def two_kernels():
                both = torch._grouped_mm(rows, w.transpose(1, 2), offs=ends)
                return torch.nn.functional.silu(both[:, :INNER]) * both[:, INNER:]

            calls[grouped] = two_kernels
        time_all(torch, f"product/{name}_tokens_{tokens}", calls, 2 * pairs * w.shape[1] * w.shape[2], hit * w[0].numel() * 2, copy,
                 lambda got: row_error(torch, rows, w, experts_of, got, swiglu), 0.08)
    calls = {"lesson 21": layer_call(torch, lib, x, logits, gate_up, down, torch.empty_like(x)),
             grouped: torch_layer(torch, x, logits, gate_up, down)}
    time_all(torch, f"layer/tokens_{tokens}", calls, 6 * pairs * HIDDEN * INNER, hit * 6 * HIDDEN * INNER, copy,
             lambda got: layer_error(torch, x, weights, chosen, gate_up, down, got), 0.08)


def main():
    """Times what the command line names, or everything."""
    if not all(word.isdecimal() for word in sys.argv[1:]):
        sys.exit(__doc__)
    import torch

    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    lib = library("21_mixture_of_experts", "mixture_of_experts")
    torch.manual_seed(21)
    copy = copy_rate(torch)
    print(f"# copy: {copy:.0f} GB/s; PyTorch {torch.__version__}", flush=True)
    for tokens in [int(word) for word in sys.argv[1:]] or TOKENS:
        measure(torch, lib, tokens, copy)


if __name__ == "__main__":
    main()
