# Another make: the scale computed in Python, a structure made anew for each call, strides compared by hand, extents by tuples,
# the layout by cases of what means nothing, and a context that is set up apart from the forward pass.


class AttentionArgs:
    _fields_ = [
        # [student: structure]
        *[(name, ctypes.c_int) for name in "batch heads kv_heads q_len kv_len head_dim".split()],
        ("scale", ctypes.c_float),
        *[(name, ctypes.c_int) for name in ("causal", "dtype")],
        *[(name, ctypes.c_void_p) for name in "q k v out lse workspace".split()],
        ("workspace_bytes", ctypes.c_size_t),
        # [/student]
    ]


def attention_plan(q, k, v, causal, scale):
    # [student: plan]
    args = AttentionArgs()
    args.batch, args.heads, args.q_len, args.head_dim = q.shape
    args.kv_heads, args.kv_len = v.shape[1:3]
    args.scale = 1.0 / math.sqrt(args.head_dim) if scale is None else float(scale)
    args.causal = 1 if causal else 0
    args.dtype = arrays.CODES[q.dtype]
    # [/student]
    return args


def attention_forward(q, k, v, plan, wants_gradients):
    # [student: launch]
    addresses = [aligned(name, x) for name, x in zip("qkv", (q, k, v))]
    out, lse = arrays.empty(q.shape, q), None
    args = AttentionArgs()
    ctypes.memmove(ctypes.addressof(args), ctypes.addressof(plan.args), ctypes.sizeof(args))
    args.q, args.k, args.v = addresses
    args.out = aligned("out", out)
    if wants_gradients:
        lse = arrays.empty(tuple(q.shape)[:-1], q, "float32")
        args.lse = arrays.address(lse)
    call(plan, q, args)
    return out, lse
    # [/student]


def check_attention(q, k, v, causal, scale, wants_gradients):
    # [student: validate]
    if (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]):
        raise errors.DimensionError("k", tuple(k.shape), "batch and head_dim are not those of q")
    if tuple(v.shape) != tuple(k.shape):
        raise errors.DimensionError("v", tuple(v.shape), "is not the shape of k")
    if divmod(q.shape[1], k.shape[1])[1]:
        raise errors.DimensionError("k", tuple(k.shape), "its heads do not divide those of q")
    usable = set(HEAD_DIMS[q.code])
    if wants_gradients:
        usable &= set(BACKWARD_HEAD_DIMS)
    if q.shape[-1] not in usable:
        raise errors.DimensionError("q", tuple(q.shape), f"head_dim is none of {sorted(usable)}")
    for name, x in dict(q=q, k=k, v=v).items():
        step = 1
        for extent, stride in list(zip(x.shape, x.strides))[::-1]:
            if extent > 1 and stride != step:
                raise errors.StrideError(name, tuple(x.strides), "is not contiguous")
            step *= extent
    if causal is not True and causal is not False:
        raise errors.OptionError("causal", causal, "is no bool")
    if scale is not None and not 0.0 < abs(scale) < float("inf"):
        raise errors.OptionError("scale", scale, "is 0 or not finite")
    # [/student]


def matrix_layout(name, x):
    # [student: layout]
    rows, columns = x.shape
    down, across = x.strides
    if rows == 1 and columns == 1:
        return 1, 1
    if rows == 1:  # a row; or the columns of a transposed matrix, one element each
        return (0, columns) if across == 1 else (1, across) if across >= 1 else refuse_strides(name, x)
    if columns == 1:
        return (1, rows) if down == 1 else (0, down) if down >= 1 else refuse_strides(name, x)
    if down == 1 and across >= rows:
        return 1, across
    if across == 1 and down >= columns:
        return 0, down
    refuse_strides(name, x)


def refuse_strides(name, x):
    raise errors.StrideError(name, tuple(x.strides), "neither rows nor columns are dense")
    # [/student]


class Attention:
    # [student: autograd]
        @staticmethod
        def forward(ctx, *given):
            ctx.how = given[3:]
            found = attention_forward(*given, True)
            ctx.save_for_backward(*found, *given[:3])
            return found[0]

        @staticmethod
        def backward(ctx, dout):
            if torch.is_grad_enabled():
                raise errors.OptionError("create_graph", True, "there is no second gradient")
            out, lse, q, k, v = ctx.saved_tensors
            return attention_backward(q, k, v, out, lse, dout, *ctx.how) + (None, None)

        # [/student]
