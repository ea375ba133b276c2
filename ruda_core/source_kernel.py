"""Hand-written kernels: text in the targets' own languages under one typed signature."""

from __future__ import annotations

import hashlib
import reprlib
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ruda_core.artifact import (
    ArrayParam,
    BindingSpec,
    KernelSource,
    ParameterLayout,
    RudaCount,
    RudaDim,
    ScalarParam,
    Slot,
    VariantFacts,
)
from ruda_core.compiled import server_of
from ruda_core.dtypes import DType
from ruda_core.errors import LaunchArgumentError, LaunchLimitError, UnsupportedFeature
from ruda_core.ir.types import ArrayType
from ruda_core.launcher import (
    Launcher,
    LaunchPlan,
    PreparedLaunch,
    build_launcher,
    prepare_launch,
    refuse_call,
)
from ruda_core.launcher.dims import dim_of, suitable_dim

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient

_SLOTS = ("i32", "u32", "f32", "i64", "u64", "f64")


@dataclass(frozen=True)
class _Variant:
    """The source of one dialect at one dim."""

    kernel: SourceKernel
    dialect: str
    dim: RudaDim

    def __call__(self, facts: VariantFacts) -> KernelSource:
        name = self.kernel.name
        if facts.index64 or facts.spread:
            raise LaunchLimitError(
                f"{name}: hand-written kernels have 32-bit positions and counts within the device's limits: "
                f"launch fewer workgroups",
                what="index width",
                requested=64,
                limit=32,
            )
        text = self.kernel.sources[self.dialect]
        for axis, extent in zip("xyz", self.dim, strict=True):
            text = text.replace(f"$dim_{axis}", str(extent))
        layout = self.kernel.layout
        digest = hashlib.sha256(
            repr((name, self.dialect, text, tuple(self.dim), layout)).encode()
        ).hexdigest()
        return KernelSource(
            name=name,
            entry=name,
            dialect=self.dialect,
            text=text,
            layout=layout,
            bindings=tuple(
                BindingSpec(p.name, p.dtype, (p.name,), reads=True, writes=True)
                for p in self.kernel.params
                if isinstance(p, ArrayParam)
            ),
            params=self.kernel.params,
            dim=(self.dim.x, self.dim.y, self.dim.z),
            mode="unchecked",
            digest=digest,
        )


