# Generated, but for what stands between [student: ...] and [/student]: that is yours.
"""Lesson 18: the course's kernels as functions of Python.

`flash_attention` and `gemm` check their arguments, hand addresses to the C library (warpwise.h) on the current stream, and copy
nothing. PyTorch gets gradients, and operators that `torch.compile` keeps in its graph.

What depends only on shapes, strides, types and devices is found out once and remembered as a plan. A later call with the same
ones sets addresses in a copy of the plan's structure, and calls.
"""

import ctypes
import functools
import math
from typing import Any, NamedTuple

from warpwise import arrays, errors, library

torch = arrays.torch  # None where it is not installed

HEAD_DIMS = {0: (32, 64, 128), 1: (32, 64, 128, 256), 2: (64, 128, 256)}  # by storage type, forward
BACKWARD_HEAD_DIMS = (32, 64, 128)
ALIGNMENT = 16  # bytes that the kernels load at once


class Plan(NamedTuple):
    """All that a call needs but the addresses."""

    library: Any
    function: Any
    args: ctypes.Structure
    options: tuple = ()  # further arguments of the function


# ---- attention -----------------------------------------------------------------------------------------------------------


def flash_attention(q, k, v, causal=False, scale=None):
    """Attention of q [batch, heads, q_len, head_dim] over k and v [batch, kv_heads, kv_len, head_dim].

    All three are contiguous, of one storage type (float32, float16, bfloat16) and on one device. heads is a multiple of
    kv_heads. causal: query i sees keys up to i + kv_len - q_len. scale: 1/sqrt(head_dim) if None.
    """
    if torch is not None and torch.compiler.is_compiling():
        return torch.ops.warpwise.attention(q, k, v, causal, scale)[0]
    given = q
    q, k, v = arrays.adopt("q", q), arrays.adopt("k", k), arrays.adopt("v", v)
    if needs_gradients(q, k, v):
        return Attention.apply(q, k, v, causal, scale)
    return arrays.hand_back(attention_forward(q, k, v, causal, scale, False)[0], given)


def needs_gradients(*inputs):
    return torch is not None and torch.is_grad_enabled() and any([getattr(x, "requires_grad", False) for x in inputs])


def attention_forward(q, k, v, causal, scale, wants_gradients):
    """Output, and the logsumexp of each row: None unless gradients will ask for it."""
    layouts = arrays.layout(q), arrays.layout(k), arrays.layout(v)
    plan = attention_plan(*layouts, causal, scale, wants_gradients)
    # [student: launch]
    # TODO: an output of the shape of q; a logsumexp of q.shape[:3] in float32, if gradients will want it; a copy of the plan's
    # args with the addresses of q, k, v (aligned() gives them), out and lse; call(). Return out and lse, or None in its place.
    raise errors.NotStartedError("launch")
    # [/student]


def attention_backward(q, k, v, out, lse, dout, causal, scale):
    """dq, dk and dv."""
    plan = backward_plan(arrays.layout(q), arrays.layout(k), causal, scale, deterministic())
    dout = dout.contiguous()  # that of out.sum() is one number with strides 0
    if arrays.address(dout) % ALIGNMENT != 0:
        dout = dout.clone()
    dq, dk, dv = arrays.empty_like(q), arrays.empty_like(k), arrays.empty_like(v)
    args = library.BackwardArgs.from_buffer_copy(plan.args)
    args.q, args.k, args.v = arrays.address(q), arrays.address(k), arrays.address(v)
    args.out, args.dout, args.lse = arrays.address(out), arrays.address(dout), arrays.address(lse)
    args.dq, args.dk, args.dv = arrays.address(dq), arrays.address(dk), arrays.address(dv)
    workspace = arrays.workspace(args.workspace_bytes, q)  # must live until the call is made; its memory is then the stream's
    args.workspace = arrays.address(workspace)
    call(plan, q, args)
    return dq, dk, dv


def deterministic():
    return torch.are_deterministic_algorithms_enabled()


# ---- what is found out once for each layout ------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def attention_plan(q, k, v, causal, scale, wants_gradients):
    """q, k, v: what arrays.layout() says of them."""
    q, k, v = arrays.Layout(*q), arrays.Layout(*k), arrays.Layout(*v)
    check_attention(q, k, v, causal, scale, wants_gradients)
    loaded = library.load(q.backend)
    # [student: plan]
    # TODO: fill in what is known without an address: extents, scale (0.0 stands for None), causal, storage type.
    raise errors.NotStartedError("plan")
    # [/student]
    return Plan(loaded, loaded.warpwise_attention, args)


@functools.lru_cache(maxsize=1024)
def backward_plan(q, k, causal, scale, deterministic):
    q, k = arrays.Layout(*q), arrays.Layout(*k)
    loaded = library.load(q.backend)
    (batch, heads, q_len, head_dim), (_, kv_heads, kv_len, _) = q.shape, k.shape
    scale = 0.0 if scale is None else scale
    args = library.BackwardArgs(batch, heads, kv_heads, q_len, kv_len, head_dim, scale, causal, deterministic, q.code)
    args.dq = ALIGNMENT  # any address: whether dq is wanted decides how much workspace there must be
    args.workspace_bytes = loaded.warpwise_attention_backward_workspace_bytes(ctypes.byref(args))
    return Plan(loaded, loaded.warpwise_attention_backward, args)


