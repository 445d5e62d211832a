"""Exceptions. Each names the argument that is wrong and its value, also as attributes, and is a built-in exception as well."""


class WarpwiseError(Exception):
    """Something that a call asks for is not possible."""

    def __init__(self, argument, value, why):
        super().__init__(f"{argument} = {value}: {why}")
        self.argument = argument
        self.value = value


class DimensionError(WarpwiseError, ValueError):
    """A shape is one that the kernel does not have, or does not fit the others."""


class StrideError(WarpwiseError, ValueError):
    """An array does not lie in memory as the kernel reads it. Nothing is copied behind the caller's back."""


class AlignmentError(WarpwiseError, ValueError):
    """An address is not a multiple of what the kernel loads at once."""


class DtypeError(WarpwiseError, TypeError):
    """Elements are stored in a type that the kernel does not have, or not in the type of the others."""


class OptionError(WarpwiseError, ValueError):
    """An option has no meaning, or contradicts another."""


class DeviceError(WarpwiseError, RuntimeError):
    """An array lies where no kernel can reach it, or the device failed."""


class ArchitectureError(DeviceError):
    """The GPU lacks instructions that this kernel needs."""


class NotStartedError(WarpwiseError, NotImplementedError):
    """The function, or the kernel behind it, has yet to be written."""

    def __init__(self, argument, value="TODO", why="nothing has been written here yet"):
        super().__init__(argument, value, why)
