"""Running batteries on a device. What it refuses is refused by one operation at a time, and says why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

import ruda_core as ruda
from ruda_core.capabilities import Features, Requirement, missing
from ruda_core.conformance.numbers import kernels
from ruda_core.conformance.numbers.battery import Battery, Operation
from ruda_core.conformance.numbers.judge import Verdict, describe, exact, promised, within
from ruda_core.conformance.numbers.report import Row
from ruda_core.conformance.numbers.values import Operands, Values, numpy_dtype

Wanted = tuple[Values, ...]


def rows_of(client: ruda.ComputeClient, battery: Battery, dtype: str) -> Iterator[Row]:
    """The rows of a battery on one dtype."""
    operations = battery.applicable(dtype)
    for start in range(0, len(operations), battery.together):
        yield from _attempt(client, battery, dtype, operations[start : start + battery.together])


def flushed(features: Features) -> frozenset[str]:
    """The dtypes whose subnormals the device does not promise to keep."""
    names = () if features.f32_subnormals else ("f32", "bf16")
    return frozenset((*names, *(() if features.f16_subnormals else ("f16",))))


def _attempt(
    client: ruda.ComputeClient, battery: Battery, dtype: str, operations: Sequence[Operation]
) -> Iterator[Row]:
    """Together, or by halves when something in it does not run."""
    try:
        results = _launched(client, battery, dtype, tuple(operations))
    except Exception as error:  # whatever a backend raises belongs in the report
        if len(operations) == 1:
            yield _failed(client, battery, dtype, operations[0], error)
            return
        half = len(operations) // 2
        yield from _attempt(client, battery, dtype, operations[:half])
        yield from _attempt(client, battery, dtype, operations[half:])
        return
    for operation, got in zip(operations, results, strict=True):
        yield _judged(client, battery, dtype, operation, got)


def _launched(
    client: ruda.ComputeClient, battery: Battery, dtype: str, operations: tuple[Operation, ...]
) -> Values:
    operands = battery.operands(dtype)
    kernel = getattr(kernels, battery.shape)(tuple(o.function for o in operations), battery.contract)
    units = operands[0].shape[-1]
    out = client.zeros((len(operations), units), numpy_dtype(battery.result or dtype))
    kernel.launch_over(client, units, *(client.tensor(x) for x in operands), out)
    return np.asarray(out.numpy())


def _failed(
    client: ruda.ComputeClient, battery: Battery, dtype: str, operation: Operation, error: Exception
) -> Row:
    """Unsupported where the features say so; a refusal of what they promise is wrong."""
    lacks = missing(client.features(), requirements(battery, dtype))
    cases = battery.operands(dtype)[0].shape[-1]
    row = {"device": str(client.device), "group": battery.group, "dtype": dtype, "bound": operation.bound}
    row["operation"] = operation.name + battery.suffix
    return refused(row, cases, lacks, error)


def refused(row: dict[str, Any], cases: int, lacks: list[Requirement], error: Exception) -> Row:
    """A row for what did not run."""
    said = str(error).strip().splitlines() or [""]
    text = f"{type(error).__name__}: {said[0]}"
    if isinstance(error, ruda.UnsupportedFeature) and lacks:
        return Row(**row, unsupported=f"no {', '.join(map(str, lacks))}", example=text)
    return Row(**row, cases=cases, wrong=cases, example=text)


def requirements(battery: Battery, dtype: str) -> tuple[Requirement, ...]:
    """What a device must have for a battery on a dtype."""
    names = (dtype, battery.result or dtype)
    return (*(Requirement("dtype", n, "arithmetic") for n in dict.fromkeys(names)), *battery.needs(dtype))


@cache
def wanted(battery: Battery, dtype: str, operation: Operation) -> Wanted:
    """The right results; several where more than one answer is right. Kept, since devices share them."""
    with np.errstate(all="ignore"):
        found = operation.oracle(*battery.operands(dtype))
    return found if isinstance(found, tuple) else (np.asarray(found),)


def _judged(
    client: ruda.ComputeClient, battery: Battery, dtype: str, operation: Operation, got: Values
) -> Row:
    operands = battery.operands(dtype)
    right = wanted(battery, dtype, operation)
    with np.errstate(all="ignore"):
        result = right[0].astype(got.dtype)
    several = battery.group == "algebra"
    kept = promised(operands, result, flushed(client.features()), several=several)
    if operation.bound:
        verdict = within(got, right[0], operation.bound, kept)
    else:
        verdict = exact(got, right, kept, zero_signs=operation.zero_signs)
    return Row(
        device=str(client.device),
        group=battery.group,
        dtype=dtype,
        operation=operation.name + battery.suffix,
        cases=verdict.cases,
        wrong=verdict.wrong,
        ulp=verdict.ulp,
        bound=operation.bound,
        outside=verdict.outside,
        example=_example(verdict, operands, got, right[0]),
    )


def _example(verdict: Verdict, operands: Operands, got: Values, right: Values) -> str:
    at = verdict.worst
    if at is None:
        return ""
    given = () if operands[0].ndim > 1 else tuple(x[at] for x in operands)
    return describe(given, got[at], right[at])
