"""What a device is and what it can do: frozen data, never methods that ask a driver.

Two views of ability. `Target` says what the device *and its language* do natively; a driver and
its dialect state it. `Features` says what a kernel may use, emulation included; core derives it
from the target by one table (`features_of`), and users read it from `client.features()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from ruda_core.errors import ConfigError

DeviceKind = Literal["discrete", "integrated", "virtual", "cpu", "other"]


@dataclass(frozen=True, slots=True)
class Device:
    """One device of one backend; the same class for all runtimes. `str(device)` is `"cuda:0"`."""

    backend: str
    index: int = 0
    type_id: int = 0
    """The kind of device within its backend, for runtimes that have several; 0 where there is one."""
    name: str = field(default="", compare=False)
    kind: DeviceKind = field(default="other", compare=False)
    uuid: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.backend}:{self.index}"

    @staticmethod
    def parse(text: str) -> Device:
        """`"opencl:1"`, or `"opencl"` for index 0. Raises ConfigError for anything else."""
        if not isinstance(text, str):
            raise ConfigError(f"a device is named by a text such as 'cuda:0', not by {text!r}")
        backend, _, index = text.partition(":")
        if not backend or (index and not index.isdecimal()) or (":" in text and not index):
            raise ConfigError(f"{text!r} names no device: write a backend and an index, such as 'cuda:0'")
        return Device(backend, int(index or 0))

    @staticmethod
    def of(value: object) -> Device:
        """From a Device or its text. Raises ConfigError for anything else."""
        if isinstance(value, Device):
            return value
        if isinstance(value, str):
            return Device.parse(value)
        raise ConfigError(f"a device is a Device or a text such as 'cuda:0', not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProperties:
    """Identity, limits and hardware of one device. Sizes in bytes."""

    name: str
    vendor: str = ""
    driver: str = ""
    fingerprint: str = ""
    """Changes when compiled code or measured times of the device may no longer hold."""

    max_units_per_workgroup: int
    max_workgroup_dim: tuple[int, int, int]
    max_workgroup_count: tuple[int, int, int]
    max_shared_memory: int
    max_bindings: int
    """Array parameters that one kernel may have; what the runtime itself binds is already taken off."""
    max_allocation: int
    max_workgroups: int | None = None
    """Workgroups of a whole launch, where they are limited beyond each axis."""
    max_loop_iterations: int | None = None
    """Iterations after which the device silently stops a unit; None where there is no such limit."""
    alignment: int = 256
    """Of every allocation's start."""

    multiprocessors: int | None = None
    subgroup_min: int | None = None
    subgroup_max: int | None = None
    memory_bytes: int | None = None
    timing_method: Literal["device", "host"] = "host"
    timestamp_period_ns: float = 1.0
    timestamp_bits: int = 64


ATOMIC_OPS = frozenset(
    {"add", "sub", "min", "max", "and", "or", "xor", "exchange", "compare_exchange", "load", "store"}
)

