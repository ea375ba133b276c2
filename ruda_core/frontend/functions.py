"""`@ruda.func`: functions that kernels call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ruda_core.errors import RudaError


class Func:
    """A helper; each call in a kernel is inlined. Made by `@ruda.func`."""

    def __init__(self, fn: Callable[..., Any], *, scope: Mapping[str, Any] | None = None) -> None:
        """`scope` holds the names of the defining function, for annotations that are strings."""
        self.fn = fn
        self.scope = scope
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RudaError(
            f"{self.fn.__name__} is a @ruda.func: it is called from kernels. On the host, call "
            f"{self.fn.__name__}.fn, the plain Python function, or leave out the decorator"
        )

    def __copy__(self) -> Func:
        return self

    def __deepcopy__(self, memo: object) -> Func:
        return self

    def __reduce__(self) -> str:
        """Pickled as functions are: by name."""
        return self.fn.__qualname__

    def __repr__(self) -> str:
        return f"<ruda.func {self.fn.__qualname__}>"
