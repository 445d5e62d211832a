#!/usr/bin/env python3
"""Makes the tiny model of this folder, and what an independent implementation says of it.

    python3 make.py --train ../..   trains tokenizer and model on the pages of the course, then does the rest
    python3 make.py                    computes expected.safetensors and expected_tokens.json for the files that are here

Needs torch, tokenizers, safetensors and transformers. The logits are computed in float64 by the few lines of PyTorch below, and
held against transformers' Qwen3ForCausalLM, which works in float32; the tokens are those of Hugging Face's tokenizers.
"""
import argparse
import glob
import json
import os
import pathlib

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, decoders, trainers

HERE = pathlib.Path(__file__).resolve().parent
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "attention_bias": False,
    "eos_token_id": 317,
    "head_dim": 32,
    "hidden_act": "silu",
    "hidden_size": 64,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "vocab_size": 320,
}
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "qwen": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
PROMPT = "A warp is 32 threads. The block loads the next tile of K while it multiplies this one."
TEXTS = [
    "",
    " ",
    "a",
    "Hello world",
    "  two  spaces   before\tand a tab ",
    "line\nnext\r\n\r\n  indented\n \n",
    "it's IT'S we'll We'Ve 'tis don't",
    "1234567 3.14 x86 ½ ²",
    "__global__ void kernel(float *x) { x[threadIdx.x] += 1.0f; }",
    "Grüße, naïve café; Ελληνικά кириллица 中文字符 日本語 한국어",
    "emoji 😀👍🏽 and \u200d joiners\u00a0nbsp\u3000wide",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "!!!\n\n??? ...   ",
    "'s",
    "the the the thread threads block blocks",
]


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train_tokenizer(text):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = split(PATTERNS["qwen"])
    tokenizer.decoder = decoders.ByteLevel()
    words = CONFIG["vocab_size"] - len(SPECIALS)
    trainer = trainers.BpeTrainer(vocab_size=words, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in SPECIALS])
    tokenizer.save(str(HERE / "tokenizer.json"), pretty=False)
    return tokenizer


def rms_norm(x, gain):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]) * gain


def rotate(x):
    """x: [..., tokens, heads, head_dim]; element d and d + head_dim / 2 are a pair."""
    tokens, half = x.shape[-3], x.shape[-1] // 2
    frequency = CONFIG["rope_theta"] ** (-torch.arange(half, dtype=x.dtype) / half)
    angle = torch.arange(tokens, dtype=x.dtype)[:, None, None] * frequency
    low, high = x[..., :half], x[..., half:]
    return torch.cat([low * angle.cos() - high * angle.sin(), high * angle.cos() + low * angle.sin()], -1)


