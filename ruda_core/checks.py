"""Arguments, checked in one place: each function gives the value as it is used, or raises one error that names
what was meant, what was got and what to write. For calls on the host; a launch has checks of its own."""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, ClassVar, NoReturn

from ruda_core.errors import ServerError


def checked_int(value: object, what: str, *, least: int = 0, error: type[Exception] = ServerError) -> int:
    """An int of `least` or more; a bool is none."""
    try:
        count = operator.index(value)  # type: ignore[arg-type]  # any object: refused below
    except TypeError:
        count = least - 1
    if count < least or isinstance(value, bool):
        raise error(f"{what} is an int from {least}, not {value!r}")
    return count


def checked_number(
    value: Any,
    what: str,
    *,
    least: float = 0.0,
    above: float | None = None,
    most: float = sys.float_info.max,
    error: type[Exception] = ServerError,
) -> float:
    """A real number from `least`, or with `above` greater than that, to `most`; a bool and NaN are none."""
    numeric = isinstance(value, Real) and not isinstance(value, bool)
    if numeric and (value > above if above is not None else value >= least) and value <= most:
        found: float = value
        return found
    bounds = [f"above {above:g}"] if above is not None else [f"from {least:g}"] if least > -math.inf else []
    bounds += [f"to {most:g}"] if most < sys.float_info.max else []
    kind = "a finite number" if most == sys.float_info.max else "a number"
    raise error(f"{what} is {kind} {' '.join(bounds)}".rstrip() + f", not {value!r}")


def checked_ints(values: Any, what: str, *, error: type[Exception] = ServerError) -> tuple[int, ...]:
    """Several ints."""
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        raise error(f"{what} is a tuple of ints, not {values!r}") from None


def checked_list(values: object, what: str, *, error: type[Exception] = ServerError) -> list[Any]:
    """What is in a list or another iterable; text is none."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise error(f"{what} is a list, not {values!r}")
    return list(values)


def checked_tuples(
    values: object, fields: str, *, error: type[Exception] = ServerError
) -> list[tuple[Any, ...]]:
    """A list of tuples with these fields, whose names are separated by commas."""
    wanted = f"a list of ({fields})"
    found = checked_list(values, wanted, error=error)
    size = fields.count(",") + 1
    for item in found:
        if not isinstance(item, tuple | list) or len(item) != size:
            raise error(f"{wanted} is needed here; {item!r} is no ({fields})")
    return [tuple(item) for item in found]


def checked_function(value: object, where: str) -> Callable[..., Any]:
    """Something to call. Raises TypeError, as calling it would."""
    if callable(value):
        return value
    raise TypeError(
        f"{where} takes a function that it calls, not {value!r}: write lambda: ..., so that the work is done inside"
    )


def checked_client(value: Any, where: str, *, error: type[Exception] = ServerError) -> Any:
    """Something with a server, which a client is."""
    if hasattr(value, "server"):
        return value
    raise error(f"{where} takes a client, such as ruda.client() or ruda.client('cuda:0'), not {value!r}")


def checked_path(value: object, what: str, *, error: type[Exception] = ServerError) -> str:
    """A path of the file system; a number, which `open` takes for a descriptor, is none."""
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    raise error(f"{what} is a path, not {value!r}")


class InProcess:
    """What belongs to this process and its devices: copying it gives itself unless a class does better, and it is
    never pickled."""

    __slots__ = ()

    _instead: ClassVar[str] = "make it anew in the other process"
    """What to send to another process, or to keep, instead."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it belongs to this process and its device; {self._instead}"
        )


__all__ = [
    "InProcess",
    "checked_client",
    "checked_function",
    "checked_int",
    "checked_ints",
    "checked_list",
    "checked_number",
    "checked_path",
    "checked_tuples",
]