def check_attention(q, k, v, causal, scale, wants_gradients):
    """Raises the exception that names the first argument that is wrong. q, k and v are Layouts."""
    check_layouts(4, q=q, k=k, v=v)
    # [student: validate]
    # TODO: strides (is_contiguous), extents that must agree, head_dim, causal, scale (C takes 0 for None): raise the exception
    # that fits, with the name of the argument, its value, and what was expected.
    # [/student]


def check_layouts(rank, **named):
    """Rank, extents, storage type and device: those of the first argument hold for all."""
    first_name, first = next(iter(named.items()))
    for name, x in named.items():
        if len(x.shape) != rank or 0 in x.shape:
            raise errors.DimensionError(name, tuple(x.shape), f"must have {rank} extents, none of them 0")
        if x.code is None:
            raise errors.DtypeError(name, x.dtype, f"must be one of {', '.join(arrays.DTYPES)}")
        if x.backend is None:
            raise errors.DeviceError(name, x.device, "must be on a CUDA GPU, or on the CPU for the software device")
        if x.dtype != first.dtype:
            raise errors.DtypeError(name, x.dtype, f"must be the type of {first_name}, {first.dtype}")
        if x.device != first.device:
            raise errors.DeviceError(name, x.device, f"must be the device of {first_name}, {first.device}")


# ---- the call ------------------------------------------------------------------------------------------------------------


def aligned(name, array):
    """Its address, if the kernel can load from there."""
    address = arrays.address(array)
    if address % ALIGNMENT != 0:
        raise errors.AlignmentError(name, hex(address), f"must be a multiple of {ALIGNMENT} bytes")
    return address


def call(plan, array, args):
    """Calls the plan's function on the current stream of the array's device."""
    if not arrays.is_on_current_device(array):
        with arrays.on_device_of(array):
            return call(plan, array, args)
    status = plan.function(ctypes.byref(args), *plan.options, arrays.stream(array))
    if status != 0:
        library.fail(plan.library, status, plan.function.__name__)


class AttentionArgs(ctypes.Structure):
    """struct attention_args of common/contracts/attention_args.h: the same fields in the same order"""

    _fields_ = [
        # [student: structure]
        # TODO: a line ("name", ctypes type) per field: the order and the types of the C structure decide where each lies.
        # [/student]
    ]


# ---- the matrix product --------------------------------------------------------------------------------------------------


def gemm(a, b, alpha=1.0, beta=0.0, c=None, precision="auto"):
    """alpha * a @ b + beta * c, of a [m, k], b [k, n] and c [m, n], as a new array.

    a and b may be transposed or parts of larger matrices, as long as the elements of rows or of columns lie side by side.
    precision: "float32" multiplies and adds in float32 (float32, float16); "tensor" multiplies on tensor cores and adds in
    float32 (float16, bfloat16; needs a Hopper GPU); "auto" takes tensor cores where they can be had.
    """
    if torch is not None and torch.compiler.is_compiling():
        return torch.ops.warpwise.gemm(a, b, alpha, beta, c, precision)
    given = a
    a, b = arrays.adopt("a", a), arrays.adopt("b", b)
    c = None if c is None else arrays.adopt("c", c)
    if needs_gradients(a, b, c):
        return Gemm.apply(a, b, alpha, beta, c, precision)
    return arrays.hand_back(gemm_forward(a, b, alpha, beta, c, precision), given)


def gemm_forward(a, b, alpha, beta, c, precision):
    layout_c = None if c is None else arrays.layout(c)
    plan = gemm_plan(arrays.layout(a), arrays.layout(b), layout_c, alpha, beta, precision)
    out = arrays.empty((a.shape[0], b.shape[1]), a)
    if beta != 0:
        arrays.copy_into(out, c)
    args = library.GemmArgs.from_buffer_copy(plan.args)
    args.a, args.b, args.c = arrays.address(a), arrays.address(b), arrays.address(out)
    call(plan, a, args)
    return out


@functools.lru_cache(maxsize=1024)
def gemm_plan(a, b, c, alpha, beta, precision):
    a, b, c = arrays.Layout(*a), arrays.Layout(*b), None if c is None else arrays.Layout(*c)
    precision = check_gemm(a, b, alpha, beta, c, precision)
    (trans_a, lda), (trans_b, ldb) = matrix_layout("a", a), matrix_layout("b", b)
    (m, k), n = a.shape, b.shape[1]
    loaded = library.load(a.backend)
    args = library.GemmArgs(m, n, k, trans_a, trans_b, lda, ldb, n, alpha, beta, 0, a.code, a.code)
    return Plan(loaded, loaded.warpwise_gemm, args, (library.PRECISIONS[precision],))


