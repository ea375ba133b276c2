"""Legalised functions made by hand, each with its inputs and what it must compute."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ruda_core.artifact import ArrayParam, BindingSpec, KernelSource, ParameterLayout, ScalarParam, Slot
from ruda_core.capabilities import Target
from ruda_core.codegen import Dialect
from ruda_core.driver import Driver
from ruda_core.dtypes import BY_NAME, DType, VecType, bool_, f32, i32, u32, vec
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk

UNITS = 64


@dataclass(frozen=True)
class Legal:
    """One function, its layout, the arrays it is given by name, and what they hold afterwards."""

    function: ir.Function
    layout: ParameterLayout
    scalars: tuple[int | float, ...]
    """Slot values in the layout's order."""
    before: Mapping[str, np.ndarray]
    after: Mapping[str, np.ndarray]
    groups: int = 1
    """Workgroups that are launched."""
    needs: frozenset[str] = field(default=frozenset())
    """Semantics, or "storage:dtype" and "arithmetic:dtype", that the target must have."""


def missing(legal: Legal, target: Target) -> list[str]:
    """What the function needs and the target lacks."""
    return [need for need in sorted(legal.needs) if not _has(target, need)]


def _has(target: Target, need: str) -> bool:
    kind, _, what = need.partition(":")
    if kind == "vectors":
        return int(what) in target.vectors
    return what in getattr(target, kind) if what else need in target.semantics


