"""The course's kernels from Python.

    from warpwise import flash_attention
    out = flash_attention(q, k, v, causal=True)     # tensors of PyTorch on a GPU, or on the CPU: the software device

WARPWISE_INTERFACE=FILE uses another file than interface.py: that is how lesson 18 runs what a student has written.
"""

import importlib.util
import os
import sys

from .errors import (  # noqa: F401
    AlignmentError,
    ArchitectureError,
    DeviceError,
    DimensionError,
    DtypeError,
    NotStartedError,
    OptionError,
    StrideError,
    WarpwiseError,
)


def _load_interface():
    path = os.environ.get("WARPWISE_INTERFACE") or os.path.join(os.path.dirname(__file__), "interface.py")
    spec = importlib.util.spec_from_file_location("warpwise.interface", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["warpwise.interface"] = module
    spec.loader.exec_module(module)
    return module


interface = _load_interface()
flash_attention = interface.flash_attention
gemm = interface.gemm
