"""ruda: one Python program on any accelerator.

    import ruda_core as ruda

The names in `__all__` are the whole public surface, with `abs`, `pow` and `round`: a star import does not
take these, so that Python's own keep their meaning. Most names are loaded when first used: importing
this package imports no backend, starts no driver and costs little more than importing NumPy.
"""

from __future__ import annotations

import importlib
import sys
import time
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
    from ruda_core.decorators import func as func
    from ruda_core.decorators import kernel as kernel
    from ruda_core.kernel import CompiledKernel as CompiledKernel
    from ruda_core.kernel import Kernel as Kernel
    from ruda_core.launcher import PreparedLaunch as PreparedLaunch
    from ruda_core.memory import Bytes as Bytes
    from ruda_core.memory import Handle as Handle
    from ruda_core.memory import MemoryUsage as MemoryUsage
    from ruda_core.offline import compile_for as compile_for
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
    from ruda_core.source_kernel import SourceKernel as SourceKernel
    from ruda_core.tensor import ArrayArg as ArrayArg
    from ruda_core.tensor import CopyDescriptor as CopyDescriptor
    from ruda_core.tensor import RudaTensor as RudaTensor
    from ruda_core.tensor import TensorArg as TensorArg
    from ruda_core.tensor import TensorLayout as TensorLayout
    from ruda_core.tune import autotune as autotune

__version__ = "0.1.0"
_loaded = time.time()
"""When this process began: what changes in files of ruda, its plugins and kernels after this may not be what runs."""

_LAZY: dict[str, str] = {
    name: module
    for module, names in (
        ("ruda_core.client", "ComputeClient"),
        ("ruda_core.decorators", "func kernel"),
        ("ruda_core.kernel", "CompiledKernel Kernel"),
        ("ruda_core.launcher", "PreparedLaunch"),
        ("ruda_core.memory", "Bytes Handle MemoryUsage"),
        ("ruda_core.offline", "compile_for"),
        ("ruda_core.plugin", "BackendInfo"),
        ("ruda_core.profiling", "ProfileDuration trace"),
        ("ruda_core.registry", "backends client devices runtime"),
        ("ruda_core.runtime", "Runtime"),
        ("ruda_core.server", "ComputeServer Future StreamId stream"),
        ("ruda_core.source_kernel", "SourceKernel"),
        ("ruda_core.settings", "BoundsCheckMode Settings configure settings"),
        ("ruda_core.tensor", "ArrayArg CopyDescriptor RudaTensor TensorArg TensorLayout"),
        ("ruda_core.tune", "autotune"),
        (
            "ruda_core.frontend.intrinsics",
            "ABSOLUTE_POS ABSOLUTE_POS_X ABSOLUTE_POS_Y ABSOLUTE_POS_Z SUBGROUP_COUNT SUBGROUP_ID "
            "SUBGROUP_LANE SUBGROUP_SIZE UNIT_POS UNIT_POS_X UNIT_POS_Y UNIT_POS_Z WORKGROUP_COUNT "
            "WORKGROUP_COUNT_X WORKGROUP_COUNT_Y WORKGROUP_COUNT_Z WORKGROUP_DIM WORKGROUP_DIM_X "
            "WORKGROUP_DIM_Y WORKGROUP_DIM_Z WORKGROUP_POS WORKGROUP_POS_X WORKGROUP_POS_Y "
            "WORKGROUP_POS_Z abs arccos arccosh arcsin arcsinh arctan arctan2 arctanh atomic_add "
            "atomic_and_ atomic_compare_exchange atomic_exchange atomic_load atomic_max atomic_min "
            "atomic_or_ atomic_store atomic_sub atomic_xor barrier bitcast cbrt ceil clamp clz "
            "copysign cos cosh ctz debug_print div_trunc dot erf exp exp2 expm1 floor fma fmax fmin "
            "hypot index inf is_float isfinite isinf isnan local log log10 log1p log2 matrix maximum "
            "minimum mulhi nan popcount pow rem_trunc reverse_bits round rsqrt select shared sign sin "
            "sinh sqrt struct subgroup_all subgroup_and_ subgroup_any subgroup_ballot "
            "subgroup_barrier subgroup_broadcast subgroup_elect subgroup_exclusive_prod "
            "subgroup_exclusive_sum subgroup_inclusive_prod subgroup_inclusive_sum subgroup_max "
            "subgroup_min subgroup_or_ subgroup_prod subgroup_shuffle subgroup_shuffle_down "
            "subgroup_shuffle_up subgroup_shuffle_xor subgroup_sum subgroup_xor tan tanh trunc "
            "uniform_load unroll",
        ),
    )
    for name in names.split()
}
"""Public name -> the module that has it."""

