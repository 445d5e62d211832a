"""Times steps of a decoder of the Qwen3 kind in PyTorch, eager and compiled: the peers of tests/gpu/time_engine.cu.

    python3 tests/gpu/time_engine.py 0.6B 8B

Plain torch operations in f16 over a cache of fixed size, as an engine would write them: fused qkv and gate/up weights,
scaled_dot_product_attention, one request per row. Compiled: torch.compile(mode="reduce-overhead"), which replays CUDA graphs.
Random weights; the median of 11 times five steps in microseconds, logits included, sampling not.
"""
import statistics
import sys

import torch
import torch.nn.functional as F

SHAPES = {
    "0.6B": dict(layers=28, hidden=1024, heads=16, inner=3072),
    "8B": dict(layers=36, hidden=4096, heads=32, inner=12288),
}
KV_HEADS, DIM, VOCAB = 8, 128, 151936


class Decoder(torch.nn.Module):
    """A step of `rows` tokens, of as many requests, at one position; or of a prompt, if there is one request."""

    def __init__(self, layers, hidden, heads, inner, rows, context, prompt):
        super().__init__()
        half = lambda *shape: torch.randn(*shape, dtype=torch.float16, device="cuda") * 0.02
        self.heads, self.hidden, self.inner = heads, hidden, inner
        self.embedding = half(VOCAB, hidden)
        self.layers = [
            dict(
                qkv=half((heads + 2 * KV_HEADS) * DIM, hidden),
                o=half(hidden, heads * DIM),
                gate_up=half(2 * inner, hidden),
                down=half(hidden, inner),
                gains=[half(hidden) + 1, half(hidden) + 1, half(DIM) + 1, half(DIM) + 1],
                cache=half(2, rows, KV_HEADS, context, DIM),
            )
            for _ in range(layers)
        ]
        self.prompt, self.context = prompt, context
        positions = torch.arange(context, device="cuda") if prompt else torch.tensor([context - 1], device="cuda")
        angle = positions[:, None] * 1e6 ** (-torch.arange(DIM // 2, device="cuda") / (DIM // 2))
        self.cosine, self.sine = torch.cat([angle.cos()] * 2, -1).half(), torch.cat([angle.sin()] * 2, -1).half()

    def rotate(self, x):
        low, high = x.chunk(2, -1)
        return x * self.cosine + torch.cat([-high, low], -1) * self.sine

    def forward(self, tokens):
        x = self.embedding[tokens]  # [requests, length, hidden]
        count, length = tokens.shape
        for layer in self.layers:
            first, second, of_q, of_k = layer["gains"]
            h = F.rms_norm(x, (self.hidden,), first, 1e-6)
            q, k, v = F.linear(h, layer["qkv"]).view(count, length, -1, DIM).transpose(1, 2).split([self.heads, KV_HEADS, KV_HEADS], 1)
            q, k = self.rotate(F.rms_norm(q, (DIM,), of_q, 1e-6)), self.rotate(F.rms_norm(k, (DIM,), of_k, 1e-6))
            keys, values = layer["cache"]
            keys[:, :, self.context - length :], values[:, :, self.context - length :] = k, v
            attended = F.scaled_dot_product_attention(q, keys, values, is_causal=self.prompt, enable_gqa=True)
            x = x + F.linear(attended.transpose(1, 2).reshape(count, length, -1), layer["o"])
            gate, up = F.linear(F.rms_norm(x, (self.hidden,), second, 1e-6), layer["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer["down"])
        return F.linear(x[:, -1], self.embedding)


def microseconds(step, tokens):
    for _ in range(3):
        step(tokens)
    times = []
    for _ in range(11):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(5):
            step(tokens)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 200)
    return statistics.median(times)


def main():
    print("model,what,rows,context,eager_us,compiled_us", flush=True)
    for name in sys.argv[1:] or SHAPES:
        for rows, context, prompt in [(1, 128, False), (1, 4096, False), (8, 128, False), (64, 128, False), (1, 512, True)]:
            with torch.inference_mode():
                model = Decoder(**SHAPES[name], rows=rows, context=context, prompt=prompt)
                tokens = torch.full((rows, context if prompt else 1), 7, device="cuda")
                eager = microseconds(model, tokens)
                torch._dynamo.reset()
                try:
                    compiled = f"{microseconds(torch.compile(model, mode='reduce-overhead'), tokens):.1f}"
                except Exception as error:  # no compiler on this machine, say
                    compiled = type(error).__name__
                what, count = ("prefill", context) if prompt else ("decode", rows)
                print(f"{name},{what},{count},{0 if prompt else context},{eager:.1f},{compiled}", flush=True)
            del model
            torch.cuda.empty_cache()


main()
