"""Software functions: largest error in ULP over sweeps of f32, limits, and exact division and root.

`BOUNDS` holds the measured maxima, rounded up; a change that makes a function worse fails.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bare import NATIVE, TARGET, apply
from lanes import run, scalar_function

from ruda_core.dtypes import bf16, f16, f32, f64
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.passes.math import math

try:
    from scipy.special import erf
except ImportError:
    from math import erf as _erf

    erf = np.vectorize(_erf)

INF = np.inf
NAN = np.nan
REFERENCE = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "arcsin": np.arcsin, "arccos": np.arccos,
    "arctan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh,
    "arccosh": np.arccosh, "arctanh": np.arctanh, "erf": erf, "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "arctan2": np.arctan2, "hypot": np.hypot, "pow": np.power,
}  # fmt: skip
BOUNDS = {
    "exp": 1.1, "exp2": 1.1, "expm1": 1.8, "log": 0.9, "log2": 1.4, "log10": 2.0, "log1p": 0.9, "sin": 1.8,
    "cos": 1.8, "tan": 2.7, "arcsin": 2.4, "arccos": 1.3, "arctan": 2.7, "sinh": 1.8, "cosh": 1.5, "tanh": 1.5,
    "arcsinh": 1.8, "arccosh": 2.1, "arctanh": 2.0, "erf": 1.4, "cbrt": 0.6, "rsqrt": 1.6, "arctan2": 2.7,
    "hypot": 1.3, "pow": 1.4,
}  # fmt: skip
COUNT = 1 << 18


def every_exponent(count: int, seed: int) -> np.ndarray:
    """Finite f32 of both signs, all exponents alike, subnormals included."""
    bits = np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    return x[np.isfinite(x)]


def sweep(fn: str, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    near = rng.uniform(-100, 100, COUNT // 4)
    unit = rng.uniform(-1.5, 1.5, COUNT // 4)
    ones = 1 + rng.uniform(-1e-3, 1e-3, COUNT // 8)
    return np.concatenate([every_exponent(COUNT // 2, seed), near, unit, ones]).astype(np.float32)


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Error in units of the last place of the right result; subnormal results by the smallest step."""
    with np.errstate(all="ignore"):
        nearest = want.astype(np.float32)
        step = np.maximum(np.spacing(np.abs(nearest)).astype(np.float64), 2.0**-149)
        error = np.abs(got.astype(np.float64) - want) / step
        same = (got == nearest) | (np.isnan(got) & np.isnan(want))
        top = np.isinf(nearest) & (np.abs(got) == np.finfo(np.float32).max)
        return np.where(same, np.fmin(error, 0.5), np.where(top, 1.0, np.where(np.isnan(error), INF, error)))


def measure(fn: str, *args: np.ndarray, **device: bool) -> tuple[float, tuple[float, ...]]:
    got = apply(lambda *a: b.math(fn, *a), (f32,) * len(args), *args, device=device)
    with np.errstate(all="ignore"):
        want = REFERENCE[fn](*(a.astype(np.float64) for a in args))
    error = ulps(got, want)
    worst = int(np.argmax(error))
    return float(error[worst]), (*(float(a[worst]) for a in args), float(got[worst]), float(want[worst]))


@pytest.mark.parametrize("fn", [f for f in REFERENCE if f not in ("arctan2", "hypot", "pow")])
def test_functions_of_one_argument(fn: str) -> None:
    error, where = measure(fn, sweep(fn))
    assert error <= BOUNDS[fn], where


def sweep_pairs(fn: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = sweep(fn, 4), sweep(fn, 5)
    n = min(len(x), len(y))
    x, y = x[:n], np.random.default_rng(6).permutation(y)[:n]
    if fn != "pow":
        return x, y
    rng = np.random.default_rng(7)
    bases = (x, rng.uniform(0, 10, n), 1 + rng.uniform(-1e-4, 1e-4, n), rng.uniform(0.7, 1.42, n))
    exponents = (y, rng.uniform(-40, 40, n), rng.uniform(-1e6, 1e6, n), rng.uniform(-250, 250, n))
    return np.concatenate(bases).astype(np.float32), np.concatenate(exponents).astype(np.float32)


@pytest.mark.parametrize("fn", ["arctan2", "hypot", "pow"])
def test_functions_of_two_arguments(fn: str) -> None:
    error, where = measure(fn, *sweep_pairs(fn))
    assert error <= BOUNDS[fn], where


@pytest.mark.parametrize("device", ["contract", "loose"])
@pytest.mark.parametrize("fn", list(REFERENCE))
def test_four_ulps_on_devices_that_contract_or_divide_loosely(fn: str, device: str) -> None:
    args = sweep_pairs(fn) if fn in ("arctan2", "hypot", "pow") else (sweep(fn),)
    error, where = measure(fn, *args, **{device: True})
    assert error <= 4.0, where


@pytest.mark.parametrize("fn", list(REFERENCE))
def test_four_ulps_on_devices_that_flush_subnormals(fn: str) -> None:
    args = sweep_pairs(fn) if fn in ("arctan2", "hypot", "pow") else (sweep(fn),)
    with np.errstate(all="ignore"):
        want = REFERENCE[fn](*(a.astype(np.float64) for a in args))
    tiny = np.finfo(np.float32).tiny
    promised = np.logical_and.reduce([(x == 0) | ~(np.abs(x) < 2 * tiny) for x in (*args, want)])
    error, where = measure(fn, *(a[promised] for a in args), flush=True)
    assert error <= 4.0, where


@pytest.mark.parametrize("fn", ["sin", "cos", "tan"])
def test_large_angles_and_near_multiples_of_half_pi(fn: str) -> None:
    k = np.arange(1, 200000, dtype=np.float64)
    near = (k * (np.pi / 2)).astype(np.float32)
    x = np.concatenate([near, np.nextafter(near, np.float32(0)), -near[:1000], near * np.float32(2.0**30)])
    error, where = measure(fn, x[np.abs(x) < 1e15])
    assert error <= BOUNDS[fn], where


EDGES = np.array(
    [
        0.0,
        -0.0,
        INF,
        -INF,
        NAN,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1e-45,
        -1e-45,
        3e38,
        -3e38,
        1e-20,
        89,
        -104,
    ],
    np.float32,
)


@pytest.mark.parametrize("fn", list(REFERENCE))
def test_limits_are_numpys(fn: str) -> None:
    two = fn in ("arctan2", "hypot", "pow")
    args = (np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))) if two else (EDGES,)
    got = apply(lambda *a: b.math(fn, *a), (f32,) * len(args), *args)
    with np.errstate(all="ignore"):
        want = REFERENCE[fn](*(a.astype(np.float64) for a in args))
        exact = want.astype(np.float32)
    error = ulps(got, want)
    signs = (np.signbit(got) == np.signbit(exact)) | np.isnan(exact)
    bad = (error > BOUNDS[fn]) | ~signs
    assert not bad.any(), [(*(float(a[k]) for a in args), got[k], exact[k]) for k in np.flatnonzero(bad)[:5]]


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@pytest.mark.parametrize("fn", ["exp", "sin", "log"])
def test_16_bit_floats_go_through_f32(fn: str, dtype: object) -> None:
    x = np.arange(0x2000, 0x5000, dtype=np.uint16).view(dtype.numpy)  # type: ignore[attr-defined]
    got = apply(lambda p: b.math(fn, p), (dtype,), x).astype(np.float64)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        want = REFERENCE[fn](x.astype(np.float64))
    precision = 2.0**-10 if dtype is f16 else 2.0**-7
    finite = np.isfinite(got) & (np.abs(want) > 6e-5)
    assert np.allclose(got[finite], want[finite], rtol=precision, atol=0)


