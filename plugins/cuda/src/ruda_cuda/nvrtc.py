"""NVRTC, CUDA's compiler library: the few functions that are called.

CuPy binds them too, but its binding imports all of CuPy, which takes a second, to find the library.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from importlib import import_module

from ruda_core.errors import BackendUnavailable


class NvrtcError(Exception):
    """A call failed; `log` is what the compiler said, or empty."""

    def __init__(self, message: str, log: str = "") -> None:
        self.log = log
        super().__init__(message)


@cache
def _library() -> ctypes.CDLL:
    try:
        finder = import_module("cuda.pathfinder")
        library = ctypes.CDLL(finder.load_nvidia_dynamic_lib("nvrtc").abs_path)
    except Exception as error:  # whatever the search raises
        raise BackendUnavailable(
            f"NVRTC, CUDA's compiler library, cannot be loaded ({error}): pip install 'ruda-cuda[cu13]', "
            "or [cu12], whichever the installed CuPy is for"
        ) from error
    library.nvrtcGetErrorString.restype = c_char_p
    return library


def _call(name: str, *arguments: object) -> None:
    library = _library()
    status = getattr(library, name)(*arguments)
    if status:
        raise NvrtcError(f"{name}: {library.nvrtcGetErrorString(status).decode()}")


def version() -> tuple[int, int]:
    """(13, 0), say. Raises BackendUnavailable, with the command that mends it, where NVRTC is missing."""
    major, minor = c_int(), c_int()
    _call("nvrtcVersion", byref(major), byref(minor))
    return major.value, minor.value


def capabilities() -> tuple[int, ...]:
    """The compute capabilities that it compiles for, such as 90, in order."""
    count = c_int()
    _call("nvrtcGetNumSupportedArchs", byref(count))
    found = (c_int * count.value)()
    _call("nvrtcGetSupportedArchs", found)
    return tuple(sorted(found))


def compile_text(text: str, name: str, options: tuple[str, ...], *, machine_code: bool) -> bytes:
    """Compile; machine code, or else PTX. Raises NvrtcError with the compiler's log."""
    program = c_void_p()
    _call("nvrtcCreateProgram", byref(program), text.encode(), name.encode(), 0, None, None)
    try:
        encoded = (c_char_p * len(options))(*(option.encode() for option in options))
        try:
            _call("nvrtcCompileProgram", program, len(options), encoded)
        except NvrtcError as error:
            raise NvrtcError(str(error), _bytes("ProgramLog", program).decode(errors="replace")) from None
        return _bytes("CUBIN" if machine_code else "PTX", program)
    finally:
        _call("nvrtcDestroyProgram", byref(program))


def _bytes(what: str, program: c_void_p) -> bytes:
    size = c_size_t()
    _call(f"nvrtcGet{what}Size", program, byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    _call(f"nvrtcGet{what}", program, buffer)
    return buffer.raw if what == "CUBIN" else buffer.value
