"""Arrays of PyTorch and NumPy, and of whoever else can hand over memory without copying it.

`adopt` turns arguments into tensors of PyTorch or arrays of NumPy that share their memory. The functions below it take either.
"""

import sys
from typing import Any, NamedTuple

from . import errors

try:
    import torch
except ImportError:
    torch = None
try:
    import numpy
except ImportError:
    numpy = None

DTYPES = ("float32", "float16", "bfloat16")  # enum dtype: the index is the value
CODES = {getattr(torch, name): code for code, name in enumerate(DTYPES)} if torch else {}
CODES.update({numpy.dtype(name): code for code, name in enumerate(DTYPES[:2])} if numpy else {})


# ---- from others, without a copy -----------------------------------------------------------------------------------------


def is_tensor(array):
    return torch is not None and isinstance(array, torch.Tensor)


def adopt(name, array):
    """The same memory as a tensor of PyTorch or an array of NumPy."""
    if is_tensor(array) or (numpy is not None and type(array) is numpy.ndarray):
        return array
    if hasattr(array, "__cuda_array_interface__") and torch is not None:
        wait_for(array.__cuda_array_interface__.get("stream"))
        return torch.as_tensor(array, device="cuda")
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        if torch is not None:
            return torch.from_dlpack(array)
        if array.__dlpack_device__()[0] == 1 and numpy is not None:  # the host's memory
            return numpy.from_dlpack(array)
        raise errors.DeviceError(name, type(array).__name__, "PyTorch, which reads arrays of a GPU, is not installed")
    if hasattr(array, "__array_interface__") and numpy is not None:
        return numpy.asarray(array)
    raise errors.DtypeError(name, type(array).__name__, "is no array that can be read without a copy")


def wait_for(stream):
    """Has PyTorch's current stream wait for the stream that __cuda_array_interface__ names."""
    if stream is not None and stream > 2:  # 1 and 2 are the default streams, which wait by themselves
        torch.cuda.current_stream().wait_stream(torch.cuda.ExternalStream(stream))


def hand_back(result, given):
    """The result as the caller's kind of array, where his library takes one over without a copy."""
    if type(result) is type(given) or is_tensor(given):
        return result
    library = sys.modules.get(type(given).__module__.partition(".")[0])
    return library.from_dlpack(result) if hasattr(library, "from_dlpack") else result


# ---- what is known of an array -------------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """All of an array but its address."""

    shape: tuple
    strides: tuple  # in elements
    dtype: Any
    device: Any

    @property
    def code(self):
        """The value of enum dtype, or None if there is none."""
        return CODES.get(self.dtype)

    @property
    def backend(self):
        """Which library reaches the memory: "gpu", "simt" or None."""
        return {"cuda": "gpu", "cpu": "simt"}.get(getattr(self.device, "type", self.device))

    @property
    def is_contiguous(self):
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True


def layout(array):
    """The fields of a Layout, as a plain tuple: quickly made, and the key of what is known about a call."""
    if is_tensor(array):
        return (array.shape, array.stride(), array.dtype, array.device)
    return (array.shape, tuple(step // array.itemsize for step in array.strides), array.dtype, "cpu")


def address(array):
    return array.data_ptr() if is_tensor(array) else array.ctypes.data


# ---- where and when ------------------------------------------------------------------------------------------------------


def stream(array):
    """The current stream of its device, as an integer; None on the software device."""
    if not is_tensor(array) or not array.is_cuda:
        return None
    return torch._C._cuda_getCurrentRawStream(array.device.index)  # torch.cuda.current_stream() makes an object of it


def is_on_current_device(array):
    return not is_tensor(array) or not array.is_cuda or array.device.index == torch._C._cuda_getDevice()


def on_device_of(array):
    """Makes the device of the array the current one for a while."""
    return torch.cuda.device(array.device)


# ---- new arrays ----------------------------------------------------------------------------------------------------------


def empty_like(array):
    """Of the same shape, storage type and device, contiguous if the array is."""
    return torch.empty_like(array) if is_tensor(array) else numpy.empty_like(array)


def empty(shape, like, dtype=None):
    """On the same device, contiguous; dtype: another one's name."""
    if is_tensor(like):
        return like.new_empty(shape, dtype=like.dtype if dtype is None else getattr(torch, dtype))
    return numpy.empty(shape, dtype=like.dtype if dtype is None else dtype)


def workspace(bytes_, like):
    """Memory that begins at a multiple of 256 bytes."""
    room = empty((bytes_ + 256,), like, "uint8")
    skip = -address(room) % 256
    return room[skip : skip + bytes_]


def copy_into(target, source):
    if is_tensor(target):
        target.copy_(source)
    else:
        target[...] = source
