# Another make: operators defined by their schema in text and one kernel for all devices, which hand over a logsumexp even where
# there is no gradient; structure and plan by names; every check gathered in one table; the logsumexp computed by autograd's own
# setup_context as an output that has no gradient.


class AttentionArgs:
    _fields_ = [
        # [student: structure]
        (field, {"i": ctypes.c_int, "f": ctypes.c_float, "p": ctypes.c_void_p, "n": ctypes.c_size_t}[kind])
        for kind, field in (
            word.split(":")
            for word in "i:batch i:heads i:kv_heads i:q_len i:kv_len i:head_dim f:scale i:causal i:dtype "
            "p:q p:k p:v p:out p:lse p:workspace n:workspace_bytes".split()
        )
        # [/student]
    ]


def attention_plan(q, k, v, causal, scale):
    # [student: plan]
    known = dict(zip(("batch", "heads", "q_len", "head_dim"), q.shape), kv_heads=k.shape[1], kv_len=k.shape[2])
    args = AttentionArgs(scale=scale or 0.0, causal=int(causal), dtype=q.code, **known)
    # [/student]
    return args


def check_attention(q, k, v, causal, scale, wants_gradients):
    # [student: validate]
    head_dims = {d for d in HEAD_DIMS[q.code] if d in BACKWARD_HEAD_DIMS or not wants_gradients}
    wrong_shapes = (
        ("q", q, q.shape[3] not in head_dims),
        ("k", k, k.shape[::3] != q.shape[::3]),
        ("k", k, q.shape[1] // k.shape[1] * k.shape[1] != q.shape[1]),
        ("v", v, v.shape != k.shape),
    )
    for name, x in (("v", v), ("q", q), ("k", k)):
        if not x.is_contiguous:
            raise errors.StrideError(name, x.strides, "must be contiguous")
    for name, x, is_wrong in wrong_shapes:
        if is_wrong:
            raise errors.DimensionError(name, tuple(x.shape), f"does not fit: q {tuple(q.shape)}, k {tuple(k.shape)}")
    for name, value, is_right in (
        ("causal", causal, isinstance(causal, (bool, int)) and int(causal) in (0, 1)),
        ("scale", scale, scale is None or (math.isfinite(scale) and scale != 0.0)),
    ):
        if not is_right:
            raise errors.OptionError(name, value, "has no meaning here")
    # [/student]


class Attention:
    # [student: autograd]
        @staticmethod
        def forward(q, k, v, causal, scale):
            return attention_forward(q, k, v, causal, scale, True)[0]

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.options = inputs[3:]
            ctx.save_for_backward(*inputs[:3])

        @staticmethod
        def backward(ctx, dout):
            if torch.is_grad_enabled():
                raise errors.OptionError("create_graph", True, "there is no second gradient")
            q, k, v = ctx.saved_tensors
            out, lse = attention_forward(q, k, v, *ctx.options, True)  # computed again: less memory, more time
            dq, dk, dv = attention_backward(q, k, v, out, lse, dout, *ctx.options)
            return dq, dk, dv, None, None

        # [/student]


if torch is not None:
    # [student: operators]
    torch.library.define("warpwise::attention", "(Tensor q, Tensor k, Tensor v, bool causal, float? scale) -> (Tensor, Tensor)")
    torch.library.define(
        "warpwise::attention_backward",
        "(Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor dout, bool causal, float? scale) -> (Tensor, Tensor, Tensor)",
    )

    @torch.library.impl("warpwise::attention", ("cpu", "cuda"))
    def attention_kernel(q, k, v, causal, scale):
        out, lse = attention_forward(q, k, v, causal, scale, q.shape[3] <= 128)
        return out, q.new_zeros(q.shape[:3], dtype=torch.float32) if lse is None else lse

    @torch.library.impl("warpwise::attention_backward", ("cpu", "cuda"))
    def backward_kernel(q, k, v, out, lse, dout, causal, scale):
        return attention_backward(q, k, v, out, lse, dout, causal, scale)

    @torch.library.register_fake("warpwise::attention")
    def attention_fake(q, k, v, causal, scale):
        batch, heads, q_len, _ = q.shape
        return q.new_empty(q.shape), q.new_empty((batch, heads, q_len), dtype=torch.float32)

    @torch.library.register_fake("warpwise::attention_backward")
    def backward_fake(q, k, v, out, lse, dout, causal, scale):
        return tuple(x.new_empty(x.shape) for x in (q, k, v))

    def remember(ctx, inputs, output):
        ctx.causal, ctx.scale = inputs[3:]
        ctx.save_for_backward(*inputs[:3], *output)

    def attention_gradients(ctx, dout, dlse):
        dq, dk, dv = torch.ops.warpwise.attention_backward(*ctx.saved_tensors, dout, ctx.causal, ctx.scale)
        return dq, dk, dv, None, None

    torch.library.register_autograd("warpwise::attention", attention_gradients, setup_context=remember)
    # [/student]