EXACT = {"fp_exact": True}


def test_division_is_exact_on_request() -> None:
    x, y = every_exponent(300000, 8), every_exponent(300000, 9)
    n = min(len(x), len(y))
    close = (
        np.random.default_rng(10)
        .integers(0x3F800000, 0x40000000, (2, 100000))
        .astype(np.uint32)
        .view(np.float32)
    )
    x = np.concatenate([x[:n], close[0], np.repeat(EDGES, len(EDGES))])
    y = np.concatenate([y[:n], close[1], np.tile(EDGES, len(EDGES))])
    got = apply(lambda p, q: b.binary("/", p, q), (f32, f32), x, y, **EXACT)
    with np.errstate(all="ignore"):
        want = x / y
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), (x[~same][:3], y[~same][:3], got[~same][:3], want[~same][:3])


def test_square_root_is_exact_on_request() -> None:
    x = np.concatenate([np.abs(every_exponent(400000, 11)), EDGES])
    got = apply(lambda p: b.math("sqrt", p), (f32,), x, **EXACT)
    with np.errstate(all="ignore"):
        want = np.sqrt(x)
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), (x[~same][:3], got[~same][:3], want[~same][:3])


def test_ordinary_kernels_and_exact_targets_use_the_native_division() -> None:
    divided = lambda **o: scalar_function(lambda p: b.binary("/", b.math("sqrt", p), p), f32, **o)  # noqa: E731 - three uses
    plain = divided()
    assert math(plain, TARGET).body == plain.body
    exact = divided(**EXACT)
    assert math(exact, replace(TARGET, exact_div_sqrt=True)).body == exact.body
    assert len(math(exact, TARGET).body) > len(exact.body)


def test_native_functions_stay() -> None:
    f = scalar_function(lambda p: b.math("exp", p), f32)
    assert math(f, replace(TARGET, math=NATIVE | {"exp:f32"})).body == f.body


def test_what_cannot_be_right_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="exp of f64"):
        math(scalar_function(lambda p: b.math("exp", p), f64), TARGET)
    with pytest.raises(UnsupportedFeature, match="fma of f32"):
        math(scalar_function(lambda p: b.math("fma", p, p, p), f32), TARGET)
    fused = scalar_function(lambda p: b.math("fma", p, p, p), f32)
    native = replace(TARGET, fma=True, math=TARGET.math | {"fma:f32"})
    assert math(fused, native).body == fused.body
    with pytest.raises(UnsupportedFeature, match="fma of f64"):
        math(scalar_function(lambda p: b.math("fma", p, p, p), f64), native)


def test_expansions_are_fenced_where_the_compiler_reassociates() -> None:
    f = math(scalar_function(lambda p: b.math("log1p", p), f32), replace(TARGET, reassociates=True))
    nodes = [e for s in walk(f.body) for e in expressions(s)]
    bare = [e for e in nodes if isinstance(e, ir.Binary) and e.type.is_float]
    fenced = {id(e.a) for e in nodes if isinstance(e, ir.Fence)}
    assert bare
    assert all(id(e) in fenced for e in bare)


def test_constants_are_hidden_from_the_target_compiler() -> None:
    f = math(scalar_function(lambda p: b.math("exp", b.const(f32, 1e30)), f32), TARGET)
    assert any(isinstance(e, ir.Param) for s in walk(f.body) for e in expressions(s))
    out = np.zeros(2, np.float32)
    run(f, {"in0": np.zeros(2, np.float32), "out": out}, 2)
    assert list(out) == [INF, INF]
