"""The command line of the examples: `python examples/NAME.py [DEVICE]`."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import ruda_core as ruda


def chosen_client(doc: str | None) -> ruda.ComputeClient:
    """A client of the device named on the command line, else of the best one; `doc` is what `--help` says."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "device",
        nargs="?",
        metavar="DEVICE",
        help='a backend or a device of `ruda devices`, such as "opencl" or "cuda:1"; without one, the best',
    )
    name = parser.parse_args().device
    try:
        return ruda.client(name)
    except ruda.BackendError as error:
        parser.error(str(error))


def report(client: ruda.ComputeClient, what: str, got: Any, expected: Any, tolerance: float = 0.0) -> None:
    """Print that `got` is `expected` within a relative and absolute `tolerance`; end the program if not."""
    try:
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    except AssertionError as error:
        raise SystemExit(f"{client.device}: {what} is wrong{error}") from None
    print(f"{client.device}: {what} agrees with NumPy")