class SourceKernel:
    """A kernel whose text is given for each dialect.

    `params` maps names to annotations: `Array[dtype]`, or one of i32, u32, f32, i64, u64, f64. `sources`
    maps a dialect ("cuda", "opencl", "wgsl") to text whose entry point is called `name`. It takes one
    buffer for each array, in order (WGSL: `@group(0) @binding(0)` and on, `read_write`), then one block
    of parameters (C: a struct by value; WGSL: a uniform at the next binding) with these fields:

    * for each array its offset and its length in elements, i32 each: the array begins at the offset;
    * the scalars, in order; 64-bit ones stand first in the block, which is laid out as C lays out a struct.

    `$dim_x`, `$dim_y` and `$dim_z` in the text are replaced by the workgroup's dim. Nothing is checked
    inside; arguments are checked like those of any kernel.
    """

    def __init__(self, name: str, params: Mapping[str, Any], sources: Mapping[str, str]) -> None:
        """Raises LaunchArgumentError for a parameter of another kind, and for what is no name or no text."""
        _checked(name, params, sources)
        self.name = name
        self.sources = dict(sources)
        self._annotations = dict(params)
        self.params = tuple(_param(name, key, annotation) for key, annotation in params.items())
        self.layout = ParameterLayout.of(_slots(self.params)).as_c()
        self._launchers: weakref.WeakKeyDictionary[Any, dict[RudaDim, Launcher]] = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"<ruda source kernel {self.name} for {', '.join(sorted(self.sources))}>"

    def __copy__(self) -> SourceKernel:
        return self

    def __deepcopy__(self, memo: object) -> SourceKernel:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceKernel, (self.name, self._annotations, self.sources)

    def launch(self, client: ComputeClient, count: Any, dim: Any, /, *args: Any, **kwargs: Any) -> None:
        """Run `count` workgroups of `dim` units. Raises UnsupportedFeature on a device whose dialect has
        no text, LaunchArgumentError, LaunchLimitError, and BackendCompileError for text that is refused."""
        launcher = self._launcher(client, dim)
        try:
            launcher(client, count, *args, **kwargs)
        except TypeError:
            names = {p.name for p in self.params}
            if set(kwargs) - names or len(args) + len(kwargs) != len(names):
                refuse_call(launcher.builder.plan, args, kwargs)
            raise

    launch_unchecked = launch

    def launch_over(
        self, client: ComputeClient, units: Any, /, *args: Any, dim: Any = None, **kwargs: Any
    ) -> None:
        """Over at least `units` units (an int, or x first), with a dim that suits the device."""
        shape = suitable_dim(units, server_of(client).properties) if dim is None else dim_of(self.name, dim)
        self.launch(client, RudaCount.cover(units, shape), shape, *args, **kwargs)

    def prepare(self, client: ComputeClient, dim: Any, /, *args: Any, **kwargs: Any) -> PreparedLaunch:
        """A launch of arguments like these, which are checked once here; call it with `(count, *args)`."""
        launcher, names = self._launcher(client, dim), [p.name for p in self.params]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if set(given) != set(names) or len(args) + len(kwargs) != len(names):
            refuse_call(launcher.builder.plan, args, kwargs)
        return prepare_launch(launcher, client, [given[name] for name in names])

    def _launcher(self, client: ComputeClient, shape: Any) -> Launcher:
        dim = dim_of(self.name, shape)
        launchers = self._launchers.setdefault(server_of(client), {})
        launcher = launchers.get(dim)
        if launcher is None:
            launcher = launchers[dim] = build_launcher(client.server, self._plan(client, dim))
        return launcher

    def _plan(self, client: ComputeClient, dim: RudaDim) -> LaunchPlan:
        dialect = getattr(client.runtime.dialect, "name", None)
        if dialect not in self.sources:
            there = ", ".join(sorted(self.sources)) or "none"
            raise UnsupportedFeature(
                f"{self.name} has no text for {client.device}, whose dialect is {dialect!r}; it has text for {there}"
            )
        return LaunchPlan(
            kernel=self.name,
            file="<source kernel>",
            line=0,
            params=self.params,
            dim=dim,
            mode="unchecked",
            variant=_Variant(self, dialect, dim),
        )


def _checked(name: object, params: object, sources: object) -> None:
    """Raise LaunchArgumentError unless the parts of a source kernel are what they have to be."""
    if not isinstance(name, str) or not name.isidentifier():
        raise LaunchArgumentError(f"the name of a source kernel is that of its entry point, not {name!r}")
    if not isinstance(params, Mapping) or not all(isinstance(p, str) and p.isidentifier() for p in params):
        raise LaunchArgumentError(f"{name}: params maps names to types, {{'x': Array[f32]}}, not {params!r}")
    if not isinstance(sources, Mapping) or not all(
        isinstance(t, str) for pair in sources.items() for t in pair
    ):
        raise LaunchArgumentError(
            f"{name}: sources maps dialects to text, {{'opencl': '...'}}, not {reprlib.repr(sources)}"
        )


def _param(kernel: str, name: str, annotation: Any) -> ArrayParam | ScalarParam:
    if isinstance(annotation, ArrayType) and not hasattr(annotation.element, "__constraints__"):
        element: Any = annotation.element
        return ArrayParam(name, element.scalar.name, element.lanes)
    if isinstance(annotation, DType) and annotation.name in _SLOTS:
        return ScalarParam(name, annotation.name)
    raise LaunchArgumentError(
        f"{kernel}: parameter {name}: a hand-written kernel takes Array[dtype] or one of {', '.join(_SLOTS)}, "
        f"not {annotation!r}"
    )


def _slots(params: tuple[ArrayParam | ScalarParam, ...]) -> Iterator[Slot]:
    for p in params:
        if isinstance(p, ArrayParam):
            yield Slot("offset", "i32", p.name)
            yield Slot("length", "i32", p.name)
    for p in params:
        if isinstance(p, ScalarParam):
            yield Slot("scalar", p.dtype, p.name)


__all__ = ["SourceKernel"]
