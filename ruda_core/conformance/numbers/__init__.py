"""What a device computes, against NumPy and exact arithmetic, over values at which machines differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import ruda_core as ruda
from ruda_core.conformance.numbers import floats, integers
from ruda_core.conformance.numbers.conversions import conversion_rows
from ruda_core.conformance.numbers.report import Report, Row, Sum, summed
from ruda_core.conformance.numbers.run import rows_of
from ruda_core.dtypes import BY_NAME

BATTERIES = (*integers.BATTERIES, *floats.BATTERIES)
GROUPS = tuple(dict.fromkeys((*(b.group for b in BATTERIES), "conversions")))


def measured(
    client: ruda.ComputeClient, *, groups: tuple[str, ...] = GROUPS, dtypes: tuple[str, ...] = tuple(BY_NAME)
) -> Iterator[Row]:
    """The rows of a device, as they come: of some `groups` and operand `dtypes`, or of all."""
    for battery in BATTERIES:
        if battery.group in groups:
            for dtype in battery.dtypes:
                if dtype in dtypes:
                    yield from rows_of(client, battery, dtype)
    if "conversions" in groups:
        for dtype in dtypes:
            yield from conversion_rows(client, dtype)


def measure(client: ruda.ComputeClient, progress: Callable[[Row], None] = lambda row: None) -> Report:
    """The whole corpus on a device; `progress` hears of each row."""
    rows = []
    for row in measured(client):
        progress(row)
        rows.append(row)
    return report_of(client, rows)


def report_of(client: ruda.ComputeClient, rows: Sequence[Row]) -> Report:
    """Rows of a device, with what it says of itself."""
    properties = client.properties()
    name = ", ".join(part for part in (properties.name, properties.driver) if part)
    return Report(str(client.device), name, tuple(rows), client.features().to_dict())


__all__ = ["BATTERIES", "GROUPS", "Report", "Row", "Sum", "measure", "measured", "report_of", "summed"]
