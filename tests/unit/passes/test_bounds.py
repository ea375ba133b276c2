"""Checks where they are needed, none where a proof exists, and no proof that wrapping would break."""

from __future__ import annotations

import numpy as np
import pytest
from building import Kernel, const, fn, select
from evaluate import Buffer, run
from generator import ACCESSES, EDGES, Generator, always_checked

from ruda_core.dtypes import f32, i8, i32, i64, u8, u32, vec
from ruda_core.ir.rewrite import walk
from ruda_core.ir.text import show_expr
from ruda_core.ir.verify import verify
from ruda_core.passes.bounds import bounds
from ruda_core.passes.fold import fold


def checks(k: Kernel) -> list[str]:
    """The checks of all accesses in order, "" for one that is proved."""
    function = bounds(fold(k.function()))
    verify(function)
    return [
        "" if s.check is None else show_expr(s.check) for s in walk(function.body) if isinstance(s, ACCESSES)
    ]


def saxpy(**facts: object) -> Kernel:
    k = Kernel("saxpy", dim=(64, 1, 1), **facts)
    a, x, y = k.scalar("a", f32), k.array("x", f32), k.array("y", f32)
    i = k.let(k.builtin("absolute_pos"), "i")
    with k.if_(i < k.len(y)):
        k.store(y, i, a * k.load(x, i) + k.load(y, i))
    return k


def test_saxpy_needs_no_check_with_equal_lengths() -> None:
    assert checks(saxpy(equal_lengths=(("x", "y"),))) == ["", "", ""]


def test_saxpy_checks_only_the_other_array() -> None:
    assert checks(saxpy()) == ["(%i.0 < length(x))", "", ""]


def test_unchecked_mode_adds_nothing() -> None:
    assert checks(saxpy(mode="unchecked")) == ["", "", ""]


def test_an_early_return_proves_what_follows() -> None:
    k = Kernel()
    x = k.array("x", f32)
    i = k.let(k.builtin("absolute_pos"))
    with k.if_(i >= k.len(x)):
        k.leave()
    k.store(x, i, 1)
    assert checks(k) == [""]


def test_a_return_under_a_condition_inside_proves_nothing() -> None:
    k = Kernel()
    x, n = k.array("x", f32), k.scalar("n", i32)
    i = k.let(k.builtin("absolute_pos"))
    with k.if_(i >= k.len(x)), k.if_(n > 3):
        k.leave()
    k.store(x, i, 1)
    assert checks(k) == ["(%t.0 < length(x))"]


def test_neighbours_in_a_stencil() -> None:
    k = Kernel()
    x = k.array("x", f32)
    i = k.let(k.builtin("absolute_pos"))
    with k.if_((i > 0) & (i < k.len(x) - 1)):
        k.load(x, i - 1)
        k.load(x, i)
        k.load(x, i + 1)
    assert checks(k) == ["", "", ""]


def test_the_guard_i_plus_1_proves_both() -> None:
    k = Kernel()
    x = k.array("x", f32)
    i = k.let(k.builtin("absolute_pos"))
    with k.if_(i + 1 < k.len(x)):
        k.load(x, i + 1)
        k.load(x, i)
    assert checks(k) == ["", ""]


def test_the_guard_n_plus_1_of_a_parameter_may_wrap() -> None:
    k = Kernel()
    x, n = k.array("x", f32), k.scalar("n", i32)
    with k.if_((n >= 0) & (n + 1 < k.len(x))):
        k.load(x, n)  # n = 2**31 - 1: n + 1 is negative, below every length
    assert checks(k) == ["(n < length(x))"]


def test_an_unknown_sign_takes_one_unsigned_comparison() -> None:
    k = Kernel()
    x, n = k.array("x", f32), k.scalar("n", i32)
    k.load(x, n)
    assert checks(k) == ["(u32(n) < u32(length(x)))"]


def test_a_known_upper_bound_leaves_the_sign_to_check() -> None:
    k = Kernel()
    x, n = k.array("x", f32), k.scalar("n", i32)
    with k.if_(n < k.len(x)):
        k.load(x, n)
    assert checks(k) == ["(n >= 0:i32)"]


@pytest.mark.parametrize("dtype", [i8, u8, u32, i64])
def test_indices_of_other_dtypes(dtype: object) -> None:
    k = Kernel()
    x, n = k.array("x", f32), k.scalar("n", dtype)  # type: ignore[arg-type]
    k.store(x, n, 1)
    f = bounds(k.function())
    for n_value in {-1, 0, 3, 4, 127, 200, 2**32 - 1, 2**32, 2**32 + 1}:
        if not dtype.min <= n_value <= dtype.max:  # type: ignore[attr-defined]
            continue
        data = np.zeros(4, np.float32)
        run(f, x=data, n=n_value)
        assert data.sum() == (1 if 0 <= n_value < 4 else 0), n_value


