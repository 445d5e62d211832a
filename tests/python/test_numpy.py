"""Arrays of NumPy, on the software device."""

import os
import pathlib
import signal

import numpy
import pytest
from reference import Attention, assert_within, gemm

import warpwise


def inputs(random, shape, kv_shape, dtype):
    return (random.standard_normal(s).astype(dtype) for s in (shape, kv_shape, kv_shape))


@pytest.mark.quick
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [32, 64, 128])
def test_attention_f32(random, head_dim, causal):
    q, k, v = inputs(random, (2, 4, 33, head_dim), (2, 2, 70, head_dim), "float32")
    kept = q.copy(), k.copy(), v.copy()
    expected = Attention(q, k, v, causal, 0.3)
    out = warpwise.flash_attention(q, k, v, causal=causal, scale=0.3)
    assert type(out) is numpy.ndarray and out.dtype == numpy.float32
    assert_within(out, expected.out, expected.out_bound)
    assert all((x == y).all() for x, y in zip(kept, (q, k, v)))


@pytest.mark.parametrize("head_dim", [32, 64, 128, 256])
def test_attention_f16(random, head_dim):
    q, k, v = inputs(random, (1, 2, 65, head_dim), (1, 1, 40, head_dim), "float16")
    expected = Attention(q, k, v, dtype="float16")
    assert_within(warpwise.flash_attention(q, k, v), expected.out, expected.out_bound)


@pytest.mark.quick
def test_scale_of_none_is_that_of_head_dim(random):
    q, k, v = inputs(random, (1, 1, 5, 64), (1, 1, 9, 64), "float32")
    assert (warpwise.flash_attention(q, k, v) == warpwise.flash_attention(q, k, v, scale=0.125)).all()


@pytest.mark.quick
def test_rows_that_see_nothing_are_zero(random):
    q, k, v = inputs(random, (1, 1, 6, 32), (1, 1, 2, 32), "float32")
    out = warpwise.flash_attention(q, k, v, causal=True)
    assert (out[0, 0, :4] == 0.0).all() and (out[0, 0, 4:] != 0.0).all()


@pytest.mark.quick
def test_memory_of_others_is_read_in_place(random):
    class Named:  # what other libraries offer
        def __init__(self, array, protocol):
            self.array = array
            if protocol == "interface":
                self.__array_interface__ = array.__array_interface__

    class Exporting(Named):
        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    q, k, v = inputs(random, (1, 2, 7, 64), (1, 2, 9, 64), "float32")
    out = warpwise.flash_attention(q, k, v)
    by_interface = warpwise.flash_attention(*(Named(x, "interface") for x in (q, k, v)))
    by_dlpack = warpwise.flash_attention(*(Exporting(x, "dlpack") for x in (q, k, v)))
    assert (numpy.asarray(by_interface) == out).all() and (numpy.asarray(by_dlpack) == out).all()
    for adopted in (warpwise.interface.arrays.adopt("q", Named(q, "interface")),
                    warpwise.interface.arrays.adopt("q", Exporting(q, "dlpack"))):  # fmt: skip
        assert warpwise.interface.arrays.address(adopted) == q.ctypes.data


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("dtype,precision", [("float32", "float32"), ("float16", "float32"), ("float16", "tensor")])
def test_gemm_of_any_layout(random, dtype, precision, trans_a, trans_b):
    a = random.standard_normal((33, 20) if trans_a else (20, 33)).astype(dtype)
    b = random.standard_normal((50, 40) if trans_b else (40, 50)).astype(dtype)
    a, b = a.T if trans_a else a, (b.T if trans_b else b)[:33, 4:]  # a part of a larger matrix
    c = random.standard_normal((a.shape[0], b.shape[1])).astype(dtype)
    kept = c.copy()
    out = warpwise.gemm(a, b, 0.5, -2.0, c, precision=precision)
    assert out.dtype == dtype and (c == kept).all()
    assert_within(out, *gemm(a, b, 0.5, -2.0, c, dtype))


def test_gemm_of_one_row_or_column(random):
    for m, n, k in ((1, 1, 1), (1, 5, 3), (5, 1, 3), (5, 3, 1), (1, 1, 7)):
        a, b = random.standard_normal((m, k), dtype="float32"), random.standard_normal((k, n), dtype="float32")
        for x, y in ((a, b), (a, b.T.copy().T), (a.T.copy().T, b)):
            assert_within(warpwise.gemm(x, y), *gemm(a, b))


def test_gemm_of_a_row_whose_stride_means_nothing(random):
    """Of one row or one column, the stride from it to the next may be 0, negative, or of a larger matrix."""
    a, b = random.standard_normal((1, 6), dtype="float32"), random.standard_normal((6, 1), dtype="float32")
    wide = random.standard_normal((1, 5), dtype="float32")
    expected = gemm(a, b)
    for stride in (0, -4, 4, 400):
        row = numpy.lib.stride_tricks.as_strided(a, a.shape, (stride, 4))
        column = numpy.lib.stride_tricks.as_strided(b, b.shape, (4, stride))
        assert_within(warpwise.gemm(row, b), *expected)
        assert_within(warpwise.gemm(a, column), *expected)
        for outer in (numpy.lib.stride_tricks.as_strided(wide, wide.shape, (stride, 4)),):
            assert_within(warpwise.gemm(column, outer), *gemm(b, wide))


@pytest.mark.quick
def test_overhead_is_measured_without_a_kernel(random):
    from warpwise import bench

    found = bench.overheads()
    assert {"flash_attention", "gemm"} <= set(found) and all(0.1 < microseconds < 1000.0 for microseconds in found.values())
    q, k, v = inputs(random, (1, 1, 5, 64), (1, 1, 9, 64), "float32")
    assert warpwise.flash_attention(q, k, v).any()  # by the kernel again


@pytest.mark.quick
def test_a_device_that_died_is_started_again(random):
    q, k, v = inputs(random, (1, 1, 5, 64), (1, 1, 9, 64), "float32")
    out = warpwise.flash_attention(q, k, v)
    workers = [pid for pid in children() if "warpwise_worker_05" in pid[1]]
    assert len(workers) == 1
    os.kill(workers[0][0], signal.SIGKILL)
    with pytest.raises(warpwise.DeviceError):
        warpwise.flash_attention(q, k, v)
    assert (warpwise.flash_attention(q, k, v) == out).all()


def children():
    """(process, program) of each process that this one has started."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append((int(folder.name), (folder / "cmdline").read_text()))
        except OSError:
            pass
    return found
