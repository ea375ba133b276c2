"""`@ruda.autotune`: a kernel that picks its workgroup dim and compile-time parameters by measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ruda_core.errors import RudaError, TuneError
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

        Measuring works on copies of the tensors. Raises TuneError when the first configuration fails.
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
        candidates = [
            Candidate(name, self._trial(client, units, config, args, kwargs))
            for name, config in zip(self._names, self.configs, strict=True)
        ]
        chosen = self._tuner().select(client, self._operation, self._key(units, args, kwargs), candidates)
        return self.configs[self._names.index(chosen.name)]

    @property
    def _operation(self) -> str:
        function = getattr(self.kernel, "fn", self.kernel)
        return f"{function.__module__}.{getattr(function, '__qualname__', '')}:{self.kernel.name}"

    @staticmethod
    def _tuner() -> StackTuner:
        return stack_autotuner() or enable_stack_autotune()

    def _key(self, units: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Dtypes and ranks of all arguments, and the values or shapes of those that `key` names."""
        names = list(self.kernel.parameters)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        kinds = tuple((name, _kind(value)) for name, value in given.items())
        try:
            values = tuple((name, _value(given[name])) for name in self.key)
        except KeyError as missing:
            raise TuneError(
                f"{self._operation}: key names {missing}, which is no argument of this launch"
            ) from None
        return kinds, values

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
            return [value for value in (*copies[0], *copies[1].values()) if hasattr(value, "numpy")]

        return run


def _kind(value: Any) -> Any:
    return (str(value.dtype), len(value.shape)) if hasattr(value, "shape") else type(value).__name__


def _value(value: Any) -> Any:
    return tuple(value.shape) if hasattr(value, "shape") and value.shape else value


def _copied(client: ComputeClient, value: Any) -> Any:
    return client.tensor(value.numpy()) if hasattr(value, "handle") and hasattr(value, "numpy") else value


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
    if not configs or not all(isinstance(config, Mapping) for config in configs):
        raise TuneError("autotune takes one configuration or more, each a dict such as {'dim': 64}")

    def over(kernel: Any) -> TunedKernel:
        if not hasattr(kernel, "launch_over"):
            raise TuneError(
                f"autotune goes over @ruda.kernel, not over {kernel!r}: write it in the line above"
            )
        return TunedKernel(kernel, configs, key)

    return over
