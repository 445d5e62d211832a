"""The C library: where it lies, the structures that its functions take, what a status means.

A structure has the fields of the C structure of the same name in the same order (common/contracts/*.h).
"""

import ctypes
import functools
import pathlib

from . import errors

int_, float_, pointer, size_t = ctypes.c_int, ctypes.c_float, ctypes.c_void_p, ctypes.c_size_t


class BackwardArgs(ctypes.Structure):
    """struct attention_backward_args"""

    _fields_ = [
        ("batch", int_), ("heads", int_), ("kv_heads", int_), ("q_len", int_), ("kv_len", int_), ("head_dim", int_),
        ("scale", float_), ("causal", int_), ("deterministic", int_), ("dtype", int_),
        ("q", pointer), ("k", pointer), ("v", pointer), ("out", pointer), ("dout", pointer), ("lse", pointer),
        ("dq", pointer), ("dk", pointer), ("dv", pointer), ("workspace", pointer), ("workspace_bytes", size_t),
    ]  # fmt: skip


class GemmArgs(ctypes.Structure):
    """struct gemm_args"""

    _fields_ = [
        ("m", int_), ("n", int_), ("k", int_), ("trans_a", int_), ("trans_b", int_), ("lda", int_), ("ldb", int_),
        ("ldc", int_), ("alpha", float_), ("beta", float_), ("stages", int_), ("dtype_in", int_), ("dtype_out", int_),
        ("a", pointer), ("b", pointer), ("c", pointer), ("workspace", pointer), ("workspace_bytes", size_t),
    ]  # fmt: skip


PRECISIONS = {"float32": 0, "tensor": 1}  # enum warpwise_precision

# What is raised where the checks in Python did not see it first; DeviceError for every other status.
STATUS = {
    "KERNEL_INVALID_DIMENSION": errors.DimensionError,
    "KERNEL_UNSUPPORTED_DTYPE": errors.DtypeError,
    "KERNEL_ALIGNMENT_ERROR": errors.AlignmentError,
    "KERNEL_INVALID_CONFIG": errors.OptionError,
    "KERNEL_INVALID_BLOCK_TABLE": errors.OptionError,
    "KERNEL_NOT_STARTED": errors.NotStartedError,
    "KERNEL_UNSUPPORTED_ARCHITECTURE": errors.ArchitectureError,
}


@functools.lru_cache(maxsize=None)
def load(device):
    """The library for device "gpu" or "simt"."""
    path = pathlib.Path(__file__).parent / "lib" / f"libwarpwise_{device}.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        why = "needs a build with nvcc" if device == "gpu" else "cmake --build build --target warpwise_library makes it"
        raise errors.DeviceError("device", device, f"{path.name} cannot be loaded, it {why} ({error})") from None
    for name in ("warpwise_attention", "warpwise_attention_backward"):
        getattr(library, name).argtypes = (pointer, pointer)
    library.warpwise_attention_backward_workspace_bytes.argtypes = (pointer,)
    library.warpwise_attention_backward_workspace_bytes.restype = size_t
    library.warpwise_gemm.argtypes = (pointer, int_, pointer)
    for name in ("warpwise_device", "warpwise_report", "warpwise_status_name"):
        getattr(library, name).restype = ctypes.c_char_p
    return library


def fail(library, status, function):
    """Raises what a status other than KERNEL_OK means."""
    name = library.warpwise_status_name(status).decode()
    report = library.warpwise_report().decode(errors="replace").strip()
    kind = STATUS.get(name, errors.DeviceError)
    raise kind(function, name, report or "the kernel's own check refused the arguments, or the launch failed")
