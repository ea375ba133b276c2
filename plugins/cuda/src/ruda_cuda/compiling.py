"""Generated text to machine code, by NVRTC. Needs no device."""

from __future__ import annotations

from collections.abc import Iterable

from cupy_backends.cuda.libs import nvrtc

from ruda_core.artifact import KernelSource
from ruda_core.errors import BackendCompileError, BackendUnavailable

_ALWAYS = (
    "--std=c++17",
    "-default-device",
    "-diag-suppress=177",  # a name that nothing uses: what the passes leave, no mistake of a kernel
)


def library_version() -> tuple[int, int]:
    """NVRTC's version; raises BackendUnavailable, with the command that mends it, where it is missing."""
    try:
        major, minor = nvrtc.getVersion()
    except Exception as error:  # whatever the search for the library raises
        raise BackendUnavailable(
            f"NVRTC, CUDA's compiler library, cannot be loaded ({error}): pip install 'ruda-cuda[cu13]', "
            "or [cu12], whichever the installed CuPy is for"
        ) from error
    return major, minor


def architecture(major: int, minor: int, known: Iterable[int]) -> str:
    """What to compile for on a device of this compute capability; `known`: capabilities such as 90.

    Machine code runs on later minor versions of its major one; a device newer than all of them gets
    PTX, which its driver compiles. Raises BackendUnavailable for devices that NVRTC has dropped.
    """
    wanted = 10 * major + minor
    older = [found for found in known if found <= wanted]
    if not older:
        raise BackendUnavailable(
            f"the installed NVRTC no longer compiles for compute capability {major}.{minor}: "
            "pip install 'ruda-cuda[cu12]' for an older one, in place of cupy-cuda13x"
        )
    best = max(older)
    return f"{'sm' if best // 10 == major else 'compute'}_{best}"


def compiled(source: KernelSource, arch: str, *extra: str) -> bytes:
    """Machine code (for "sm_90") or PTX (for "compute_90"); `extra` are options besides the source's.

    Raises BackendCompileError with NVRTC's log and the source.
    """
    program = nvrtc.createProgram(source.text, f"{source.entry}.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"--gpu-architecture={arch}", *_ALWAYS, *source.options, *extra))
        # CuPy gives the text and the code alike as bytes.
        return bytes(nvrtc.getCUBIN(program) if arch.startswith("sm_") else nvrtc.getPTX(program))
    except nvrtc.NVRTCError as error:
        raise BackendCompileError(
            f"NVRTC refused the code generated for {source.location} ({error})",
            log=nvrtc.getProgramLog(program),
            source=source.text,
            file=source.file,
            line=source.line,
        ) from error
    finally:
        nvrtc.destroyProgram(program)