def test_loop_ranges() -> None:
    k = Kernel()
    x = k.array("x", f32)
    n = k.len(x)
    with k.range(0, n) as i:
        k.load(x, i)
    with k.range(1, n - 1) as i:
        k.load(x, i - 1)
        k.load(x, i + 1)
    with k.range(n - 1, -1, -1) as i:
        k.load(x, i)
    with k.range(k.builtin("absolute_pos"), n, k.builtin("workgroup_count", 0) * 1) as i:
        k.load(x, i)
    assert checks(k) == [""] * 5


def test_a_range_with_an_unknown_step() -> None:
    k = Kernel()
    x, step = k.array("x", f32), k.scalar("step", i32)
    with k.range(0, 4, step) as i:
        k.load(x, i)
    s = k.memory("shared", "s", f32, (4,))
    with k.range(0, 4, step) as i:
        k.load(s, i)
    assert checks(k) == ["(%k.0 < length(x))", ""]


def test_min_and_clamp() -> None:
    k = Kernel()
    x = k.array("x", f32)
    n = k.len(x)
    i = k.builtin("absolute_pos")
    with k.if_(n > 0):
        k.load(x, fn("min", i, n - 1))
        k.load(x, fn("min", fn("max", i - 5, 0), n - 1))
        k.load(x, fn("max", fn("min", i - 5, n - 1), 0))
        k.load(x, select(i < n, i, 0))
    assert checks(k)[:3] == ["", "", ""]


def test_clamp_on_an_empty_array_is_checked() -> None:
    k = Kernel()
    x = k.array("x", f32)
    k.load(x, fn("min", k.builtin("absolute_pos"), k.len(x) - 1))
    assert checks(k) == ["(%at.0 >= 0:i32)"]


