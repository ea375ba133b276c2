"""From a plan to functions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

from ruda_core.artifact import ArrayParam, KernelSource, ScalarParam, VariantFacts
from ruda_core.errors import LaunchArgumentError, LaunchLimitError
from ruda_core.launcher.arguments import check_owner, resolver
from ruda_core.launcher.generate import Writer, array_names, array_writes
from ruda_core.launcher.limits import INDEX32, check_dim, count_of, fold
from ruda_core.launcher.plan import MISSING, LaunchPlan, element_of, refuse_call
from ruda_core.launcher.scalars import converter
from ruda_core.launcher.variants import Tail, Variants, pattern
from ruda_core.memory import Handle
from ruda_core.server import Diverted, current_or_none, current_stream
from ruda_core.tensor import ArrayArg, RudaTensor
from ruda_core.tracebacks import USERS, shortened

_CALLED = {"launch": ".launch", "call": ".prepare(...)"}
"""How users got at a generated function: what Python's errors about missing arguments call it."""


class Launcher(Protocol):
    """`launch(client, count, /, *args, **kwargs)`, a generated function."""

    builder: Builder
    """What it was made by, and what makes prepared launches like it."""

    def __call__(self, client: Any, count: Any, /, *args: Any, **kwargs: Any) -> None: ...


