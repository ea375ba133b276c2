"""What users hold: a kernel.

A launch that was seen before costs one look-up in a table of launchers, keyed by the server, the
workgroup's dim and whatever else specialises this kernel (generic dtypes, ranks, compile-time and
captured values; nothing, for most kernels). A miss lowers the function and builds a launcher.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from ruda_core.artifact import Mode, RudaCount, RudaDim, VariantFacts
from ruda_core.compiled import CompiledKernel, Variants, compiler_of, planned, server_of
from ruda_core.errors import CompileError, LaunchArgumentError, RudaError
from ruda_core.frontend.captures import Capture, capture_key
from ruda_core.frontend.signature import KernelSignature, signature
from ruda_core.ir.types import ParameterType
from ruda_core.launcher import (
    Launcher,
    LaunchPlan,
    PreparedLaunch,
    build_launcher,
    front,
    misfit,
    prepare_launch,
)
from ruda_core.launcher.dims import dim_of, suitable_dim
from ruda_core.recall import Request, digest_of, outline
from ruda_core.settings import BoundsCheckMode, in_use
from ruda_core.specialise import Specialisation, Specialiser
from ruda_core.tracebacks import USERS, shortened

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient
    from ruda_core.compiler import Compiler
    from ruda_core.frontend import Lowered

_UNCHECKED_MODES: dict[BoundsCheckMode, Mode] = {
    BoundsCheckMode.AUTO: "unchecked",
    BoundsCheckMode.ENFORCE: "checked",
    BoundsCheckMode.VALIDATE: "validate",
}

_lock = threading.RLock()


class Kernel:
    """A kernel: written once, launched on any device. Made by `@ruda.kernel`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        fp_contract: bool = True,
        fp_exact: bool = False,
        fp_fast: bool = False,
        scope: Mapping[str, Any] | None = None,
    ) -> None:
        """`scope` holds the names of the defining function, for annotations that are strings."""
        self.fn = fn
        self.name = name or fn.__name__
        self.__name__ = self.name
        self.__module__, self.__qualname__ = fn.__module__, fn.__qualname__
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn
        self._flags = {"fp_contract": fp_contract, "fp_exact": fp_exact, "fp_fast": fp_fast}
        self._scope = scope
        self._specialiser: Specialiser | None = None
        self._captures: tuple[Capture, ...] = ()
        self._tables: dict[Mode, dict[Any, Launcher]] = {"checked": {}, "validate": {}, "unchecked": {}}
        self._ready: dict[Any, Launcher] = {}
        """Checked launchers by server and dim, for fronts; each is here from its second launch on."""

    def __repr__(self) -> str:
        return f"<ruda kernel {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RudaError(
            f"{self.name} is a kernel: launch it, {self.name}.launch(client, count, dim, ...), or mark "
            f"what other kernels call with @ruda.func"
        )

    def __getitem__(self, grid: Any) -> NoReturn:
        raise RudaError(
            f"{self.name}[...](...) is not how kernels are launched here: write {self.name}.launch(client, "
            f"count, dim, ...), or {self.name}.launch_over(client, units, ...)"
        )

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: object) -> Kernel:
        return self

    def __reduce__(self) -> str:
        """Pickled as functions are: by name."""
        return self.__qualname__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(p.name for p in self._signature().params)

    def digest(self) -> str:
        """What its code and what it captures at the moment come to: another one once either is changed."""
        return digest_of(self.fn, self._scope)

    # Launching ---------------------------------------------------------------------------------

    def launch(self, client: ComputeClient, count: Any, dim: Any, /, *args: Any, **kwargs: Any) -> None:
        """Run `count` workgroups of `dim` units, every access checked: reads out of bounds give zero,
        writes are dropped. Returns at once; `docs/guide.md` says where a later failure surfaces."""
        # `_build` puts a faster one in this one's place where it can.
        try:
            return self._launch("checked", client, count, dim, args, kwargs)
        except USERS as error:
            raise shortened(error) from error.__cause__

    def launch_unchecked(
        self, client: ComputeClient, count: Any, dim: Any, /, *args: Any, **kwargs: Any
    ) -> None:
        """The same, in the mode that the setting `bounds_check` names: auto (no checks), enforce
        (checked), validate (checked, and every access out of bounds is reported)."""
        mode = _UNCHECKED_MODES[in_use().bounds_check]
        try:
            return self._launch(mode, client, count, dim, args, kwargs)
        except USERS as error:
            raise shortened(error) from error.__cause__

    def launch_over(
        self, client: ComputeClient, units: Any, /, *args: Any, dim: Any = None, **kwargs: Any
    ) -> None:
        """Checked, over at least `units` units (an int, or x first), with a dim that suits the device."""
        try:
            given = dim is not None
            shape = dim_of(self.name, dim) if given else suitable_dim(units, server_of(client).properties)
            self.launch(client, RudaCount.cover(units, shape), tuple(shape), *args, **kwargs)
        except USERS as error:
            raise shortened(error) from error.__cause__

    def prepare(
        self, client: ComputeClient, dim: Any, /, *args: Any, mode: Mode = "checked", **kwargs: Any
    ) -> PreparedLaunch:
        """A launch with the types of `args`, checked once here; call it with `(count, *args)`. Captured values are
        those of this moment, too: prepare again after changing one."""
        launcher, values = self._given(mode, client, dim, args, kwargs)
        return prepare_launch(launcher, client, values)

    def _launch(
        self,
        mode: Mode,
        client: ComputeClient,
        count: Any,
        dim: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        launcher, values = self._given(mode, client, dim, args, kwargs)
        try:
            launcher(client, count, *values)
        except TypeError as error:
            self._explain(error, args, kwargs)
            raise

    def _given(
        self, mode: Mode, client: ComputeClient, dim: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Launcher, tuple[Any, ...]]:
        """The launcher for these arguments, and the run-time ones among them.

        What is wrong with the kernel's own text is said before anything about a launch of it.
        """
        try:
            server_of(client)
            parts, values = self._split(args, kwargs)
            return self._find(mode, client, dim, parts), values
        except (LaunchArgumentError, TypeError):
            try:
                self._signature()
            except CompileError as error:
                raise error from None
            raise

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        specialiser = self._specialiser or self._prepare_specialiser()
        try:
            return specialiser.split(*args, **kwargs)
        except TypeError as error:
            self._explain(error, args, kwargs)
            raise

    def _find(self, mode: Mode, client: ComputeClient, dim: Any, parts: tuple[Any, ...]) -> Launcher:
        specialiser = self._specialiser or self._prepare_specialiser()
        if type(dim) is not int and type(dim) is not tuple:
            dim = tuple(dim_of(self.name, dim))
        captured = capture_key(self._captures) if self._captures else ()
        server = server_of(client)
        key = (server, dim) if specialiser.trivial and not captured else (server, dim, parts, captured)
        table = self._tables[_mode(mode)]
        launcher = table.get(key)
        if launcher is None:
            launcher = self._build(mode, client, dim, parts, table)
        return launcher

    def _build(
        self, mode: Mode, client: ComputeClient, dim: Any, parts: tuple[Any, ...], table: dict[Any, Launcher]
    ) -> Launcher:
        specialiser = self._specialiser or self._prepare_specialiser()
        with _lock:
            shape, types = dim_of(self.name, dim), specialiser.specialisation(parts)
            request = Request(self.fn, self._scope, self.name, types, shape, mode, tuple(self._flags.items()))
            captures, plan = planned(
                client, request, lambda: self._plan(compiler_of(client), mode, shape, types)
            )
            launcher = build_launcher(client.server, plan)
            new = tuple(c for c in captures if c not in self._captures)
            if new:
                self._captures = (*self._captures, *new)
                for every in (
                    *self._tables.values(),
                    self._ready,
                ):  # their keys lack what has just been found
                    every.clear()
            captured = capture_key(self._captures) if self._captures else ()
            if specialiser.trivial and not captured:
                table[client.server, dim] = launcher
                if mode == "checked":
                    self._put_front(launcher, dim)
            else:
                self.__dict__.pop("launch", None)
                table[client.server, dim, parts, captured] = launcher
        return launcher

    def _put_front(self, launcher: Launcher, dim: Any) -> None:
        """From now on launches look into a table of launchers themselves; from the second with this launcher on,
        its like need not even do that. The second, since many kernels are launched once, soon after the start."""
        builder = launcher.builder

        def find(client: ComputeClient, shape: Any) -> Launcher:
            found = self._find("checked", client, shape, ())
            facts = found.builder.variants.first
            if facts is not None and not self._captures and type(shape) in (int, tuple):
                self._ready[server_of(client), shape] = found
                if found is launcher:
                    self._show(builder.home(facts, dim, launcher, launch))
            return found

        launch = front(len(builder.plan.params), self._ready, find, partial(Kernel.launch, self))
        self._show(launch)

    def _show(self, launch: Callable[..., None]) -> None:
        if self._captures:  # found meanwhile: they are part of every look-up
            return
        launch.__doc__, launch.__qualname__ = Kernel.launch.__doc__, f"{self.name}.launch"
        self.launch = launch  # type: ignore[method-assign]  # that is the point

    def _plan(
        self, compiler: Compiler, mode: Mode, dim: RudaDim, types: Specialisation
    ) -> tuple[Lowered, LaunchPlan]:
        from ruda_core.compiler import KernelSpec

        where = self._signature()
        spec = KernelSpec(
            fn=self.fn,
            name=self.name,
            arguments=types.arguments,
            typevars=types.typevars,
            dim=(dim.x, dim.y, dim.z),
            mode=mode,
            **self._flags,
        )
        lowered = compiler.lower(spec)
        plan = LaunchPlan(
            kernel=self.name,
            file=where.file,
            line=where.line,
            params=lowered.function.params,
            dim=dim,
            mode=mode,
            variant=Variants(compiler, spec, lowered),
        )
        return lowered, plan

    def _signature(self) -> KernelSignature:
        return signature(self.fn, self._scope)

    def _prepare_specialiser(self) -> Specialiser:
        self._specialiser = Specialiser(outline(self.fn, self._scope) or self._signature())
        return self._specialiser

    def _explain(self, error: TypeError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise LaunchArgumentError if the arguments do not bind to the parameters."""
        found = (self._specialiser or self._prepare_specialiser()).signature
        optional = [p.name for p in found.params if p.has_default]
        what = misfit([p.name for p in found.params], args, kwargs, optional)
        if what is not None:
            expected = ", ".join(f"{p.name}: {p.annotation!r}" for p in found.params)
            raise LaunchArgumentError(
                f"{self.name} ({found.file}:{found.line}): {what}; expected ({expected}), "
                f"got {len(args) + len(kwargs)} arguments"
            ) from None

    # Compiling ---------------------------------------------------------------------------------

    def compile(
        self, client: ComputeClient, dim: Any, /, *arg_types: Any, mode: Mode = "checked"
    ) -> CompiledKernel:
        """Compile for the client's device. `arg_types`: annotations (`f32`, `Array[f32]`) or sample
        arguments, in parameter order. Raises CompileError."""
        try:
            return self.compile_with(compiler_of(client), dim, arg_types, mode)
        except USERS as error:
            raise shortened(error) from error.__cause__

    def compile_with(
        self, compiler: Compiler, dim: Any, arg_types: tuple[Any, ...], mode: Mode
    ) -> CompiledKernel:
        """The same, with a compiler that may stand for no device at all."""
        self._signature()
        parts, _ = self._split(arg_types or self._own_types(), {})
        specialiser = self._specialiser or self._prepare_specialiser()
        if arg_types:
            specialiser.check_types(arg_types)
        _, plan = self._plan(compiler, _mode(mode), dim_of(self.name, dim), specialiser.specialisation(parts))
        return CompiledKernel(plan, plan.variant(VariantFacts()))

    def _own_types(self) -> tuple[ParameterType | Any, ...]:
        """The parameters' own annotations, for a kernel that says everything itself."""
        return tuple(p.default if p.has_default else p.annotation for p in self._signature().params)


def _mode(mode: Mode) -> Mode:
    if mode not in get_args(Mode):
        raise LaunchArgumentError(f"a mode is {', '.join(map(repr, get_args(Mode)))}, not {mode!r}")
    return mode


__all__ = [
    "CompiledKernel",
    "Kernel",
    "PreparedLaunch",
    "compiler_of",
]
