"""The table of names: complete, documented, and for kernels only."""

from __future__ import annotations

import inspect
import pickle
import pydoc

import pytest

import ruda_core as ruda
from ruda_core.frontend.foreign import HOST
from ruda_core.frontend.intrinsic_calls import HANDLERS
from ruda_core.frontend.intrinsics import EXPORTS, Intrinsic, Position, Refused
from ruda_core.ir.functions import MATH

LANGUAGE = """
ABSOLUTE_POS ABSOLUTE_POS_X ABSOLUTE_POS_Y ABSOLUTE_POS_Z UNIT_POS UNIT_POS_X UNIT_POS_Y UNIT_POS_Z
WORKGROUP_POS WORKGROUP_POS_X WORKGROUP_POS_Y WORKGROUP_POS_Z WORKGROUP_DIM WORKGROUP_DIM_X WORKGROUP_DIM_Y
WORKGROUP_DIM_Z WORKGROUP_COUNT WORKGROUP_COUNT_X WORKGROUP_COUNT_Y WORKGROUP_COUNT_Z
SUBGROUP_SIZE SUBGROUP_LANE SUBGROUP_ID SUBGROUP_COUNT index struct is_float bitcast div_trunc rem_trunc pow select
minimum maximum fmin fmax clamp inf nan isnan isinf isfinite fma sqrt rsqrt cbrt exp exp2 expm1 log log2 log10
log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh erf hypot sign abs floor
ceil trunc round copysign dot popcount clz ctz reverse_bits mulhi unroll shared local barrier subgroup_barrier
uniform_load atomic_add atomic_sub atomic_min atomic_max atomic_and_ atomic_or_ atomic_xor atomic_exchange
atomic_compare_exchange atomic_load atomic_store subgroup_sum subgroup_prod subgroup_min subgroup_max
subgroup_and_ subgroup_or_ subgroup_xor subgroup_inclusive_sum subgroup_inclusive_prod subgroup_exclusive_sum
subgroup_exclusive_prod subgroup_broadcast subgroup_shuffle subgroup_shuffle_xor subgroup_shuffle_up
subgroup_shuffle_down subgroup_any subgroup_all subgroup_ballot subgroup_elect matrix debug_print
""".split()


def test_the_table_has_the_languages_names_and_no_others() -> None:
    assert sorted(EXPORTS) == sorted(LANGUAGE)


@pytest.mark.parametrize("name", [n for n, v in EXPORTS.items() if isinstance(v, Intrinsic)])
def test_each_is_documented_and_refuses_the_host(name: str) -> None:
    intrinsic = EXPORTS[name]
    assert len(intrinsic.__doc__) >= 10
    with pytest.raises(ruda.RudaError, match=name):
        intrinsic(1)


@pytest.mark.parametrize("name", [n for n, v in EXPORTS.items() if type(v) is Intrinsic])
def test_help_shows_signature_meaning_and_dtypes(name: str) -> None:
    function = EXPORTS[name]
    shape = str(inspect.signature(function))
    assert function.__text_signature__ == shape and function.__module__ == "ruda_core"
    shown = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}{shape}" in shown
    assert list(inspect.signature(function).parameters)[: len(function.params)] == list(function.params)
    if name in MATH:
        assert ("Exact to the bit" in " ".join(shown.split())) is MATH[name].exact, "its accuracy"
        assert "Takes" in shown, "its dtypes"
    assert max(map(len, shown.splitlines())) <= 100


def test_signatures_have_the_names_that_keywords_use() -> None:
    assert str(inspect.signature(ruda.sqrt)) == "(x)"
    assert str(inspect.signature(ruda.minimum)) == "(a, b, *more)"
    assert str(inspect.signature(ruda.barrier)) == "()"
    assert str(inspect.signature(ruda.atomic_compare_exchange)) == "(array, index, expected, desired)"


def test_each_function_has_a_lowering() -> None:
    functions = {n for n, v in EXPORTS.items() if type(v) is Intrinsic}
    assert functions - set(HANDLERS) == set()
    assert set(HOST) <= functions
    assert {n for n in MATH if n not in ("min", "max")} <= set(HANDLERS)


def test_positions_are_values() -> None:
    assert isinstance(EXPORTS["UNIT_POS"], Position)
    with pytest.raises(ruda.RudaError, match="value inside a kernel"):
        EXPORTS["UNIT_POS"]()


def test_what_is_refused_says_so_by_name() -> None:
    assert isinstance(EXPORTS["matrix"], Refused)
    with pytest.raises(ruda.UnsupportedFeature, match=r"matrix\.load"):
        EXPORTS["matrix"].load(1)
    with pytest.raises(ruda.UnsupportedFeature, match="records"):
        EXPORTS["struct"](object)


def test_they_survive_pickling() -> None:
    for name in ("sqrt", "UNIT_POS", "index"):
        assert pickle.loads(pickle.dumps(EXPORTS[name])) is EXPORTS[name]
