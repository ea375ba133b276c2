"""Functions of floats within their bounds, right limits, exact basic arithmetic, complete powers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support import NUMPY, T, binary, launch, refused_without, unary

import ruda_core as ruda
from ruda_core import Array, Tensor, f32

RNG = np.random.default_rng(11)
WIDE = np.concatenate([10.0 ** RNG.uniform(-6, 6, 150), -(10.0 ** RNG.uniform(-6, 6, 150)), [0.0, -0.0]])
POSITIVE = 10.0 ** RNG.uniform(-20, 20, 300)
UNIT = RNG.uniform(-1, 1, 300)
MODERATE = RNG.uniform(-80, 80, 300)
LIMITS = np.array([0, -0.0, np.inf, -np.inf, np.nan])

FUNCTIONS = {
    "sqrt": (ruda.sqrt, np.sqrt, POSITIVE), "rsqrt": (ruda.rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE),
    "cbrt": (ruda.cbrt, np.cbrt, WIDE), "exp": (ruda.exp, np.exp, MODERATE), "exp2": (ruda.exp2, np.exp2, MODERATE),
    "expm1": (ruda.expm1, np.expm1, np.concatenate([MODERATE, UNIT / 1000])), "log": (ruda.log, np.log, POSITIVE),
    "log2": (ruda.log2, np.log2, POSITIVE), "log10": (ruda.log10, np.log10, POSITIVE),
    "log1p": (ruda.log1p, np.log1p, np.concatenate([POSITIVE, UNIT / 1000])), "sin": (ruda.sin, np.sin, WIDE),
    "cos": (ruda.cos, np.cos, WIDE), "tan": (ruda.tan, np.tan, WIDE), "arcsin": (ruda.arcsin, np.arcsin, UNIT),
    "arccos": (ruda.arccos, np.arccos, UNIT), "arctan": (ruda.arctan, np.arctan, WIDE),
    "sinh": (ruda.sinh, np.sinh, MODERATE), "cosh": (ruda.cosh, np.cosh, MODERATE),
    "tanh": (ruda.tanh, np.tanh, np.concatenate([MODERATE, UNIT / 100])),
    "arcsinh": (ruda.arcsinh, np.arcsinh, WIDE), "arccosh": (ruda.arccosh, np.arccosh, 1 + np.abs(WIDE)),
    "arctanh": (ruda.arctanh, np.arctanh, UNIT), "erf": (ruda.erf, np.vectorize(math.erf, otypes=[float]), UNIT * 4),
}  # fmt: skip


def normal(n, kind=np.float32):
    """Two arrays of normally distributed values."""
    return np.random.default_rng(12).normal(0, 10, (2, n)).astype(kind)


def ulps(got, expected):
    """The distance to the value in f64, in units of the last place of f32."""
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
        return np.abs(got.astype(np.float64) - expected) / np.maximum(spacing, np.finfo(np.float32).tiny)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_f32_within_four_units_of_the_last_place(client, name):
    function, exact, x = FUNCTIONS[name]
    x = np.concatenate([x, LIMITS]).astype(np.float32)
    got = launch(client, unary(function), x, units=x.size, out=np.zeros_like(x))
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        rounded = expected.astype(np.float32)
    normal = np.isfinite(rounded) & (np.abs(rounded) >= np.finfo(np.float32).tiny)
    errors = ulps(got, expected)[normal]
    worst = errors.argmax()
    assert errors[worst] <= 4.5, f"{errors[worst]} at {x[normal][worst]}: {got[normal][worst]}"
    others = ~np.isfinite(rounded) | (x == 0)
    np.testing.assert_array_equal(got[others], rounded[others])


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "cos", "tanh"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64"])
def test_functions_of_other_floats(client, name, dtype):
    function, exact, x = FUNCTIONS[name]
    x = x[(np.abs(x) < 10) & (np.abs(x) > 1e-3)].astype(NUMPY[dtype])
    with refused_without(client, dtype, functions=name != "sqrt"):
        got = launch(client, unary(function), x, units=x.size, out=np.zeros_like(x))
    expected = exact(x.astype(np.float64))
    tolerance = {"f16": 4e-3, "bf16": 3e-2, "f64": 1e-14}[dtype]
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=tolerance * 1e-2)


@pytest.mark.parametrize(
    "function, exact",
    [(ruda.arctan2, np.arctan2), (ruda.hypot, np.hypot), (ruda.copysign, np.copysign)],
    ids=["arctan2", "hypot", "copysign"],
)
def test_functions_of_two_floats(client, function, exact):
    values = np.array([0, -0.0, 1, -1, 3e-5, -250, 1e5, np.inf, -np.inf, np.nan], np.float32)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    got = launch(client, binary(function), x, y, units=x.size, out=np.zeros_like(x))
    np.testing.assert_allclose(got, exact(x, y).astype(np.float32), rtol=5e-7)


@ruda.func
def raised(x: f32, y: f32):
    return x**y


def test_powers_of_floats(client):
    values = np.array([0, 1, -1, 2, -2, 0.5, 3, -3, 2.5, 10, np.inf, -np.inf, np.nan, -0.5], np.float32)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    got = launch(client, binary(raised), x, y, units=x.size, out=np.zeros_like(x))
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(got, expected, rtol=5e-7)


@ruda.kernel
def by_literals(x: Array[f32], out: Tensor[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] ** 2
        out[1, i] = x[i] ** 0.5
        out[2, i] = x[i] ** -1
        out[3, i] = 2 ** x[i]
        out[4, i] = math.exp(x[i]) + math.floor(x[i])
        out[5, i] = abs(x[i]) + pow(x[i], 3)
        out[6, i] = ruda.sign(x[i])


def test_powers_by_literals_and_python_spellings(client):
    x = np.array([0.25, 1, 2, 3.5, 9], np.float32)
    got = launch(client, by_literals, x, units=5, out=np.zeros((7, 5), np.float32))
    wide = x.astype(np.float64)
    expected = [
        wide**2, wide**0.5, wide**-1, 2**wide, np.exp(wide) + np.floor(wide), wide + wide**3, np.sign(wide),
    ]  # fmt: skip
    np.testing.assert_allclose(got, expected, rtol=5e-7)


@ruda.kernel
def basic(x: Array[T], y: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = (x[i] + y[i]) - y[i]


@ruda.kernel
def quotients(x: Array[T], y: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] / y[i]
        out[1, i] = ruda.sqrt(abs(x[i]))


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_basic_arithmetic_is_correctly_rounded_and_never_reassociated(client, name):
    x, y = normal(2000, NUMPY[name])
    with refused_without(client, name):
        got = launch(client, basic, x, y, units=x.size, out=np.zeros((4, x.size), x.dtype))
        ratios = launch(client, quotients, x, y, units=x.size, out=np.zeros((2, x.size), x.dtype))
    for row, expected in zip(got, (x + y, x - y, x * y, (x + y) - y), strict=True):
        np.testing.assert_array_equal(row.astype(float), expected.astype(float))
    if name == "f32" and not client.features().exact_div_sqrt:
        np.testing.assert_allclose(ratios, [x / y, np.sqrt(np.abs(x))], rtol=4e-7)
        return
    np.testing.assert_array_equal(ratios[0].astype(float), (x / y).astype(float))
    np.testing.assert_array_equal(ratios[1].astype(float), np.sqrt(np.abs(x)).astype(float))


@ruda.kernel(fp_contract=False)
def apart(x: Array[f32], y: Array[f32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = x[i] * y[i] + x[i]


def test_products_and_sums_stay_apart_when_asked(client):
    x, y = normal(2000)
    try:
        got = launch(client, apart, x, y, units=x.size, out=np.zeros_like(x))
    except ruda.UnsupportedFeature:
        assert not client.features().contract_control
        return
    np.testing.assert_array_equal(got, x * y + x)


@ruda.kernel(fp_exact=True)
def exact(x: Array[f32], y: Array[f32], out: Tensor[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = x[i] / y[i]
        out[1, i] = ruda.sqrt(abs(x[i]))


def test_exact_division_where_it_is_insisted_on(client):
    x, y = normal(2000)
    try:
        got = launch(client, exact, x, y, units=x.size, out=np.zeros((2, x.size), np.float32))
    except ruda.UnsupportedFeature:
        assert not client.features().exact_div_sqrt and not client.features().fma
        return
    np.testing.assert_array_equal(got, [x / y, np.sqrt(np.abs(x))])


@ruda.kernel
def fused(x: Array[f32], y: Array[f32], z: Array[f32], out: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[i] = ruda.fma(x[i], y[i], z[i])


def test_fma_rounds_once_or_is_refused(client):
    x, y = normal(500)
    z = -(x * y)
    try:
        got = launch(client, fused, x, y, z, units=x.size, out=np.zeros_like(x))
    except ruda.UnsupportedFeature:
        assert not client.features().fma
        return
    np.testing.assert_array_equal(got, (x.astype(np.float64) * y + z).astype(np.float32))


@ruda.kernel
def compensated(x: Array[f32], out: Array[f32]):
    total, lost = 0.0, 0.0
    for k in range(len(x)):
        term = x[k] - lost
        new = total + term
        lost = (new - total) - term
        total = new
    out[0] = total


def test_a_compensated_sum_works(client):
    x = np.full(3000, 0.1, np.float32)
    got = launch(client, compensated, x, units=1, out=np.zeros(1, np.float32))
    assert got[0] == np.float32(x.astype(np.float64).sum())


@ruda.kernel
def of_integers(x: Array[T], y: Array[T], out: Tensor[T]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        out[0, i] = abs(x[i])
        out[1, i] = ruda.sign(x[i])
        out[2, i] = min(x[i], y[i])
        out[3, i] = max(x[i], y[i])
        out[4, i] = ruda.clamp(x[i], 1, 100)


@pytest.mark.parametrize("name", ["i32", "u8", "i16", "i64"])
def test_functions_of_integers(client, name):
    x = np.array([0, 1, 5, 100, 127, *([-1, -128, -7] if name[0] == "i" else [255])], NUMPY[name])
    y = x[::-1].copy()
    with refused_without(client, name):
        got = launch(client, of_integers, x, y, units=x.size, out=np.zeros((5, x.size), x.dtype))
    expected = (np.abs(x), np.sign(x), np.minimum(x, y), np.maximum(x, y), np.clip(x, 1, 100))
    np.testing.assert_array_equal(got, expected)


@ruda.func
def not_a_number(zero: f32):
    return -(zero * ruda.inf)


@ruda.kernel(fp_contract=False)
def of_known_values(out: Array[f32]):
    zero = f32(0.0)
    zero *= 1.0  # a variable: what it holds is for the device's compiler to find out
    nan = not_a_number(zero)
    out[0] = ruda.floor(nan)
    out[1] = ruda.ceil(nan)
    out[2] = ruda.trunc(nan)
    out[3] = ruda.round(nan)
    out[4] = ruda.sqrt(nan)
    out[5] = ruda.abs(nan)
    out[6] = ruda.floor(1.0 / zero)
    out[7] = ruda.trunc(zero - 2.5)


def test_values_that_the_devices_compiler_knows(client):
    out = client.zeros(8, np.float32)
    of_known_values.launch(client, 1, 1, out)
    np.testing.assert_array_equal(out.numpy(), [np.nan] * 6 + [np.inf, -2])


@ruda.kernel
def signs(x: Array[T], out: Array[T]):
    out[ruda.ABSOLUTE_POS] = ruda.sign(x[ruda.ABSOLUTE_POS])


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_the_sign_of_either_zero_is_zero(client, dtype):
    x = np.array([0.0, -0.0, 2, -2, np.inf, -np.inf, np.nan, -1e-3]).astype(NUMPY[dtype])
    with refused_without(client, dtype):
        out = client.zeros(8, NUMPY[dtype])
        signs.launch(client, 1, 8, client.tensor(x), out)
    got = out.numpy().astype(np.float64)
    np.testing.assert_array_equal(got, [0, 0, 1, -1, 1, -1, np.nan, -1])
    assert not np.signbit(got[:2]).any()
