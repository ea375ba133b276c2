"""`with` blocks that are written as generators and, unlike those of contextlib, can be entered again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from types import TracebackType
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Block(Generic[T]):
    """Each `with` over it runs the generator anew."""

    def __init__(self, enter: Callable[[], AbstractContextManager[T]]) -> None:
        self._enter = enter
        self._entered: list[AbstractContextManager[T]] = []

    def __enter__(self) -> T:
        manager = self._enter()
        value = manager.__enter__()
        self._entered.append(manager)
        return value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool | None:
        if not self._entered:
            raise RuntimeError("this block was left without being entered: write `with ...:`")
        return self._entered.pop().__exit__(kind, error, where)


def block(generator: Callable[P, Iterator[T]]) -> Callable[P, Block[T]]:
    """`contextlib.contextmanager`, for a block that may be kept and entered several times."""
    manager = contextmanager(generator)

    @wraps(generator)
    def made(*args: P.args, **kwargs: P.kwargs) -> Block[T]:
        return Block(lambda: manager(*args, **kwargs))

    return made


__all__ = ["Block", "block"]
