"""Attention and its gradients in float64, with what a right kernel may be off by.

The bounds are first-order error analysis: u is float's unit roundoff, in which sums are kept, and w that of the storage type.
A sum of n terms is off by at most ROOM * u * sqrt(n) * (sum of the terms' magnitudes); a stored value by w times itself; a
probability P by twice the largest error of a score, and by w, since kernels round P to the storage type before they multiply.
"""

import numpy

U = 2.0**-24
W = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
ROOM = 8.0  # as the checker's BOUND_C
TINY = 2.0**-24  # what a result or an intermediate value may lose below the smallest half


def spread(heads, x):
    """K or V of all heads of Q."""
    return numpy.repeat(x, heads // x.shape[1], axis=1)


def gather(kv_heads, x):
    """A gradient of all heads of Q, summed over those that read the same K and V."""
    batch, heads, *rest = x.shape
    return x.reshape(batch, kv_heads, heads // kv_heads, *rest).sum(axis=2)


class Attention:
    """Output O and gradients dq, dk, dv, each with an array of bounds: `out`, `out_bound` and so on."""

    def __init__(self, q, k, v, causal=False, scale=None, dtype="float32", dout=None):
        q, k, v = (numpy.asarray(x, dtype=numpy.float64) for x in (q, k, v))
        heads, kv_heads, q_len, kv_len, head_dim = q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3]
        k, v = spread(heads, k), spread(heads, v)
        scale = head_dim**-0.5 if scale is None else scale
        w, sum_d, sum_k, sum_q = W[dtype], *(ROOM * U * n**0.5 for n in (head_dim, kv_len, q_len * heads // kv_heads))
        scores = scale * q @ k.swapaxes(2, 3)
        hidden = numpy.arange(kv_len)[None, :] > numpy.arange(q_len)[:, None] + kv_len - q_len
        if causal:
            scores = numpy.where(hidden, -numpy.inf, scores)
        largest = scores.max(axis=-1, keepdims=True)
        p = numpy.exp(scores - numpy.where(numpy.isfinite(largest), largest, 0.0))
        total = p.sum(axis=-1, keepdims=True)
        p = p / numpy.where(total == 0.0, 1.0, total)
        score_error = sum_d * abs(scale) * (abs(q) @ abs(k).swapaxes(2, 3)).max()
        p_error = 2.0 * score_error + sum_k + w + ROOM * U  # relative
        self.out = p @ v
        self.out_bound = w * abs(self.out) + (p_error + sum_k) * (p @ abs(v)) + TINY
        if dout is None:
            return
        g = numpy.asarray(dout, dtype=numpy.float64)
        dp, d = g @ v.swapaxes(2, 3), (g * self.out).sum(axis=-1, keepdims=True)
        ds = p * (dp - d)
        d_error = sum_d * (abs(g) * abs(self.out)).sum(axis=-1, keepdims=True)
        d_error += (abs(g) * self.out_bound).sum(axis=-1, keepdims=True)
        ds_error = abs(ds) * (p_error + w) + p * (sum_d * (abs(g) @ abs(v).swapaxes(2, 3)) + d_error) + TINY * (p > 0)
        self.dq, self.dk, self.dv = scale * ds @ k, scale * ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ g
        self.dq_bound = abs(scale) * (ds_error + sum_k * abs(ds)) @ abs(k)
        self.dk_bound = abs(scale) * (ds_error + sum_q * abs(ds)).swapaxes(2, 3) @ abs(q)
        self.dv_bound = ((p_error + sum_q) * p).swapaxes(2, 3) @ abs(g)
        for name in ("dk", "dv", "dk_bound", "dv_bound"):
            setattr(self, name, gather(kv_heads, getattr(self, name)))
        for name in ("dq", "dk", "dv"):
            setattr(self, f"{name}_bound", getattr(self, f"{name}_bound") + w * abs(getattr(self, name)) + TINY)


def gemm(a, b, alpha=1.0, beta=0.0, c=None, dtype="float32"):
    """(expected, bound)"""
    a, b = numpy.asarray(a, dtype=numpy.float64), numpy.asarray(b, dtype=numpy.float64)
    c = numpy.zeros((a.shape[0], b.shape[1])) if c is None else numpy.asarray(c, dtype=numpy.float64)
    expected = alpha * (a @ b) + beta * c
    size = abs(alpha) * (abs(a) @ abs(b)) + abs(beta) * abs(c)
    return expected, W[dtype] * abs(expected) + ROOM * U * (a.shape[1] + 2) ** 0.5 * size + TINY


def times_the_bound(result, expected, bound):
    """How far the worst element is off; infinite where one is no number."""
    worst = (abs(numpy.asarray(result, dtype=numpy.float64) - expected) / bound).max()
    return worst if numpy.isfinite(worst) else numpy.inf


def assert_gradients(results, q, k, v, causal, scale, dtype, dout):
    """dq, dk and dv are within their bounds; of wrong ones it says what else they are."""
    expected, names = Attention(q, k, v, causal, scale, dtype, dout), ("dq", "dk", "dv")
    for name, result in zip(names, results):
        worst = times_the_bound(result, getattr(expected, name), getattr(expected, f"{name}_bound"))
        if worst <= 1.0:
            continue
        likely = ""
        for other in names:
            of_other = getattr(expected, other)
            if of_other.shape == result.shape and times_the_bound(result, of_other, getattr(expected, f"{other}_bound")) <= 1.0:
                likely = f"; it is {other}: the order of what backward returns"
        for text, options in (("causal = False", (False, scale)), ("scale = None", (causal, None)), ("neither", (False, None))):
            other = Attention(q, k, v, *options, dtype, dout)
            if times_the_bound(result, getattr(other, name), getattr(other, f"{name}_bound")) <= 1.0:
                likely = likely or f"; it is that of {text.replace('neither', 'causal = False, scale = None')}: the options kept for backward"
        raise AssertionError(f"{name} is off by {worst:.3g} times the bound{likely}")


def assert_within(result, expected, bound):
    error = abs(numpy.asarray(result, dtype=numpy.float64) - expected)
    worst = (error / bound).max()
    assert worst <= 1.0, f"an element is off by {worst:.2f} times the bound"  # false for NaN