class Builder:
    """Makes the functions of one plan on one server."""

    def __init__(self, server: Any, plan: LaunchPlan) -> None:
        check_dim(plan, server.properties)
        self.server = server
        self.plan = plan
        self.direct = bool(server.direct)
        self.overtake = self.direct and server.driver.traits.writes_overtake
        self.writer = Writer(plan, server.properties)
        self.variants = Variants(plan, server, self._tail)

    def generic(self) -> Launcher:
        """The launcher that takes any arguments."""
        names = self.names()
        names |= {
            "miss": self.variants.miss,
            "tails": self.variants.tails,
            "beyond": self.variants.beyond,
            "pattern": pattern,
        }
        launch: Launcher = self._compile(self.writer.generic(direct=self.direct), "launch", names)
        launch.builder = self
        return launch

    def prepared(self, client: Any, facts: VariantFacts, generic: Launcher) -> Callable[..., None]:
        """A function over one variant and one stream; `generic` takes what does not show the facts."""
        stream = client.execution_stream()
        self.variants.of(facts)
        source, program = self.variants.loaded[facts]
        names = self.names() | self._variant_names(source, program)
        names |= {
            "generic": generic,
            "client": client,
            "sid": stream,
            "q": self.server.queue_of(stream) if self.direct else None,
        }
        text = self.writer.prepared(source, facts, direct=self.direct, overtake=self.overtake)
        call: Callable[..., None] = self._compile(text, "call", names)
        return call

    def home(
        self, facts: VariantFacts, dim: Any, generic: Launcher, elsewhere: Callable[..., None]
    ) -> Callable[..., None]:
        """`launch(client, count, dim, *args)` that needs no look-up for this server, this dim and these facts."""
        source, program = self.variants.loaded[facts]
        names = self.names() | self._variant_names(source, program)
        names |= {
            "generic": generic,
            "elsewhere": elsewhere,
            "home": dim,
            "NoMatch": (AttributeError, ValueError),  # no client; a dim that compares by its elements
            "USERS": USERS,
            "shortened": shortened,
        }
        text = self.writer.home(source, facts, direct=self.direct, overtake=self.overtake)
        launch: Callable[..., None] = self._compile(text, "launch", names)
        return launch

    def _tail(self, source: KernelSource, program: Any, askew: Tail) -> Tail:
        text = self.writer.tail(source, direct=self.direct, overtake=self.overtake)
        names = self.names() | self._variant_names(source, program) | {"askew": askew}
        tail: Tail = self._compile(text, "tail", names)
        return tail

    def _compile(self, text: str, name: str, names: dict[str, Any]) -> Any:
        scope = {self.writer.p + key: value for key, value in names.items()}
        exec(compile(text, f"<launcher of {self.plan.kernel}>", "exec"), scope)
        function = scope[name]
        function.__qualname__ = self.plan.kernel + _CALLED.get(name, "")
        function.__doc__ = text
        return function

    def names(self) -> dict[str, Any]:
        """What every generated function may use."""
        names: dict[str, Any] = {
            "type": type,
            "len": len,
            "int": int,
            "float": float,
            "KeyError": KeyError,
            "AttributeError": AttributeError,
            "Exception": Exception,
            "Tensor": RudaTensor,
            "missing": MISSING,
            "current": current_or_none,
            "current_stream": current_stream,
            "server": self.server,
            "streams": getattr(self.server, "streams", None),
            "count_of": partial(count_of, self.plan),
            "too_many": self._too_many,
        }
        for param in self.plan.params:
            if isinstance(param, ArrayParam):
                names[f"resolve_{param.name}"] = resolver(self.plan, param)
                names[f"kind_{param.name}"] = element_of(param)
            else:
                names[f"convert_{param.name}"] = converter(self.plan, param)
        return names

    def _variant_names(self, source: KernelSource, program: Any) -> dict[str, Any]:
        """What the packing and enqueuing of one variant uses besides."""
        server, plan = self.server, self.plan
        bound, writes = array_names(source), array_writes(source)

        def slowly(stream: Any, program: Any, grid: Any, blocks: Any, words: bytes) -> None:
            check_owner(plan, server, blocks, bound)
            server.launch(stream, program, grid, blocks, writes, words)

        names: dict[str, Any] = {
            "pack": struct.Struct(source.layout.format).pack,
            "PackErrors": (struct.error, OverflowError),
            "unpackable": self._unpackable,
            "fold": lambda count: fold(count, server.properties.max_workgroup_count),
            "program": program,
            "number": getattr(program, "number", 0),
            "slowly": slowly,
        }
        if self.direct:
            names |= {
                "Diverted": Diverted,
                "failed": server.launch_failed,
                "fault_record": server.fault_record,
                "batch": server.driver.batch,
            }
        return names

    def _too_many(self, extra: tuple[Any, ...]) -> NoReturn:
        refuse_call(self.plan, (*(MISSING for _ in self.plan.params), *extra), {})

    def _unpackable(self, error: Exception, *scalars: Any) -> NoReturn:
        """Say which argument did not fit its slot."""
        params = [p for p in self.plan.params if isinstance(p, ScalarParam)]
        for param, value in zip(params, scalars, strict=True):
            converter(self.plan, param)(value)
        raise LaunchLimitError(
            f"{self.plan.location}: a count, shape or stride does not fit the kernel's index type ({error}): "
            f"launch in parts, or pass a smaller view",
            what="index width",
            requested=str(error),
            limit=INDEX32,
        ) from error


def build_launcher(server: Any, plan: LaunchPlan) -> Launcher:
    """`launch(client, count, /, *args, **kwargs)` for clients of `server`.

    Raises LaunchLimitError when the device cannot run the plan's dim. Variants are compiled when
    first launched. A call that does not bind by name raises TypeError; see `refuse_call`.
    """
    return Builder(server, plan).generic()


def enqueue_bindings(launch: Launcher, client: Any, count: Any, bindings: Sequence[Any]) -> None:
    """Launch with bindings in parameter order, where a bare handle stands for all elements in it."""
    plan = launch.builder.plan
    try:
        arguments = list(bindings)
    except TypeError:
        raise LaunchArgumentError(
            f"{plan.location}: bindings are a list of arguments in parameter order, not {bindings!r}"
        ) from None
    if len(arguments) != len(plan.params):
        refuse_call(plan, tuple(arguments), {})
    for i, (param, value) in enumerate(zip(plan.params, arguments, strict=True)):
        if isinstance(value, Handle) and isinstance(param, ArrayParam) and param.rank is None:
            arguments[i] = ArrayArg(value, value.size_in_use // element_of(param).itemsize)
    launch(client, count, *arguments)