def forward(weights, tokens):
    """Logits at every position. tokens: [batch, count]"""
    heads, kv_heads, dim = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"], CONFIG["head_dim"]
    x = weights["model.embed_tokens.weight"][tokens]
    batch, count = tokens.shape
    hidden = torch.triu(torch.full((count, count), float("-inf"), dtype=x.dtype), 1)
    for layer in range(CONFIG["num_hidden_layers"]):
        w = {name.split(f"layers.{layer}.")[1][:-len(".weight")]: value
             for name, value in weights.items() if f"layers.{layer}." in name}
        h = rms_norm(x, w["input_layernorm"])
        q = (h @ w["self_attn.q_proj"].T).view(batch, count, heads, dim)
        k = (h @ w["self_attn.k_proj"].T).view(batch, count, kv_heads, dim)
        v = (h @ w["self_attn.v_proj"].T).view(batch, count, kv_heads, dim)
        q = rotate(rms_norm(q, w["self_attn.q_norm"]))
        k = rotate(rms_norm(k, w["self_attn.k_norm"])).repeat_interleave(heads // kv_heads, 2)
        v = v.repeat_interleave(heads // kv_heads, 2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / dim ** 0.5 + hidden
        attended = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).reshape(batch, count, heads * dim)
        x = x + attended @ w["self_attn.o_proj"].T
        h = rms_norm(x, w["post_attention_layernorm"])
        gate = h @ w["mlp.gate_proj"].T
        x = x + (gate * gate.sigmoid() * (h @ w["mlp.up_proj"].T)) @ w["mlp.down_proj"].T
    return rms_norm(x, weights["model.norm.weight"]) @ weights["model.embed_tokens.weight"].T


def new_weights():
    hidden, dim = CONFIG["hidden_size"], CONFIG["head_dim"]
    q, kv = CONFIG["num_attention_heads"] * dim, CONFIG["num_key_value_heads"] * dim
    middle = CONFIG["intermediate_size"]
    shapes = {"model.embed_tokens": (CONFIG["vocab_size"], hidden), "model.norm": (hidden,)}
    for layer in range(CONFIG["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        shapes |= {at + "input_layernorm": (hidden,), at + "post_attention_layernorm": (hidden,),
                   at + "self_attn.q_proj": (q, hidden), at + "self_attn.k_proj": (kv, hidden),
                   at + "self_attn.v_proj": (kv, hidden), at + "self_attn.o_proj": (hidden, q),
                   at + "self_attn.q_norm": (dim,), at + "self_attn.k_norm": (dim,),
                   at + "mlp.gate_proj": (middle, hidden), at + "mlp.up_proj": (middle, hidden),
                   at + "mlp.down_proj": (hidden, middle)}
    return {name + ".weight": torch.ones(shape) if len(shape) == 1 else torch.randn(shape) * shape[1] ** -0.5 *
            (0.3 if "embed" in name else 0.7) for name, shape in shapes.items()}


def train(course):
    torch.manual_seed(17)
    files = sorted(glob.glob(f"{course}/lessons/*/README.md")) + sorted(glob.glob(f"{course}/docs/*.md"))
    text = "\n\n".join(pathlib.Path(file).read_text() for file in files)
    tokenizer = train_tokenizer(text)
    data = torch.tensor(tokenizer.encode(text).ids)
    weights = {name: torch.nn.Parameter(value) for name, value in new_weights().items()}
    optimizer = torch.optim.AdamW(weights.values(), lr=4e-3, weight_decay=0.01)
    steps = 500
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, steps)
    for step in range(steps):
        at = torch.randint(len(data) - 65, (8, 1)) + torch.arange(65)
        logits = forward(weights, data[at[:, :-1]])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), data[at[:, 1:]].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 3), flush=True)
    save_file({name: value.detach().bfloat16() for name, value in weights.items()}, HERE / "model.safetensors",
              metadata={"format": "pt"})
    (HERE / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")


def check_against_transformers(tokens, logits):
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(HERE, dtype=torch.float32)
    difference = (model(tokens).logits.double() - logits).abs().max().item()
    print("largest difference from transformers in float32:", difference)
    assert difference < 1e-4


def expected():
    tokenizer = Tokenizer.from_file(str(HERE / "tokenizer.json"))
    weights = {name: value.double() for name, value in load_file(HERE / "model.safetensors").items()}
    tokens = torch.tensor([tokenizer.encode(PROMPT).ids[:40]])
    with torch.no_grad():
        logits = forward(weights, tokens)
        check_against_transformers(tokens, logits)
    save_file({"tokens": tokens[0].int(), "logits": logits[0].float()}, HERE / "expected.safetensors")
    cases = {}
    for name, pattern in PATTERNS.items():
        tokenizer.pre_tokenizer = split(pattern)
        words = pre_tokenizers.Split(Regex(pattern), "isolated")
        cases[name] = [{"text": text, "tokens": tokenizer.encode(text).ids,
                        "words": [len(word.encode()) for word, _ in words.pre_tokenize_str(text)]} for text in TEXTS]
    (HERE / "expected_tokens.json").write_text(json.dumps({"patterns": PATTERNS, "cases": cases}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", metavar="COURSE", help="folder of the course")
    torch.set_num_threads(1)
    course = parser.parse_args().train
    if course:
        train(course)
    expected()
