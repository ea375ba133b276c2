"""ruda: one Python program on any accelerator.

    import ruda_core as ruda

The names in `__all__` are the whole public surface. Most are loaded when first used: importing this
package imports no backend, starts no driver and costs little more than importing NumPy.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ruda_core.artifact import RudaCount, RudaDim
from ruda_core.capabilities import Device, DeviceProperties, Features
from ruda_core.dtypes import (
    DType,
    Vec,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from ruda_core.errors import (
    BackendCompileError,
    BackendConflict,
    BackendError,
    BackendIncompatible,
    BackendLoadError,
    BackendNotFound,
    BackendUnavailable,
    BufferTooBig,
    CompileError,
    ConfigError,
    DeviceLost,
    DeviceMismatch,
    ForkedProcessError,
    InvalidHandle,
    KernelFault,
    KernelSyntaxError,
    KernelTypeError,
    LaunchArgumentError,
    LaunchError,
    LaunchLimitError,
    OutOfDeviceMemory,
    OutOfMemory,
    PoolCapacityExceeded,
    RegistryError,
    RudaError,
    ServerAlreadyRegistered,
    ServerError,
    ServerNotRegistered,
    ServerUnhealthy,
    TuneError,
    UniformityError,
    UnsupportedFeature,
    UnsupportedStrides,
)
from ruda_core.ir.types import Array, Comptime, Tensor

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient as ComputeClient
    from ruda_core.kernel import CompiledKernel as CompiledKernel
    from ruda_core.kernel import Kernel as Kernel
    from ruda_core.kernel import SourceKernel as SourceKernel
    from ruda_core.kernel import compile_for as compile_for
    from ruda_core.kernel import func as func
    from ruda_core.kernel import kernel as kernel
    from ruda_core.launcher import PreparedLaunch as PreparedLaunch
    from ruda_core.memory import Bytes as Bytes
    from ruda_core.memory import Handle as Handle
    from ruda_core.memory import MemoryUsage as MemoryUsage
    from ruda_core.plugin import BackendInfo as BackendInfo
    from ruda_core.profiling import ProfileDuration as ProfileDuration
    from ruda_core.profiling import trace as trace
    from ruda_core.registry import backends as backends
    from ruda_core.registry import client as client
    from ruda_core.registry import devices as devices
    from ruda_core.registry import runtime as runtime
    from ruda_core.runtime import Runtime as Runtime
    from ruda_core.server import ComputeServer as ComputeServer
    from ruda_core.server import Future as Future
    from ruda_core.server import StreamId as StreamId
    from ruda_core.server import stream as stream
    from ruda_core.settings import BoundsCheckMode as BoundsCheckMode
    from ruda_core.settings import Settings as Settings
    from ruda_core.settings import configure as configure
    from ruda_core.settings import settings as settings
    from ruda_core.tensor import ArrayArg as ArrayArg
    from ruda_core.tensor import CopyDescriptor as CopyDescriptor
    from ruda_core.tensor import RudaTensor as RudaTensor
    from ruda_core.tensor import TensorArg as TensorArg
    from ruda_core.tensor import TensorLayout as TensorLayout
    from ruda_core.tune import autotune as autotune

__version__ = "0.1.0"

_LANGUAGE = "ruda_core.frontend.intrinsics"

_LAZY: dict[str, str] = {
    name: module
    for module, names in (
        ("ruda_core.client", "ComputeClient"),
        ("ruda_core.kernel", "CompiledKernel Kernel SourceKernel compile_for func kernel"),
        ("ruda_core.launcher", "PreparedLaunch"),
        ("ruda_core.memory", "Bytes Handle MemoryUsage"),
        ("ruda_core.plugin", "BackendInfo"),
        ("ruda_core.profiling", "ProfileDuration trace"),
        ("ruda_core.registry", "backends client devices runtime"),
        ("ruda_core.runtime", "Runtime"),
        ("ruda_core.server", "ComputeServer Future StreamId stream"),
        ("ruda_core.settings", "BoundsCheckMode Settings configure settings"),
        ("ruda_core.tensor", "ArrayArg CopyDescriptor RudaTensor TensorArg TensorLayout"),
        ("ruda_core.tune", "autotune"),
        (_LANGUAGE, ""),
    )
    for name in names.split()
}
"""Public name -> the module that has it."""

_EAGER = (
    "Array BackendCompileError BackendConflict BackendError BackendIncompatible BackendLoadError "
    "BackendNotFound BackendUnavailable BufferTooBig CompileError Comptime ConfigError DType Device DeviceLost "
    "DeviceMismatch DeviceProperties Features ForkedProcessError InvalidHandle KernelFault KernelSyntaxError "
    "KernelTypeError LaunchArgumentError LaunchError LaunchLimitError OutOfDeviceMemory OutOfMemory "
    "PoolCapacityExceeded RegistryError RudaCount RudaDim RudaError ServerAlreadyRegistered ServerError "
    "ServerNotRegistered ServerUnhealthy Tensor TuneError UniformityError UnsupportedFeature UnsupportedStrides "
    "Vec bf16 bool_ f16 f32 f64 i16 i32 i64 i8 u16 u32 u64 u8"
).split()

__all__ = sorted([*_EAGER, *_LAZY])


class _Package(ModuleType):
    """This package: a submodule never hides a public name that is spelled like it (client, kernel …)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _LAZY):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
