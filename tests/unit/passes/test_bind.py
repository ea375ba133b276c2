"""One binding for each allocation, in a dtype that the target stores."""

from __future__ import annotations

import pytest
from building import Kernel, const

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, bool_, f16, f32, i32, u8, u32, vec
from ruda_core.passes.bind import bind

WORDS = Target(storage=frozenset({"i32", "u32", "f32"}), arithmetic=frozenset())
BYTES = Target(storage=frozenset({"i32", "u32", "f32", "u8"}), arithmetic=frozenset())
ALL = Target(storage=frozenset({"i32", "u32", "f32", "u8", "bool", "f16"}), arithmetic=frozenset())


@pytest.mark.parametrize(
    ("dtype", "words", "bytes_", "everything"),
    [(f32, f32, f32, f32), (u8, u32, u8, u8), (bool_, u32, u8, bool_), (f16, u32, u32, f16)],
)
def test_dtypes(dtype: DType, words: DType, bytes_: DType, everything: DType) -> None:
    k = Kernel()
    k.array("x", dtype)
    found = [bind(k.function(), target).bindings[0].dtype for target in (WORDS, BYTES, ALL)]
    assert found == [words, bytes_, everything]


def test_groups_share_a_binding() -> None:
    k = Kernel(groups=(("x", "z"), ("v", "w")))
    for name, dtype in {"x": f32, "y": i32, "z": f32, "v": f32, "w": u8}.items():
        k.array(name, dtype)
    k.array("u", vec(f32, 4))
    found = [(b.name, b.dtype, [a.name for a in b.arrays]) for b in bind(k.function(), ALL).bindings]
    assert found == [
        ("x_z", f32, ["x", "z"]),
        ("y", i32, ["y"]),
        ("v_w", u32, ["v", "w"]),
        ("u", f32, ["u"]),
    ]


def test_atomics_mark_the_binding() -> None:
    k = Kernel(groups=(("x", "y"),))
    x = k.array("x", i32)
    k.array("y", i32)
    k.array("z", i32)
    k.atomic("add", x, 0, const(i32, 1))
    assert [b.atomic for b in bind(k.function(), ALL).bindings] == [True, False]
