"""Elementwise kernels widened: what qualifies, what it becomes, and that each element is done once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluate import Buffer, run

import ruda_core as ruda
from ruda_core import Array, Tensor, Vec, f16, f32, f64, i8, i32, u8, u32
from ruda_core.artifact import ArrayParam
from ruda_core.capabilities import Target
from ruda_core.compiler import LANGUAGE
from ruda_core.dtypes import ALL
from ruda_core.frontend import lower, signature
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import const
from ruda_core.ir.rewrite import Rewriter, walk
from ruda_core.ir.text import show
from ruda_core.ir.types import ArrayType, TensorType
from ruda_core.ir.verify import verify
from ruda_core.passes.bind import bind
from ruda_core.passes.flatten import flatten
from ruda_core.passes.positions import positions
from ruda_core.passes.widen import widen

GOLDEN = Path(__file__).with_name("widened.ir")
NAMES = frozenset(d.name for d in ALL) - {"bool", "f16", "bf16"}
TARGET = Target(
    storage=NAMES,
    arithmetic=NAMES,
    vectors=frozenset({2, 4, 8, 16}),
    semantics=frozenset({"views"}),
    index64=True,
    widen=16,
)


def language(kernel: Callable[..., Any], dim: Any = 64, **options: Any) -> ir.Function:
    """The function of a kernel as it is before it is legalised."""
    given: dict[str, Any] = {}
    for p in signature(kernel).params:
        kind = p.annotation
        if isinstance(kind, (ArrayType, TensorType)):
            rank = 1 if isinstance(kind, TensorType) else None
            kind = ArrayParam(p.name, kind.element.scalar.name, kind.element.lanes, rank)
        given[p.name] = kind
    facts = {k: options.pop(k) for k in ("groups", "equal_lengths", "spread", "askew") if k in options}
    function = replace(lower(kernel, given, dim=dim, **options).function, **facts)
    for step in LANGUAGE:
        function = step(function)
    return function


def widened(
    kernel: Callable[..., Any], dim: Any = 64, target: Target = TARGET, **options: Any
) -> ir.Function:
    function = widen(language(kernel, dim, **options), target)
    verify(function, "widen")
    return function


# Kernels that qualify -----------------------------------------------------------------------------


def saxpy(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


def increment(y: Array[i32]):
    y[ruda.ABSOLUTE_POS] += 1


def early(n: u32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i >= n:
        return
    v = x[i]
    if v < 0.0:
        v = 0.0
    y[i] = v


def fill(y: Array[f64]):
    if len(y) > ruda.ABSOLUTE_POS:
        y[ruda.ABSOLUTE_POS] = 1.0


def bytes_(x: Array[u8], y: Array[u8]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS]


def mixed(x: Array[i8], flag: Array[ruda.bool_], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if flag[i] and i < len(x):
        flag[i] = False
    y[i] = f32(x[i])


def reads_elsewhere(x: Array[f32], table: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS] * table[3]


@pytest.mark.parametrize(
    ("kernel", "width"),
    [(saxpy, 4), (increment, 4), (early, 4), (fill, 2), (bytes_, 16), (reads_elsewhere, 4)],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_elements_of_the_widest_dtype_fill_an_access(kernel: Any, width: int) -> None:
    assert widened(kernel).per_unit == width


@pytest.mark.parametrize(("dim", "width"), [(100, 4), (24, 8), (6, 2)])
def test_rows_are_multiples_of_the_vector(dim: int, width: int) -> None:
    assert widened(bytes_, dim).per_unit == width


# Kernels that do not ------------------------------------------------------------------------------


def neighbour(x: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS + 1]


def gather(where: Array[i32], x: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[where[ruda.ABSOLUTE_POS]]


def written_elsewhere(x: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS]
    y[0] = 1.0


def read_elsewhere_and_written(y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = y[0]


def other_position(x: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS] + f32(ruda.UNIT_POS)


def along_one_axis(x: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS_X] = x[ruda.ABSOLUTE_POS_X]


def loop(x: Array[f32], y: Array[f32]):
    for _ in range(3):
        y[ruda.ABSOLUTE_POS] += x[ruda.ABSOLUTE_POS]


def barrier(x: Array[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS]
    ruda.barrier()


def shared(x: Array[f32], y: Array[f32]):
    tile = ruda.shared(f32, 64)
    tile[0] = x[ruda.ABSOLUTE_POS]
    y[ruda.ABSOLUTE_POS] = tile[0]


def local(x: Array[f32], y: Array[f32]):
    own = ruda.local(f32, 2)
    own[0] = x[ruda.ABSOLUTE_POS]
    y[ruda.ABSOLUTE_POS] = own[1]


def atomic(x: Array[i32], y: Array[i32]):
    ruda.atomic_add(y, ruda.ABSOLUTE_POS, x[ruda.ABSOLUTE_POS])


def by_data(x: Array[f32], y: Array[f32]):
    if x[ruda.ABSOLUTE_POS] > 0.0:
        y[ruda.ABSOLUTE_POS] = 1.0


def by_parity(x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i % 2 == 0:
        y[i] = x[i]


def strided(x: Tensor[f32], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS]


def vectors(x: Array[Vec[f32, 4]], y: Array[Vec[f32, 4]]):
    y[ruda.ABSOLUTE_POS] = x[ruda.ABSOLUTE_POS]


def unstored(x: Array[f16], y: Array[f32]):
    y[ruda.ABSOLUTE_POS] = f32(x[ruda.ABSOLUTE_POS])


def heavy(x: Array[f32], y: Array[f32]):
    v = x[ruda.ABSOLUTE_POS]
    for _ in ruda.unroll(range(40)):
        v = ruda.sin(v) * ruda.exp(v)
    y[ruda.ABSOLUTE_POS] = v


def only_places(y: Array[f32]):
    y[3] = f32(ruda.ABSOLUTE_POS)


@pytest.mark.parametrize(
    "kernel",
    [
        neighbour,
        gather,
        written_elsewhere,
        read_elsewhere_and_written,
        other_position,
        along_one_axis,
        loop,
        barrier,
        shared,
        local,
        atomic,
        by_data,
        by_parity,
        strided,
        vectors,
        unstored,
        heavy,
        only_places,
    ],
    ids=lambda k: k.__name__,
)
def test_left_alone(kernel: Any) -> None:
    function = language(kernel)
    assert widen(function, TARGET) is function


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (replace(TARGET, widen=0), {}),
        (replace(TARGET, widen=4), {}),
        (replace(TARGET, vectors=frozenset()), {}),
        (replace(TARGET, semantics=frozenset({"offset"})), {}),
        (TARGET, {"mode": "validate"}),
        (TARGET, {"groups": (("x", "y"),)}),
        (TARGET, {"askew": True}),
        (TARGET, {"dim": 7}),
    ],
    ids=["no gain", "narrow", "no vectors", "offsets", "validate", "one allocation", "askew", "rows"],
)
def test_left_alone_where(target: Target, options: dict[str, Any]) -> None:
    function = language(saxpy, **options)
    assert widen(function, target) is function


def test_bool_moves_as_bytes() -> None:
    function = widened(mixed)
    assert function.per_unit == 1  # one store depends on data

    def flags(flag: Array[ruda.bool_], y: Array[f32]):
        y[ruda.ABSOLUTE_POS] = 1.0 if flag[ruda.ABSOLUTE_POS] else 2.0

    function = widened(flags)
    assert [repr(a.dtype) for a in function.arrays if a.over] == ["Vec[u8, 4]", "Vec[f32, 4]"]


# What it becomes ----------------------------------------------------------------------------------


def test_golden() -> None:
    """To accept a change that is meant: remove the file, run twice, read the difference."""
    text = show(widened(saxpy, equal_lengths=(("x", "y"),)))
    if not GOLDEN.exists():
        GOLDEN.write_text(text)
        pytest.fail(f"{GOLDEN.name} was not there and has been written")
    assert text == GOLDEN.read_text()


def test_code_for_an_arrays_end_is_not_repeated() -> None:
    loads = [s for s in walk(widened(saxpy, equal_lengths=(("x", "y"),)).body) if isinstance(s, ir.Load)]
    assert len(loads) == 4


# What it does -------------------------------------------------------------------------------------


def launch(function: ir.Function, count: Any, arrays: dict[str, Buffer], **options: Any) -> None:
    """As the launcher does it: fewer groups along x, and arrays by vectors over the same memory."""
    native = options.pop("native", None) or (-(-count[0] // function.per_unit), *count[1:])
    function = bind(flatten(positions(function), TARGET), TARGET)
    verify(function)
    wide = {a.name: Buffer(arrays[a.over.name].data) for a in function.arrays if a.over is not None}
    run(function, arrays={**arrays, **wide}, count=count, native_count=native, flattened=True, **options)


@pytest.mark.parametrize("index64", [False, True], ids=["i32", "i64"])
@pytest.mark.parametrize(
    ("dim", "count"),
    [
        ((8, 1, 1), (5, 1, 1)),
        ((4, 1, 1), (7, 1, 1)),
        ((12, 2, 1), (3, 2, 2)),
        ((4, 1, 2), (2, 3, 1)),
        ((4, 3, 2), (1, 1, 1)),
    ],
)
def test_each_element_is_done_once(dim: Any, count: Any, index64: bool) -> None:
    units = int(np.prod(dim) * np.prod(count))
    function = widened(increment, dim, index64=index64)
    assert function.per_unit == 4
    for offset in (0, 4, 12):
        for length in (units, units - 1, units - 6, 0):
            data = np.zeros(units + 12, np.int32)
            launch(function, count, {"y": Buffer(data, offset, length)})
            wanted = np.zeros_like(data)
            wanted[offset : offset + length] = 1
            assert np.array_equal(data, wanted)


@pytest.mark.parametrize("native", [(3, 1, 1), (2, 2, 1), (2, 2, 2), (5, 3, 1)])
def test_folded_launches(native: Any) -> None:
    function = widened(increment, 4, spread=True)
    data = np.zeros(64, np.int32)
    launch(function, (11, 1, 1), {"y": Buffer(data, 0, 64)}, native=native)
    assert np.array_equal(data, np.arange(64) < 44)


@pytest.mark.parametrize("offsets", [(0, 0), (4, 8)])
@pytest.mark.parametrize("n", [0, 1, 29, 30, 31, 32, 40])
def test_returns_and_variables(offsets: tuple[int, int], n: int) -> None:
    function = widened(early, 8)
    x = np.arange(48, dtype=np.float32) - 20
    for length in (32, 27):
        y = np.full(48, 9, np.float32)
        arrays = {"x": Buffer(x, offsets[0], length), "y": Buffer(y, offsets[1], 32)}
        launch(function, (4, 1, 1), arrays, scalars={"n": n})
        seen = np.where(np.arange(32) < length, x[offsets[0] : offsets[0] + 32], 0)
        wanted = np.full(48, 9, np.float32)
        wanted[offsets[1] : offsets[1] + min(n, 32)] = np.maximum(seen, 0)[: min(n, 32)]
        assert np.array_equal(y, wanted)


def test_positions_past_the_index_type_do_nothing() -> None:
    """The last group of the largest launch reaches past 2^31: what is over must not come back below zero."""

    def guarded(n: i32, y: Array[i32]):
        i = ruda.ABSOLUTE_POS
        if i < n:
            y[i] += 1

    count = (2**31 - 1) // 12
    last = -(-count // 4) - 1
    assert last * 48 < 2**31 < last * 48 + 48

    class LastGroup(Rewriter):
        def expr(self, e: ir.Expr) -> ir.Expr:
            here = isinstance(e, ir.Builtin) and e.name == "native_workgroup_pos" and e.axis == 0
            return const(u32, last) if here else e

    function = LastGroup().run(positions(widened(guarded, 12)))
    data = np.zeros(8, np.int32)
    arrays = {"y": Buffer(data, 0, 8), "y.by4": Buffer(data)}
    launched = bind(flatten(function, TARGET), TARGET)
    native = (1, 1, 1)
    run(launched, arrays=arrays, n=0, count=(count, 1, 1), native_count=native, flattened=True)
    assert not data.any()


# By vectors only ----------------------------------------------------------------------------------

WORDS = replace(TARGET, semantics=frozenset())


def test_memory_of_one_type_is_named_by_vectors_alone() -> None:
    function = widened(saxpy, target=WORDS)
    used = {s.array.name for s in walk(function.body) if isinstance(s, (ir.Load, ir.Store))}
    assert used == {"x.by4", "y.by4"}
    assert function.aligned == ("x", "y")


@pytest.mark.parametrize(
    ("dim", "count"), [((8, 1, 1), (5, 1, 1)), ((4, 3, 1), (3, 2, 2)), ((4, 1, 1), (1, 1, 1))]
)
def test_each_element_is_done_once_by_vectors(dim: Any, count: Any) -> None:
    units = int(np.prod(dim) * np.prod(count))
    function = widened(increment, dim, WORDS)
    for offset in (0, 4, 8):
        for length in (units, units - 1, units - 3, units // 2 + 2, 0):
            data = np.zeros(units + 12, np.int32)
            launch(function, count, {"y": Buffer(data, offset, length)})
            wanted = np.zeros_like(data)
            wanted[offset : offset + length] = 1
            assert np.array_equal(data, wanted)


@pytest.mark.parametrize("n", [0, 1, 29, 30, 31, 32, 40])
def test_returns_and_variables_by_vectors(n: int) -> None:
    function = widened(early, 8, WORDS)
    x = np.arange(48, dtype=np.float32) - 20
    for length in (32, 27, 2):
        y = np.full(48, 9, np.float32)
        launch(function, (4, 1, 1), {"x": Buffer(x, 4, length), "y": Buffer(y, 8, 32)}, scalars={"n": n})
        wanted = np.full(48, 9, np.float32)
        seen = np.where(np.arange(32) < length, x[4:36], 0)
        wanted[8 : 8 + min(n, 32)] = np.maximum(seen, 0)[: min(n, 32)]
        assert np.array_equal(y, wanted)
