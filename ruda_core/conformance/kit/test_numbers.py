"""The device computes what NumPy and exact arithmetic give, or refuses what its features say it lacks."""

from __future__ import annotations

import pytest

import ruda_core as ruda
from ruda_core.conformance.numbers import GROUPS, measured
from ruda_core.conformance.plugin import ROWS


@pytest.mark.parametrize("group", GROUPS)
def test_numbers(ruda_client: ruda.ComputeClient, group: str, request: pytest.FixtureRequest) -> None:
    rows = list(measured(ruda_client, groups=(group,)))
    request.config.stash[ROWS].extend(rows)
    wrong = [f"{r.dtype} {r.operation}: {r.wrong} of {r.cases}: {r.example}" for r in rows if r.wrong]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
