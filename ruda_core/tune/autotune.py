"""`@ruda.autotune`: a kernel that picks its workgroup dim and compile-time parameters by measurement."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ruda_core.checks import checked_list
from ruda_core.dtypes import u8
from ruda_core.errors import LaunchArgumentError, RudaError, TuneError
from ruda_core.tensor import ArrayArg, RudaTensor, TensorArg
from ruda_core.tune.environment import checked_owner
from ruda_core.tune.measure import Candidate
from ruda_core.tune.stack import StackTuner, enable_stack_autotune, stack_autotuner

if TYPE_CHECKING:
    from ruda_core.client import ComputeClient


class TunedKernel:
    """A kernel over several configurations; the first is the one that the others are checked against."""

    def __init__(self, kernel: Any, configs: Sequence[Mapping[str, Any]], key: Sequence[str]) -> None:
        self.kernel = kernel
        self.configs = tuple(dict(config) for config in configs)
        self.key = tuple(key)
        self._names = tuple(", ".join(f"{k}={v!r}" for k, v in sorted(c.items())) for c in self.configs)

    def launch_over(self, client: ComputeClient, units: Any, /, *args: Any, **kwargs: Any) -> None:
        """Launch, checked, over `units` with the configuration that is best for this key; measured the first time.

        Measuring works on copies of tensors and of what ArrayArg and TensorArg name; results in the latter have to agree
        to the bit. Raises LaunchArgumentError as the kernel does, and TuneError when the first configuration fails.
        """
        config = self.best(client, units, *args, **kwargs)
        try:
            self.kernel.launch_over(client, units, *args, **config, **kwargs)
        except RudaError:
            if config == self.configs[0]:
                raise
            self._tuner().invalidate(client, self._operation, self._key(units, args, kwargs))
            self.kernel.launch_over(client, units, *args, **self.configs[0], **kwargs)

    def best(self, client: ComputeClient, units: Any, /, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        """The configuration for these arguments, measured if it is not known yet."""
        checked_owner(client, LaunchArgumentError)
        chosen_here = sorted(name for name in kwargs if any(name in config for config in self.configs))
        if chosen_here:
            raise LaunchArgumentError(
                f"{self.kernel.name}: {', '.join(chosen_here)} is chosen by measurement: leave it out, or launch .kernel"
            )
        candidates = [
            Candidate(name, self._trial(client, units, config, args, kwargs))
            for name, config in zip(self._names, self.configs, strict=True)
        ]
        key = self._key(units, args, kwargs)
        try:
            chosen = self._tuner().select(client, self._operation, key, candidates)
        except TuneError as error:
            if isinstance(error.__cause__, LaunchArgumentError):  # of the call, not of a configuration
                raise error.__cause__ from None
            raise
        return self.configs[self._names.index(chosen.name)]

    @cached_property
    def _operation(self) -> str:
        """What records go by: an edited kernel is measured anew."""
        function = self.kernel.fn
        return f"{function.__module__}.{function.__qualname__}:{self.kernel.name}:{self.kernel.digest()}"

    @staticmethod
    def _tuner() -> StackTuner:
        return stack_autotuner() or enable_stack_autotune()

    def _key(self, units: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Dtypes and ranks of all arguments, and the values or shapes of those that `key` names."""
        names = list(self.kernel.parameters)
        given = {**self._defaults, **dict(zip(names, args, strict=False)), **kwargs}
        kinds = tuple((name, _kind(value)) for name, value in given.items())
        unknown = [name for name in self.key if name not in names]
        if unknown:
            raise TuneError(
                f"{self.kernel.name}: key names {', '.join(map(repr, unknown))}, which is no parameter of it"
            )
        return kinds, tuple(
            (name, _value(given.get(name))) for name in self.key
        )  # what is missing, the launch says

    @cached_property
    def _defaults(self) -> Mapping[str, Any]:
        parameters = inspect.signature(self.kernel.fn).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    def _trial(
        self,
        client: ComputeClient,
        units: Any,
        config: Mapping[str, Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Callable[[], list[Any]]:
        copies: list[Any] = []

        def run() -> list[Any]:
            if not copies:  # made when first tried: a record makes no copies
                copies.append([_copied(client, value) for value in args])
                copies.append({name: _copied(client, value) for name, value in kwargs.items()})
            self.kernel.launch_over(client, units, *copies[0], **config, **copies[1])
            results = (_result(client, value) for value in (*copies[0], *copies[1].values()))
            return [result for result in results if result is not None]

        return run


def _kind(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    return type(value).__name__ if dtype is None else (str(dtype), len(value.shape))


def _value(value: Any) -> Any:
    return tuple(value.shape) if hasattr(value, "shape") and value.shape else value


def _copied(client: ComputeClient, value: Any) -> Any:
    """An argument over storage of its own, of the same layout."""
    if not isinstance(value, (RudaTensor, ArrayArg, TensorArg)):
        return value
    handle = client.empty(value.handle.size_in_use)
    client.copy(value.handle, handle)
    if not isinstance(value, RudaTensor):
        return replace(value, handle=handle)
    return RudaTensor(handle, value.shape, value.strides, value.dtype, client, offset=value.offset)


def _result(client: ComputeClient, value: Any) -> RudaTensor | None:
    """An argument's elements as a tensor, of bytes where it does not say what they are; None for one without any."""
    if isinstance(value, (ArrayArg, TensorArg)):
        return RudaTensor(value.handle, (value.handle.size_in_use,), (1,), u8, client)
    return value if isinstance(value, RudaTensor) else None


def autotune(
    *, configs: Sequence[Mapping[str, Any]], key: Sequence[str] = ()
) -> Callable[[Any], TunedKernel]:
    """Over a kernel: choose among `configs` for every new combination of the arguments that `key` names.

    ::

        @ruda.autotune(configs=[{"dim": 64}, {"dim": 256}, {"dim": 256, "UNROLL": 4}], key=["n"])
        @ruda.kernel
        def scale(x: Array[f32], n: u32, UNROLL: Comptime[int] = 1): ...

    A configuration gives `dim` and compile-time parameters. `key` names scalars (by value) and
    tensors (by shape). Raises TuneError without configurations.
    """
    given = checked_list(configs, "configs", error=TuneError)
    if not given or not all(isinstance(c, Mapping) and all(isinstance(n, str) for n in c) for c in given):
        raise TuneError(
            f"autotune takes one configuration or more, each a dict such as {{'dim': 64}}, not {configs!r}"
        )
    names = checked_list(key, "key", error=TuneError)
    if not all(isinstance(name, str) for name in names):
        raise TuneError(f"key is a list of parameters' names, such as ['n'], not {key!r}")

    def over(kernel: Any) -> TunedKernel:
        if not hasattr(kernel, "launch_over"):
            raise TuneError(
                f"autotune goes over @ruda.kernel, not over {kernel!r}: write it in the line above"
            )
        return TunedKernel(kernel, given, names)

    return over