NATIVE_SEMANTICS = frozenset(
    {
        "floordiv",  # integer // and % floor, 0 for a zero divisor, MIN // -1 wraps
        "truncdiv",  # div_trunc, rem_trunc on integers with the same zero rules
        "shift",  # << and >> are total: an amount out of range gives 0 or -1
        "saturating_cast",  # float to integer truncates, saturates exactly, NaN gives 0
        "float_mod",  # // and % on floats
        "minmax",  # min and max give NaN if either is NaN
        "nan_compare",  # != is true and == false for NaN
        "round_even",  # Math "round" rounds half to even
        "int_pow",  # ** with an integer base
        "mixed_compare",  # comparing integers of different dtypes is exact by value
        "lazy_select",  # a conditional expression evaluates one side only: checks can stay in the access
        "return",  # a kernel can return from inside its loops
        "nonfinite",  # infinities and NaN can be written in expressions
        "checked",  # the dialect itself turns a check into control flow (interpreter, CPU)
        "offset",  # the driver applies element offsets: no hidden offset parameters
        "tensor_index",  # multi-axis indices need no flattening
        "shared_zero",  # shared memory starts as zeros
        "views",  # memory can be accessed by scalars and by vectors of them in one kernel
        "vector_any",  # vectors of every length and dtype
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a device and its language do natively. What is not listed is expanded or emulated by passes."""

    storage: frozenset[str]
    """Dtypes that an array element can have as it is. A dtype here but not in `arithmetic` is
    converted by the dialect as it is loaded and stored (OpenCL's vload_half, say)."""
    arithmetic: frozenset[str]
    """Dtypes with operators of their own."""
    atomics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Native atomic operations by dtype (names of `ATOMIC_OPS`)."""
    vectors: frozenset[int] = frozenset()
    """Vector lengths that the language has; others are split into scalars."""
    semantics: frozenset[str] = frozenset()
    """Names from `NATIVE_SEMANTICS` that the dialect renders as they are."""
    math: frozenset[str] = frozenset()
    """Functions that meet the language's bounds natively, as "sin:f32"."""
    subgroup: tuple[int, int] | None = None
    matrix: tuple[tuple[str, ...], ...] = ()
    fma: bool = False
    """fma is fused and exact."""
    exact_div_sqrt: bool = False
    """f32 division and sqrt are correctly rounded."""
    contract_control: bool = False
    """`a*b + c` stays as written when asked."""
    reassociates: bool = False
    """The target's compiler does algebra on floats: values must be fenced."""
    follows_parameters: bool = False
    """The target's compiler follows conditions back to parameters, along every path: they must be fenced."""
    f16_subnormals: bool = True
    f32_subnormals: bool = True
    index64: bool = False
    indirect: bool = False
    timestamps: bool = False
    graphs: bool = False
    pinned: bool = False
    widen: int = 0
    """Bytes that one unit best moves at a time. Elementwise kernels of scalars then do several neighbours
    in each unit; 0: the device gains nothing by that, or does it by itself."""

    def supports(self, *names: str) -> bool:
        """True when all these semantics are native."""
        return self.semantics.issuperset(names)


@dataclass(frozen=True, slots=True)
class DTypeSupport:
    """How far one dtype goes on a device, emulation included."""

    storage: bool = False
    arithmetic: bool = False
    conversion: bool = False
    functions: bool = False
    """exp, sin and their kin, within the language's bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What kernels may use on a device. Absence means unsupported."""

    dtypes: Mapping[str, DTypeSupport]
    atomics: Mapping[str, frozenset[str]]
    subgroup: tuple[int, int] | None
    matrix: tuple[tuple[str, ...], ...]
    fma: bool
    exact_div_sqrt: bool
    contract_control: bool
    f16_subnormals: bool
    f32_subnormals: bool
    index64: bool
    indirect: bool
    timestamps: bool
    graphs: bool
    pinned: bool

    def __reduce__(self) -> tuple[Any, ...]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return _features, (plain | {"dtypes": dict(self.dtypes), "atomics": dict(self.atomics)},)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers: the same data, ready for JSON."""
        plain: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["dtypes"] = {name: asdict(support) for name, support in self.dtypes.items()}
        plain["atomics"] = {name: sorted(ops) for name, ops in self.atomics.items()}
        plain["subgroup"] = list(self.subgroup) if self.subgroup else None
        plain["matrix"] = [list(entry) for entry in self.matrix]
        return plain


def _features(plain: dict[str, Any]) -> Features:
    """Features from what was pickled of them, since read-only mappings are not."""
    tables = {name: MappingProxyType(plain[name]) for name in ("dtypes", "atomics")}
    return Features(**(plain | tables))


_EMULATED = frozenset({"bool", "i8", "i16", "u8", "u16", "f16", "bf16"})
_TRANSCENDENTAL = ("exp", "log", "sin", "cos", "tan", "pow", "arctan2")
_CAS_FLOAT_OPS = frozenset({"add", "sub", "exchange", "load", "store"})


def features_of(target: Target) -> Features:
    """What kernels may use on `target`: native abilities plus what core emulates exactly."""
    dtypes = {}
    for name in ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"):
        native = name in target.storage and name in target.arithmetic
        usable = native or name in _EMULATED
        functions = usable and name in ("f16", "bf16", "f32")
        if name == "f64":
            functions = usable and all(f"{fn}:f64" in target.math for fn in _TRANSCENDENTAL)
        dtypes[name] = DTypeSupport(usable, usable, usable, functions)
    atomics = {name: frozenset(ops) for name, ops in target.atomics.items() if ops}
    for wide, word in (("f32", "u32"), ("f64", "u64")):
        if dtypes[wide].storage and "compare_exchange" in atomics.get(word, ()):
            atomics[wide] = atomics.get(wide, frozenset()) | _CAS_FLOAT_OPS
    return Features(
        dtypes=MappingProxyType(dtypes),
        atomics=MappingProxyType(atomics),
        subgroup=target.subgroup,
        matrix=target.matrix,
        fma=target.fma,
        exact_div_sqrt=target.exact_div_sqrt,
        contract_control=True,  # a target without it gets fences
        f16_subnormals=target.f16_subnormals,
        f32_subnormals=target.f32_subnormals,
        index64=target.index64,
        indirect=target.indirect,
        timestamps=target.timestamps,
        graphs=target.graphs,
        pinned=target.pinned,
    )


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that a kernel needs.

    For example ("dtype", "f64", "arithmetic"), ("atomic", "i64", "add") or ("flag", "subgroup").
    """

    kind: Literal["dtype", "atomic", "flag"]
    name: str
    what: str = ""

    def __str__(self) -> str:
        if self.kind == "dtype":
            return f"{self.what} of {self.name}"
        return f"atomic_{self.what} on {self.name}" if self.kind == "atomic" else f"feature {self.name}"


def missing(features: Features, requirements: Iterable[Requirement]) -> list[Requirement]:
    """Those of `requirements` that the features do not grant, in order."""
    return [r for r in requirements if not _granted(features, r)]


def _granted(features: Features, r: Requirement) -> bool:
    if r.kind == "dtype":
        support = features.dtypes.get(r.name)
        return support is not None and bool(getattr(support, r.what))
    if r.kind == "atomic":
        return r.what in features.atomics.get(r.name, ())
    return bool(getattr(features, r.name))