def test_remainders_and_quotients() -> None:
    k = Kernel()
    x, n, s = k.array("x", f32), k.scalar("n", i32), k.memory("shared", "s", f32, (16,))
    size = k.len(x)
    i = k.let(k.builtin("absolute_pos"))
    k.load(s, n % 16)
    k.load(s, n & 15)
    with k.if_(i < size):
        k.load(x, i // 4)
        k.load(x, i >> 2)
    with k.if_(size > 0):
        k.load(x, n % size)
    assert checks(k) == ["", "", "", "", ""]


def test_a_remainder_by_what_may_be_negative_is_checked() -> None:
    k = Kernel()
    n, m, s = k.scalar("n", i32), k.scalar("m", i32), k.memory("shared", "s", f32, (16,))
    k.load(s, n % m)
    assert checks(k) != [""]


def test_each_axis_of_a_tensor_has_its_own_extent() -> None:
    k = Kernel()
    t = k.array("t", f32, rank=2)
    row, col = k.let(k.builtin("absolute_pos", 1)), k.let(k.builtin("absolute_pos", 0))
    with k.if_((row < k.shape(t, 0)) & (col < k.shape(t, 1))):
        k.load(t, row, col)
        k.load(t, col, row)
        k.load(t, row, flat=True)
    assert checks(k) == [
        "",
        "((%t.0 < shape(t, 0)) and (%t.1 < shape(t, 1)))",
        "(%t.0 < length(t))",
    ]


def tiled_matmul() -> Kernel:
    k = Kernel("matmul", dim=(16, 16, 1))
    a, b, c = (k.array(n, f32, rank=2) for n in "abc")
    ta, tb = (k.memory("shared", n, f32, (16, 16)) for n in ("ta", "tb"))
    x, y = k.let(k.builtin("unit_pos", 0)), k.let(k.builtin("unit_pos", 1))
    col = k.let(k.builtin("workgroup_pos", 0) * 16 + x)
    row = k.let(k.builtin("workgroup_pos", 1) * 16 + y)
    acc = k.var(const(f32, 0))
    with k.range(0, (k.shape(a, 1) + 15) // 16) as tile:
        k.store(ta, (y, x), k.load(a, row, tile * 16 + x))
        k.store(tb, (y, x), k.load(b, tile * 16 + y, col))
        k.barrier()
        with k.range(0, 16) as i:
            k.set(acc, acc + k.load(ta, y, i) * k.load(tb, i, x))
        k.barrier()
    with k.if_((row < k.shape(c, 0)) & (col < k.shape(c, 1))):
        k.store(c, (row, col), acc)
    return k


def test_tiles_of_a_matmul_are_proved() -> None:
    found = checks(tiled_matmul())
    global_a, shared_a, global_b, shared_b, *rest = found
    assert (shared_a, shared_b, rest) == ("", "", ["", "", ""])
    assert global_a and global_b


def reduction() -> Kernel:
    k = Kernel("reduce", dim=(256, 1, 1))
    x, out = k.array("x", f32), k.array("out", f32)
    s = k.memory("shared", "s", f32, (256,))
    u = k.let(k.builtin("unit_pos"))
    i = k.let(k.builtin("absolute_pos"))
    v = k.var(const(f32, 0))
    with k.if_(i < k.len(x)):
        k.set(v, k.load(x, i))
    k.store(s, u, v)
    stride = k.var(const(i32, 128))
    with k.while_(stride > 0):
        k.barrier()
        with k.if_(u < stride):
            k.store(s, u, k.load(s, u) + k.load(s, u + stride))
        k.set(stride, stride // 2)
    with k.if_(u.eq(0)):
        k.store(out, k.builtin("workgroup_pos"), k.load(s, const(i32, 0)))
    return k


def test_a_halving_loop_is_proved() -> None:
    assert checks(reduction()) == ["", "", "", "", "", "", "(workgroup_pos < length(out))"]


def test_a_variable_that_grows_in_a_loop_loses_its_range() -> None:
    k = Kernel()
    x, n = k.array("x", f32), k.scalar("n", i32)
    i = k.var(const(i32, 0))
    with k.while_(i < k.len(x)):
        k.load(x, i)  # may wrap: i + n is unknown
        k.set(i, i + n)
    assert checks(k) == ["(%v.0 >= 0:i32)"]


def test_a_variable_counted_by_one_is_proved() -> None:
    k = Kernel()
    x = k.array("x", f32)
    i = k.var(const(i32, 0))
    with k.while_(i < k.len(x)):
        k.load(x, i)
        k.set(i, i + 1)
    assert checks(k) == [""]


def test_facts_end_with_their_branch_and_with_assignment() -> None:
    k = Kernel()
    x = k.array("x", f32)
    i = k.var(k.builtin("absolute_pos"))
    with k.if_(i < k.len(x)):
        k.load(x, i)
        k.set(i, i + 1)
        k.load(x, i)
    k.load(x, i)
    assert [bool(c) for c in checks(k)] == [False, True, True]


def test_a_product_in_a_branch_is_not_remembered_outside() -> None:
    k = Kernel()
    n, m, s = k.scalar("n", i32), k.scalar("m", i32), k.memory("shared", "s", f32, (16,))
    with k.if_((n >= 0) & (n < 4) & (m >= 0) & (m < 4)):
        k.load(s, n * m)
    k.load(s, n * m)
    assert [bool(c) for c in checks(k)] == [False, True]


def test_u8_values_index_256_bins() -> None:
    k = Kernel()
    x, bins = k.array("x", u8), k.memory("shared", "bins", u32, (256,))
    i = k.builtin("absolute_pos")
    k.atomic("add", bins, k.load(x, i).to(i32), const(u32, 1))
    assert checks(k) == ["(absolute_pos < length(x))", ""]


def test_vector_arrays_count_vectors() -> None:
    k = Kernel()
    x = k.array("x", vec(f32, 4))
    i = k.builtin("absolute_pos")
    with k.if_(i < k.len(x)):
        k.load(x, i)
    assert checks(k) == [""]


def test_a_constant_index_outside_is_no_access() -> None:
    k = Kernel()
    s, out = k.memory("shared", "s", f32, (4,)), k.array("out", f32)
    k.store(s, 4, 1)
    k.store(out, 0, k.load(s, const(i32, -1)) + 5)
    f = bounds(k.function())
    assert not any(isinstance(a, ACCESSES) and a.array is s for a in walk(f.body))
    data = np.zeros(1, np.float32)
    run(f, out=data)
    assert data[0] == 5


def test_validate_mode_registers_a_site_for_each_check() -> None:
    k = saxpy(mode="validate")
    f = bounds(k.function())
    sites = [s.site for s in walk(f.body) if isinstance(s, ACCESSES)]
    assert sites == [0, None, None]
    assert [(s.file, s.line, s.array) for s in f.sites] == [("kernel.py", 3, "x")]


@pytest.mark.parametrize("seed", range(120))
def test_random_kernels_access_nothing_out_of_bounds(seed: int) -> None:
    """Checked by running: an access without a check that is out of bounds is an error of the interpreter."""
    g = Generator(seed)
    g.body(3)
    f = bounds(fold(g.k.function()))
    verify(f)
    plain = g.k.function()
    for _ in range(4):
        n, m = g.random.choice(EDGES), g.random.choice(EDGES)
        results = []
        for function in (f, always_checked(plain)):
            data = np.zeros(6, np.int32)
            run(function, out=Buffer(data, length=4), n=n, m=m, count=(3, 1, 1))
            results.append(data.tolist())
        assert results[0] == results[1]
        assert results[0][4:] == [0, 0]