def execute(driver: Driver, dialect: Dialect, legal: Legal) -> dict[str, np.ndarray]:
    """Render, compile, launch; what the arrays of `after` then hold."""
    function = legal.function
    source = KernelSource(
        name=function.name,
        entry="entry",
        dialect=dialect.name,
        text=dialect.render(function, legal.layout, "entry"),
        layout=legal.layout,
        bindings=tuple(
            BindingSpec(b.name, b.dtype.name, tuple(a.name for a in b.arrays), True, True)
            for b in function.bindings
        ),
        params=function.params,
        dim=function.dim,
        mode=function.mode,
        options=dialect.options(function),
    )
    failures: list[Exception] = []
    queue = driver.open_queue(lambda stream, error: failures.append(error))
    launch = driver.launcher(driver.load(source, None), queue)
    storages = {}
    for binding in function.bindings:
        data = legal.before[binding.name].reshape(-1).view(np.uint8)
        storage = storages[binding.name] = driver.allocate(-(-data.nbytes // 256) * 256)
        driver.write(queue, storage, 0, data.data)
    words = struct.pack(legal.layout.format, *legal.scalars)
    launch(0, legal.groups, 1, 1, *storages.values(), words)
    found = {}
    for name, expected in legal.after.items():
        out = np.empty(expected.nbytes, np.uint8)
        driver.read(queue, storages[name], 0, out.data).wait()
        found[name] = out.view(expected.dtype).reshape(expected.shape)
    for storage in storages.values():
        driver.release(storage)
    if failures:
        raise failures[0]
    return found


def symbol(name: str, dtype: DType | VecType = i32, *, mutable: bool = False) -> ir.Symbol:
    return ir.Symbol(name, dtype, mutable)


def let(name: str, value: ir.Expr) -> tuple[ir.Expr, ir.Stmt]:
    bound = ir.Symbol(name, value.type)
    return build.ref(bound), ir.Let(None, bound, value)


def assign(target: ir.Symbol, value: ir.Expr) -> ir.Stmt:
    return ir.Assign(None, target, value)


def number(value: int, dtype: DType = i32) -> ir.Const:
    return build.const(dtype, value)


def unit(axis: int = 0) -> ir.Expr:
    return ir.Builtin(i32, None, "unit_pos", axis)


def position() -> tuple[ir.Expr, ir.Stmt]:
    """The linear position of a one-dimensional launch."""
    group = ir.Builtin(i32, None, "native_workgroup_pos", 0)
    return let("i", build.binary("+", build.binary("*", group, number(UNITS)), unit()))


def load(array: ir.Array, index: ir.Expr, check: ir.Expr | None = None, dtype: DType | VecType | None = None):
    bound = ir.Symbol("t", dtype or array.dtype)
    return build.ref(bound), ir.Load(None, bound, array, (index,), check)


def store(array: ir.Array, index: ir.Expr, value: ir.Expr, check: ir.Expr | None = None) -> ir.Stmt:
    return ir.Store(None, array, (index,), value, check)


def make(
    name: str,
    body: list[ir.Stmt],
    arrays: list[ir.Array],
    before: dict[str, np.ndarray],
    after: dict[str, np.ndarray],
    *,
    slots: tuple[Slot, ...] = (),
    scalars: tuple[int | float, ...] = (),
    words: frozenset[str] = frozenset(),
    needs: tuple[str, ...] = (),
    groups: int = 1,
    mode: str = "checked",
) -> Legal:
    """`words` names arrays bound as u32 words."""
    atomic = {s.array for s in walk(body) if isinstance(s, (ir.Atomic, ir.MaskedStore))}
    bindings = tuple(
        ir.Binding(a.name, u32 if a.name in words else a.dtype.scalar, (a,), a in atomic)
        for a in arrays
        if a.space == "global"
    )
    layout = ParameterLayout.of((Slot("zero", "i32"), *slots))
    params = tuple(ArrayParam(a.name, a.dtype.scalar.name) for a in arrays if a.space == "global")
    function = ir.Function(
        name=name,
        params=(*params, *(ScalarParam(s.name, s.dtype) for s in slots if s.kind == "scalar")),
        arrays=tuple(arrays),
        body=tuple(body),
        dim=(UNITS, 1, 1),
        index=i32,
        mode=mode,  # type: ignore[arg-type]  # a Mode
        fp_contract=False,
        bindings=bindings,
    )
    return Legal(function, layout, (0, *scalars), before, after, groups, frozenset(needs))


def _ints(n: int = UNITS, dtype: str = "i32") -> np.ndarray:
    return np.arange(n).astype(BY_NAME[dtype].numpy)


def saxpy() -> Legal:
    x, y = ir.Array("x", f32, "global"), ir.Array("class", f32, "global")
    i, at = position()
    inside = build.compare("<", i, ir.Length(i32, None, x))
    a, load_a = load(x, i)
    b, load_b = load(y, i)
    value = build.binary("+", build.binary("*", ir.Param(f32, None, "a"), a), b)
    n = 2 * UNITS
    xs, ys = np.arange(n, dtype="f4") / 64, np.arange(n, dtype="f4") / 8 + 5  # exact, contracted or not
    out = ys.copy()
    out[:100] = np.float32(1.5) * xs[:100] + ys[:100]
    return make(
        "saxpy",
        [at, ir.If(None, inside, (load_a, load_b, store(y, i, value)))],
        [x, y],
        {"x": xs, "class": ys},
        {"class": out},
        slots=(Slot("length", "i32", "x"), Slot("scalar", "f32", "a")),
        scalars=(100, 1.5),
        groups=2,
    )


def wrapping() -> Legal:
    """Integer arithmetic wraps, at both ends."""
    y = ir.Array("y", i32, "global")
    i, at = position()
    v, load_v = load(y, i)
    big = build.binary("+", build.binary("*", v, number(2_000_000_011)), number(2**31 - 1))
    value = build.binary("^", build.unary("-", big), build.unary("~", build.binary("-", number(-(2**31)), v)))
    shifted = build.binary("+", value, build.binary("shl", v, number(30, u32)))
    values = _ints() * 77 - 1000
    wide = values.astype(np.int64)
    expected = -(wide * 2_000_000_011 + 2**31 - 1)
    expected = expected.astype(np.int32) ^ ~((-(2**31) - wide).astype(np.int32))
    expected = (expected.astype(np.int64) + (wide << 30)).astype(np.int32)
    return make("wrapping", [at, load_v, store(y, i, shifted)], [y], {"y": values}, {"y": expected})


def loops() -> Legal:
    """Counting up, down, by a step, with a bound that the body changes; breaking and continuing."""
    y = ir.Array("y", i32, "global")
    i, at = position()
    total, end = symbol("total", mutable=True), symbol("int", mutable=True)
    up, down, by, j = symbol("k"), symbol("k"), symbol("k"), symbol("j", mutable=True)
    add = lambda e: assign(total, build.binary("+", build.ref(total), e))  # noqa: E731 - said five times
    even = build.compare("==", build.binary("&", build.ref(up), number(1)), number(0))
    body = [
        at,
        assign(total, number(0)),
        assign(end, i),
        ir.For(
            None,
            up,
            number(0),
            build.ref(end),
            number(1),
            (
                assign(end, number(3)),
                ir.If(None, even, (ir.Continue(None),)),
                ir.If(None, build.compare(">", build.ref(up), number(20)), (ir.Break(None),)),
                add(build.ref(up)),
            ),
        ),
        ir.For(None, down, i, number(-1), number(-1), (add(build.ref(down)),)),
        ir.For(
            None,
            by,
            number(2**31 - 100),
            number(2**31 - 1),
            number(40),
            (add(build.binary("-", build.ref(by), number(2**31 - 100))),),
            number(3, u32),
        ),
        assign(j, number(0)),
        ir.Loop(
            None,
            (
                ir.If(None, build.compare(">=", build.ref(j), number(5)), (ir.Break(None),)),
                assign(j, build.binary("+", build.ref(j), number(1))),
                add(number(1000)),
            ),
        ),
        store(y, i, build.ref(total)),
    ]
    expected = []
    for n in range(UNITS):
        found = 0
        for k in range(n):
            if k % 2 == 0:
                continue
            if k > 20:
                break
            found += k
        expected.append(found + n * (n + 1) // 2 + 120 + 5000)
    return make("for", body, [y], {"y": _ints()}, {"y": np.array(expected, np.int32)})


def exits() -> Legal:
    """Blocks that are left, variables that live outside them."""
    y = ir.Array("y", i32, "global")
    i, at = position()
    v = symbol("v", mutable=True)
    body = [
        at,
        ir.If(None, build.compare(">", i, number(50)), (ir.Leave(None, ir.KERNEL),)),
        ir.Block(
            None,
            1,
            (
                assign(v, number(7)),
                ir.If(None, build.compare("<", i, number(10)), (ir.Leave(None, 1),)),
                assign(v, build.binary("+", build.ref(v), i)),
            ),
            True,
        ),
        store(y, i, build.ref(v)),
    ]
    expected = np.array([n if n > 50 else 7 if n < 10 else 7 + n for n in range(UNITS)], np.int32)
    return make("exits", body, [y], {"y": _ints()}, {"y": expected})


def reduction() -> Legal:
    """Shared memory and barriers."""
    y = ir.Array("y", i32, "global")
    tile, keep = ir.Array("tile", i32, "shared", (UNITS,)), ir.Array("keep", i32, "local", (3,))
    i, at = position()
    v, load_v = load(y, i)
    half = symbol("half", mutable=True)
    a, load_a = load(tile, unit())
    b, load_b = load(tile, build.binary("+", unit(), build.ref(half)))
    first, load_first = load(tile, number(0))
    kept, load_kept = load(keep, number(2))
    smaller = build.compare("<", unit(), build.ref(half))
    body = [
        at,
        load_v,
        store(keep, number(2), v),
        store(tile, unit(), v),
        assign(half, number(UNITS // 2)),
        ir.Barrier(None),
        ir.Loop(
            None,
            (
                ir.If(None, build.compare("==", build.ref(half), number(0)), (ir.Break(None),)),
                ir.If(None, smaller, (load_a, load_b, store(tile, unit(), build.binary("+", a, b)))),
                ir.Barrier(None),
                assign(half, build.binary("shr", build.ref(half), number(1, u32))),
            ),
        ),
        load_first,
        load_kept,
        store(y, i, build.binary("+", first, kept)),
    ]
    values = _ints(2 * UNITS)
    sums = values.reshape(2, UNITS).sum(1).repeat(UNITS).astype(np.int32)
    return make("reduction", body, [y, tile, keep], {"y": values}, {"y": values + sums}, groups=2)


def atomics() -> Legal:
    """Every operation, on global and shared memory."""
    y, mine = ir.Array("y", i32, "global"), ir.Array("mine", u32, "shared", (2,))
    i, at = position()
    zero = build.compare("==", unit(), number(0))
    body: list[ir.Stmt] = [
        at,
        ir.If(
            None,
            zero,
            tuple(ir.Atomic(None, None, "store", mine, (number(k),), (number(0, u32),)) for k in (0, 1)),
        ),
        ir.Barrier(None),
    ]
    operands = {"add": i, "sub": i, "min": build.unary("-", i), "max": i, "and": i, "or": i, "xor": i}
    for place, (op, value) in enumerate(operands.items()):
        body.append(ir.Atomic(None, None, op, y, (number(place),), (value,)))
    old, again, seen, now = symbol("old"), symbol("again"), symbol("seen", u32), symbol("now", u32)
    body += [
        ir.Atomic(None, old, "exchange", y, (build.binary("+", i, number(8)),), (number(-1),)),
        ir.Atomic(
            None,
            again,
            "compare_exchange",
            y,
            (build.binary("+", i, number(8)),),
            (number(-1), build.ref(old)),
        ),
        ir.Atomic(None, seen, "add", mine, (number(1),), (number(2, u32),)),
        ir.Barrier(None),
        ir.Atomic(None, now, "load", mine, (number(1),), ()),
        ir.If(
            None,
            build.compare("!=", build.ref(now), number(2 * UNITS, u32)),
            (ir.Atomic(None, None, "add", y, (number(7),), (number(1),)),),
        ),
        ir.If(
            None,
            build.compare("!=", build.ref(again), number(-1)),
            (ir.Atomic(None, None, "add", y, (number(7),), (number(100),)),),
        ),
    ]
    before = np.concatenate([np.array([5, 5, 5, 5, -1, 0, 0, 0], np.int32), _ints(2 * UNITS) + 3])
    n = np.arange(2 * UNITS)
    after = before.copy()
    after[:7] = [
        5 + n.sum(),
        5 - n.sum(),
        -n.max(),
        n.max(),
        np.bitwise_and.reduce(n),
        np.bitwise_or.reduce(n),
        np.bitwise_xor.reduce(n),
    ]
    return make("atomics", body, [y, mine], {"y": before}, {"y": after}, groups=2)


def masked() -> Legal:
    """Bytes of words that neighbours store at the same time."""
    y = ir.Array("y", BY_NAME["u8"], "global")
    i, at = position()
    byte = build.bitcast(u32, build.binary("&", i, number(3)))
    word = build.binary("shr", i, number(2, u32))
    value = build.bitcast(u32, build.binary("+", i, number(256)))
    shift = build.binary("shl", byte, number(3, u32))
    body = [at, ir.MaskedStore(None, y, word, shift, 0xFF, value)]
    before = np.full(UNITS // 4 + 1, 0xAAAAAAAA, np.uint32)
    after = before.copy()
    after[:-1] = np.arange(UNITS, dtype=np.uint8).view(np.uint32)
    return make("masked", body, [y], {"y": before}, {"y": after}, words=frozenset({"y"}))


def vectors(lanes: int, name: str = "f32") -> Legal:
    """Loads, stores, operators, components and selects of vectors."""
    dtype = BY_NAME[name]
    kind = vec(dtype, lanes)
    x, y = ir.Array("x", kind, "global"), ir.Array("y", kind, "global")
    tile = ir.Array("tile", kind, "shared", (UNITS,))
    i, at = position()
    a, load_a = load(x, i)
    b, load_b = load(tile, unit())
    more = build.binary("+", build.binary("*", b, b), build.like(b, 3))
    chosen = build.select(build.compare("<", b, build.like(b, 100)), more, build.unary("-", b))
    parts = ir.MakeVector(kind, None, tuple(build.component(chosen, lanes - 1 - k) for k in range(lanes)))
    body = [at, load_a, store(tile, unit(), a), ir.Barrier(None), load_b, store(y, i, parts)]
    values = np.arange(UNITS * lanes).reshape(UNITS, lanes).astype(dtype.numpy)
    expected = np.where(values < 100, values * values + 3, -values)[:, ::-1].astype(dtype.numpy)
    return make(
        f"vectors{lanes}{name}",
        body,
        [x, y, tile],
        {"x": values, "y": values},
        {"y": np.ascontiguousarray(expected)},
        needs=(f"vectors:{lanes}", f"arithmetic:{name}"),
    )


def bool_vectors(lanes: int = 4) -> Legal:
    kind, flags = vec(f32, lanes), vec(bool_, lanes)
    x, y = ir.Array("x", kind, "global"), ir.Array("y", kind, "global")
    i, at = position()
    a, load_a = load(x, i)
    small, big = build.compare("<", a, build.like(a, 60)), build.compare(">", a, build.like(a, 20))
    odd = ir.MakeVector(flags, None, tuple(ir.Const(bool_, None, bool(k % 2)) for k in range(lanes)))
    both, bind = let(
        "both", build.either(build.both(small, big), build.negate(build.binary("^", odd, small)))
    )
    first = build.select(build.component(both, 1), build.like(a, 1000), build.like(a, 0))
    value = build.binary("+", build.cast(f32, both, raw=True), first)
    values = np.arange(UNITS * lanes).reshape(UNITS, lanes).astype("f4")
    s, b, o = values < 60, values > 20, np.arange(lanes) % 2 == 1
    flag = (s & b) | ~(o ^ s)
    expected = flag.astype("f4") + np.where(flag[:, 1:2], np.float32(1000), np.float32(0))
    return make(
        "bool", [at, load_a, bind, store(y, i, value)], [x, y], {"x": values, "y": values}, {"y": expected}
    )


def checked() -> Legal:
    """Checks that stay in the access."""
    y = ir.Array("y", i32, "global")
    i, at = position()
    low = build.compare("<", i, number(10))
    v, load_v = load(y, i, low)
    old = symbol("old")
    body = [
        at,
        load_v,
        ir.Atomic(None, old, "add", y, (i,), (number(5),), low),
        store(y, build.binary("+", i, number(UNITS)), build.binary("+", v, build.ref(old)), low),
    ]
    values = np.arange(2 * UNITS, dtype=np.int32) + 1
    after = values.copy()
    after[:10] += 5
    after[UNITS : UNITS + 10] = 2 * values[:10]
    return make("checked", body, [y], {"y": values}, {"y": after}, needs=("lazy_select",))


def narrow_storage(name: str) -> Legal:
    """A dtype that is stored but computed wider: loads and stores convert."""
    dtype = BY_NAME[name]
    x, y = ir.Array("x", dtype, "global"), ir.Array("y", f32, "global")
    tile = ir.Array("tile", dtype, "shared", (UNITS,))
    i, at = position()
    a, load_a = load(x, i, dtype=f32)
    b, load_b = load(tile, unit(), dtype=f32)
    body = [
        at,
        load_a,
        store(tile, unit(), a),
        ir.Barrier(None),
        load_b,
        store(y, i, b),
        store(x, i, build.binary("+", b, build.const(f32, 0))),
    ]
    values = (np.arange(UNITS) / 8 - 3).astype("f4").astype(dtype.numpy)
    values[:2] = [np.inf, 6e-8]
    return make(
        f"narrow{name}",
        body,
        [x, y, tile],
        {"x": values, "y": np.zeros(UNITS, "f4")},
        {"x": values, "y": values.astype("f4")},
        needs=(f"storage:{name}",),
    )


def narrow_integers(name: str) -> Legal:
    dtype = BY_NAME[name]
    y = ir.Array("y", dtype, "global")
    i, at = position()
    v, load_v = load(y, i)
    squared = build.binary("*", v, v)
    value = build.binary("-", build.unary("~", squared), build.binary("shl", v, number(5, u32)))
    values = (np.arange(UNITS) * 977).astype(dtype.numpy)
    wide = values.astype(np.int64)
    expected = (~(wide * wide) - (wide << 5)).astype(dtype.numpy)
    return make(
        f"narrow{name}",
        [at, load_v, store(y, i, value)],
        [y],
        {"y": values},
        {"y": expected},
        needs=(f"arithmetic:{name}",),
    )


def constants(name: str) -> Legal:
    """A constant array and literals at the ends of a dtype."""
    dtype = BY_NAME[name]
    if dtype.is_float:
        values = (0.1, -0.0, 1e-45 if name == "f32" else 5e-324, 1e30, -3.5, 2.0)
    else:
        values = (dtype.min, dtype.max, 0, 1, dtype.max - 1, 3)
    exact = tuple(v.item() for v in np.array(values, dtype.numpy))
    table = ir.Array("table", dtype, "constant", (len(values),), values=exact)
    y = ir.Array("y", dtype, "global")
    i, at = position()
    v, load_v = load(table, build.binary("&", i, number(3)))
    body: list[ir.Stmt] = [at, load_v, store(y, i, v)]
    for place, value in enumerate(exact):
        body.append(store(y, build.binary("+", i, number(UNITS * (place + 1))), build.const(dtype, value)))
    n = len(values)
    expected = np.concatenate(
        [np.array(exact, dtype.numpy)[np.arange(UNITS) & 3], np.repeat(np.array(exact, dtype.numpy), UNITS)]
    )
    return make(
        f"constants{name}",
        body,
        [y, table],
        {"y": np.zeros(UNITS * (n + 1), dtype.numpy)},
        {"y": expected},
        needs=(f"arithmetic:{name}",),
    )


def conversions() -> Legal:
    """Casts between kinds, bits, bools."""
    x, y = ir.Array("x", f32, "global"), ir.Array("y", i32, "global")
    i, at = position()
    a, load_a = load(x, i)
    flag = build.compare("<", a, build.const(f32, 0))
    terms = [
        build.cast(i32, a, raw=True),
        build.bitcast(i32, a),
        build.bitcast(i32, build.cast(u32, flag, raw=True)),
        build.cast(i32, build.cast(f32, i, raw=True), raw=True),
        build.select(build.cast(bool_, i, raw=True), number(100), number(-100)),
    ]
    total = terms[0]
    for term in terms[1:]:
        total = build.binary("^", total, term)
    values = np.linspace(-50, 50, UNITS, dtype="f4")
    n = np.arange(UNITS, dtype=np.int32)
    expected = values.astype(np.int32) ^ values.view(np.int32) ^ (values < 0) ^ n ^ np.where(n, 100, -100)
    return make(
        "conversions",
        [at, load_a, store(y, i, total)],
        [x, y],
        {"x": values, "y": n},
        {"y": expected.astype(np.int32)},
    )


CASES: dict[str, Callable[[], Legal]] = {
    "saxpy": saxpy,
    "wrapping": wrapping,
    "loops": loops,
    "exits": exits,
    "reduction": reduction,
    "atomics": atomics,
    "masked": masked,
    "checked": checked,
    "bool_vectors": bool_vectors,
    "conversions": conversions,
    **{
        f"vectors_{n}_{d}": (lambda n=n, d=d: vectors(n, d))
        for n in (2, 3, 4, 8, 16)
        for d in ("f32", "i32", "i16")
    },
    **{f"narrow_{d}": (lambda d=d: narrow_storage(d)) for d in ("f16", "bf16")},
    **{f"narrow_{d}": (lambda d=d: narrow_integers(d)) for d in ("i8", "u8", "i16", "u16")},
    **{
        f"constants_{d}": (lambda d=d: constants(d)) for d in ("i8", "i32", "u32", "i64", "u64", "f32", "f64")
    },
}
