"""The command line of the examples: `python examples/NAME.py [DEVICE]`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import ruda_core as ruda


def chosen_client() -> ruda.ComputeClient:
    """A client of the device named as the first argument ("opencl", "cuda:1"), else of the best one."""
    return ruda.client(sys.argv[1] if len(sys.argv) > 1 else None)


def report(client: ruda.ComputeClient, what: str, got: Any, expected: Any, tolerance: float = 0.0) -> None:
    """Print that `got` is `expected` within a relative and absolute `tolerance`; end the program if not."""
    try:
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    except AssertionError as error:
        raise SystemExit(f"{client.device}: {what} is wrong{error}") from None
    print(f"{client.device}: {what} agrees with NumPy")