def matrix_layout(name, x):
    """(transposed, leading dimension): how the kernel finds element [i, j] of a matrix of these strides, without a copy.

    transposed 0: at i * leading + j; 1: at j * leading + i. leading is at least the length of what lies side by side.
    """
    # [student: layout]
    # TODO: from x.shape and x.strides; a StrideError if neither form fits. Of a matrix with one row or one column, one of the
    # strides means nothing.
    raise errors.NotStartedError("layout")
    # [/student]


def check_gemm(a, b, alpha, beta, c, precision):
    """Raises, or says which precision is meant."""
    check_layouts(2, a=a, b=b, **({} if c is None else {"c": c}))
    if b.shape[0] != a.shape[1]:
        raise errors.DimensionError("b", tuple(b.shape), f"must have as many rows as a, {tuple(a.shape)}, has columns")
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if not math.isfinite(factor):
            raise errors.OptionError(name, factor, "must be finite")
    if beta != 0 and c is None:
        raise errors.OptionError("beta", beta, "needs a matrix c")
    if c is not None and tuple(c.shape) != (a.shape[0], b.shape[1]):
        raise errors.DimensionError("c", tuple(c.shape), f"must be {(a.shape[0], b.shape[1])}")
    if precision == "auto":
        has_tensor = a.backend == "simt" or torch.cuda.get_device_capability(a.device) == (9, 0)
        return "tensor" if a.code == 2 or (a.code == 1 and has_tensor) else "float32"
    if precision not in library.PRECISIONS:
        raise errors.OptionError("precision", precision, f"must be auto or one of {', '.join(library.PRECISIONS)}")
    if a.code == (2 if precision == "float32" else 0):
        raise errors.DtypeError("a", a.dtype, f"precision {precision!r} does not take this type")
    return precision


# ---- PyTorch: gradients and operators ------------------------------------------------------------------------------------

if torch is not None:

    class Attention(torch.autograd.Function):
        """What PyTorch calls in place of `flash_attention` if one of q, k and v requires a gradient."""

        # [student: autograd]
        # TODO: forward keeps what backward needs (ctx.save_for_backward), backward returns a gradient for each input of forward.
        # It raises an OptionError where its own gradient is asked for (create_graph=True).
        @staticmethod
        def forward(ctx, q, k, v, causal, scale):
            raise errors.NotStartedError("autograd")

        # [/student]

    class Gemm(torch.autograd.Function):
        """The gradients of a product are products: da = alpha dout b^T, db = alpha a^T dout."""

        @staticmethod
        def forward(ctx, a, b, alpha, beta, c, precision):
            ctx.save_for_backward(a, b)
            ctx.options = (alpha, beta, precision)
            return gemm_forward(a, b, alpha, beta, c, precision)

        @staticmethod
        def backward(ctx, dout):
            return gemm_gradients(ctx, dout)

    def gemm_gradients(ctx, dout):
        (a, b), (alpha, beta, precision) = ctx.saved_tensors, ctx.options
        dout, wanted = dout.contiguous(), ctx.needs_input_grad
        da = gemm(dout, b.t(), alpha, precision=precision) if wanted[0] else None
        db = gemm(a.t(), dout, alpha, precision=precision) if wanted[1] else None
        return da, db, None, None, beta * dout if wanted[4] else None, None

    # A graph of torch.compile has operators in it. Of one it does not know it must be told the shapes of its results (fake)
    # and its gradient; then it need not look inside, which would end at ctypes.
    # [student: operators]
    # TODO: warpwise::attention and warpwise::attention_backward, each with a fake; register_autograd joins them. The first
    # returns two tensors for every head_dim.
    # [/student]

    @torch.library.custom_op("warpwise::gemm", mutates_args=())
    def gemm_operator(
        a: torch.Tensor, b: torch.Tensor, alpha: float, beta: float, c: torch.Tensor | None, precision: str
    ) -> torch.Tensor:
        return gemm_forward(a, b, alpha, beta, c, precision)

    @gemm_operator.register_fake
    def _(a, b, alpha, beta, c, precision):
        return a.new_empty((a.shape[0], b.shape[1]))

    def keep_matrices(ctx, inputs, output):
        a, b, alpha, beta, _, precision = inputs
        ctx.save_for_backward(a, b)
        ctx.options = (alpha, beta, precision)

    gemm_operator.register_autograd(
        lambda ctx, dout: operator_gemm_gradients(ctx, dout), setup_context=keep_matrices
    )

    def operator_gemm_gradients(ctx, dout):
        (a, b), (alpha, beta, precision) = ctx.saved_tensors, ctx.options
        da = gemm_operator(dout, b.t(), alpha, 0.0, None, precision) if ctx.needs_input_grad[0] else None
        db = gemm_operator(a.t(), dout, alpha, 0.0, None, precision) if ctx.needs_input_grad[1] else None
        return da, db, None, None, beta * dout if ctx.needs_input_grad[4] else None, None
