"""Launches of kernels whose units do several positions each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from array_driver import array, plan_of

from ruda_core.artifact import KernelSource, VariantFacts
from ruda_core.launcher import build_launcher, prepare_launch


def nothing(**_: Any) -> None:
    return None


def widened(client: Any, asked: list[VariantFacts], *, aligned: tuple[str, ...] = ()) -> Any:
    """A launcher of a kernel with four positions a unit; `aligned` ones only where nothing is askew."""
    plan = plan_of(nothing, array("x"), array("y"), dim=(8, 1, 1), writes="y")

    def variant(facts: VariantFacts) -> KernelSource:
        asked.append(facts)
        source = plan.variant(facts)
        return source if facts.askew else replace(source, per_unit=4, aligned=aligned)

    return build_launcher(client.server, replace(plan, variant=variant))


def grids(client: Any) -> list[Any]:
    found = [grid for _, _, grid in client.server.driver.launches]
    client.server.driver.launches.clear()
    return found


def tensors(client: Any) -> tuple[Any, Any]:
    x, y = (client.tensor(np.arange(48, dtype=np.float32)) for _ in range(2))
    return x, y


def test_fewer_groups_along_x(client):
    launch = widened(client, [])
    x, y = tensors(client)
    for count in (1, 4, 5, 8, (9, 2, 3)):
        launch(client, count, x, y)
    assert grids(client) == [(1, 1, 1), (1, 1, 1), (2, 1, 1), (2, 1, 1), (3, 2, 3)]


def test_a_folded_count_is_divided_before_it_is_folded(client):
    launch = widened(client, [])
    x, y = tensors(client)
    launch(client, 65536, x, y)
    ((gx, gy, gz),) = grids(client)
    assert 16384 <= gx * gy * gz < 16500


def test_arrays_that_begin_elsewhere_get_a_variant_of_their_own(client):
    asked: list[VariantFacts] = []
    launch = widened(client, asked, aligned=("x", "y"))
    x, y = tensors(client)
    plain = VariantFacts(equal_lengths=(("x", "y"),))
    for at_x, at_y, groups in ((0, 4, 2), (1, 0, 5), (4, 8, 2), (8, 6, 5), (3, 3, 5)):
        launch(client, 5, x[at_x : at_x + 8], y[at_y : at_y + 8])
        assert grids(client) == [(groups, 1, 1)]
    assert asked == [plain, replace(plain, askew=True)]


@pytest.mark.parametrize("at", [0, 1])
def test_prepared_launches_look_too(client, at):
    x, y = tensors(client)
    prepared = prepare_launch(widened(client, [], aligned=("y",)), client, (x, y))
    prepared(5, x[1:], y[1:])
    prepared(5, x, y)
    prepared(5, x[at:], y[at:])
    assert grids(client) == [(5, 1, 1), (2, 1, 1), (5 if at else 2, 1, 1)]
