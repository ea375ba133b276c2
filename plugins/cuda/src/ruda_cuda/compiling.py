"""Generated text to machine code, by NVRTC. Needs no device."""

from __future__ import annotations

from collections.abc import Iterable

from ruda_core.artifact import KernelSource
from ruda_core.errors import BackendCompileError, BackendUnavailable
from ruda_cuda import nvrtc

_ALWAYS = (
    "--std=c++17",
    "-default-device",
    "-diag-suppress=177",  # a name that nothing uses: what the passes leave, no mistake of a kernel
)


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
    options = (f"--gpu-architecture={arch}", *_ALWAYS, *source.options, *extra)
    try:
        machine_code = arch.startswith("sm_")
        return nvrtc.compile_text(source.text, f"{source.entry}.cu", options, machine_code=machine_code)
    except nvrtc.NvrtcError as error:
        raise BackendCompileError(
            f"NVRTC refused the code generated for {source.location} ({error})",
            log=error.log,
            source=source.text,
            file=source.file,
            line=source.line,
        ) from error
