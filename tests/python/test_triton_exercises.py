"""The four exercises of lesson 18 in Triton, by its interpreter on the CPU or compiled on a GPU; and files with a mistake each, which must fail.

Outputs begin as NaN and lie between guard zones; of what is wrong the first element is named.
"""

import importlib.util
import os
import pathlib

import numpy
import pytest
from reference import Attention

torch = pytest.importorskip("torch")
ON_GPU = torch.cuda.is_available()
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
triton = pytest.importorskip("triton")

from test_triton import trouble  # noqa: E402

pytestmark = pytest.mark.skipif(trouble is not None, reason=str(trouble))
ROOT = pathlib.Path(__file__).parent.parent.parent
PLACES = [ROOT / folder / "18_python_interface" / "triton_exercises.py" for folder in ("solutions", "lessons")]
SOLUTION = next(place for place in PLACES if place.exists())
U = 2.0**-24
GUARD = 1 << 14  # elements before and after each array: more than a tile
SENTINEL = 12344.0  # a float16, too


def load(path):
    spec = importlib.util.spec_from_file_location("triton_exercises", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def exercises():
    """The student's file beside the one that WARPWISE_INTERFACE names, else the finished one."""
    beside = pathlib.Path(os.environ.get("WARPWISE_INTERFACE", SOLUTION)).with_name("triton_exercises.py")
    return load(beside if beside.exists() else SOLUTION)


def run(function, *inputs):
    """What a function of the exercises gives for NumPy's arrays, after a look at the guard zones."""
    buffers, kept = [], (torch.empty, torch.empty_like)

    def between_zones(shape, dtype, device, zones):
        count = int(numpy.prod(shape))
        buffer = torch.full((count + 2 * GUARD,), zones, dtype=dtype, device=device)
        buffer[GUARD : GUARD + count] = float("nan")
        return buffer, buffer[GUARD : GUARD + count].view(shape)

    def guarded(shape, dtype, device):
        buffer, out = between_zones(shape, dtype, device, SENTINEL)
        buffers.append(buffer)
        return out

    def given(x):
        x = torch.from_numpy(x)
        _, copy = between_zones(x.shape, x.dtype, "cuda" if ON_GPU else "cpu", float("nan"))
        copy.copy_(x)
        return copy

    inputs = [given(x) for x in inputs]
    try:
        torch.empty_like = lambda x, **_: guarded(x.shape, x.dtype, x.device)
        torch.empty = lambda shape, dtype, device: guarded(shape, dtype, device)
        out = function(*inputs)
    finally:
        torch.empty, torch.empty_like = kept
    for buffer in buffers:
        for zone, what in ((buffer[-GUARD:], "after the end"), (buffer[:GUARD], "before the beginning")):
            wrong = (zone != SENTINEL).nonzero()
            assert len(wrong) == 0, f"out was written {what}: {len(wrong)} elements"
    return out.double().cpu().numpy()


def assert_right(out, expected, bound):
    """Names the first wrong element."""
    wrong = numpy.argwhere(~(abs(out - expected) <= bound))
    if len(wrong) > 0:
        at = tuple(int(i) for i in wrong[0])
        got = "was never written, or is NaN" if numpy.isnan(out[at]) else f"is {out[at]:.7g}"
        raise AssertionError(f"out{list(at)} {got}, and should be {expected[at]:.7g}; {len(wrong)} of {out.size} are wrong")


def check_add(exercises, random, counts=(1, 1023, 1024, 1025, 5000)):
    for count in counts:
        a, b = (random.standard_normal(count).astype("float32") for _ in range(2))
        assert_right(run(exercises.add, a, b), (a + b).astype("float64"), 0.0)


def check_softmax(exercises, random, shapes=((3, 1), (5, 33), (2, 64), (3, 1000))):
    """In float64; exp of float32 has an error that grows with its argument, a sum one with its length."""
    for rows, columns in shapes:
        for shift in (0.0, -50.0, 200.0):
            x = (4.0 * random.standard_normal((rows, columns)) + shift).astype("float32")
            away = x.astype("float64") - x.max(1, keepdims=True)
            expected = numpy.exp(away) / numpy.exp(away).sum(1, keepdims=True)
            assert_right(run(exercises.softmax, x), expected, expected * U * (2 * abs(away) + columns + 8) + 2.0**-126)


def check_matmul(exercises, random, shapes=((1, 1, 1), (70, 33, 65), (130, 64, 96))):
    for dtype, rounding in (("float32", 0.0), ("float16", 2.0**-11)):
        for m, n, k in shapes:
            a, b = random.standard_normal((m, k)).astype(dtype), random.standard_normal((k, n)).astype(dtype)
            exact, size = a.astype("float64") @ b.astype("float64"), abs(a).astype("float64") @ abs(b).astype("float64")
            assert_right(run(exercises.matmul, a, b), exact, (k + 2) * U * size + rounding * abs(exact) + 2.0**-25)


def check_configs(exercises, random):
    """The interpreter runs the first one alone, so each is tried by itself here: all give the product, and they differ."""
    configs = exercises.CONFIGS
    if len(configs) == 1:
        raise exercises.errors.NotStartedError("configs")
    if len(configs) < 3:
        raise AssertionError(f"{len(configs)} in CONFIGS, and the autotuner should have three to choose from")
    names = ("TILE_M", "TILE_N", "TILE_K")
    assert len({tuple(c.kwargs[name] for name in names) for c in configs}) > 1, "all of CONFIGS have the same tiles"
    a, b = random.standard_normal((70, 65)).astype("float32"), random.standard_normal((65, 33)).astype("float32")
    exact, size = a.astype("float64") @ b, abs(a).astype("float64") @ abs(b)
    for config in configs:
        options = {} if not ON_GPU else {"num_warps": config.num_warps, "num_stages": config.num_stages}

        def product(a, b, config=config, options=options):
            out = torch.empty((70, 33), dtype=a.dtype, device=a.device)
            grid = triton.cdiv(70, config.kwargs["TILE_M"]), triton.cdiv(33, config.kwargs["TILE_N"])
            exercises.matmul_kernel.fn[grid](a, b, out, 70, 33, 65, **config.kwargs, **options)
            return out

        assert_right(run(product, a, b), exact, 67 * U * size)


def check_attention(exercises, random, shapes=((2, 33, 70, 32), (1, 70, 33, 64), (1, 64, 64, 16))):
    for dtype in ("float32", "float16"):
        for heads, q_len, kv_len, head_dim in shapes:
            q, k, v = (random.standard_normal((heads, n, head_dim)).astype(dtype) for n in (q_len, kv_len, kv_len))
            expected = Attention(*(x[None].astype("float64") for x in (q, k, v)), False, head_dim**-0.5, dtype)
            assert_right(run(exercises.attention, q, k, v), expected.out[0], expected.out_bound[0])


CHECKS = {"add": check_add, "softmax": check_softmax, "matmul": check_matmul, "configs": check_configs, "attention": check_attention}


@pytest.mark.parametrize("name", CHECKS)
def test_exercise(exercises, random, name):
    """An exercise in Triton: `add`, `softmax`, `matmul`, its CONFIGS for the autotuner, `attention`."""
    CHECKS[name](exercises, random)


BROKEN = {
    "add: stores without a mask": ("tl.load(b_ + at, mask=inside), mask=inside)", "tl.load(b_ + at, mask=inside))", "after the end"),
    "add: the last program is missing": ("(triton.cdiv(count, tile),)", "(max(count // tile, 1),)", r"out\[1024\] was never written"),
    "add: all programs take the first tile": ("tl.program_id(0) * TILE + tl.arange(0, TILE)\n    inside", "tl.arange(0, TILE)\n    inside", "never written"),
    "softmax: zeros past the end": ('other=float("-inf")).to', "other=0.0).to", r"out\[0, 0\]"),
    "softmax: no maximum": ("tl.exp(x - tl.max(x, 0))", "tl.exp(x)", "NaN"),
    "softmax: divided by the maximum": ("weight / tl.sum(weight, 0)", "weight / tl.max(weight, 0)", r"out\[0, 0\]"),
    "matmul: rows and columns of programs exchanged": ("rows = tl.program_id(0) * TILE_M", "rows = tl.program_id(1) * TILE_M", r"out\["),
    "matmul: the last tile alone": ("total = tl.dot(a, b, total,", "total = tl.dot(a, b, None,", r"out\[0, 0\]"),
    "matmul: a has no mask along k": ("mask=(rows < m) & (across < k)", "mask=rows < m", "NaN"),
    "configs: one": (']\n# [/student]\n\n\n# The interpreter', '][:2]\n# [/student]\n\n\n# The interpreter', "2 in CONFIGS"),
    "attention: keys past the end": ('tl.where(keys[None, :] < kv_len, s, float("-inf"))', "s", r"out\[0, 0, 0\]"),
    "attention: l is not rescaled": ("l = l * factor +", "l = l +", r"out\[0, \d+, \d+\]"),
    "attention: o is not rescaled": ("o = o * factor +", "o = o +", r"out\[0, \d+, \d+\]"),
    "attention: scale forgotten": ("s = scale * tl.dot", "s = tl.dot", r"out\[0, 0, 0\]"),
}


@pytest.mark.skipif(SOLUTION.parts[-3] == "lessons", reason="there are no solutions here")
@pytest.mark.parametrize("mistake", BROKEN)
def test_broken(random, tmp_path, mistake):
    """A finished file with one mistake fails, and what it says names the place."""
    old, new, words = BROKEN[mistake]
    text = SOLUTION.read_text()
    assert text.count(old) == 1
    path = tmp_path / "broken.py"
    path.write_text(text.replace(old, new))
    with pytest.raises(AssertionError, match=words):
        CHECKS[mistake.partition(":")[0]](load(path), random)
