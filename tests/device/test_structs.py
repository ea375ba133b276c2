"""Records are not in this version: they are refused by name, with an error that says so."""

from __future__ import annotations

import pytest

import ruda_core as ruda
from ruda_core import f32, i32


def test_records_are_refused_by_name():
    with pytest.raises(ruda.UnsupportedFeature, match="records"):

        @ruda.struct
        class Particle:
            kind: i32
            weight: f32
