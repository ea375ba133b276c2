"""The public names: all there, and a star import that leaves Python's own alone."""

from __future__ import annotations

import builtins

import ruda_core

HIDDEN = {"abs", "pow", "round"}


def test_the_list_is_sorted_and_every_name_is_there() -> None:
    names = ruda_core.__all__
    assert names == sorted(names) and len(names) == len(set(names))
    assert all(getattr(ruda_core, name) is not None for name in names)


def test_the_list_has_every_name_but_those_of_builtins() -> None:
    public = set(ruda_core._LAZY) | {
        n for n in vars(ruda_core) if not n.startswith("_") and n in ruda_core.__all__
    }
    assert public - set(ruda_core.__all__) == HIDDEN
    assert set(dir(ruda_core)) >= HIDDEN


def test_a_star_import_shadows_no_builtin() -> None:
    assert not set(ruda_core.__all__) & set(dir(builtins))
    namespace: dict[str, object] = {}
    exec("from ruda_core import *\nresult = abs(-1) + max(2, 3) + round(1.5) + pow(2, 2)", namespace)
    assert namespace["result"] == 10 and namespace["kernel"] is ruda_core.kernel


def test_they_are_attributes_all_the_same() -> None:
    assert all(repr(getattr(ruda_core, name)) == f"ruda.{name}" for name in HIDDEN)
