"""Names of other systems, and misspelled ones, lead to ours."""

from __future__ import annotations

import re

import pytest

import ruda_core as ruda
from ruda_core.frontend import hints

WORDS = {
    "blockIdx": "ruda.WORKGROUP_POS_X",
    "__syncthreads": "ruda.barrier()",
    "get_global_id": "ruda.ABSOLUTE_POS_X",
    "program_id": "ruda.WORKGROUP_POS_X",
    "clip": "ruda.clamp(x, low, high)",
    "atomicAdd": "ruda.atomic_add(array, index, value)",
    "atomicCAS": "ruda.atomic_compare_exchange(array, index, expected, new)",
}


@pytest.mark.parametrize("word", WORDS)
def test_other_systems_words(word):
    assert hints.advice(word) == f": write {WORDS[word]}"


def test_whatever_is_advised_is_there():
    for target in (*hints._POSITIONS.values(), *hints._FUNCTIONS.values()):
        assert hasattr(ruda, re.match(r"\w*", target)[0]), target


def test_names_of_modules_misspelled_names_and_unknown_ones():
    assert hints.of_name("np", (), ()) == ": write import numpy as np at the top of the module"
    assert hints.of_name("widht", ("width",), ("height",)) == ": did you mean width?"
    assert hints.of_name("sqrt", (), ()) == ": write ruda.sqrt"
    assert hints.of_name("zork", ("width",), ()) == ""
    assert hints.of_attribute(ruda, "barier") == ": did you mean ruda.barrier?"
    assert hints.of_attribute(re, "mach") == ": did you mean match?"
    assert hints.axis_of("ruda.ABSOLUTE_POS", "x") == ": write ruda.ABSOLUTE_POS_X"
    assert hints.axis_of("i", "x") == hints.axis_of("ruda.ABSOLUTE_POS", "w") == ""