__all__ = [
    "ABSOLUTE_POS",
    "ABSOLUTE_POS_X",
    "ABSOLUTE_POS_Y",
    "ABSOLUTE_POS_Z",
    "Array",
    "ArrayArg",
    "BackendCompileError",
    "BackendConflict",
    "BackendError",
    "BackendIncompatible",
    "BackendInfo",
    "BackendLoadError",
    "BackendNotFound",
    "BackendUnavailable",
    "BoundsCheckMode",
    "BufferTooBig",
    "Bytes",
    "CompileError",
    "CompiledKernel",
    "Comptime",
    "ComputeClient",
    "ComputeServer",
    "ConfigError",
    "CopyDescriptor",
    "DType",
    "Device",
    "DeviceLost",
    "DeviceMismatch",
    "DeviceProperties",
    "Features",
    "ForkedProcessError",
    "Future",
    "Handle",
    "InvalidHandle",
    "Kernel",
    "KernelFault",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchArgumentError",
    "LaunchError",
    "LaunchLimitError",
    "MemoryUsage",
    "OutOfDeviceMemory",
    "OutOfMemory",
    "PoolCapacityExceeded",
    "PreparedLaunch",
    "ProfileDuration",
    "RegistryError",
    "RudaCount",
    "RudaDim",
    "RudaError",
    "RudaTensor",
    "Runtime",
    "SUBGROUP_COUNT",
    "SUBGROUP_ID",
    "SUBGROUP_LANE",
    "SUBGROUP_SIZE",
    "ServerAlreadyRegistered",
    "ServerError",
    "ServerNotRegistered",
    "ServerUnhealthy",
    "Settings",
    "SourceKernel",
    "StreamId",
    "Tensor",
    "TensorArg",
    "TensorLayout",
    "TuneError",
    "UNIT_POS",
    "UNIT_POS_X",
    "UNIT_POS_Y",
    "UNIT_POS_Z",
    "UniformityError",
    "UnsupportedFeature",
    "UnsupportedStrides",
    "Vec",
    "WORKGROUP_COUNT",
    "WORKGROUP_COUNT_X",
    "WORKGROUP_COUNT_Y",
    "WORKGROUP_COUNT_Z",
    "WORKGROUP_DIM",
    "WORKGROUP_DIM_X",
    "WORKGROUP_DIM_Y",
    "WORKGROUP_DIM_Z",
    "WORKGROUP_POS",
    "WORKGROUP_POS_X",
    "WORKGROUP_POS_Y",
    "WORKGROUP_POS_Z",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "atomic_add",
    "atomic_and_",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or_",
    "atomic_store",
    "atomic_sub",
    "atomic_xor",
    "autotune",
    "backends",
    "barrier",
    "bf16",
    "bitcast",
    "bool_",
    "cbrt",
    "ceil",
    "clamp",
    "client",
    "clz",
    "compile_for",
    "configure",
    "copysign",
    "cos",
    "cosh",
    "ctz",
    "debug_print",
    "devices",
    "div_trunc",
    "dot",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "f16",
    "f32",
    "f64",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "func",
    "hypot",
    "i16",
    "i32",
    "i64",
    "i8",
    "index",
    "inf",
    "is_float",
    "isfinite",
    "isinf",
    "isnan",
    "kernel",
    "local",
    "log",
    "log10",
    "log1p",
    "log2",
    "matrix",
    "maximum",
    "minimum",
    "mulhi",
    "nan",
    "popcount",
    "rem_trunc",
    "reverse_bits",
    "rsqrt",
    "runtime",
    "select",
    "settings",
    "shared",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "stream",
    "struct",
    "subgroup_all",
    "subgroup_and_",
    "subgroup_any",
    "subgroup_ballot",
    "subgroup_barrier",
    "subgroup_broadcast",
    "subgroup_elect",
    "subgroup_exclusive_prod",
    "subgroup_exclusive_sum",
    "subgroup_inclusive_prod",
    "subgroup_inclusive_sum",
    "subgroup_max",
    "subgroup_min",
    "subgroup_or_",
    "subgroup_prod",
    "subgroup_shuffle",
    "subgroup_shuffle_down",
    "subgroup_shuffle_up",
    "subgroup_shuffle_xor",
    "subgroup_sum",
    "subgroup_xor",
    "tan",
    "tanh",
    "trace",
    "trunc",
    "u16",
    "u32",
    "u64",
    "u8",
    "uniform_load",
    "unroll",
]


class _Package(ModuleType):
    """This package: a submodule never hides a public name that is spelled like it (client, kernel …)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _LAZY):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(module)
    value = home.EXPORTS[name] if module.endswith(".intrinsics") else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LAZY})


sys.modules[__name__].__class__ = _Package
