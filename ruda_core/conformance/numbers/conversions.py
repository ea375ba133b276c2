"""Conversions between all dtypes, to the bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import ruda_core as ruda
from ruda_core.capabilities import Requirement, missing
from ruda_core.conformance.numbers import kernels
from ruda_core.conformance.numbers.judge import describe, exact, promised
from ruda_core.conformance.numbers.report import Row
from ruda_core.conformance.numbers.rounding import converted
from ruda_core.conformance.numbers.run import flushed, refused
from ruda_core.conformance.numbers.values import Values, numpy_dtype, singles
from ruda_core.dtypes import BY_NAME

GROUP = "conversions"
_AT_ONCE = 4


def conversion_rows(client: ruda.ComputeClient, source: str) -> Iterator[Row]:
    """A row for each dtype that `source` is converted to."""
    names = tuple(BY_NAME)
    for start in range(0, len(names), _AT_ONCE):
        yield from _attempt(client, source, names[start : start + _AT_ONCE])


def _attempt(client: ruda.ComputeClient, source: str, targets: tuple[str, ...]) -> Iterator[Row]:
    try:
        results = _launched(client, source, targets)
    except Exception as error:  # whatever a backend raises belongs in the report
        if len(targets) == 1:
            yield _failed(client, source, targets[0], error)
            return
        for target in targets:
            yield from _attempt(client, source, (target,))
        return
    for target, got in zip(targets, results, strict=True):
        yield _judged(client, source, target, got)


def _launched(client: ruda.ComputeClient, source: str, targets: tuple[str, ...]) -> list[Values]:
    (x,) = singles(source)
    outs = [client.zeros(x.size, numpy_dtype(t)) for t in targets]
    if len(outs) == _AT_ONCE:
        kernels.convert_to_four.launch_over(client, x.size, client.tensor(x), *outs)
    else:
        for out in outs:
            kernels.convert.launch_over(client, x.size, client.tensor(x), out)
    return [np.asarray(out.numpy()) for out in outs]


def _failed(client: ruda.ComputeClient, source: str, target: str, error: Exception) -> Row:
    needs = [Requirement("dtype", name, "conversion") for name in (source, target)]
    row = {"device": str(client.device), "group": GROUP, "dtype": source, "operation": f"to {target}"}
    return refused(row, singles(source)[0].size, missing(client.features(), needs), error)


def _judged(client: ruda.ComputeClient, source: str, target: str, got: Values) -> Row:
    (x,) = singles(source)
    with np.errstate(all="ignore"):
        right = converted(x, target)
    verdict = exact(got, (right,), promised((x,), got, flushed(client.features())), zero_signs=True)
    at = verdict.worst
    return Row(
        device=str(client.device),
        group=GROUP,
        dtype=source,
        operation=f"to {target}",
        cases=verdict.cases,
        wrong=verdict.wrong,
        outside=verdict.outside,
        example="" if at is None else describe((x[at],), got[at], right[at]),
    )
