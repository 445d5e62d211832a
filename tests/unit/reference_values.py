#!/usr/bin/env python3
"""Writes reference_values.h, the NumPy values that tests/unit/reference.c holds the oracles to.

    python3 reference_values.py > reference_values.h

NumPy computes whole arrays with einsum, repeat and tril where the oracles loop over elements, so that the two
share no code and no order of work. Inputs are float32 from a fixed seed; the results are float64.
"""
import numpy as np

rng = np.random.default_rng(20240229)


def c_array(name, array, kind):
    """One C array; 9 and 17 significant digits give back the very same float and double."""
    digits, suffix = (9, "f") if kind == "float" else (17, "")
    words = []
    for value in np.asarray(array).ravel():
        if np.isneginf(value):
            words.append("-INFINITY")
        else:
            word = f"{value:.{digits}g}"
            words.append((word if "." in word or "e" in word else word + ".0") + suffix)
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > 108:
            lines.append(line)
            line = "   "
        line += " " + word + ","
    lines.append(line)
    print(f"static const {kind} {name}[] = {{")
    print("\n".join(lines))
    print("};\n")


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def softmax(x):
    """Softmax over the last axis and its logsumexp; rows of only -inf give 0 and -inf."""
    largest = x.max(axis=-1, keepdims=True)
    powers = np.exp(x - np.where(np.isneginf(largest), 0.0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, largest + np.log(total), -np.inf)
    return powers / np.where(total > 0, total, 1.0), lse[..., 0]


def write_softmax():
    rows = 4.0 * normal(5, 9)
    rows[1, 3] = rows[1, 8] = -np.inf
    rows[2, :] = -np.inf
    rows[3, :] *= np.float32(2000)
    probs, lse = softmax(rows.astype(np.float64))
    print("enum { SOFTMAX_ROWS = 5, SOFTMAX_COLS = 9 };\n")
    c_array("softmax_in", rows, "float")
    c_array("softmax_out", probs, "double")
    c_array("softmax_lse", lse, "double")


def write_merge():
    """The pair of each of two pieces and of the row they make, taken over the values themselves."""
    values = []
    for left, right, factor in ((3, 5, 1), (1, 8, 10), (6, 2, 100), (4, 4, 0.01)):
        row = (factor * normal(left + right)).astype(np.float64)
        for piece in (row[:left], row[left:], row):
            values += [piece.max(), np.exp(piece - piece.max()).sum()]
    print("enum { MERGE_COUNT = 4 }; /* of m_a, l_a, m_b, l_b, m, l */\n")
    c_array("merge_values", values, "double")


def attention(q, k, v, scale, causal):
    batch, heads, q_len, head_dim = q.shape
    kv_heads, kv_len = k.shape[1:3]
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, heads // kv_heads, axis=1) for x in (k, v))
    scale = scale if scale else 1.0 / np.sqrt(head_dim)
    seen = np.ones((q_len, kv_len), dtype=bool)
    if causal:
        seen = np.tril(seen, k=kv_len - q_len)
    scores = np.where(seen, scale * np.einsum("bhid,bhjd->bhij", q, k), -np.inf)
    sizes = np.where(seen, abs(scale) * np.einsum("bhid,bhjd->bhij", abs(q), abs(k)), 0.0)
    probs, lse = softmax(scores)
    out = np.einsum("bhij,bhjd->bhid", probs, v)
    magnitude = np.einsum("bhij,bhjd->bhid", probs, abs(v))
    return scores, sizes, lse, out, magnitude


ATTENTION_CASES = (
    # name, batch, heads, kv_heads, q_len, kv_len, head_dim, scale, causal
    ("plain", 1, 1, 1, 3, 5, 4, 0.0, 0),
    ("batched", 2, 3, 3, 2, 3, 3, 0.0, 0),
    ("grouped", 2, 4, 2, 3, 4, 2, 0.0, 0),
    ("one_kv_head", 1, 3, 1, 2, 5, 3, 0.0, 1),
    ("causal_square", 1, 2, 2, 4, 4, 3, 0.0, 1),
    ("causal_more_keys", 1, 2, 1, 3, 6, 4, 0.0, 1),
    ("causal_more_queries", 2, 2, 2, 6, 3, 2, 0.0, 1),
    ("explicit_scale", 1, 2, 2, 3, 3, 5, 0.75, 0),
    ("negative_scale", 1, 2, 1, 2, 4, 3, -1.25, 1),
    ("large_logits", 1, 1, 1, 3, 4, 2, 3000.0, 0),
    ("decode", 3, 4, 1, 1, 7, 4, 0.0, 1),
)


def write_attention():
    entries = []
    for name, batch, heads, kv_heads, q_len, kv_len, head_dim, scale, causal in ATTENTION_CASES:
        q = normal(batch, heads, q_len, head_dim)
        k = normal(batch, kv_heads, kv_len, head_dim)
        v = normal(batch, kv_heads, kv_len, head_dim)
        results = attention(q, k, v, scale, causal)
        for array, letter in zip((q, k, v), "qkv"):
            c_array(f"{name}_{letter}", array, "float")
        words = ("scores", "sizes", "lse", "out", "magnitude")
        for array, word in zip(results, words):
            c_array(f"{name}_{word}", array, "double")
        shape = f"{{{batch}, {heads}, {kv_heads}, {q_len}, {kv_len}, {head_dim}, {scale}, {causal}}}"
        arrays = [f"{name}_{word}" for word in ("q", "k", "v") + words]
        entries.append(f'    {{"{name}", {shape},\n     {", ".join(arrays[:4])},\n     {", ".join(arrays[4:])}}},')
    print("static const struct attention_values {")
    print("    const char *name;\n    struct ref_attention_shape shape;")
    print("    const float *q, *k, *v;")
    print("    const double *scores, *sizes, *lse, *out, *magnitude;\n} attention_values[] = {")
    print("\n".join(entries))
    print("};\n")


GEMM_CASES = (
    # name, m, n, k, transpose_a, transpose_b, extra elements a row of A, B, C, alpha, beta
    ("nn", 3, 4, 5, 0, 0, (0, 0, 0), 1.0, 0.0),
    ("nt", 4, 3, 2, 0, 1, (1, 2, 3), 0.5, 1.0),
    ("tn", 2, 5, 3, 1, 0, (2, 0, 1), -1.5, 0.25),
    ("tt", 5, 2, 4, 1, 1, (0, 3, 2), 2.0, -0.75),
    ("alpha_zero", 3, 3, 2, 0, 0, (1, 1, 1), 0.0, -2.0),
    ("vector", 1, 6, 7, 0, 1, (0, 0, 0), 1.25, 0.0),
)


def write_gemm():
    entries = []
    for name, m, n, k, ta, tb, extra, alpha, beta in GEMM_CASES:
        a = normal(*((k, m + extra[0]) if ta else (m, k + extra[0])))
        b = normal(*((n, k + extra[1]) if tb else (k, n + extra[1])))
        c = normal(m, n + extra[2])
        op_a = (a[:, :m].T if ta else a[:, :k]).astype(np.float64)
        op_b = (b[:, :k].T if tb else b[:, :n]).astype(np.float64)
        kept = beta * c[:, :n].astype(np.float64)
        for array, letter in zip((a, b, c), "abc"):
            c_array(f"{name}_{letter}", array, "float")
        c_array(f"{name}_product", alpha * (op_a @ op_b) + kept, "double")
        c_array(f"{name}_sizes", abs(alpha) * (abs(op_a) @ abs(op_b)) + abs(kept), "double")
        shape = ", ".join(map(str, (m, n, k, ta, tb, a.shape[1], b.shape[1], c.shape[1], alpha, beta)))
        entries.append(f'    {{"{name}", {{{shape}}},\n'
                       f"     {name}_a, {name}_b, {name}_c, {name}_product, {name}_sizes}},")
    print("static const struct gemm_values {")
    print("    const char *name;\n    struct ref_gemm_shape shape;")
    print("    const float *a, *b, *c;\n    const double *product, *sizes;\n} gemm_values[] = {")
    print("\n".join(entries))
    print("};\n")


print("/**\n * @file reference_values.h")
print(" * @brief What NumPy computes: written by reference_values.py, which says how. Do not edit.\n */")
print("#pragma once\n")
print('#include <math.h>\n\n#include "attention.h"\n#include "gemm.h"\n')
write_softmax()
write_merge()
write_attention()
write_gemm()
