"""What a kernel has been compiled to, and by which compiler."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ruda_core.artifact import KernelSource, Mode, VariantFacts
from ruda_core.checks import InProcess
from ruda_core.errors import LaunchArgumentError
from ruda_core.launcher import Launcher, LaunchPlan, build_launcher, enqueue_bindings
from ruda_core.recall import Facts, Request, Shelf, shelf_for

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient
    from ruda_core.compiler import Compiler, KernelSpec
    from ruda_core.frontend import Capture, Lowered

_compilers: weakref.WeakKeyDictionary[Any, Compiler] = weakref.WeakKeyDictionary()


def compiler_of(client: ComputeClient) -> Compiler:
    """The compiler for the device of a client; one for each server."""
    server = server_of(client)
    compiler = _compilers.get(server)
    if compiler is None:
        runtime = client.runtime
        made = runtime.Compiler(runtime.dialect, server.target, backend=runtime.name)
        compiler = _compilers.setdefault(server, made)
    return compiler


def server_of(client: ComputeClient) -> Any:
    """The server of a client. Raises LaunchArgumentError for what is none."""
    try:
        return client.server
    except AttributeError:
        raise LaunchArgumentError(
            f"a launch takes a client first, ruda.client() or ruda.client('cuda:0'), got {client!r}"
        ) from None


@dataclass(frozen=True)
class CompiledKernel(InProcess):
    """One specialisation of a kernel, compiled for one device or dialect."""

    _instead = "send the kernel, which is pickled by its name, and compile it there; the text is .source"

    plan: LaunchPlan
    kernel_source: KernelSource
    _launchers: weakref.WeakKeyDictionary[Any, Launcher] = field(
        default_factory=weakref.WeakKeyDictionary, repr=False, compare=False
    )

    def enqueue(self, client: ComputeClient, count: Any, bindings: Sequence[Any]) -> None:
        """Launch with handles, `ArrayArg`s, `TensorArg`s and scalars in parameter order."""
        launcher = self._launchers.get(server_of(client))
        if launcher is None:
            if compiler_of(client).dialect_name != self.dialect:
                raise LaunchArgumentError(
                    f"{self.plan.location} was compiled to {self.dialect}, which {client.device} does not run: "
                    f"compile it with a client of that device"
                )
            launcher = self._launchers[client.server] = build_launcher(client.server, self.plan)
        enqueue_bindings(launcher, client, count, bindings)

    @property
    def source(self) -> str:
        """The text in the target's language; empty for a backend that runs the IR itself."""
        return self.kernel_source.text

    @property
    def ir(self) -> str:
        """The typed function that was rendered, readable."""
        from ruda_core.ir.text import show

        return show(self.kernel_source.program)

    @property
    def dialect(self) -> str:
        """The name of the target's language."""
        return self.kernel_source.dialect

    @property
    def resources(self) -> Mapping[str, int]:
        """What a launch takes: units of a workgroup, shared memory and parameters in bytes, bindings."""
        x, y, z = self.kernel_source.dim
        return {
            "units_per_workgroup": x * y * z,
            "shared_memory": self.kernel_source.shared_memory,
            "parameter_bytes": self.kernel_source.layout.nbytes,
            "bindings": len(self.kernel_source.bindings),
        }

    @property
    def mode(self) -> Mode:
        """How it treats an access out of bounds."""
        return self.kernel_source.mode


def planned(
    client: ComputeClient, request: Request, compiling: Callable[[], tuple[Lowered, LaunchPlan]]
) -> tuple[tuple[Capture, ...], LaunchPlan]:
    """What a kernel captures, and the plan for its launches: from disk where an earlier process compiled the
    same, else by `compiling()`, whose results are kept."""
    shelf = shelf_for(client, request)
    found = shelf.facts() if shelf is not None else None
    if shelf is not None and found is not None:
        plan = LaunchPlan(
            kernel=request.name,
            file=request.fn.__code__.co_filename,
            line=found.line,
            params=found.params,
            dim=request.dim,
            mode=request.mode,
            variant=Recalled(shelf, lambda: compiling()[1].variant),
        )
        return found.captures, plan
    lowered, plan = compiling()
    if shelf is not None and shelf.keep_facts(Facts(plan.line, plan.params, lowered.captures)):
        compiled = plan.variant
        plan = replace(plan, variant=Recalled(shelf, lambda: compiled))
    return lowered.captures, plan


class Recalled:
    """The same, looked for among what earlier processes have compiled."""

    def __init__(self, shelf: Shelf, variants: Callable[[], Callable[[VariantFacts], KernelSource]]) -> None:
        """`variants()` gives what compiles, and is asked for when a source is not on the shelf."""
        self._shelf = shelf
        self._variants = variants

    def __call__(self, facts: VariantFacts) -> KernelSource:
        source = self._shelf.source(facts)
        if source is None:
            source = self._variants()(facts)
            self._shelf.keep_source(facts, source)
        return source


class Variants:
    """The sources of one specialisation, by what a launch's arguments let the compiler assume."""

    def __init__(self, compiler: Compiler, spec: KernelSpec, lowered: Lowered) -> None:
        self._compiler = compiler
        self._spec = spec
        self._lowered = {False: lowered}
        self._sources: dict[VariantFacts, KernelSource] = {}
        self._lock = threading.Lock()

    def __call__(self, facts: VariantFacts) -> KernelSource:
        source = self._sources.get(facts)
        if source is None:
            with self._lock:
                source = self._sources.get(facts)
                if source is None:
                    source = self._sources[facts] = self._compile(facts)
        return source

    def _compile(self, facts: VariantFacts) -> KernelSource:
        lowered = self._lowered.get(facts.index64)
        if lowered is None:
            lowered = self._lowered[facts.index64] = self._compiler.lower(self._spec, index64=facts.index64)
        return self._compiler.compile(self._spec, lowered, facts)
