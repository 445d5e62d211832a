#!/usr/bin/env python3
"""Makes the tiny models whose matrices are not plain floats, and what an independent implementation says of them.

    python3 make_stored.py    writes awq/, gptq/, int8/ and moe/ in this folder: config.json, model.safetensors, expected.safetensors

Needs NumPy. Weights are random, so their text is none. Each folder is as others write it: AWQ's gemm version, GPTQ, compressed-tensors
with 8 bits per channel and per token, and Qwen3-MoE. The logits are computed in float64 by the lines below, from what the files say
(`numbers_of` unpacks them again); of INT8 with activations that are not rounded.
"""
import json
import pathlib
import shutil

import numpy

HERE = pathlib.Path(__file__).resolve().parent
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
TYPES = {"float16": "F16", "float32": "F32", "int32": "I32", "int8": "I8"}
TOKENS = 40


def config(**changed):
    return {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False, "eos_token_id": 317,
            "head_dim": 32, "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 96,
            "max_position_embeddings": 512, "num_attention_heads": 4, "num_hidden_layers": 2,
            "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": True,
            "torch_dtype": "float16", "vocab_size": 320} | changed


def save(path, tensors):
    """The format .safetensors: the length of the header, the header, all elements."""
    header, at = {}, 0
    for name, value in sorted(tensors.items()):
        header[name] = {"dtype": TYPES[value.dtype.name], "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(numpy.ascontiguousarray(value).tobytes() for _, value in sorted(tensors.items()))
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


# ---- matrices, [outputs, inputs] --------------------------------------------------------------------------------------

def four_bits(w, group):
    """Numbers, zeros and scales: [inputs, outputs], [groups, outputs] twice."""
    columns = w.T.reshape(w.shape[1] // group, group, w.shape[0])
    low, high = numpy.minimum(columns.min(1), 0), numpy.maximum(columns.max(1), 0)
    scales = ((high - low) / 15).astype(numpy.float16)
    zeros = numpy.clip(numpy.rint(-low / scales.astype(float)), 1, 15).astype(numpy.uint32)
    numbers = numpy.rint(columns / scales.astype(float)[:, None]) + zeros[:, None]
    return numpy.clip(numbers, 0, 15).astype(numpy.uint32).reshape(w.shape[1], w.shape[0]), zeros, scales


def pack(numbers, order, axis):
    """Eight numbers of an axis in a word; nibble i is number order[i]."""
    numbers = numpy.moveaxis(numbers, axis, -1).reshape(*numpy.moveaxis(numbers, axis, -1).shape[:-1], -1, 8)
    words = sum(numbers[..., of] << numpy.uint32(4 * i) for i, of in enumerate(order))
    return numpy.moveaxis(words.astype(numpy.uint32).view(numpy.int32), -1, axis)


def unpack(words, order, axis):
    words = numpy.moveaxis(words, axis, -1).view(numpy.uint32)
    numbers = numpy.zeros((*words.shape, 8), numpy.uint32)
    for i, of in enumerate(order):
        numbers[..., of] = words >> numpy.uint32(4 * i) & numpy.uint32(15)
    return numpy.moveaxis(numbers.reshape(*words.shape[:-1], -1), -1, axis).astype(float)


def store(kind, group, name, w):
    """The tensors of a matrix."""
    if kind == "int8":
        scales = (numpy.abs(w).max(1, keepdims=True) / 127).astype(numpy.float32)
        return {name + ".weight": numpy.rint(w / scales).astype(numpy.int8), name + ".weight_scale": scales}
    if kind == "moe":
        return {name + ".weight": w.astype(numpy.float16)}
    numbers, zeros, scales = four_bits(w, group)
    if kind == "awq":
        return {name + ".qweight": pack(numbers, AWQ_ORDER, 1), name + ".qzeros": pack(zeros, AWQ_ORDER, 1),
                name + ".scales": scales}
    return {name + ".qweight": pack(numbers, range(8), 0), name + ".qzeros": pack(zeros - 1, range(8), 1),
            name + ".scales": scales, name + ".g_idx": (numpy.arange(w.shape[1]) // group).astype(numpy.int32)}


def numbers_of(tensors, name, group):
    """A matrix in float64, from its tensors."""
    if name + ".weight_scale" in tensors:
        return tensors[name + ".weight"].astype(float) * tensors[name + ".weight_scale"].astype(float)
    if name + ".weight" in tensors:
        return tensors[name + ".weight"].astype(float)
    gptq = name + ".g_idx" in tensors
    numbers = unpack(tensors[name + ".qweight"], range(8) if gptq else AWQ_ORDER, 0 if gptq else 1)
    zeros = unpack(tensors[name + ".qzeros"], range(8) if gptq else AWQ_ORDER, 1) + gptq
    scales = tensors[name + ".scales"].astype(float)
    return ((numbers - zeros.repeat(group, 0)) * scales.repeat(group, 0)).T


def new_model(kind, c, group, random):
    hidden, dim, inner = c["hidden_size"], c["head_dim"], c.get("moe_intermediate_size", c["intermediate_size"])
    q, kv = c["num_attention_heads"] * dim, c["num_key_value_heads"] * dim

    def matrix(outputs, inputs, size=0.7):
        return random.normal(0, size * inputs ** -0.5, (outputs, inputs))

    def gain(count):
        return random.uniform(0.75, 1.25, count).astype(numpy.float16)

    tensors = {"model.embed_tokens.weight": matrix(c["vocab_size"], hidden, 1.5).astype(numpy.float16),
               "model.norm.weight": gain(hidden)}
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        tensors |= {at + "input_layernorm.weight": gain(hidden), at + "post_attention_layernorm.weight": gain(hidden),
                    at + "self_attn.q_norm.weight": gain(dim), at + "self_attn.k_norm.weight": gain(dim)}
        matrices = {"self_attn.q_proj": (q, hidden), "self_attn.k_proj": (kv, hidden), "self_attn.v_proj": (kv, hidden),
                    "self_attn.o_proj": (hidden, q)}
        mlps = [f"mlp.experts.{i}." for i in range(c["num_experts"])] if kind == "moe" else ["mlp."]
        for mlp in mlps:
            matrices |= {mlp + "gate_proj": (inner, hidden), mlp + "up_proj": (inner, hidden), mlp + "down_proj": (hidden, inner)}
        if kind == "moe":
            matrices["mlp.gate"] = (c["num_experts"], hidden)
        for name, (outputs, inputs) in matrices.items():
            tensors |= store(kind, group, at + name, matrix(outputs, inputs, 2.0 if name == "mlp.gate" else 0.7))
    return tensors


# ---- the decoder in float64 -------------------------------------------------------------------------------------------

def rms_norm(x, gain, epsilon):
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain.astype(float)


def rotate(x, base):
    """x: [tokens, heads, head_dim]; element d and d + head_dim / 2 are a pair."""
    half = x.shape[-1] // 2
    angle = numpy.arange(x.shape[0])[:, None, None] * base ** (-numpy.arange(half) / half)
    low, high = x[..., :half], x[..., half:]
    return numpy.concatenate([low * numpy.cos(angle) - high * numpy.sin(angle),
                              high * numpy.cos(angle) + low * numpy.sin(angle)], -1)


def softmax(x):
    x = numpy.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def forward(c, tensors, tokens, group):
    """Logits at every position, and the smallest distance of a router's choice from another one."""
    heads, kv_heads, dim, epsilon = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], c["rms_norm_eps"]
    count, closest = len(tokens), numpy.inf
    embedding = tensors["model.embed_tokens.weight"].astype(float)
    x = embedding[tokens]
    unseen = numpy.triu(numpy.full((count, count), -numpy.inf), 1)
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."

        def times(h, name):
            return h @ numbers_of(tensors, at + name, group).T

        def mlp(h, name):
            gate = times(h, name + "gate_proj")
            return times(gate / (1 + numpy.exp(-gate)) * times(h, name + "up_proj"), name + "down_proj")

        h = rms_norm(x, tensors[at + "input_layernorm.weight"], epsilon)
        q = times(h, "self_attn.q_proj").reshape(count, heads, dim)
        k = times(h, "self_attn.k_proj").reshape(count, kv_heads, dim)
        v = times(h, "self_attn.v_proj").reshape(count, kv_heads, dim).repeat(heads // kv_heads, 1)
        q = rotate(rms_norm(q, tensors[at + "self_attn.q_norm.weight"], epsilon), c["rope_theta"])
        k = rotate(rms_norm(k, tensors[at + "self_attn.k_norm.weight"], epsilon), c["rope_theta"])
        k = k.repeat(heads // kv_heads, 1)
        p = softmax(numpy.einsum("qhd,khd->hqk", q, k) / dim ** 0.5 + unseen)
        x = x + times(numpy.einsum("hqk,khd->qhd", p, v).reshape(count, heads * dim), "self_attn.o_proj")
        h = rms_norm(x, tensors[at + "post_attention_layernorm.weight"], epsilon)
        if "num_experts" not in c:
            x = x + mlp(h, "mlp.")
            continue
        logits, top_k = times(h, "mlp.gate"), c["num_experts_per_tok"]
        of_experts = numpy.stack([mlp(h, f"mlp.experts.{i}.") for i in range(c["num_experts"])], 1)
        sorted_logits = numpy.sort(logits, -1)[:, ::-1]
        closest = min(closest, (sorted_logits[:, top_k - 1] - sorted_logits[:, top_k]).min())
        weights = softmax(logits) * (logits >= sorted_logits[:, [top_k - 1]])
        if c["norm_topk_prob"]:
            weights /= weights.sum(-1, keepdims=True)
        x = x + numpy.einsum("te,teh->th", weights, of_experts)
    return rms_norm(x, tensors["model.norm.weight"], epsilon) @ embedding.T, closest


def make(kind, c, group=0):
    folder = HERE / kind
    folder.mkdir(exist_ok=True)
    for seed in range(100):  # until no choice of an expert is so close that rounding to f16 could change it
        random = numpy.random.default_rng(seed)
        tensors = new_model(kind, c, group, random)
        tokens = random.integers(0, 300, TOKENS).astype(numpy.int32)
        logits, closest = forward(c, tensors, tokens, group)
        if closest > 0.02:
            break
    (folder / "config.json").write_text(json.dumps(c, indent=2) + "\n")
    save(folder / "model.safetensors", tensors)
    save(folder / "expected.safetensors", {"tokens": tokens, "logits": logits.astype(numpy.float32)})
    shutil.copy(HERE / "tokenizer.json", folder)
    print(kind, "seed", seed, "logits to", round(abs(logits).max(), 2), "closest choice", closest)


if __name__ == "__main__":
    large = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    make("awq", config(quantization_config={"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True,
                                            "version": "gemm"}, **large), 128)
    make("gptq", config(quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False,
                                             "sym": False, "checkpoint_format": "gptq"},
                        **large | {"num_hidden_layers": 1}), 128)
    eight = {"num_bits": 8, "type": "int", "symmetric": True}
    make("int8", config(quantization_config={
        "quant_method": "compressed-tensors", "format": "int-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {
            "targets": ["Linear"], "weights": eight | {"strategy": "channel", "dynamic": False},
            "input_activations": eight | {"strategy": "token", "dynamic": True}}}}))
    make("moe", config(architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", num_experts=8, num_experts_per_tok=2,
                       moe_intermediate_size=32, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[]))
