# Another make: as little code as there can be. The output is made by the shape alone, the structure of the plan goes into a new
# one by its bytes, checks are one expression each, and the layout tries both forms in a loop.


def attention_plan(q, k, v, causal, scale):
    # [student: plan]
    b, h, n, d = q.shape
    args = AttentionArgs(b, h, k.shape[1], n, k.shape[2], d, 0 if scale is None else scale, causal, q.code)
    # [/student]
    return args


def attention_forward(q, k, v, plan, wants_gradients):
    # [student: launch]
    args = type(plan.args).from_buffer_copy(bytes(plan.args))
    for name, array in dict(q=q, k=k, v=v).items():
        setattr(args, name, ctypes.c_void_p(aligned(name, array)))
    out = arrays.empty(tuple(q.shape), v)
    lse = arrays.empty(tuple(q.shape[:3]), k, "float32") if wants_gradients else None
    args.out, args.lse = arrays.address(out), lse is not None and arrays.address(lse) or None
    call(plan, out, args)
    return out, lse
    # [/student]


def check_attention(q, k, v, causal, scale, wants_gradients):
    # [student: validate]
    def need(is_right, kind, name, value, why):
        if not is_right:
            raise kind(name, value, why)

    for name, x in dict(k=k, v=v, q=q).items():
        need(x.is_contiguous, errors.StrideError, name, x.strides, "must be contiguous")
    shape = tuple(k.shape)
    need(shape[0] == q.shape[0] and shape[3] == q.shape[3], errors.DimensionError, "k", shape, "does not fit q")
    need(shape == tuple(v.shape), errors.DimensionError, "v", tuple(v.shape), "must be that of k")
    need(not q.shape[1] % shape[1], errors.DimensionError, "k", shape, "must divide the heads of q")
    fits = q.shape[3] in HEAD_DIMS[q.code] and (q.shape[3] in BACKWARD_HEAD_DIMS or not wants_gradients)
    need(fits, errors.DimensionError, "q", tuple(q.shape), "has a head_dim without a kernel")
    need(causal in (0, 1), errors.OptionError, "causal", causal, "must be True or False")
    need(scale is None or math.isfinite(1 / (scale or math.nan)) and math.isfinite(scale), errors.OptionError, "scale", scale, "must be finite")
    # [/student]


def matrix_layout(name, x):
    # [student: layout]
    for transposed, extents, strides in ((0, x.shape, x.strides), (1, x.shape[::-1], x.strides[::-1])):
        rows_lie_dense = strides[1] == 1 or extents[1] == 1
        leading = max(strides[0], extents[1]) if extents[0] == 1 else strides[0]
        if rows_lie_dense and leading >= extents[1]:
            return transposed, leading
    raise errors.StrideError(name, x.strides, "elements of a row or of a column must lie side by side")
    # [/student]


if torch is not None:
    # [student: operators]
    @torch.library.custom_op(
        "warpwise::attention", mutates_args=(), schema="(Tensor q, Tensor k, Tensor v, bool causal, float? scale) -> (Tensor, Tensor)"
    )
    def attention_operator(q, k, v, causal, scale):
        out, lse = attention_forward(q, k, v, causal, scale, q.shape[3] in BACKWARD_HEAD_DIMS)
        return out, q.new_zeros(q.shape[:3], dtype=torch.float32) if lse is None else lse

    @torch.library.custom_op("warpwise::attention_backward", mutates_args=())
    def backward_operator(given: list[torch.Tensor], causal: bool, scale: float | None) -> list[torch.Tensor]:
        return list(attention_backward(*given, causal, scale))

    attention_operator.register_fake(lambda q, k, v, causal, scale: (torch.empty_like(q), q[..., 0].float().contiguous()))
    backward_operator.register_fake(lambda given, causal, scale: [torch.empty_like(x) for x in given[:3]])

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:3], *output)
        ctx.options = inputs[3:]

    attention_operator.register_autograd(
        lambda ctx, dout, dlse: (*backward_operator([*ctx.saved_tensors, dout], *ctx.options), None, None), setup_context=keep
    )
    # [/student]
