"""Conversions on bare targets, against NumPy where it is defined and exact arithmetic elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from bare import TARGET, TARGET64, apply, corners

from ruda_core.dtypes import ALL, INTEGERS, DType, bf16, bool_, f16, f32, f64
from ruda_core.ir import build as b
from ruda_core.passes import values

EVERY16 = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)


def agree(got: np.ndarray, want: np.ndarray, x: np.ndarray) -> None:
    """Equal to the bit, save NaN's payload."""
    if got.dtype.kind not in "biu":
        got, want = got.astype(np.float64), want.astype(np.float64)
        signs = np.signbit(got) == np.signbit(want)
        bad = ~(((got == want) & signs) | (np.isnan(got) & np.isnan(want)))
    else:
        bad = got != want
    assert not bad.any(), f"{bad.sum()} differ: {x[bad][:5]} gives {got[bad][:5]}, not {want[bad][:5]}"


def exact(to: DType, of: DType, x: np.ndarray) -> np.ndarray:
    plain = [float(v) if of.is_float else bool(v) if of is bool_ else int(v) for v in x]
    with np.errstate(all="ignore"):
        results = [values.cast(to, of, v) for v in plain]
        return np.array(results, None if to.is_float else to.numpy).astype(to.numpy)


def convert(to: DType, of: DType, x: np.ndarray) -> np.ndarray:
    return apply(lambda p: b.cast(to, p), (of,), x, result=to)


@pytest.mark.parametrize("to", ALL, ids=str)
@pytest.mark.parametrize("of", ALL, ids=str)
def test_conversions_at_corners(to: DType, of: DType) -> None:
    if of is to:
        return
    x = np.array([False, True]) if of is bool_ else corners(of)
    agree(convert(to, of, x), exact(to, of, x), x)


@pytest.mark.parametrize("of", [f16, bf16], ids=str)
@pytest.mark.parametrize("to", [f32, bf16, f16, *INTEGERS[:3]], ids=str)
def test_every_16_bit_float(to: DType, of: DType) -> None:
    if of is to:
        return
    x = EVERY16.view(of.numpy)
    agree(convert(to, of, x), exact(to, of, x), x)


@pytest.mark.parametrize("to", [f16, bf16], ids=str)
def test_f32_rounds_to_nearest_even(to: DType) -> None:
    """All exponents, with the significands at and around every halfway point."""
    halves = np.arange(0, 1 << 32, 1 << 11, dtype=np.uint64)
    bits = np.concatenate([halves, halves + 1, halves - 1 & 0xFFFFFFFF]).astype(np.uint32)
    x = bits.view(np.float32)
    with np.errstate(all="ignore"):
        agree(convert(to, f32, x), x.astype(to.numpy), x)


def test_named_bf16_values() -> None:
    x = np.array([3.14, 1.00390625, 1.01171875, -1e-8, np.float32(np.nan)], np.float32)
    x.view(np.uint32)[4] = 0x7F800001
    got = convert(bf16, f32, x).view(np.uint16)
    assert [hex(v) for v in got[:4]] == ["0x4049", "0x3f80", "0x3f82", "0xb22c"]
    assert np.isnan(got.view(bf16.numpy)[4].astype(np.float32))


@pytest.mark.parametrize("to", [f16, bf16], ids=str)
def test_f64_rounds_once(to: DType) -> None:
    """Values that f32 would first round onto a halfway point."""
    base = EVERY16.view(to.numpy).astype(np.float64)
    with np.errstate(all="ignore"):
        step = np.abs(np.nextafter(base.astype(np.float32), np.float32(np.inf)) - base) / 2
        ends = np.float64(2.0) ** np.array([-12, -9])
        x = np.concatenate([base * (1 + e) * (1 + s) for e in ends for s in (2.0**-40, 0, -(2.0**-40))])
        x = np.concatenate([x, base + step])
        agree(convert(to, f64, x), exact(to, f64, x), x)


@pytest.mark.parametrize("of", [d for d in INTEGERS if d.bits >= 32], ids=str)
def test_integers_reach_bf16_with_one_rounding(of: DType) -> None:
    rng = np.random.default_rng(1)
    heads = rng.integers(256, 512, 4000, dtype=np.uint64) * 2 + 1
    shifts = rng.integers(0, of.bits - 11, 4000).astype(np.uint64)
    m = ((heads << shifts) + rng.integers(-1, 2, 4000).astype(np.uint64)).astype(of.numpy)
    x = np.concatenate([m, -m])
    agree(convert(bf16, of, x), exact(bf16, of, x), x)


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
def test_16_bit_arithmetic_is_rounded_after_each_operation(op: str, dtype: DType) -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.integers(0, 1 << 16, 60000).astype(np.uint16).view(dtype.numpy) for _ in range(2))
    with np.errstate(all="ignore"):
        wide = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op]
        want = wide(x.astype(np.float64), y.astype(np.float64))
        want = exact(dtype, f64, want)
    agree(apply(lambda p, q: b.binary(op, p, q), (dtype, dtype), x, y), want, x)


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_16_bit_bits(dtype: DType) -> None:
    from ruda_core.dtypes import i16, u16

    for word in (u16, i16):
        x = EVERY16.view(dtype.numpy)
        got = apply(lambda p, word=word: b.bitcast(word, p), (dtype,), x, result=word)
        nan = np.isnan(x.astype(np.float32))
        assert (got.view(np.uint16) == EVERY16)[~nan].all()
        back = apply(lambda p: b.bitcast(dtype, p), (word,), EVERY16.view(word.numpy), result=dtype)
        agree(back, x, EVERY16)


def test_a_native_dtype_is_converted_by_the_target() -> None:
    from dataclasses import replace

    from lanes import scalar_function

    from ruda_core.ir.text import show
    from ruda_core.passes.casts import casts

    native = replace(TARGET, arithmetic=TARGET.arithmetic | {"f16"}, storage=TARGET.storage | {"f16"})
    text = show(casts(scalar_function(lambda p: b.cast(f16, p), f32), native))
    assert "raw f16(%x0.0)" in text
    kept = replace(TARGET64, semantics=frozenset({"saturating_cast"}))
    from ruda_core.dtypes import i32

    text = show(casts(scalar_function(lambda p: b.cast(i32, p), f32), kept))
    assert "= i32(%x0.0)" in text
